// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/planted.hpp"

namespace detgemm::test {
namespace {

using namespace arithmetic;

__device__ float flushed(float v) {
  return (bits_of(v) & 0x7f800000U) == 0 ? float_of(bits_of(v) & 0x80000000U) : v;
}

template <Fault kFault>
__global__ void planted_kernel(GemmArguments g) {
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = blockIdx.y;
  if (col >= g.n) return;
  const auto* a = static_cast<const float*>(g.a) + row * g.as.row;
  const auto* b = static_cast<const float*>(g.b) + col * g.bs.col;
  const auto x = [&](std::int64_t k) { return a[k * g.as.col]; };
  const auto y = [&](std::int64_t k) { return b[k * g.bs.row]; };
  const auto leaf = [&](std::int64_t begin, std::int64_t end, float acc) {
    float other = 0.0F;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t k = kFault == Fault::descending_k ? end - 1 - (i - begin) : i;
      if (kFault == Fault::unfused) {
        acc = add_rn(acc, mul_rn(x(k), y(k)));
      } else if (kFault == Fault::two_chains && k % 2 != 0) {
        other = fma_rn(x(k), y(k), other);
      } else if (kFault == Fault::flushed) {
        acc = flushed(fma_rn(flushed(x(k)), flushed(y(k)), acc));
      } else {
        acc = fma_rn(x(k), y(k), acc);
      }
    }
    return kFault == Fault::two_chains ? add_rn(acc, other) : acc;
  };
  Reduction reduction = g.reduction;
  if (kFault == Fault::one_leaf) reduction = {};
  if (kFault == Fault::late_leaf && reduction.leaf_k > 0) ++reduction.leaf_k;
  if (kFault == Fault::fold_for_tree) reduction.kind = ReductionKind::fold;
  static_cast<float*>(g.d)[row * g.n + col] = reduce_leaves(reduction, g.k, 0.0F, leaf);
}

template <Fault kFault>
cudaError_t launch(const GemmArguments& g, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((g.n + 127) / 128), static_cast<unsigned>(g.m));
  planted_kernel<kFault><<<grid, 128, 0, stream>>>(g);
  return cudaGetLastError();
}

}  // namespace

const char* name(Fault fault) {
  constexpr const char* names[kFaults] = {"none",     "descending k", "two chains",    "unfused",
                                          "one leaf", "late leaf",    "fold for tree", "flushed"};
  return names[static_cast<int>(fault)];
}

cudaError_t planted_gemm(const GemmArguments& g, Fault fault, cudaStream_t stream) {
  switch (fault) {
    case Fault::none:
      return launch<Fault::none>(g, stream);
    case Fault::descending_k:
      return launch<Fault::descending_k>(g, stream);
    case Fault::two_chains:
      return launch<Fault::two_chains>(g, stream);
    case Fault::unfused:
      return launch<Fault::unfused>(g, stream);
    case Fault::one_leaf:
      return launch<Fault::one_leaf>(g, stream);
    case Fault::late_leaf:
      return launch<Fault::late_leaf>(g, stream);
    case Fault::fold_for_tree:
      return launch<Fault::fold_for_tree>(g, stream);
    case Fault::flushed:
      return launch<Fault::flushed>(g, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace detgemm::test
