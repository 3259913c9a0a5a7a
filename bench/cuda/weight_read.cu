// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A pure read of the weights by TMA: boxes of 64 rows by 64 elements (8 KB) into a ring, no math.

#include <cuda.h>

#include <algorithm>
#include <cstring>

#include "bench/cuda/check.hpp"
#include "bench/cuda/weight_read.hpp"

namespace detgemm::bench {
namespace {

constexpr int kBoxRows = 64;
constexpr int kBoxCols = 64;
constexpr int kBoxBytes = kBoxRows * kBoxCols * 2;
constexpr int kMaxBoxes = 24;

__device__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void barrier_init(std::uint32_t barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

__device__ void barrier_expect(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

__device__ void load_box(std::uint32_t to, const CUtensorMap* map, int row, int block,
                         std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(map), "r"(0), "r"(row), "r"(block), "r"(barrier)
      : "memory");
}

/// One lane of a converged warp. Written so, ptxas keeps the TMA's operands uniform; a test of the
/// thread's number costs 20 % more per TMA.
__device__ bool elect_one() {
  std::uint32_t elected = 0;
  asm volatile(
      "{\n.reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(elected));
  return elected != 0;
}

/// Each CTA reads a contiguous run of boxes, along K first, as a kernel with math would.
__global__ void __launch_bounds__(32)
    read_boxes(const __grid_constant__ CUtensorMap map, int boxes_k, long boxes, int ring) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(8) std::uint64_t barriers[kMaxBoxes];
  const long begin = boxes * blockIdx.x / gridDim.x;
  const int count = static_cast<int>(boxes * (blockIdx.x + 1) / gridDim.x - begin);
  if (!elect_one()) return;
  for (int i = 0; i < ring; ++i) barrier_init(shared_address(&barriers[i]));
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const std::uint32_t ring_at = (shared_address(memory) + 1023) & ~1023U;
  int row = static_cast<int>(begin / boxes_k);
  int block = static_cast<int>(begin % boxes_k);
  const auto issue = [&](int slot) {
    const std::uint32_t barrier = shared_address(&barriers[slot]);
    barrier_expect(barrier, kBoxBytes);
    load_box(ring_at + slot * kBoxBytes, &map, row * kBoxRows, block, barrier);
    if (++block == boxes_k) {
      block = 0;
      ++row;
    }
  };
  const int first = count < ring ? count : ring;
  for (int i = 0; i < first; ++i) issue(i);
  // Weights are stable, so they were asked for before this; anything else would come after it.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  int slot = 0;
  std::uint32_t parity = 0;
  for (int i = 0; i < count; ++i) {
    barrier_wait(shared_address(&barriers[slot]), parity);
    if (i + ring < count) issue(slot);
    if (++slot == ring) {
      slot = 0;
      parity ^= 1U;
    }
  }
}

CUtensorMap map_of(const void* weights, std::int64_t rows, std::int64_t cols) {
  static const auto encode = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                           cudaEnableDefault, &found),
          "cuTensorMapEncodeTiled");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  }();
  CUtensorMap map{};
  const auto pitch = static_cast<cuuint64_t>(cols * 2);
  const cuuint64_t extents[3] = {kBoxCols, static_cast<cuuint64_t>(rows),
                                 static_cast<cuuint64_t>(cols / kBoxCols)};
  const cuuint64_t strides[2] = {pitch, kBoxCols * 2};
  const cuuint32_t box[3] = {kBoxCols, kBoxRows, 1};
  const cuuint32_t steps[3] = {1, 1, 1};
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void*>(weights), extents,
             strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) throw std::runtime_error("tensor map of the pure read refused");
  return map;
}

}  // namespace

Arm weight_read(const std::string& name, const Problem& problem, const Buffers& buffers,
                int ring_kib) {
  int device = 0;
  int sms = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "SM count");
  const int ring = std::min(ring_kib * 1024 / kBoxBytes, kMaxBoxes);
  const int shared = ring * kBoxBytes + 1024;
  check(cudaFuncSetAttribute(read_boxes, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kMaxBoxes * kBoxBytes + 1024),
        "shared memory of the pure read");
  Arm arm;
  arm.name = name;
  arm.detail =
      std::to_string(ring_kib) + " KiB in flight on each of " + std::to_string(sms) + " SMs";
  arm.enqueue = [=, &buffers](Stream stream, int call) {
    const CUtensorMap map = map_of(buffers.at(problem, call).b, problem.n, problem.k);
    const int boxes_k = static_cast<int>(problem.k / kBoxCols);
    const long boxes = static_cast<long>(problem.n / kBoxRows) * boxes_k;
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(sms));
    config.blockDim = dim3(32);
    config.dynamicSmemBytes = static_cast<std::size_t>(shared);
    config.stream = cuda_stream(stream);
    config.attrs = &overlap;
    config.numAttrs = 1;
    return status_of(cudaLaunchKernelEx(&config, read_boxes, map, boxes_k, boxes, ring));
  };
  return arm;
}

}  // namespace detgemm::bench
