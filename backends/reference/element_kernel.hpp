// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <Kokkos_Core.hpp>
#include <span>

#include "core/contract/compute_element.hpp"

namespace detgemm::reference {

/// The contract on any Kokkos execution space: one output a work item, the scalar definition.
/// Instantiated for the host here, and for Kokkos::Cuda or Kokkos::HIP where Kokkos has them.
template <class Space, Arithmetic A, DType T>
void launch_elements(const Space& space, const GemmArguments& g) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "detgemm::reference::elements", Policy(space, 0, g.m * g.n),
      KOKKOS_LAMBDA(std::int64_t i) { compute_element<A, T>(g, i / g.n, i % g.n); });
}

/// One root of a combine, as a kernel reads it.
struct Root {
  const float* data;
  Strides strides;
};

/// Joins `count` roots in tree order, then the epilogue. `roots` is memory of the space.
template <class Space>
void launch_combine(const Space& space, const GemmArguments& g, const Root* roots,
                    std::int64_t count) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "detgemm::reference::combine", Policy(space, 0, g.m * g.n), KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t row = i / g.n;
        const std::int64_t col = i % g.n;
        combine_element(g, row, col, count, [&](std::int64_t r) {
          return roots[r].data[row * roots[r].strides.row + col * roots[r].strides.col];
        });
      });
}

}  // namespace detgemm::reference
