// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/api/grouped_loop.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/api/plan_checks.hpp"
#include "core/contract/group_arguments.hpp"
#include "detgemm/device.hpp"

namespace detgemm {
namespace {

using One = std::shared_ptr<const PlanImpl>;

/// A group with outputs, as a problem of its own.
struct Member {
  std::int64_t group;
  One plan;
  Operands arrays;
};

template <class View>
void move(View& view, std::int64_t elements) {
  view.data = moved(view.data, elements, static_cast<std::int64_t>(size_of(view.dtype)));
}

/// Lines `part` of a matrix, along its rows or along its columns. An empty part stays where it is:
/// its beginning may be the end of the array.
template <class View>
void take(View& view, bool rows, const Segment& part) {
  (rows ? view.rows : view.cols) = part.count;
  if (part.count > 0) move(view, part.begin * (rows ? view.row_stride : view.col_stride));
}

void move(BlockScales& scales, std::int64_t elements) {
  scales.data = moved(scales.data, elements, static_cast<std::int64_t>(size_of(scales.type)));
}

/// The arrays of a group that has this part of the shared extent. The part of a segment is:
///
///   m_grouped, m_masked   rows of op(A), C and D, and their scales
///   k_grouped             columns of op(A) and rows of op(B)
Operands arrays_of(const GroupedSpec& spec, const GroupedOperands& all, std::int64_t group,
                   const Segment& part) {
  Operands x = all.arrays;
  move(x.a, group * all.group.a);
  move(x.b, group * all.group.b);
  move(x.c, group * all.group.c);
  move(x.d, group * all.group.d);
  move(x.bias, group * all.group.bias);
  move(x.scale_a, group * all.group.scale_a);
  move(x.scale_b, group * all.group.scale_b);
  const bool stored = spec.gemm.op_a == Op::none;
  if (spec.kind == GroupKind::k_grouped) {
    take(x.a, !stored, part);
    take(x.b, spec.gemm.op_b == Op::none, part);
    return x;
  }
  take(x.a, stored, part);
  take(x.d, true, part);
  if (spec.gemm.reads_c()) take(x.c, true, part);
  if (spec.gemm.reads_scales()) {
    // A part that begins later is a segment of m_grouped, which has a scale per row.
    x.scale_a.blocks = (part.count + x.scale_a.per - 1) / x.scale_a.per;
    move(x.scale_a, part.begin * x.scale_a.stride);
  }
  return x;
}

/// The plan of a group with so many products, of which k_grouped alone has any number.
Result<One> plan_of(const Backend& backend, const GroupedSpec& spec, const PlanOptions& options,
                    std::int64_t products) {
  GemmSpec one = spec.gemm;
  if (spec.kind == GroupKind::k_grouped) one.k = products;
  if (Status s = backend.supports(one); !s) return s;
  std::vector<std::string> known;
  if (!options.variant.empty()) known = backend.variants(one);
  if (Status s = check_options(backend, options, known, "a group"); !s) return s;
  return backend.make_plan(one, options);
}

class GroupedLoop final : public GroupedPlanImpl {
 public:
  GroupedLoop(const Backend& backend, const GroupedSpec& spec, const PlanOptions& options,
              One usual)
      : backend_(backend),
        spec_(spec),
        options_(options),
        device_(backend.device().current()),
        usual_(std::move(usual)) {}

  bool waits_for_offsets() const override { return spec_.kind != GroupKind::batched; }

  std::size_t workspace_bytes(std::int64_t max_m, std::int64_t max_k) const override {
    if (spec_.kind != GroupKind::k_grouped) return usual_->workspace_bytes(max_m);
    std::size_t bytes = 0;
    const auto allow = [&](std::int64_t k) {
      const auto plan = plan_of(backend_, spec_, options_, k);
      if (plan) bytes = std::max(bytes, (*plan)->workspace_bytes(max_m));
    };
    allow(max_k);
    if (spec_.gemm.contract.reduction.kind == ReductionKind::chain) return bytes;
    // A group may have fewer leaves than all together, and need more for them: roots go by the
    // largest power of two that divides their number. Powers of two are the worst of each.
    const std::int64_t leaf = spec_.gemm.contract.reduction.leaf_k;
    for (std::int64_t k = leaf; k < max_k; k *= 2) {
      allow(k);
      if (k > max_k / 2) break;
    }
    return bytes;
  }

