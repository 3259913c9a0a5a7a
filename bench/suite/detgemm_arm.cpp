// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// detgemm through the public interface: what an application gets, host checks included.

#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bench/suite/device.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/snap.hpp"

namespace detgemm::bench {
namespace {

template <class T>
T required(Result<T> result) {
  if (!result) throw std::runtime_error(result.status().message());
  return std::move(result).value();
}

/// Copies of an operand that are snapped for leaves of leaf_k, by where the operand lies: calls
/// step through a pool, so there is one for each of its places.
class SnappedCopies {
 public:
  /// `view_of(call)` is the operand of a call, packed and row-major.
  template <class ViewOf>
  void make(const Backend& backend, const SnapSpec& spec, const ViewOf& view_of) {
    Device& device = backend.device();
    const Stream stream{device.kind(), nullptr};
    for (int call = 0;; ++call) {
      const ConstMatrix from = view_of(call);
      if (copies_.contains(from.data)) break;
      const auto bytes = static_cast<std::size_t>(from.rows * from.cols) * size_of(from.dtype);
      const std::shared_ptr<void> memory(required(device.allocate(bytes)),
                                         [&device](void* p) { device.release(p); });
      copies_[from.data] = memory;
      const Status snapped = snap(backend, stream, spec, from,
                                  row_major(memory.get(), from.rows, from.cols, from.dtype));
      if (!snapped) throw std::runtime_error(snapped.message());
    }
    const Status done = device.synchronize(stream);
    if (!done) throw std::runtime_error(done.message());
  }
  /// Where the copy of the operand at `data` lies; where it has none, `data`.
  const void* of(const void* data) const {
    const auto copy = copies_.find(data);
    return copy == copies_.end() ? data : copy->second.get();
  }

 private:
  std::map<const void*, std::shared_ptr<void>> copies_;
};

/// Scales for a contract of `scaled`: 1 x LEAF for A, leaf by leaf, and 128 x LEAF for B, block by
/// block. A scale is made from its block and leaf alone, so row 0 has the same ones in any batch.
/// Every call reads the same ones.
struct Scales {
  BlockScales a, b;
  std::shared_ptr<void> memory;

