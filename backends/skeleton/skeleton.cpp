// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/skeleton/skeleton.hpp"

#include <algorithm>

#include "core/contract/compute_element.hpp"
#include "core/contract/log_rows.hpp"
#include "core/contract/quantize.hpp"

namespace detgemm {
namespace {

/// What a plan keeps: everything `run` needs that does not depend on M.
class SkeletonPlan final : public PlanImpl {
 public:
  explicit SkeletonPlan(const GemmSpec& spec) : spec_(spec) {}

  // No scratch: a backend that needs some says how much for the largest M it will see.
  std::size_t workspace_bytes(std::int64_t) const override { return 0; }

  // The arguments have been checked. On a GPU this would launch a kernel on `stream` and return.
  Status run(Stream, const Operands& operands, Workspace, RunInfo* info) const override {
    const GemmArguments g = flatten(spec_, operands);
    const ScalePair scales = flatten_scales(spec_, operands);
    arithmetic::for_step(spec_.contract.arithmetic, spec_.contract.input,
                         [&]<Arithmetic A, DType T>() {
                           for (std::int64_t row = 0; row < g.m; ++row) {
                             for (std::int64_t col = 0; col < g.n; ++col) {
                               compute_element<A, T>(g, scales, row, col);
                             }
                           }
                         });
    if (info != nullptr) info->kernel = kernel(g.m);
    return {};
  }

  Status combine(Stream, std::span<const TreeRoot> roots, const Operands& operands, Workspace,
                 RunInfo* info) const override {
    const GemmArguments g = flatten(spec_, operands);
    for (std::int64_t row = 0; row < g.m; ++row) {
      for (std::int64_t col = 0; col < g.n; ++col) {
        const auto load = [&](std::int64_t i) {
          const ConstMatrix& root = roots[static_cast<std::size_t>(i)].root;
          const Strides s = strides_of(root, Op::none);
          return static_cast<const float*>(root.data)[row * s.row + col * s.col];
        };
        const auto closes = [&](std::int64_t i) {
          return roots[static_cast<std::size_t>(i)].closes;
        };
        combine_element(g, row, col, static_cast<std::int64_t>(roots.size()), load, closes);
      }
    }
    if (info != nullptr) info->kernel = kernel(g.m);
    return {};
  }

  std::string kernel(std::int64_t) const override { return "scalar"; }

 private:
  GemmSpec spec_;
};

/// Log-probabilities: one row after the other.
struct PlainRows {
  static LogKernels kernels() { return {&compute_leaves_plain, &compute_gradient_plain}; }
  template <class Body>
  static void run(std::int64_t total, double, std::int32_t, const Body& body) {
    for (std::int64_t i = 0; i < total; ++i) body(i);
  }

 private:
  static void compute_leaves_plain(const LogLeavesJob& job) { compute_leaves(job); }
  static void compute_gradient_plain(const LogGradientJob& job) { compute_gradient(job); }
};

class SkeletonBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "skeleton"; }
  std::string_view description() const noexcept override {
    return "plain scalar loops on the host, a template for new backends";
  }
  // A GPU backend would look for a driver and a device here, and say which is missing.
  Status available() const override { return {}; }
  // Refuse with a sentence what is not computed; never compute something else in its place.
  Status supports(const GemmSpec&) const override { return {}; }
  Guarantees guarantees(const Contract&) const override { return {true, true, true, true, true}; }
  std::vector<std::string> variants(const GemmSpec&) const override { return {"scalar"}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions&) const override {
    return std::shared_ptr<const PlanImpl>(std::make_shared<SkeletonPlan>(spec));
  }
  Device& device() const noexcept override { return host_device(); }
  // Optional: makes the operands that contracts of snap take as they lie.
  Status snap(Stream, const SnapSpec& spec, const ConstMatrix& from,
              const Matrix& to) const override {
    const Op op = spec.k == KDimension::cols ? Op::none : Op::transpose;
    const Strides in = strides_of(from, op);  // rows: lines along K
    const Strides out = strides_of(to, op);
    const std::int64_t lines = op == Op::none ? from.rows : from.cols;
    const std::int64_t k = op == Op::none ? from.cols : from.rows;
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t begin = 0; begin < k; begin += std::min(spec.leaf_k, k - begin)) {
        const auto* x = static_cast<const std::uint16_t*>(from.data) + line * in.row;
        auto* y = static_cast<std::uint16_t*>(to.data) + line * out.row;
        arithmetic::snap_leaf(
            std::min(spec.leaf_k, k - begin),
            [&](std::int64_t i) { return x[(begin + i) * in.col]; },
            [&](std::int64_t i, std::uint16_t bits) { y[(begin + i) * out.col] = bits; });
      }
    }
    return {};
  }
  // Optional: makes operands and scales for contracts of scaled.
  Status quantize(Stream, const QuantizeSpec& spec, const ConstMatrix& from, const Matrix& to,
                  const ScalesOut& scales) const override {
    const QuantizeArguments q = flatten(spec, from, to, scales);
    for (std::int64_t block = 0; block < scales.blocks; ++block) {
      for (std::int64_t leaf = 0; leaf < scales.leaves; ++leaf) quantize_block(q, block, leaf);
    }
    return {};
  }
  // Optional: the reduction over a vocabulary.
  const LogProbEngine* log_prob() const noexcept override {
    static const HostLogProb<PlainRows> engine;
    return &engine;
  }
};

}  // namespace

const Backend& skeleton_backend() noexcept {
  static const SkeletonBackend backend;
  return backend;
}

}  // namespace detgemm
