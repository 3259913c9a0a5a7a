// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// tile_speed: kernels of single tiles, timed by themselves, for experiments. A full build takes
// minutes; this one compiles what main() names, in about one, and links the host code that it
// calls. Edit a kernel, add a line, run:
//
//     cmake --build build/cuda-sm90 --target detgemm_cuda_tile_speed &&
//     tests/cuda/detgemm_cuda_tile_speed
//
// For each problem and kernel: microseconds per launch (median of nine rounds over three sets of
// operands), TFLOP/s, the stages of its ring, and how many 16-bit outputs of the first set differ
// from those of the first kernel of the same contract. Operands are random; scales are too.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "cuda/kernel.hpp"
#include "cuda/sm90/chain/kernel.cuh"
#include "cuda/sm90/fp8/kernel.cuh"
#include "cuda/sm90/host/operand_maps.hpp"
#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/leaves/fold_kernel.cuh"
#include "cuda/sm90/leaves/kernel.cuh"

namespace detgemm::cuda::sm90 {
namespace {

constexpr int kSets = 3;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Random bf16 of both signs around 1, or e4m3 without NaN.
__global__ void fill(std::uint16_t* to, std::size_t count, unsigned seed, bool fp8) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    unsigned h = static_cast<unsigned>(i) * 2654435761U + seed;
    h ^= h >> 15;
    h *= 2246822519U;
    h ^= h >> 13;
    to[i] = static_cast<std::uint16_t>(fp8 ? (h & 0x8f8fU) | 0x3030U : (h & 0x80ffU) | 0x3f00U);
  }
}
__global__ void fill_scales(float* to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    to[i] = 0.5F + static_cast<float>((i * 2654435761U >> 8) & 0xffffU) / 65536.0F;
  }
}

/// D = A * B^T for row-major A (m, k), B (n, k) and bf16 D (m, n), on the device.
struct Problem16 {
  std::int64_t m, n, k;
  DType type;
  std::array<void*, kSets> a{}, b{};
  void* d = nullptr;
  float *row_scales = nullptr, *block_scales = nullptr;
  std::map<std::string, std::vector<std::uint16_t>> first;  ///< outputs, by contract

  Problem16(std::int64_t m_, std::int64_t n_, std::int64_t k_, DType type_)
      : m(m_), n(n_), k(k_), type(type_) {
    const bool fp8 = type == DType::e4m3;
    const auto numbers = [&](std::int64_t rows, unsigned seed) {
      const auto count = static_cast<std::size_t>(rows * k) / (fp8 ? 2 : 1);
      void* to = nullptr;
      check(cudaMalloc(&to, count * 2), "operands");
      fill<<<528, 256>>>(static_cast<std::uint16_t*>(to), count, seed, fp8);
      return to;
    };
    for (unsigned i = 0; i < kSets; ++i) {
      a[i] = numbers(m, 7 + i);
      b[i] = numbers(n, 77 + i);
    }
    check(cudaMalloc(&d, static_cast<std::size_t>(m * n) * 2), "D");
    const auto leaves = static_cast<std::size_t>(ceil_div(k, std::int64_t{128}));
    const std::size_t rows = static_cast<std::size_t>(m) * leaves;
    const std::size_t blocks = static_cast<std::size_t>(ceil_div(n, std::int64_t{128})) * leaves;
    check(cudaMalloc(&row_scales, rows * 4), "scales");
    check(cudaMalloc(&block_scales, blocks * 4), "scales");
    fill_scales<<<528, 256>>>(row_scales, rows);
    fill_scales<<<528, 256>>>(block_scales, blocks);
  }
  ~Problem16() {
    for (int i = 0; i < kSets; ++i) {
      cudaFree(a[static_cast<std::size_t>(i)]);
      cudaFree(b[static_cast<std::size_t>(i)]);
    }
    for (void* each : {d, static_cast<void*>(row_scales), static_cast<void*>(block_scales)}) {
      cudaFree(each);
    }
  }
  Problem16(const Problem16&) = delete;
  Problem16& operator=(const Problem16&) = delete;
};

