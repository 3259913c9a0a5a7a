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

/// Groups that are one below the other, put side by side.
Elements beside(const Elements& stack, std::int64_t groups) {
  Elements e(stack.dtype, stack.rows / groups, stack.cols * groups);
  const std::size_t line = static_cast<std::size_t>(stack.cols) * stack.element_size();
  for (std::int64_t i = 0; line != 0 && i < stack.rows; ++i) {
    std::memcpy(e.bytes.data() + e.offset(i % e.rows, i / e.rows * stack.cols),
                stack.bytes.data() + stack.offset(i, 0), line);
  }
  return e;
}
/// And back.
Elements below(const Elements& e, std::int64_t groups) {
  Elements stack(e.dtype, e.rows * groups, e.cols / groups);
  const std::size_t line = static_cast<std::size_t>(stack.cols) * stack.element_size();
  for (std::int64_t i = 0; line != 0 && i < stack.rows; ++i) {
    std::memcpy(stack.bytes.data() + stack.offset(i, 0),
                e.bytes.data() + e.offset(i % e.rows, i / e.rows * stack.cols), line);
  }
  return stack;
}

/// An array of a call in memory.
struct Placed {
  Buffer buffer;
  std::int64_t stacked = 0;  ///< groups side by side in it; 0: none are
};

/// Places `contents`, in which `groups` matrices are one below the other (0: it is one matrix).
/// Returns the view of the first, and in `distance` the way to the next.
template <class View>
Status place(Device& device, Placed& placed, const Elements& contents, bool transposed,
             const StackLayout& how, std::int64_t groups, std::uint8_t fill, View& view,
             std::int64_t& distance) {
  const bool split = groups > 0;
  const bool by_side = split && how.side_by_side;
  auto held = Buffer::holding(device, by_side ? beside(contents, groups) : contents, transposed,
                              how.layout, fill);
  if (!held) return held.status();
  placed.buffer = std::move(held).value();
  placed.stacked = by_side ? groups : 0;
  view = placed.buffer.view();
  if (!split) return {};
  if (by_side == transposed) {
    view.rows /= groups;
    distance = view.rows * view.row_stride;
  } else {
    view.cols /= groups;
    distance = view.cols * view.col_stride;
  }
  return {};
}

/// Elements between the biases of two groups, and before the first one.
constexpr std::int64_t kBiasGap = 3;

struct Arrays {
  Placed a, b, c, d;
  Buffer bias, scale_a, scale_b, offsets, workspace;
};

/// Places the scales of one operand of all groups (0: of an operand that they share).
Status place(Device& device, Buffer& buffer, const ScaleArray& scales, std::int64_t groups,
             std::uint8_t fill, BlockScales& view, std::int64_t& distance) {
  auto held = Buffer::holding(device, scales.values, false, scales.layout, fill);
  if (!held) return held.status();
  buffer = std::move(held).value();
  const Matrix m = buffer.view();
  const std::int64_t blocks = groups == 0 ? m.rows : m.rows / groups;
  view = {m.data, scales.type, scales.per, blocks, m.cols, m.row_stride, m.col_stride};
  if (groups != 0) distance = blocks * m.row_stride;
  return {};
}

/// How many groups of a kind each array has one matrix for; 0: all share it.
struct Stacks {
  std::int64_t a, b, d;
};
Stacks stacks_of(const GroupedRequest& r) {
  const auto groups = static_cast<std::int64_t>(r.offsets.size());
  const bool by_rows = r.spec.kind == GroupKind::m_grouped;
  const bool by_k = r.spec.kind == GroupKind::k_grouped;
  return {by_rows || by_k || r.shares_a ? 0 : groups, by_k || r.shares_b ? 0 : groups,
          by_rows ? 0 : groups};
}

/// The rows of D's view of all groups.
std::int64_t rows_of_d(const GroupedRequest& r) {
  const auto groups = static_cast<std::int64_t>(r.offsets.size());
  return r.a.rows * (r.spec.kind == GroupKind::k_grouped || r.shares_a ? groups : 1);
}

StackLayout draw_layout(Random& random, std::int64_t rows, std::int64_t cols, bool transposed,
                        std::int64_t groups) {
  StackLayout how;
  how.side_by_side = groups > 0 && random.one_in(2);
  how.layout.col_major = random.one_in(2);
  how.layout.at_front = random.one_in(2);
  if (how.side_by_side) rows /= groups, cols *= groups;
  const std::int64_t line = how.layout.col_major != transposed ? rows : cols;
  switch (random.below(3)) {
    case 0:
      break;
    case 1:
      how.layout.ld_padding = random.between(1, 9);
      break;
    default:  // lines that begin at multiples of 16 elements, as fast copies ask
      how.layout.ld_padding = (line + 15) / 16 * 16 - line;
      break;
  }
  if (random.one_in(3)) how.layout.offset = random.below(10);
  return how;
}

