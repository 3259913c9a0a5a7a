// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/host/snapped.hpp"

#include <algorithm>
#include <limits>

#include "core/arithmetic/step.hpp"
#include "core/contract/snap3_copies.hpp"

namespace detgemm::cuda::snap {
namespace {

constexpr std::int64_t kLine = 64;  ///< elements: lines of copies start at multiples of 128 bytes
constexpr std::size_t kTooMany = std::numeric_limits<std::size_t>::max() / 8;

std::int64_t pitch_of(std::int64_t extent) { return ceil_div(extent, kLine) * kLine; }

/// Elements of a copy, whichever way memory runs, in bytes.
std::size_t copy_bytes(std::int64_t vectors, std::int64_t k) {
  if (vectors == 0 || k == 0) return 0;
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  if (vectors > kLargest || k > kLargest) return kTooMany;
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(pitch_of(vectors), pitch_of(k), &elements) ||
      static_cast<std::size_t>(elements) > kTooMany / 2) {
    return kTooMany;
  }
  return static_cast<std::size_t>(elements) * 2;
}

Snaps snaps_of(const LaunchOptions& options) {
  return {!options.a_is_snapped, !options.b_is_snapped};
}

/// The copy keeps the way in which memory runs, as far as the kernels read both ways: vectors of
/// which there is one, or of one number, run along k.
bool copy_runs_along(std::int64_t vectors, std::int64_t k, std::int64_t k_stride) {
  return k_stride == 1 || k <= 1 || vectors <= 1;
}

/// Where a copy is; a null workspace stands for an aligned address.
char* at(void* workspace, std::size_t offset) {
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(workspace) + offset);
}

/// Moves an operand of vectors, `vector` and `along` being its strides, to its copy.
Operand move(const void*& data, std::int64_t& vector, std::int64_t& along, std::int64_t vectors,
             const GemmArguments& g, char* to) {
  const bool runs_along = copy_runs_along(vectors, g.k, along);
  const std::int64_t to_vector = runs_along ? pitch_of(g.k) : 1;
  const std::int64_t to_k = runs_along ? 1 : pitch_of(vectors);
  const Operand o =
      operand(data, vector, along, to, to_vector, to_k, vectors, g.k, g.reduction.leaf_k);
  data = to;
  vector = vectors > 1 ? to_vector : 0;
  along = g.k > 1 ? to_k : 0;
  return o;
}

}  // namespace

Copied copied(Arithmetic arithmetic, const Reduction& reduction, std::int64_t k) {
  if (arithmetic != Arithmetic::snap3) return {k, reduction};
  const Snap3Copies copies = snap3_copies(k, reduction.leaf_k);
  return {copies.k, {reduction.kind, copies.leaf_k}};
}

std::size_t copies_bytes(std::int64_t max_m, std::int64_t n, std::int64_t k,
                         const LaunchOptions& options) {
  if (max_m == 0 || n == 0) return 0;
  const Snaps snaps = snaps_of(options);
  return (snaps.a ? copy_bytes(max_m, k) : 0) + (snaps.b ? copy_bytes(n, k) : 0);
}

Arithmetic arithmetic_of(const Contract& contract, const LaunchOptions& options) {
  if (options.forced < 0) {
    // On snapped operands every function that mma.sync has on some device returns the same sums.
    const bool by_mma = options.mma && !options.wgmma && arithmetic::is_snap(contract.arithmetic);
    return by_mma ? Arithmetic::hopper : cuda::multiplies(contract.arithmetic, options.wgmma);
  }
  const KernelInfo& forced = cuda::kernels(contract)[static_cast<std::size_t>(options.forced)];
  return row_of(forced.family).set == KernelSet::hopper ? Arithmetic::hopper : Arithmetic::ieee_fma;
}

