// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Backends that compute groups with one mistake each. A property that does not notice its mistake
// proves nothing about the backends that pass it.

#include <algorithm>
#include <cstring>
#include <string>

#include "core/contract/compute_element.hpp"
#include "core/contract/group_arguments.hpp"
#include "detgemm/reference.hpp"
#include "tests/grouped/properties.hpp"

namespace detgemm::grouped_tests {
namespace {

/// Changes the arguments of one group, of `count` groups.
using Change = void (*)(const GroupedArguments& all, std::int64_t group, GemmArguments& g);

void compute(const Contract& contract, const GemmArguments& g) {
  arithmetic::for_step(contract.arithmetic, contract.input, [&]<Arithmetic A, DType T>() {
    for (std::int64_t i = 0; i < g.m * g.n; ++i) compute_element<A, T>(g, i / g.n, i % g.n);
  });
}

class FaultyPlan final : public GroupedPlanImpl {
 public:
  FaultyPlan(const GroupedSpec& spec, Change change) : spec_(spec), change_(change) {}
  std::size_t workspace_bytes(std::int64_t, std::int64_t) const override { return 0; }
  Status run(Stream, const GroupedOperands& operands, Workspace, RunInfo*) const override {
    const GroupedArguments p = flatten(spec_, operands);
    for (std::int64_t group = 0; group < p.groups; ++group) {
      GemmArguments g = arguments_of_group(p, group);
      if (change_ != nullptr) change_(p, group, g);
      compute(spec_.gemm.contract, g);
    }
    return {};
  }
  std::string kernel(std::int64_t) const override { return "faulty"; }

 private:
  GroupedSpec spec_;
  Change change_;
};

class FaultyBackend final : public Backend {
 public:
  explicit FaultyBackend(Change change) : change_(change) {}
  std::string_view name() const noexcept override { return "faulty"; }
  std::string_view description() const noexcept override { return "groups with one mistake"; }
  Status available() const override { return reference_backend().available(); }
  Status supports(const GemmSpec& spec) const override {
    return reference_backend().supports(spec);
  }
  Guarantees guarantees(const Contract&) const override { return {}; }
  std::vector<std::string> variants(const GemmSpec&) const override { return {}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    return reference_backend().make_plan(spec, options);
  }
  Device& device() const noexcept override { return host_device(); }
  Status supports_grouped(const GroupedSpec&) const override { return {}; }
  Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(
      const GroupedSpec& spec, const PlanOptions&) const override {
    return std::shared_ptr<const GroupedPlanImpl>(std::make_shared<FaultyPlan>(spec, change_));
  }

 private:
  Change change_;
};

bool by_rows(const GroupedArguments& p) { return p.kind == GroupKind::m_grouped; }

/// Computes in fewer bits what should be one chain, or the other way round.
void other_reduction(GemmArguments& g) {
  g.reduction =
      g.reduction.kind == ReductionKind::chain ? Reduction{ReductionKind::fold, 32} : Reduction{};
}

// Slices.
void offset_off_by_one(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && g.m > 1) g.a = moved(g.a, g.as.row, p.a_bytes);
}
void matrix_of_neighbour(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (group == 0 && p.groups > 1) g.b = moved(g.b, p.distance.b, p.a_bytes);
}
void bias_of_first(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  g.bias = p.all.bias;
}
void no_continue(const GroupedArguments&, std::int64_t, GemmArguments& g) {
  g.continue_from_c = false;
}
void narrow_offsets(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (p.offset_type != OffsetType::i64) return;
  GroupedArguments narrow = p;
  narrow.offset_type = OffsetType::i32;
  g = arguments_of_group(narrow, group);
}
void rows_of_nobody(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (!by_rows(p) || group != p.groups - 1 || g.m == 0) return;
  const auto at = (static_cast<const char*>(g.d) - static_cast<const char*>(p.all.d)) / p.d_bytes;
  if (g.ds.row > 0) g.m = p.all.m - at / g.ds.row;
}
void next_segments_row(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  // The earlier group is computed last, as it may be on a GPU: what it spills stays.
  if (!by_rows(p) || group != p.groups - 1 || p.groups < 2) return;
  GemmArguments before = arguments_of_group(p, group - 1);
  if (before.m == 0 || g.m == 0 || before.n == 0) return;
  std::memset(moved(g.d, 0, p.d_bytes), 0x11, static_cast<std::size_t>(p.d_bytes));
  g.m = 0;
}
/// k-blocks counted from the start of the arrays: the first one of a group is short.
void blocks_from_start(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (p.kind != GroupKind::k_grouped || group == 0 || g.k == 0) return;
  const Segment s = segment_of(p.offsets, p.offset_type, group, p.all.k);
  const std::int64_t into = s.begin % 16;
  if (into == 0 || into >= g.k) return;
  // The products before the group come first, so its own blocks begin `into` products late.
  g.a = moved(g.a, -into * g.as.col, p.a_bytes);
  g.b = moved(g.b, -into * g.bs.row, p.a_bytes);
  g.k += into;
}

// Empty groups.
void skips_empty(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::k_grouped && g.k == 0) g.m = 0;
}

