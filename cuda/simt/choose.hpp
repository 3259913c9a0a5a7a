// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"
#include "cuda/simt/params.hpp"
#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// Accumulators that an output keeps in shared memory at most: none for a chain, the sum of a fold,
/// the subtrees of a tree that wait.
int levels_needed(const Reduction& reduction, std::int64_t k);

/// Fills in what a Question says about arrays.
void ask(const GemmArguments& g, Question& q);

/// The columns of FamilyRow. Some tile takes every problem whose leaves fit an address space; none
/// looks at the arrays or at M, so the usual Question leaves them out.
std::span<const KernelInfo> kernels();
Question usual_question(const GemmSpec& spec, std::int64_t m);
const char* why_not(const Question& q);
Choice choose(const Question& q);
std::string name(const Decision& d);
std::vector<Decision> compiled(Family family);
Kernel kernel_of(const Decision& d);
cudaError_t launch(const Kernel& kernel, const Decision& d, const Call& call);

/// The same over groups: one tile, which takes every problem whose sums shared memory holds.
std::span<const KernelInfo> group_kernels();
Choice choose_groups(const Question& q);
std::vector<Decision> compiled_groups(Family family);
Kernel group_kernel_of(const Decision& d);
cudaError_t launch_groups(const Kernel& kernel, const Decision& d, const Call& call);

/// What `choose` minimises: the clocks that a problem is expected to take on an H200. It never
/// falls when a dimension grows.
double expected_clocks(const Question& q, const Decision& d);

/// The kernel's argument. Looks at strides and alignment too.
Params make_params(const GemmArguments& g, const Decision& d);

}  // namespace detgemm::cuda::simt
