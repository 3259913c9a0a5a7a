// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "core/arithmetic/floating_point_mode.hpp"
#include "core/contract/compute_element.hpp"

namespace detgemm::reference {

/// Kokkos has at most one space on a device, and that is then its default.
template <class Space>
inline constexpr bool kIsHost =
    std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace> ||
    !std::is_same_v<Space, Kokkos::DefaultExecutionSpace>;

/// Where piece `i` begins when `total` is cut into `pieces` whose sizes differ by at most 1.
DETGEMM_HD std::int64_t piece_begin(std::int64_t total, std::int64_t pieces, std::int64_t i) {
  const std::int64_t extra = total % pieces;
  return i * (total / pieces) + (i < extra ? i : extra);
}

/// A range item's share of the outputs, one after another.
template <class Body>
struct Pieces {
  Body body;
  std::int64_t total, pieces;

  KOKKOS_FUNCTION void operator()(std::int64_t piece) const {
    const std::int64_t end = piece_begin(total, pieces, piece + 1);
    for (std::int64_t i = piece_begin(total, pieces, piece); i < end; ++i) body(i);
  }
};

/// The same on a thread of the host, whose floating-point mode is the caller's or a worker's own.
template <class Body>
struct PiecesInOwnMode {
  Pieces<Body> pieces;

  void operator()(std::int64_t piece) const {
    const arithmetic::FloatingPointMode ieee;
    arithmetic::apart(pieces, piece);
  }
};

/// `body(i)` for every i < total, as at most `items` range items, which no more than that many
/// threads can share; 0: one item per output. A single item of a host space runs on the calling
/// thread.
template <class Space, class Body>
void for_each_output(const char* label, const Space& space, std::int64_t total, std::int64_t items,
                     const Body& body) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const Pieces<Body> pieces{body, total, items > 0 && items < total ? items : total};
  const Policy policy(space, 0, pieces.pieces);
  if constexpr (kIsHost<Space>) {
    const PiecesInOwnMode<Body> own{pieces};
    if (pieces.pieces == 1) return own(0);
    Kokkos::parallel_for(label, policy, own);
  } else {
    Kokkos::parallel_for(label, policy, pieces);
  }
}

/// One output, by the scalar definition.
template <Arithmetic A, DType T>
struct Element {
  GemmArguments g;
  ScalePair scales;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    compute_element<A, T>(g, scales, i / g.n, i % g.n);
  }
};

/// The contract on any Kokkos execution space.
template <class Space, Arithmetic A, DType T>
void launch_elements(const Space& space, const GemmArguments& g, const ScalePair& scales,
                     std::int64_t items = 0) {
  for_each_output("detgemm::reference::elements", space, g.m * g.n, items,
                  Element<A, T>{g, scales});
}

/// One root of a combine, as a kernel reads it.
struct Root {
  const float* data;
  Strides strides;
  int closes;  ///< nodes of the tree that end with it
};

/// Roots in memory of the space.
struct RootsInMemory {
  const Root* list;
  DETGEMM_HD const Root& operator[](std::int64_t i) const { return list[i]; }
};

/// A few roots that travel with the kernel's arguments.
inline constexpr std::int64_t kRootsByValue = 6;
struct RootsByValue {
  Root list[kRootsByValue];
  DETGEMM_HD const Root& operator[](std::int64_t i) const { return list[i]; }
};

/// One output of a combine: the roots in tree order, then the epilogue.
template <class Roots>
struct Combined {
  GemmArguments g;
  Roots roots;
  std::int64_t count;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t row = i / g.n;
    const std::int64_t col = i % g.n;
    combine_element(
        g, row, col, count,
        [&](std::int64_t r) {
          return roots[r].data[row * roots[r].strides.row + col * roots[r].strides.col];
        },
        [&](std::int64_t r) { return roots[r].closes; });
  }
};

/// Adds `count` roots in tree order, then applies the epilogue.
template <class Space, class Roots>
void launch_combine(const Space& space, const GemmArguments& g, const Roots& roots,
                    std::int64_t count, std::int64_t items = 0) {
  for_each_output("detgemm::reference::combine", space, g.m * g.n, items,
                  Combined<Roots>{g, roots, count});
}

}  // namespace detgemm::reference