// What must not enter.
void reduction_by_rows(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && g.m > 8) other_reduction(g);
}
void reduction_by_index(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  if (by_rows(p) && group == p.groups / 2) other_reduction(g);
}
void reduction_by_count(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && p.groups >= 128) other_reduction(g);
}
void reduction_by_all_rows(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind != GroupKind::k_grouped && p.all.m > 300) other_reduction(g);
}
void ignores_count(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind == GroupKind::m_masked) g.m = p.all.m;
}
void reduction_by_share(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (by_rows(p) && p.groups == 4) other_reduction(g);
}
void sum_added_to_c(const GroupedArguments& p, std::int64_t, GemmArguments& g) {
  if (p.kind != GroupKind::k_grouped || !g.continue_from_c) return;
  g.continue_from_c = false;  // D = C + (the finished sum), as a reducing store does it
  g.epilogue.beta = 1.0F;
}

// Offsets as they are: one byte before D is written where one of them is negative.
void trusts_offsets(const GroupedArguments& p, std::int64_t group, GemmArguments&) {
  if (p.offsets == nullptr || load_offset(p.offsets, group, p.offset_type) >= 0) return;
  static_cast<char*>(p.all.d)[-1] = 0;
}

template <Change change>
const Backend* backend_of() {
  static const FaultyBackend backend(change);
  return &backend;
}

}  // namespace

std::span<const Fault> faults() {
  static const Fault list[] = {
      {"none", "", backend_of<nullptr>()},
      {"offset_off_by_one", "slices", backend_of<offset_off_by_one>()},
      {"matrix_of_neighbour", "slices", backend_of<matrix_of_neighbour>()},
      {"bias_of_first", "slices", backend_of<bias_of_first>()},
      {"no_continue", "slices", backend_of<no_continue>()},
      {"narrow_offsets", "slices", backend_of<narrow_offsets>()},
      {"rows_of_nobody", "slices", backend_of<rows_of_nobody>()},
      {"next_segments_row", "slices", backend_of<next_segments_row>()},
      {"blocks_from_start", "slices", backend_of<blocks_from_start>()},
      {"skips_empty", "empty_groups", backend_of<skips_empty>()},
      {"reduction_by_rows", "neighbours", backend_of<reduction_by_rows>()},
      {"reduction_by_index", "order", backend_of<reduction_by_index>()},
      {"reduction_by_count", "count", backend_of<reduction_by_count>()},
      {"reduction_by_all_rows", "padding", backend_of<reduction_by_all_rows>()},
      {"ignores_count", "padding", backend_of<ignores_count>()},
      {"reduction_by_share", "expert_parallel", backend_of<reduction_by_share>()},
      {"sum_added_to_c", "weight_gradients", backend_of<sum_added_to_c>()},
      {"blocks_from_start", "weight_gradients", backend_of<blocks_from_start>()},
      {"trusts_offsets", "outside", backend_of<trusts_offsets>()},
  };
  return list;
}

}  // namespace detgemm::grouped_tests
