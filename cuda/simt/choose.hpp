// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/simt/params.hpp"
#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// Accumulators an output keeps parked at most: none for chain, the sum of a fold, the subtrees of
/// a tree that wait.
int levels_needed(const Reduction& reduction, std::int64_t k);

struct Decision {
  bool ok = false;  ///< false: the forced tile does not compute this problem
  int tile = 0;
  int shared_bytes = 0;
  int grid = 0;
};

/// A pure function of shapes, contract and multiprocessors; `forced` is a tile or -1. Some tile
/// takes every problem of which the leaves fit an address space.
Decision choose(const GemmArguments& g, DType input, int sms, int forced);

/// The kernel's argument for that decision. Looks at strides and alignment too.
Params make_params(const GemmArguments& g, DType input, const Decision& decision);

}  // namespace detgemm::cuda::simt