/// Times one kernel of tile T, whose arguments are maps, shape, GemmArguments and `rest`.
template <class T, class... Rest>
void time_kernel(Problem16& p, const std::string& contract, const void* function, Rest... rest) {
  constexpr Geometry t = T::kGeometry;
  const Kernel kernel{function, T::kThreads, T::kSharedBytes, T::kCluster};
  check(
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, T::kSharedBytes),
      "shared memory");
  const bool fp8 = p.type == DType::e4m3;
  const int span = fp8 ? 128 : 64;
  GemmArguments g;
  g.m = p.m, g.n = p.n, g.k = p.k, g.d = p.d, g.ds = {p.n, 1}, g.output = DType::bf16;
  LaunchShape shape;
  shape.raster.tiles_x = static_cast<int>(ceil_div(p.m, std::int64_t{t.x()} * t.cluster_x()));
  shape.raster.tiles_y = static_cast<int>(ceil_div(p.n, std::int64_t{t.n} * t.cluster_y()));
  shape.raster.group = std::min(shape.raster.tiles_x, 12);
  shape.x_rows = static_cast<int>(p.m), shape.y_rows = static_cast<int>(p.n);
  shape.x_last = shape.y_last = 1 << 30;
  shape.x_stage_bytes = t.x() * 128, shape.y_stage_bytes = t.n * 128;
  shape.k_blocks = static_cast<int>(ceil_div(p.k, std::int64_t{span}));
  shape.d_y_contiguous = shape.in_registers = shape.d_by_tma = true;
  std::array<LaunchMaps, kSets> maps;
  for (std::size_t i = 0; i < kSets; ++i) {
    const auto operand = [&](const void* data, std::int64_t rows, int box, CUtensorMap* map) {
      TensorShape s;
      s.data = data, s.type = p.type, s.rank = 2;
      s.extent[0] = static_cast<std::uint64_t>(p.k), s.extent[1] = static_cast<std::uint64_t>(rows);
      s.stride[0] = static_cast<std::uint64_t>(p.k * (fp8 ? 1 : 2));
      s.box[0] = static_cast<std::uint32_t>(span), s.box[1] = static_cast<std::uint32_t>(box);
      check(encode(s, map), "a tensor map");
    };
    operand(p.a[i], p.m, t.x_share(), &maps[i].x);
    operand(p.b[i], p.n, t.y_share(), &maps[i].y);
    const Sides q{
        {nullptr, p.m, p.k, false}, {nullptr, p.n, p.k, false}, p.k, p.n, 1, false, false, false};
    check(make_output_map(g, q, t, &maps[i].d, T::kDSlab == t.d_slab()), "the map of D");
  }
  int sms = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "the device");
  const int grid = T::kCluster * std::min(shape.raster.tiles(), sms / T::kCluster);
  const auto run = [&](int i) {
    void* arguments[] = {&maps[static_cast<std::size_t>(i % kSets)], &shape, &g, &rest...};
    check(launch(kernel, grid, {nullptr, false}, arguments), "a launch");
  };
  run(0);
  check(cudaDeviceSynchronize(), "the first launch");
  std::vector<std::uint16_t> out(static_cast<std::size_t>(p.m * p.n));
  check(cudaMemcpy(out.data(), p.d, out.size() * 2, cudaMemcpyDeviceToHost), "D");
  std::vector<std::uint16_t>& wanted = p.first[contract];
  if (wanted.empty()) wanted = out;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < out.size(); ++i) differ += out[i] != wanted[i] ? 1 : 0;
  const double flops =
      2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const int count = std::max(4, static_cast<int>(2e12 / flops));
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> took(9);
  for (float& each : took) {
    cudaEventRecord(begin);
    for (int i = 0; i < count; ++i) run(i);
    cudaEventRecord(end);
    check(cudaEventSynchronize(end), "a round");
    cudaEventElapsedTime(&each, begin, end);
  }
  std::nth_element(took.begin(), took.begin() + 4, took.end());
  const double us = took[4] * 1e3 / count;
  std::printf("%-10s %-22s %9.1f us %8.1f TFLOP/s  %2d stages  %zu differ\n", contract.c_str(),
              name(t).c_str(), us, flops / us * 1e-6, T::kStages, differ);
  std::fflush(stdout);
}

