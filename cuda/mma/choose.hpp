// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"
#include "cuda/mma/params.hpp"
#include "cuda/mma/tile.hpp"

namespace detgemm::cuda::mma {

/// Whether the decision's kernel is the one for operands of which both run along k.
inline bool is_along(const Decision& d) { return !d.x_mn; }

/// Fills in what a Question says. A fold or tree of one leaf from +0 becomes a chain.
void ask(const GemmArguments& g, Question& q);

/// The columns of FamilyRow. Every tile takes all arrays; some compute chains alone.
std::span<const KernelInfo> kernels();
Question usual_question(const GemmSpec& spec, std::int64_t m);
const char* why_not(const Question& q);
Choice choose(const Question& q);
std::string name(const Decision& d);
std::vector<Decision> compiled(Family family);
Kernel kernel_of(const Decision& d);
cudaError_t launch(const Kernel& kernel, const Decision& d, const Call& call);
std::size_t workspace_bytes(const Reduction& reduction, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, int sms);

/// What `choose` minimises: clocks by a model (DeviceModel::Mma).
double expected_clocks(const Question& q, int tile);

/// The kernel's argument. Looks at strides and alignment too.
Params make_params(const GemmArguments& g, const Decision& d, void* workspace);

}  // namespace detgemm::cuda::mma
