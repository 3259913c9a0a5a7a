// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

#include "cuda/families.hpp"
#include "cuda/sm90/leaves/geometry.hpp"
#include "cuda/sm90/leaves/shape.hpp"

namespace detgemm::cuda::sm90 {

/// Ways to share the leaves of a tile, in the order of the kernels' names.
struct Sharing {
  Split split = Split::none;
  int parts = 1;
};
inline constexpr auto kSharings = std::to_array<Sharing>({{Split::none, 1},
                                                          {Split::cluster, 2},
                                                          {Split::cluster, 4},
                                                          {Split::cluster, 8},
                                                          {Split::grid, 2},
                                                          {Split::grid, 4},
                                                          {Split::grid, 8}});

/// Kernels of fold and tree: Decision::kernel / kSharings.size() is the geometry and
/// Decision::kernel % kSharings.size() the sharing.
inline constexpr std::size_t kLeafKernels = kLeafGeometries.size() * kSharings.size();
/// For example "128x192", "64x32-load16-depth4-cluster8", "64x64-grid4".
std::string leaf_kernel_name(std::size_t index);

/// Whether the chooser takes parts that meet in the workspace in more than one round of CTAs. Where
/// it was tried it gained nothing (docs/log/sm90.md). A forced kernel may have as many rounds as
/// the workspace has slices for.
inline constexpr bool kPartsInRounds = false;

/// Whether the workspace has room for the slices of so many tiles.
bool slices_fit(const Question& q, const Geometry& t, const Sharing& s, std::int64_t tiles);

/// CTAs that run at once if they share leaves in this way.
int slots_for(const Sharing& s, int sms);

/// Whether the kernel of folds runs (leaves/fold_kernel.cuh): one CTA per tile, from +0, and in
/// large tiles from C. A tree of two leaves is a fold too: (+0 + l0) + l1 = l0 + l1, since no leaf
/// is -0.
bool folds(const Question& q, const Geometry& t, const Sharing& s);

/// Whether the kernel of trees in wide tiles runs (leaves/tree_kernel.cuh): one CTA per tile, more
/// than two leaves.
bool wide_tree(const Question& q, const Geometry& t, const Sharing& s);

/// The rule by which a kernel of fold and tree does not take the problem, whichever operand takes
/// the x side; or null.
const char* why_not_leaves(const Question& q, const Geometry& t, const Sharing& s);

/// Microseconds that the model expects, the counterpart of predicted_time for fold and tree.
double predicted_leaf_time(const Question& q, const Geometry& t, const Sharing& s, std::int64_t x,
                           std::int64_t y, bool swapped);

/// Leaves of a product; 0 for k = 0.
inline std::int64_t leaves_of(const Reduction& r, std::int64_t k) {
  return k == 0 ? 0 : detgemm::leaves_of(k, r.leaf_k);
}

/// Leaves of the largest part.
inline std::int64_t leaves_per_part(const Question& q, const Sharing& s) {
  return ceil_div(leaves_of(q.reduction, q.k), s.parts);
}

}  // namespace detgemm::cuda::sm90