template <Geometry kG>
void chain(Problem16& p) {
  using T = Tile<DType::bf16, kG, false, false>;
  time_kernel<T>(p, "chain", reinterpret_cast<const void*>(&chain_kernel<T>));
}
LeafShape leaves_of(const Problem16& p, int leaf, bool tree) {
  LeafShape s;
  s.leaf_blocks = leaf / kBlockK;
  s.leaves = static_cast<int>(ceil_div(p.k, std::int64_t{leaf}));
  s.tree = tree;
  return s;
}
template <Geometry kG>
void fold(Problem16& p, int leaf) {
  using T = FoldTile<DType::bf16, kG, false, false>;
  time_kernel<T>(p, "fold:" + std::to_string(leaf), reinterpret_cast<const void*>(&fold_kernel<T>),
                 leaves_of(p, leaf, false));
}
/// The general kernel, for trees whose sums need no workspace.
template <Geometry kG>
void tree(Problem16& p, int leaf) {
  using T = LeafTile<DType::bf16, kG, false, false, true>;
  LeafShape s = leaves_of(p, leaf, true);
  s.levels = s.shared_levels = run_levels(s.leaves);
  if (s.levels > T::kSlots) return;
  time_kernel<T>(p, "tree:" + std::to_string(leaf), reinterpret_cast<const void*>(&leaf_kernel<T>),
                 s);
}
template <Geometry kG, Join kJoin>
void e4m3(Problem16& p, bool is_chain = false) {
  using T = Fp8Tile<kG, kJoin>;
  Fp8Shape s;
  const std::int64_t leaves = ceil_div(p.k, std::int64_t{128});
  s.leaf_blocks = is_chain ? static_cast<int>(leaves) : 1;
  if constexpr (T::kScaled) {
    s.x = {p.row_scales, 1, p.m, 0, false};
    s.y = {p.block_scales, leaves, 1, 7, false};
    s.in_rows = kJoin == Join::one && p.m % 4 == 0;
  }
  const char* contract = T::kScaled ? "scaled:128" : is_chain ? "chain" : "fold:128";
  time_kernel<T>(p, contract, reinterpret_cast<const void*>(&fp8_kernel<T>), s);
}

void run_all() {
  using namespace geometry;
  using Size = std::array<std::int64_t, 3>;
  for (const auto& [m, n, k] : {Size{4096, 4096, 4096}, {1536, 7168, 18432}}) {
    std::printf("%lld x %lld x %lld\n", static_cast<long long>(m), static_cast<long long>(n),
                static_cast<long long>(k));
    {
      Problem16 p(m, n, k, DType::bf16);
      chain<tile(2, 1, 256)>(p);
      chain<tile(2, 1, 128)>(p);
      fold<tile(2, 1, 128)>(p, 128);
      fold<tile(2, 1, 192)>(p, 128);
      fold<pair(2, 1, 128, true)>(p, 128);
      tree<tile(2, 1, 128)>(p, 1024);
    }
    Problem16 p(m, n, k, DType::e4m3);
    e4m3<tile(2, 1, 128), Join::add>(p, true);
    e4m3<tile(2, 1, 128), Join::add>(p);
    e4m3<tile(2, 1, 192), Join::add>(p);
    e4m3<tile(2, 1, 128), Join::one>(p);
    e4m3<tile(2, 1, 192), Join::one>(p);
    e4m3<pair(2, 2, 128, true), Join::one>(p);
  }
}

}  // namespace
}  // namespace detgemm::cuda::sm90

int main() {
  detgemm::cuda::sm90::run_all();
  return 0;
}
