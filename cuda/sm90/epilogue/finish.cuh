// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/activated.cuh"
#include "cuda/sm90/epilogue/general.cuh"
#include "cuda/sm90/epilogue/registers.cuh"

namespace detgemm::cuda::sm90 {

/// From the accumulators of a tile to D. Which of the ways it goes is decided on the host, for all
/// tiles alike:
///
///   accumulators -> [alpha, C, bias, relu in registers] -> [activation] -> boxes -> TMA -> D
///                                                       `> pieces, any epilogue, stores -> D
///
/// `z`: the matrix of D's map, in kernels over groups. In tiles that load few rows, the pieces
/// share out an activation between all threads, which chunks would leave to one warp.
template <class T>
__device__ __forceinline__ void finish(const SharedLayout<T>& shared, const LaunchMaps& maps,
                                       const LaunchShape& shape, const GemmArguments& g, int group,
                                       RingCursor<T::kStages>& cursor, TileBias<T>& bias,
                                       int& box_index, int x0, int y0, Accumulators<T>& acc,
                                       int z = 0) {
  if (shape.finishes) finish_in_registers<T>(shared, shape, g, group, cursor, bias, x0, y0, acc);
  const Activation activation = g.epilogue.activation;
  const bool activates = takes_chunks(activation);
  if constexpr (!Pieces<T>::kOfGroup) {
    if (shape.d_by_tma && activates) {
      store_activated<T>(shared, maps.d, shape, activation, group, box_index, acc, x0, y0, z);
      return;
    }
  }
  if (shape.d_by_tma && !activates) {
    store_plain<T>(shared, maps.d, shape, group, box_index, acc, x0, y0, z);
  } else {
    finish_general<T>(shared, g, shape, group, x0, y0, acc);
  }
}

}  // namespace detgemm::cuda::sm90
