// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "core/conformance/random.hpp"
#include "detgemm/cluster.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm::cluster {

/// A plan whose run is a function. All ranks call it at the same time.
class JobPlan final : public PlanImpl {
 public:
  using Run = std::function<Status(Stream, const Operands&, Workspace)>;
  using Bytes = std::function<std::size_t(std::int64_t max_m)>;
  JobPlan(std::string name, Bytes bytes, Run run)
      : name_(std::move(name)), bytes_(std::move(bytes)), run_(std::move(run)) {}

  std::size_t workspace_bytes(std::int64_t max_m) const override { return bytes_(max_m); }
  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    if (Status s = run_(stream, operands, workspace); !s) return s;
    if (info != nullptr) info->kernel = name_;
    return {};
  }
  Status combine(Stream, std::span<const TreeRoot>, const Operands&, Workspace,
                 RunInfo*) const override {
    return unsupported("a job joins the roots of its own ranks alone");
  }
  std::string kernel(std::int64_t) const override { return name_; }

 private:
  std::string name_;
  Bytes bytes_;
  Run run_;
};

/// What backends of a job have in common. They accept every problem without scales here, since a
/// rank that refused by itself would be waited for: a refusal of `make`, agreed on by all ranks,
/// says the rest.
class JobBackend final : public Backend {
 public:
  /// Makes a plan; `turn` counts the plans of this backend, the same on every rank.
  using Make = std::function<Result<std::shared_ptr<const PlanImpl>>(
      const GemmSpec&, const PlanOptions&, std::uint64_t turn)>;
  JobBackend(std::string name, std::string description, Device& device, Make make)
      : name_(std::move(name)),
        description_(std::move(description)),
        device_(device),
        make_(std::move(make)) {}

  std::string_view name() const noexcept override { return name_; }
  std::string_view description() const noexcept override { return description_; }
  Status available() const override { return {}; }
  Status supports(const GemmSpec& spec) const override {
    if (!spec.reads_scales()) return {};
    return unsupported(name_ + ": contract is " + spec.contract.text() +
                       ": jobs do not cut scales into shares");  // all ranks alike
  }
  Guarantees guarantees(const Contract&) const override { return {}; }
  std::vector<std::string> variants(const GemmSpec&) const override { return {}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    return make_(spec, options, turn_.fetch_add(1));
  }
  Status supports_grouped(const GroupedSpec& spec) const override {
    return unsupported(name_ + ": jobs do not cut " + std::string(detgemm::name(spec.kind)) +
                       " problems into shares");  // all ranks alike
  }
  Device& device() const noexcept override { return device_; }

 private:
  std::string name_, description_;
  Device& device_;
  Make make_;
  mutable std::atomic<std::uint64_t> turn_{0};
};

/// A range of an operand's stored columns, or of its stored rows.
inline ConstMatrix part_of(ConstMatrix view, bool along_columns, KRange range) {
  const std::int64_t stride = along_columns ? view.col_stride : view.row_stride;
  const auto offset = range.begin * stride * static_cast<std::int64_t>(size_of(view.dtype));
  if (view.data != nullptr) view.data = static_cast<const std::byte*>(view.data) + offset;
  (along_columns ? view.cols : view.rows) = range.end - range.begin;
  return view;
}

/// A and B of a share of K.
inline Operands share_of(const GemmSpec& spec, Operands whole, KRange range) {
  whole.a = part_of(whole.a, spec.op_a == Op::none, range);
  whole.b = part_of(whole.b, spec.op_b == Op::transpose, range);
  return whole;
}

/// A plan's problem without its epilogue: fp32 roots over `k` products.
inline GemmSpec root_spec(const GemmSpec& whole, std::int64_t k) {
  GemmSpec part;
  part.n = whole.n;
  part.k = k;
  part.op_a = whole.op_a;
  part.op_b = whole.op_b;
  part.contract = whole.contract;
  part.contract.output = DType::fp32;
  return part;
}

}  // namespace detgemm::cluster
