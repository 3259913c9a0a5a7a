// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/grouped_request.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/arithmetic/floating_point_mode.hpp"

namespace detgemm::conformance {
namespace {

/// Offsets as bytes; the type of the elements is only that of their size.
Elements elements_of(const std::vector<std::int64_t>& offsets, OffsetType type) {
  const auto width = static_cast<std::int64_t>(size_of(type) / sizeof(std::int32_t));
  Elements e(DType::fp32, 1, width * static_cast<std::int64_t>(offsets.size()));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto narrow = static_cast<std::int32_t>(offsets[i]);
    std::memcpy(e.bytes.data() + i * size_of(type),
                type == OffsetType::i32 ? static_cast<const void*>(&narrow) : &offsets[i],
                size_of(type));
  }
  return e;
}

struct Arrays {
  Buffer a, b, c, d, offsets, workspace;
};

/// The first of `groups` matrices that lie one below the other, and the way to the next.
template <class View>
std::int64_t split(View& view, std::int64_t groups) {
  view.rows /= groups;
  return view.rows * view.row_stride;
}

Result<std::string> changed_surroundings(const Arrays& arrays) {
  const std::pair<const Buffer*, const char*> parts[] = {{&arrays.d, "D"},
                                                         {&arrays.a, "A"},
                                                         {&arrays.b, "B"},
                                                         {&arrays.c, "C"},
                                                         {&arrays.offsets, "offsets"},
                                                         {&arrays.workspace, "the workspace"}};
  for (const auto& [buffer, name] : parts) {
    if (buffer->data() == nullptr) continue;
    if (const std::string where = buffer->touched(); !where.empty()) {
      return std::string(name) + " was read or written " + where;
    }
    const bool written = buffer == &arrays.d || buffer == &arrays.workspace;
    auto intact = buffer->intact(written);
    if (!intact) return intact.status();
    if (!*intact) return "bytes changed in or around " + std::string(name);
  }
  return std::string();
}

}  // namespace

Result<Output> run_once(const Backend& backend, GroupedRequest request) {
  const arithmetic::FloatingPointMode ieee;
  GroupedSpec& spec = request.spec;
  const auto groups = static_cast<std::int64_t>(request.offsets.size());
  const bool by_k = spec.kind == GroupKind::k_grouped;
  const bool by_rows = spec.kind == GroupKind::m_grouped;
  spec.groups = groups;
  spec.gemm.n = request.b.cols;
  spec.gemm.k = by_k ? 0 : request.a.cols;
  auto plan = GroupedPlan::create(backend, spec, request.options);
  if (!plan) return plan.status();

  Device& device = backend.device();
  Arrays arrays;
  GroupedOperands x;
  const auto hold = [&](Buffer& buffer, const Elements& contents, bool transposed) -> Status {
    auto held = Buffer::holding(device, contents, transposed, {}, request.fill);
    if (!held) return held.status();
    buffer = std::move(held).value();
    return {};
  };
  const bool at = spec.gemm.op_a == Op::transpose;
  if (Status s = hold(arrays.a, request.a, at); !s) return s;
  if (Status s = hold(arrays.b, request.b, false); !s) return s;
  if (Status s = hold(arrays.offsets, elements_of(request.offsets, request.type), false); !s) {
    return s;
  }
  Elements before(spec.gemm.contract.output, request.a.rows * (by_k ? groups : 1), request.b.cols);
  std::fill(before.bytes.begin(), before.bytes.end(), request.fill);
  if (Status s = hold(arrays.d, request.in_place ? request.c : before, false); !s) return s;
  x.arrays.a = arrays.a.view();
  x.arrays.b = arrays.b.view();
  x.arrays.d = arrays.d.view();
  if (spec.kind == GroupKind::m_masked) x.group.a = split(x.arrays.a, groups);
  if (!by_k) x.group.b = split(x.arrays.b, groups);
  if (!by_rows) x.group.d = split(x.arrays.d, groups);
  if (request.in_place) {
    x.arrays.c = x.arrays.d;
    x.group.c = x.group.d;
  } else if (request.c.rows > 0) {
    if (Status s = hold(arrays.c, request.c, false); !s) return s;
    x.arrays.c = arrays.c.view();
    if (!by_rows) x.group.c = split(x.arrays.c, groups);
  }
  x.offsets = {arrays.offsets.data(), groups, request.type};

  const std::int64_t m = x.arrays.d.rows;
  auto bytes = plan->workspace_bytes(m, by_k ? request.a.cols : 0);
  if (!bytes) return bytes.status();
  auto scratch = Buffer::scratch(device, *bytes, request.fill);
  if (!scratch) return scratch.status();
  arrays.workspace = std::move(scratch).value();
  auto stream = device.create_stream();
  if (!stream) return stream.status();
  RunInfo info;
  const Status status = plan->run(*stream, x, {arrays.workspace.data(), *bytes}, &info);
  const Status waited = device.synchronize(*stream);
  device.destroy_stream(*stream);
  if (!status) return status;
  if (!waited) return waited;

  Output out;
  out.kernel = info.kernel;
  out.predicted_kernel = plan->kernel(m);
  auto changed = changed_surroundings(arrays);
  if (!changed) return changed.status();
  out.violation = *changed;
  auto d = arrays.d.read();
  if (!d) return d.status();
  out.d = std::move(d).value();
  return out;
}

}  // namespace detgemm::conformance