  /// Nothing is enqueued before every group has a plan that takes it.
  Status run(Stream stream, const GroupedOperands& operands, Workspace workspace,
             RunInfo* info) const override {
    const auto members = members_of(stream, operands);
    if (!members) return members.status();
    for (const Member& member : *members) {
      const std::size_t needed = needed_by(member);
      if (needed > workspace.bytes) {
        return {Errc::internal, of_group(member) + "it needs " + std::to_string(needed) +
                                    " bytes of workspace, and " + std::to_string(workspace.bytes) +
                                    " were requested"};
      }
      const Status s = member.plan->check(stream, member.arrays, {workspace.data, needed});
      if (!s) return {s.code(), of_group(member) + s.message()};
    }
    RunInfo one{"none (no outputs)"};
    for (const Member& member : *members) {
      const Workspace room{workspace.data, needed_by(member)};
      const Status s = member.plan->run(stream, member.arrays, room, &one);
      // Groups before it may have been written, which other codes exclude.
      if (!s) return {Errc::internal, of_group(member) + s.message()};
    }
    if (info != nullptr) info->kernel = members->empty() ? one.kernel : loop_of(one.kernel);
    return {};
  }

  std::string kernel(std::int64_t m) const override { return loop_of(usual_->kernel(m)); }

 private:
  std::string loop_of(const std::string& kernel) const {
    return "loop of " + std::to_string(spec_.groups) + ": " + kernel;
  }
  static std::string of_group(const Member& member) {
    return "group " + std::to_string(member.group) + ": ";
  }
  static std::size_t needed_by(const Member& member) {
    return member.plan->workspace_bytes(member.arrays.d.rows);
  }

  /// The groups that have outputs.
  Result<std::vector<Member>> members_of(Stream stream, const GroupedOperands& operands) const {
    if (const int now = backend_.device().current(); now != device_) {
      return invalid("the current device is " + std::to_string(now) +
                     ": the plan was made for device " + std::to_string(device_) +
                     ", which must be current when it runs");
    }
    std::vector<std::int64_t> ends;
    GroupedArguments p = flatten(spec_, operands);
    if (waits_for_offsets()) {
      auto read = read_offsets(backend_.device(), stream, operands.offsets);
      if (!read) return read.status();
      ends = std::move(read).value();
      p.offsets = ends.data();
      p.offset_type = OffsetType::i64;
    }
    const bool by_k = spec_.kind == GroupKind::k_grouped;
    std::map<std::int64_t, One> plans;  // by the number of products
    std::vector<Member> members;
    for (std::int64_t group = 0; group < spec_.groups; ++group) {
      const Segment part = part_of_group(p, group);
      if (!by_k && part.count == 0) continue;
      One& plan = plans[by_k ? part.count : 0];
      if (!by_k) {
        plan = usual_;
      } else if (!plan) {
        auto made = plan_of(backend_, spec_, options_, part.count);
        if (!made) return made.status();
        plan = std::move(made).value();
      }
      members.push_back({group, plan, arrays_of(spec_, operands, group, part)});
    }
    return members;
  }

  const Backend& backend_;
  GroupedSpec spec_;
  PlanOptions options_;
  int device_;  // that was current, on which plans of k_grouped are made too
  One usual_;   // of every group; of one of 1024 products for k_grouped
};

}  // namespace

Result<std::vector<std::int64_t>> read_offsets(Device& device, Stream stream,
                                               const Offsets& offsets) {
  const std::size_t size = size_of(offsets.type);
  std::vector<std::byte> bytes(static_cast<std::size_t>(offsets.size) * size);
  const auto capturing = device.is_capturing(stream);
  if (!capturing) return capturing.status();
  if (*capturing) {
    return invalid("stream is being captured: the host reads the offsets, so it must not be");
  }
  if (Status s = device.synchronize(stream); !s) return s;
  if (Status s = device.to_host(bytes.data(), offsets.data, bytes.size()); !s) {
    return Status{s.code(), "reading the offsets: " + s.message()};
  }
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(offsets.size));
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    std::int32_t narrow = 0;
    std::int64_t wide = 0;
    std::memcpy(size == sizeof narrow ? static_cast<void*>(&narrow) : &wide, &bytes[at], size);
    values.push_back(size == sizeof narrow ? narrow : wide);
  }
  return values;
}

Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_loop(const Backend& backend,
                                                                 const GroupedSpec& spec,
                                                                 const PlanOptions& options) {
  auto usual = plan_of(backend, spec, options, 1024);
  if (!usual) return usual.status();
  return std::shared_ptr<const GroupedPlanImpl>(
      std::make_shared<GroupedLoop>(backend, spec, options, std::move(usual).value()));
}

}  // namespace detgemm
