// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/reference/snap3.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "backends/reference/element_kernel.hpp"

namespace detgemm::reference {
namespace {

using arithmetic::kSnap3Sums;
using arithmetic::snap3_bare;
using arithmetic::snap3_near;
using arithmetic::snap3_rest;

/// Longer leaves go by the definition.
constexpr std::int64_t kShort = 4096;
/// Waking a worker costs more than splitting this many numbers.
constexpr std::int64_t kSplitNumbersAWorker = 8192;

/// A leaf of one line, and where its three parts go.
struct Leaf {
  const void* from;
  std::int64_t step;
  std::int64_t count;
  std::uint16_t* to[kSnap3Sums];  ///< the first part, that without NaN and Inf, the second part
  std::int64_t padding;           ///< zeros behind each
};

template <DType T>
float number(const Leaf& leaf, std::int64_t i) {
  const auto* from = static_cast<const arithmetic::Storage<T>*>(leaf.from);
  return arithmetic::to_float<T>(from[i * leaf.step]);
}

/// Both parts in place, each snapped as a leaf by the instruction set's own kernel: a second
/// reading of the rule.
template <DType T>
void split_short(const TileSet& set, const Leaf& leaf) {
  const auto [first, bare, second] = leaf.to;
  const auto snap = [&](std::uint16_t* line) {
    SnapJob job;
    job.from = job.to = line;
    job.from_k = job.to_k = 1;
    job.lines = 1;
    job.count = leaf.count;
    set.snap(job);
  };
  for (std::int64_t i = 0; i < leaf.count; ++i) first[i] = snap3_near(number<T>(leaf, i));
  snap(first);
  for (std::int64_t i = 0; i < leaf.count; ++i) {
    bare[i] = snap3_bare(first[i]);
    second[i] = snap3_rest(number<T>(leaf, i), first[i]);
  }
  snap(second);
}

template <DType T>
void split(const TileSet& set, const Leaf& leaf) {
  for (std::uint16_t* to : leaf.to) std::fill_n(to + leaf.count, leaf.padding, std::uint16_t{0});
  if (leaf.count <= kShort) return split_short<T>(set, leaf);
  arithmetic::snap3_leaf(
      leaf.count, [&](std::int64_t i) { return number<T>(leaf, i); },
      [&](std::int64_t i, const arithmetic::Snap3Parts& parts) {
        leaf.to[0][i] = parts.first;
        leaf.to[1][i] = parts.bare;
        leaf.to[2][i] = parts.second;
      });
}

}  // namespace

void snap3_lines(const TileSet& set, const WideLines& from, bool of_a, const Snap3Copies& copies,
                 std::uint16_t* to, std::int64_t workers) {
  if (from.lines == 0 || from.k == 0) return;
  const std::int64_t needed = ceil_div(from.lines * from.k, kSplitNumbersAWorker);
  const auto size = static_cast<std::int64_t>(size_of(from.type));
  const auto work = [=, &set](std::int64_t i) {
    const std::int64_t line = i / copies.leaves;
    const std::int64_t begin = i % copies.leaves * copies.leaf_k;
    std::uint16_t* sums = to + line * copies.k + begin * kSnap3Sums;
    Leaf leaf;
    leaf.from =
        static_cast<const std::byte*>(from.data) + (line * from.line + begin * from.step) * size;
    leaf.step = from.step;
    leaf.count = std::min(copies.leaf_k, from.k - begin);
    leaf.padding = copies.leaf_k - leaf.count;
    leaf.to[0] = sums;
    leaf.to[1] = sums + (of_a ? 1 : 2) * copies.leaf_k;
    leaf.to[2] = sums + (of_a ? 2 : 1) * copies.leaf_k;
    from.type == DType::bf16 ? split<DType::bf16>(set, leaf) : split<DType::fp32>(set, leaf);
  };
  const Kokkos::DefaultHostExecutionSpace space;
  for_each_output("detgemm::reference::snap3", space, from.lines * copies.leaves,
                  std::min(workers, needed), work);
  space.fence();
}

}  // namespace detgemm::reference