SnappedCall::SnappedCall(const Problem& problem, const LaunchOptions& options, void* workspace)
    : call_{problem, options, workspace}, input_(problem.input) {
  GemmArguments& g = call_.problem.gemms.all;
  LaunchOptions& rest = call_.options;
  call_.problem.arithmetic = arithmetic_of(problem.contract(), options);
  call_.problem.input = DType::bf16;
  const Copied on_copies = copied(problem.arithmetic, g.reduction, g.k);
  const std::size_t copies = copies_bytes(g.m, g.n, on_copies.k, options);
  if (const KernelInfo* forced = forced_kernel(problem, options); forced != nullptr) {
    rest.forced = forced->index;
  }
  rest.workspace_bytes -= std::min(copies, rest.workspace_bytes);
  call_.workspace = at(workspace, copies);
  if (g.m == 0 || g.n == 0 || g.k == 0) return;
  snaps_ = snaps_of(options);
  if (problem.arithmetic == Arithmetic::snap3) {
    const Snap3Copies shape = snap3_copies(g.k, g.reduction.leaf_k);
    char* const b = at(workspace, copy_bytes(g.m, shape.k));
    splits_[0] = split_operand(g.a, input_, g.as.row, g.as.col, workspace, g.m, g.k, shape, true);
    splits_[1] = split_operand(g.b, input_, g.bs.col, g.bs.row, b, g.n, g.k, shape, false);
    g.a = workspace;
    g.b = b;
    g.as = {g.m > 1 ? shape.k : 0, 1};
    g.bs = {1, g.n > 1 ? shape.k : 0};
    g.k = on_copies.k;
    g.reduction = on_copies.reduction;
    rest.a_is_stable = rest.b_is_stable = false;
    return;
  }
  if (snaps_.a) {
    operands_[0] = move(g.a, g.as.row, g.as.col, g.m, g, at(workspace, 0));
    rest.a_is_stable = false;  // the copy has just been written
  }
  if (snaps_.b) {
    const std::size_t before = snaps_.a ? copy_bytes(g.m, g.k) : 0;
    operands_[1] = move(g.b, g.bs.col, g.bs.row, g.n, g, at(workspace, before));
    rest.b_is_stable = false;
  }
}

cudaError_t SnappedCall::snap(bool overlap) const {
  const LaunchOptions& options = call_.options;
  const Queue queue{options.stream, options.overlap && overlap};
  for (const Operand& o : operands_) {
    if (const auto e = enqueue(o, options.sms, queue); e != cudaSuccess) return e;
  }
  for (const SplitOperand& o : splits_) {
    if (const auto e = enqueue(o, input_, options.sms, queue); e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

std::vector<Decision> compiled(Family family) {
  std::vector<Decision> all;
  for (int i = 0; i < kVariantCount; ++i) {
    Decision d;
    d.family = family;
    d.kernel = i;
    all.push_back(d);
  }
  return all;
}

Kernel kernel_of(const Decision& d) { return kernel(d.kernel); }

std::string name(const Decision& d) {
  const Variant& v = kVariants[d.kernel];
  return std::string("snap/") + (v.along_k ? "along-k" : "across-k") +
         (v.longest == 0 ? "/any" : "/" + std::to_string(v.longest)) +
         (v.at_once == 1 ? "" : "x" + std::to_string(v.at_once)) + (v.lanes == 0 ? "" : "/groups");
}

std::vector<Decision> compiled_splits(Family family) {
  std::vector<Decision> all;
  for (const DType input : {DType::bf16, DType::fp32}) {
    for (int i = 0; i < kSplitCount; ++i) {
      Decision d;
      d.family = family;
      d.kernel = i;
      d.input = input;
      all.push_back(d);
    }
  }
  return all;
}

Kernel split_kernel_of(const Decision& d) { return split_kernel(d.kernel, d.input == DType::fp32); }

std::string split_name(const Decision& d) {
  const int longest = kSplitLeaves[d.kernel];
  return std::string("snap3/") + (d.input == DType::fp32 ? "fp32/" : "bf16/") +
         (longest == 0 ? "any" : std::to_string(longest));
}

}  // namespace detgemm::cuda::snap