  Scales(Device& device, const Gemm& g, std::int64_t leaf_k) {
    const std::int64_t leaves = (g.k + leaf_k - 1) / leaf_k;
    const std::int64_t blocks = (g.n + 127) / 128;
    std::vector<float> host(static_cast<std::size_t>(leaves * (g.m + blocks)));
    const auto bytes = host.size() * sizeof(float);
    memory.reset(required(device.allocate(bytes)), [&device](void* p) { device.release(p); });
    auto* const of_b = static_cast<float*>(memory.get()) + leaves * g.m;
    a = {memory.get(), ScaleType::fp32, 1, g.m, leaves, 1, g.m};
    b = {of_b, ScaleType::fp32, 128, blocks, leaves, leaves, 1};
    const auto fill = [&](float* to, const BlockScales& s) {
      for (std::int64_t block = 0; block < s.blocks; ++block) {
        for (std::int64_t leaf = 0; leaf < s.leaves; ++leaf) {
          to[block * s.stride + leaf * s.leaf_stride] = bench_scale(block, leaf);
        }
      }
    };
    fill(host.data(), a);
    fill(host.data() + leaves * g.m, b);
    const Status copied = device.to_device(memory.get(), host.data(), bytes);
    if (!copied) throw std::runtime_error(copied.message());
  }
};

}  // namespace

float bench_scale(std::int64_t block, std::int64_t leaf) {
  return 0x1p-6F + static_cast<float>((block * 37 + leaf * 11) % 128) * 0x1p-13F;
}

GemmSpec spec_of(const Problem& problem, const Contract& contract) {
  const Gemm g = gemm_of(problem);
  GemmSpec spec;
  spec.n = g.n;
  spec.k = g.k;
  spec.contract = contract;
  spec.continue_from_c = problem.accumulate;
  if (problem.extra == Extra::beta) spec.beta = 1.0F;
  if (has_bias(problem.extra)) spec.bias = output_of(problem);
  if (problem.extra == Extra::bias_relu) spec.activation = Activation::relu;
  if (problem.extra == Extra::bias_gelu_tanh) spec.activation = Activation::gelu_tanh;
  spec.op_a = g.a_transposed ? Op::transpose : Op::none;
  spec.op_b = g.b_transposed ? Op::transpose : Op::none;
  return spec;
}

Arm detgemm_arm(const BenchDevice& device, const ContractArm& what, const Problem& problem,
                int threads, const Buffers& buffers, std::size_t* workspace_bytes) {
  const Gemm g = gemm_of(problem);
  const PlanOptions options{what.variant, threads, what.stable, what.serial_launch, what.tuning};
  GemmSpec spec = spec_of(problem, what.contract);
  spec.a_snapped = what.a_snapped;
  spec.b_snapped = what.b_snapped;
  const Plan plan = required(Plan::create(device.backend(), spec, options));
  // In memory tf32 is fp32.
  const DType type = problem.type == DType::tf32 ? DType::fp32 : problem.type;
  const auto read_from_pools = [=, &buffers](int call) {
    const Buffers::Call at = buffers.at(problem, call);
    const ConstMatrix a =
        g.a_transposed ? row_major(at.a, g.k, g.m, type) : row_major(at.a, g.m, g.k, type);
    const ConstMatrix b =
        g.b_transposed ? row_major(at.b, g.n, g.k, type) : row_major(at.b, g.k, g.n, type);
    Operands operands{a, b, row_major(at.d, g.m, g.n, what.contract.output)};
    if (problem.accumulate) operands.c = row_major(at.d, g.m, g.n, DType::fp32);
    if (at.c != nullptr) operands.c = row_major(at.c, g.m, g.n, what.contract.output);
    if (at.bias != nullptr) operands.bias = {at.bias, g.n, output_of(problem)};
    return operands;
  };
  const std::int64_t leaf_k = what.contract.reduction.leaf_k;
  std::shared_ptr<const Scales> scales;
  if (spec.reads_scales()) {
    scales = std::make_shared<const Scales>(device.backend().device(), g, leaf_k);
  }
  SnappedCopies a_copies, b_copies;
  if (what.a_snapped) {
    a_copies.make(device.backend(), {leaf_k, g.a_transposed ? KDimension::rows : KDimension::cols},
                  [&](int call) { return read_from_pools(call).a; });
  }
  if (what.b_snapped) {
    b_copies.make(device.backend(), {leaf_k, g.b_transposed ? KDimension::cols : KDimension::rows},
                  [&](int call) { return read_from_pools(call).b; });
  }
  const auto operands_of = [=](int call) {
    Operands operands = read_from_pools(call);
    operands.a.data = a_copies.of(operands.a.data);
    operands.b.data = b_copies.of(operands.b.data);
    if (scales != nullptr) {
      operands.scale_a = scales->a;
      operands.scale_b = scales->b;
    }
    return operands;
  };
  const std::size_t bytes = required(plan.fast_workspace_bytes(operands_of(0)));
  if (workspace_bytes != nullptr) *workspace_bytes = bytes;
  Device& memory = device.backend().device();
  std::shared_ptr<void> scratch;
  if (bytes != 0) {
    scratch.reset(required(memory.allocate(bytes)), [&memory](void* p) { memory.release(p); });
  }
  Arm arm;
  arm.name = what.name;
  arm.detail = plan.kernel(g.m);
  // The name is that of a run with the needed workspace.
  if (bytes > required(plan.workspace_bytes(g.m))) arm.detail += ", on copies of operands";
  arm.enqueue = [=](Stream stream, int call) {
    return plan.run(stream, operands_of(call), {scratch.get(), bytes});
  };
  return arm;
}

}  // namespace detgemm::bench
