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
/// The Question about a problem of any arrays.
Question usual_question(const GemmSpec& spec);

/// FamilyRow::why_not and FamilyRow::choose. Some tile takes every problem whose leaves fit an
/// address space.
const char* why_not(const Question& q);
Choice choose(const Question& q);

/// The kernel's argument. Looks at strides and alignment too.
Params make_params(const GemmArguments& g, const Decision& d);

}  // namespace detgemm::cuda::simt