Result<std::string> changed_surroundings(const Arrays& arrays) {
  const std::pair<const Buffer*, const char*> parts[] = {{&arrays.d.buffer, "D"},
                                                         {&arrays.a.buffer, "A"},
                                                         {&arrays.b.buffer, "B"},
                                                         {&arrays.c.buffer, "C"},
                                                         {&arrays.scale_a, "A's scales"},
                                                         {&arrays.scale_b, "B's scales"},
                                                         {&arrays.bias, "the bias"},
                                                         {&arrays.offsets, "offsets"},
                                                         {&arrays.workspace, "the workspace"}};
  for (const auto& [buffer, name] : parts) {
    if (buffer->data() == nullptr) continue;
    if (const std::string where = buffer->touched(); !where.empty()) {
      return std::string(name) + " was read or written " + where;
    }
    const bool written = buffer == &arrays.d.buffer || buffer == &arrays.workspace;
    auto intact = buffer->intact(written);
    if (!intact) return intact.status();
    if (!*intact) return "bytes changed in or around " + std::string(name);
  }
  return std::string();
}

}  // namespace

void draw_layouts(Random& random, GroupedRequest& r) {
  const Stacks stacks = stacks_of(r);
  const std::int64_t rows = rows_of_d(r);
  r.a_layout = draw_layout(random, r.a.rows, r.a.cols, r.spec.gemm.op_a == Op::transpose, stacks.a);
  r.b_layout = draw_layout(random, r.b.rows, r.b.cols, r.spec.gemm.op_b == Op::transpose, stacks.b);
  r.c_layout = draw_layout(random, rows, r.b.cols, false, stacks.d);
  r.d_layout = draw_layout(random, rows, r.b.cols, false, stacks.d);
}

Result<Output> run_once(const Backend& backend, GroupedRequest request) {
  const arithmetic::FloatingPointMode ieee;
  GroupedSpec& spec = request.spec;
  const auto groups = static_cast<std::int64_t>(request.offsets.size());
  const bool by_k = spec.kind == GroupKind::k_grouped;
  spec.groups = groups;
  spec.gemm.n = request.b.cols;
  spec.gemm.k = by_k ? 0 : request.a.cols;
  auto plan = GroupedPlan::create(backend, spec, request.options);
  if (!plan) return plan.status();

  Device& device = backend.device();
  Arrays arrays;
  GroupedOperands x;
  const Stacks stacks = stacks_of(request);
  const auto hold = [&](Placed& placed, const Elements& contents, bool transposed,
                        const StackLayout& how, std::int64_t split, auto& view,
                        std::int64_t& distance) {
    return place(device, placed, contents, transposed, how, split, request.fill, view, distance);
  };
  const bool at = spec.gemm.op_a == Op::transpose;
  const bool bt = spec.gemm.op_b == Op::transpose;
  if (Status s = hold(arrays.a, request.a, at, request.a_layout, stacks.a, x.arrays.a, x.group.a);
      !s) {
    return s;
  }
  if (Status s = hold(arrays.b, request.b, bt, request.b_layout, stacks.b, x.arrays.b, x.group.b);
      !s) {
    return s;
  }
  if (spec.gemm.reads_scales()) {
    if (Status s = place(device, arrays.scale_a, request.scale_a, stacks.a, request.fill,
                         x.arrays.scale_a, x.group.scale_a);
        !s) {
      return s;
    }
    if (Status s = place(device, arrays.scale_b, request.scale_b, stacks.b, request.fill,
                         x.arrays.scale_b, x.group.scale_b);
        !s) {
      return s;
    }
  }
  if (spec.kind != GroupKind::batched) {
    auto held = Buffer::holding(device, elements_of(request.offsets, request.type), false, {},
                                request.fill);
    if (!held) return held.status();
    arrays.offsets = std::move(held).value();
    x.offsets = {arrays.offsets.data(), groups, request.type};
  }
  if (spec.gemm.bias) {
    auto held =
        Buffer::holding(device, request.bias, false, {false, kBiasGap, kBiasGap}, request.fill);
    if (!held) return held.status();
    arrays.bias = std::move(held).value();
    x.arrays.bias = {arrays.bias.data(), request.b.cols, request.bias.dtype};
    x.group.bias = request.b.cols + kBiasGap;
  }
  Elements before(spec.gemm.contract.output, rows_of_d(request), request.b.cols);
  std::fill(before.bytes.begin(), before.bytes.end(), request.fill);
  if (Status s = hold(arrays.d, request.in_place ? request.c : before, false, request.d_layout,
                      stacks.d, x.arrays.d, x.group.d);
      !s) {
    return s;
  }
  if (request.in_place) {
    x.arrays.c = x.arrays.d;
    x.group.c = x.group.d;
  } else if (request.c.rows > 0 || spec.gemm.reads_c()) {
    if (Status s =
            hold(arrays.c, request.c, false, request.c_layout, stacks.d, x.arrays.c, x.group.c);
        !s) {
      return s;
    }
  }

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
  auto d = arrays.d.buffer.read();
  if (!d) return d.status();
  out.d = arrays.d.stacked > 0 ? below(*d, arrays.d.stacked) : std::move(d).value();
  return out;
}

}  // namespace detgemm::conformance
