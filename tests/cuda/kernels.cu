// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tests/cuda/kernels.hpp"

namespace detgemm::test {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMaxBlocks = 8192;

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, kMaxBlocks));
}

__device__ std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }

template <class T>
__global__ void fill_kernel(Lines where, Draw draw) {
  // Neighbouring threads write elements that are neighbours in memory, along a line or across
  // lines.
  const bool along = where.strides.col == 1;
  const std::int64_t inner = along ? where.length : where.lines;
  const std::int64_t count = where.lines * where.length;
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const std::int64_t line = along ? i / inner : i % inner;
    const std::int64_t k = along ? i % inner : i / inner;
    static_cast<T*>(where.data)[line * where.strides.row + k * where.strides.col] =
        static_cast<T>(draw_element(draw, line, k));
  }
}

/// fp32 of any kind, or bytes of e8m0: near 1, and under Data::specials now and then 0 or NaN.
__global__ void scales_kernel(BlockScales s, Draw draw) {
  const std::int64_t blocks = s.stride == 0 ? 1 : s.blocks;
  const std::int64_t leaves = s.leaf_stride == 0 ? 1 : s.leaves;
  for (std::int64_t i = thread_index(); i < blocks * leaves; i += thread_count()) {
    const std::int64_t block = i / leaves, leaf = i % leaves;
    const std::int64_t at = block * s.stride + leaf * s.leaf_stride;
    auto* data = const_cast<void*>(s.data);
    if (s.type == ScaleType::fp32) {
      static_cast<std::uint32_t*>(data)[at] = draw_element(draw, block, leaf);
      continue;
    }
    const std::uint64_t r = mix(draw.key ^ mix(static_cast<std::uint64_t>(i)));
    const bool special = draw.data == Data::specials && r % 16 == 0;
    const int width = draw.data == Data::normal ? 8 : 240;
    const auto near = static_cast<std::uint8_t>(127 - width / 2 + (r >> 8) % width);
    static_cast<std::uint8_t*>(data)[at] = special ? ((r >> 16) % 2 != 0 ? 255 : 0) : near;
  }
}

/// Adds a thread's count, which is 0 in nearly all threads.
__device__ void add(unsigned long long* to, unsigned long long count) {
  if (count != 0) atomicAdd(to, count);
}

__global__ void bytes_kernel(Comparison c, Difference* out) {
  const auto* x = static_cast<const unsigned char*>(c.x);
  const auto* y = static_cast<const unsigned char*>(c.y);
  const auto bytes = static_cast<std::int64_t>(c.bytes);
  unsigned long long different = 0;
  for (std::int64_t i = thread_index(); i < bytes; i += thread_count()) different += x[i] != y[i];
  add(&out->bytes, different);
}

template <class T>
__global__ void outputs_kernel(Comparison c, Difference* out) {
  const auto* x = reinterpret_cast<const T*>(static_cast<const char*>(c.x) + c.first);
  const auto* y = reinterpret_cast<const T*>(static_cast<const char*>(c.y) + c.first);
  const bool by_row = c.strides.col == 1 || c.cols == 1;
  unsigned long long elements = 0, bytes = 0, nans = 0, first = ~0ULL;
  const std::uint32_t canonical = sizeof(T) == 4 ? arithmetic::kNaNBits : 0x7fffU;
  for (std::int64_t i = thread_index(); i < c.rows * c.cols; i += thread_count()) {
    const std::int64_t row = by_row ? i / c.cols : i % c.rows;
    const std::int64_t col = by_row ? i % c.cols : i / c.rows;
    const std::int64_t at = row * c.strides.row + col * c.strides.col;
    nans += y[at] == static_cast<T>(canonical);
    std::uint32_t different = static_cast<std::uint32_t>(x[at]) ^ static_cast<std::uint32_t>(y[at]);
    if (different == 0) continue;
    ++elements;
    for (; different != 0; different >>= 8) bytes += (different & 0xffU) != 0;
    const auto index = static_cast<unsigned long long>(row * c.cols + col);
    first = index < first ? index : first;
  }
  add(&out->elements, elements);
  add(&out->bytes_inside, bytes);
  add(&out->nans, nans);
  if (first != ~0ULL) atomicMin(&out->first, first);
}

__global__ void checksum_kernel(const unsigned char* range, std::size_t bytes,
                                unsigned long long* out) {
  unsigned long long sum = 0;
  for (std::int64_t i = thread_index(); i < static_cast<std::int64_t>(bytes); i += thread_count()) {
    sum += mix(static_cast<std::uint64_t>(i) * 256 + range[i]);
  }
  add(out, sum);
}

__global__ void poke_kernel(std::uint8_t* byte, std::uint8_t mask) { *byte ^= mask; }

}  // namespace

cudaError_t fill(const Lines& where, const Draw& draw, cudaStream_t stream) {
  const std::int64_t count = where.lines * where.length;
  if (count == 0) return cudaSuccess;
  if (draw.type == DType::fp32) {
    fill_kernel<std::uint32_t><<<blocks_for(count), kThreads, 0, stream>>>(where, draw);
  } else if (draw.type == DType::e4m3) {
    fill_kernel<std::uint8_t><<<blocks_for(count), kThreads, 0, stream>>>(where, draw);
  } else {
    fill_kernel<std::uint16_t><<<blocks_for(count), kThreads, 0, stream>>>(where, draw);
  }
  return cudaGetLastError();
}

cudaError_t fill_scales(const BlockScales& scales, const Draw& draw, cudaStream_t stream) {
  if (scales.blocks * scales.leaves == 0) return cudaSuccess;
  scales_kernel<<<blocks_for(scales.blocks * scales.leaves), kThreads, 0, stream>>>(scales, draw);
  return cudaGetLastError();
}

cudaError_t compare(const Comparison& c, Difference* out, cudaStream_t stream) {
  bytes_kernel<<<blocks_for(static_cast<std::int64_t>(c.bytes)), kThreads, 0, stream>>>(c, out);
  const unsigned blocks = blocks_for(c.rows * c.cols);
  if (c.type == DType::fp32) {
    outputs_kernel<std::uint32_t><<<blocks, kThreads, 0, stream>>>(c, out);
  } else {
    outputs_kernel<std::uint16_t><<<blocks, kThreads, 0, stream>>>(c, out);
  }
  return cudaGetLastError();
}

cudaError_t checksum(const void* range, std::size_t bytes, unsigned long long* out,
                     cudaStream_t stream) {
  checksum_kernel<<<blocks_for(static_cast<std::int64_t>(bytes)), kThreads, 0, stream>>>(
      static_cast<const unsigned char*>(range), bytes, out);
  return cudaGetLastError();
}

cudaError_t poke(void* byte, std::uint8_t mask, cudaStream_t stream) {
  poke_kernel<<<1, 1, 0, stream>>>(static_cast<std::uint8_t*>(byte), mask);
  return cudaGetLastError();
}

}  // namespace detgemm::test
