// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/operand_maps.hpp"
#include "cuda/sm90/pipeline/mainloop.cuh"
#include "tests/cuda/planted_delay.hpp"
#include "tests/cuda/ptx/barrier.cuh"

namespace detgemm::test {
namespace {

using namespace cuda::sm90;

/// What the main loop asks of a tile.
struct DelayedTile {
  static constexpr DType kInput = DType::bf16;
  static constexpr int kGroups = 1, kBlocks = 1, kN = 64, kDepth = 1, kCluster = 1;
  static constexpr bool kXMn = false, kYMn = false;
  static constexpr int kXBytes = 64 * kSpanBytes, kYBytes = kN * kSpanBytes;
  static constexpr int kStageBytes = kXBytes + kYBytes;
  static constexpr int kStages = 3, kEpilogueBytes = 0;
  static constexpr int kSharedBytes = kStages * kStageBytes + 16 * kStages + kSharedAlignment;
};
using T = DelayedTile;

/// Waits for a phase, but not for ever: a warp that has been overtaken by two phases would.
__device__ void wait_a_while(std::uint32_t barrier, std::uint32_t parity) {
  for (int i = 0; i < 20000; ++i) {
    if (ptx::mbarrier_test_wait(barrier, parity)) return;
    __nanosleep(20);
  }
}

/// The chain of run_chain, except that three warps sleep between a stage's arrival and their wgmma.
/// If one warp could finish its quarter before the others begin theirs, the stage would be refilled
/// under them, as it is with the fault.
template <HandBack kHow>
__device__ void run_late(const SharedLayout<T>& shared, int k_blocks, bool late,
                         Accumulators<T>& acc) {
  using Wgmma = ptx::Wgmma<T::kInput, T::kN, T::kXMn, T::kYMn>;
  RingCursor<T::kStages> cursor;
  int previous = -1;
#pragma unroll 1
  for (int block = 0; block < k_blocks; ++block) {
    wait_a_while(shared.full + 8 * cursor.stage, cursor.parity);
    if (kHow == HandBack::early) release<T>(shared, cursor.stage);
    if (late && threadIdx.x / 32 != 0) __nanosleep(2000);
    __syncwarp();
    ptx::wgmma_fence();
    const std::uint64_t x = ptx::descriptor(shared.x(cursor.stage), kSlabBytes);
    const std::uint64_t y = ptx::descriptor(shared.y(cursor.stage), kSlabBytes);
#pragma unroll
    for (int step = 0; step < kBlockK / 16; ++step) {
      constexpr std::uint64_t kStep = k16_step_bytes(false) >> 4;
      Wgmma::template run<false>(acc[0], x + step * kStep, y + step * kStep);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (kHow == HandBack::product && previous >= 0) release<T>(shared, previous);
    previous = cursor.stage;
    cursor.advance();
  }
  ptx::wgmma_wait<0>();
  ptx::pin(acc[0]);
}

/// Warp group 0 multiplies, and warp 4 copies.
template <HandBack kHow>
__global__ void __launch_bounds__(160, 1)
    delayed_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                   float* d, int k_blocks, bool late) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(shared.full + 8 * s, 1);
      ptx::mbarrier_init(shared.empty + 8 * s, 1);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (!ptx::elect_sync()) return;
    RingCursor<T::kStages> cursor;
    cursor.parity = 1;
    for (int block = 0; block < k_blocks; ++block) {
      const std::uint32_t full = shared.full + 8 * cursor.stage;
      wait_a_while(shared.empty + 8 * cursor.stage, cursor.parity);
      ptx::mbarrier_arrive_expect_tx(full, T::kStageBytes);
      ptx::tma_load(shared.x(cursor.stage), &x, block * kBlockK, 0, full);
      ptx::tma_load(shared.y(cursor.stage), &y, block * kBlockK, 0, full);
      cursor.advance();
    }
    return;
  }
  Accumulators<T> acc;
#pragma unroll
  for (int j = 0; j < T::kN / 2; ++j) acc[0][j] = 0.0F;
  run_late<kHow>(shared, k_blocks, late, acc);
  const int lane = threadIdx.x % 32;
  const int row = threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
  for (int j = 0; j < T::kN / 2; ++j) {
    const int column = j / 4 * 8 + lane % 4 * 2 + j % 2;
    d[(row + j / 2 % 2 * 8) * 64 + column] = acc[0][j];
  }
}

template <HandBack kHow>
cudaError_t launch(const CUtensorMap& x, const CUtensorMap& y, float* d, int k, bool late,
                   cudaStream_t stream) {
  const auto kernel = &delayed_kernel<kHow>;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::kSharedBytes);
  if (error != cudaSuccess) return error;
  kernel<<<1, 160, T::kSharedBytes, stream>>>(x, y, d, k / kBlockK, late);
  return cudaGetLastError();
}

}  // namespace

cudaError_t delayed_chain(const void* a, const void* b, float* d, int k, bool late, HandBack how,
                          cudaStream_t stream) {
  CUtensorMap x, y;
  for (const auto& [data, map] : {std::pair{a, &x}, std::pair{b, &y}}) {
    const Operand operand{data, 64, k, false};
    const cudaError_t error = make_map(operand, DType::bf16, k, 64, 1, map);
    if (error != cudaSuccess) return error;
  }
  return how == HandBack::early ? launch<HandBack::early>(x, y, d, k, late, stream)
                                : launch<HandBack::product>(x, y, d, k, late, stream);
}

}  // namespace detgemm::test
