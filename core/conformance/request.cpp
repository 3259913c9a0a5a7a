// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/request.hpp"

#include <algorithm>
#include <utility>

#include "core/arithmetic/floating_point_mode.hpp"
#include "core/conformance/format.hpp"

namespace detgemm::conformance {

GemmSpec sized(const Request& request) {
  GemmSpec spec = request.spec;
  spec.n = request.b.cols;
  spec.k = request.a.cols;
  return spec;
}

Layout draw_layout(Random& random) {
  Layout layout;
  layout.col_major = random.one_in(2);
  layout.ld_padding = random.below(10);
  layout.offset = random.below(10);
  return layout;
}

void draw_layouts(Random& random, Request& request) {
  for (Layout* one : {&request.a_layout, &request.b_layout, &request.c_layout, &request.d_layout}) {
    *one = draw_layout(random);
  }
}

void add_c(Request& request, const Elements& product) {
  request.c = rows_reversed(cols_reversed(product));
  for (std::int64_t i = 0; i < request.c.rows; ++i) {
    for (std::int64_t j = 0; j < request.c.cols; ++j) {
      // A NaN that should not be there must not hide in C.
      if (!is_finite_nonzero(request.c.get(i, j), request.c.dtype)) request.c.set(i, j, 0);
    }
  }
  request.spec.beta = kBetaOfC;
}

Result<Prepared> Prepared::make(const Backend& backend, Request request) {
  auto plan = Plan::create(backend, sized(request), request.options);
  if (!plan) return plan.status();
  return make(*plan, std::move(request));
}

Result<Prepared> Prepared::make(const Plan& plan, Request request) {
  Prepared prepared(plan);
  if (Status s = prepared.place(std::move(request)); !s) return s;
  return prepared;
}

Status Prepared::place(Request request) {
  Device& device = plan_.backend().device();
  const GemmSpec& spec = plan_.spec();
  const std::int64_t m = request.a.rows;
  const auto hold = [&](Buffer& buffer, const Elements& contents, bool transposed,
                        const Layout& layout) -> Status {
    auto held = Buffer::holding(device, contents, transposed, layout, request.fill);
    if (!held) return held.status();
    buffer = std::move(held).value();
    return {};
  };
  if (request.roots.empty()) {
    const bool at = spec.op_a == Op::transpose;
    const bool bt = spec.op_b == Op::transpose;
    if (Status s = hold(a_, request.a, at, request.a_layout); !s) return s;
    operands_.a = a_.view();
    if (request.b_is_a) {
      operands_.b = a_.view();
    } else {
      if (Status s = hold(b_, request.b, bt, request.b_layout); !s) return s;
      operands_.b = b_.view();
    }
  }
  for (const Elements& root : request.roots) {
    roots_.emplace_back();
    if (Status s = hold(roots_.back(), root, false, request.a_layout); !s) return s;
  }
  nodes_ = std::move(request.nodes);
  in_place_ = request.in_place;
  Elements before(spec.contract.output, m, spec.n);
  std::fill(before.bytes.begin(), before.bytes.end(), request.fill);
  const Elements& start = in_place_ ? request.c : before;
  if (Status s = hold(d_, start, false, request.d_layout); !s) return s;
  operands_.d = d_.view();
  if (in_place_) {
    operands_.c = d_.view();
  } else if (request.c.rows > 0 || spec.reads_c()) {
    if (Status s = hold(c_, request.c, false, request.c_layout); !s) return s;
    operands_.c = c_.view();
  }
  if (spec.bias) {
    if (Status s = hold(bias_, request.bias, false, request.bias_layout); !s) return s;
    operands_.bias = {bias_.data(), spec.n, request.bias.dtype};
  }
  if (Status s = place_scales(request); !s) return s;
  auto bytes = plan_.workspace_bytes(m);
  if (!bytes) return bytes.status();
  auto scratch = Buffer::scratch(device, *bytes, request.fill);
  if (!scratch) return scratch.status();
  workspace_ = std::move(scratch).value();
  scratch_ = {workspace_.data(), *bytes};
  return freeze();
}

Status Prepared::freeze() {
  for (Buffer* input : {&a_, &b_, &c_, &bias_, &scale_a_, &scale_b_}) {
    if (Status s = input->freeze(false); !s) return s;
  }
  for (Buffer& root : roots_) {
    if (Status s = root.freeze(false); !s) return s;
  }
  return d_.freeze(true);
}

Status Prepared::replace(const Elements& a, const Elements& b) {
  if (Status s = a_.replace(a); !s) return s;
  if (Status s = b_.replace(b); !s) return s;
  return d_.restore();
}

Status Prepared::place_scales(const Request& request) {
  const GemmSpec& spec = plan_.spec();
  if (!spec.reads_scales()) return {};
  Elements one(DType::fp32, 1, 1);
  one.set(0, 0, 0x3f800000U);
  const auto hold = [&](const ScaleArray& scales, std::int64_t lines, Buffer& buffer,
                        BlockScales& view) -> Status {
    const Elements& values = scales.empty() ? one : scales.values;
    auto held =
        Buffer::holding(plan_.backend().device(), values, false, scales.layout, request.fill);
    if (!held) return held.status();
    buffer = std::move(held).value();
    const Matrix m = buffer.view();
    if (scales.empty()) {
      view = {m.data, ScaleType::fp32, 1, lines, spec.scale_leaves(), 0, 0};
    } else {
      view = {m.data, scales.type, scales.per, m.rows, m.cols, m.row_stride, m.col_stride};
    }
    return {};
  };
  if (Status s = hold(request.scale_a, request.a.rows, scale_a_, operands_.scale_a); !s) return s;
  return hold(request.scale_b, spec.n, scale_b_, operands_.scale_b);
}

Status Prepared::enqueue(Stream stream) {
  info_ = {};
  if (roots_.empty()) return plan_.run(stream, operands_, scratch_, &info_);
  if (!nodes_.empty()) {
    std::vector<NodeRoot> list;
    for (std::size_t i = 0; i < roots_.size(); ++i) list.push_back({roots_[i].view(), nodes_[i]});
    return plan_.combine(stream, list, operands_, scratch_, &info_);
  }
  std::vector<ConstMatrix> views;
  for (const Buffer& root : roots_) views.push_back(root.view());
  return plan_.combine(stream, views, operands_, scratch_, &info_);
}

Result<std::string> Prepared::changed_surroundings() const {
  struct Part {
    const Buffer* buffer;
    bool written;
    const char* changed;
    const char* name;
  };
  std::vector<Part> parts{{&d_, true, "around or between D's rows", "D"},
                          {&a_, false, "in or around A", "A"},
                          {&b_, false, "in or around B", "B"},
                          {&c_, false, "in or around C", "C"},
                          {&bias_, false, "in or around the bias", "the bias"},
                          {&scale_a_, false, "in or around A's scales", "an array of scales"},
                          {&scale_b_, false, "in or around B's scales", "an array of scales"},
                          {&workspace_, true, "around the workspace", "the workspace"}};
  for (const Buffer& root : roots_) {
    parts.push_back({&root, false, "in or around a root", "a root"});
  }
  for (const Part& part : parts) {
    if (part.buffer->data() == nullptr) continue;
    if (const std::string where = part.buffer->touched(); !where.empty()) {
      return std::string(part.name) + " was read or written " + where;
    }
    auto intact = part.buffer->intact(part.written);
    if (!intact) return intact.status();
    if (!*intact) return "bytes changed " + std::string(part.changed);
    if (const std::string where = part.buffer->rewritten(); !where.empty()) {
      return std::string(part.name) + " was written, and then restored, at " + where;
    }
  }
  return std::string();
}

bool Prepared::has_gates() const {
  return roots_.empty() && a_.has_gate() && d_.has_gate() && plan_.spec().k > 0 &&
         operands_.d.rows > 0 && plan_.spec().n > 0;
}

Status Prepared::close(Gate& inputs, Gate& outputs) {
  if (Status s = a_.close(inputs); !s) return s;
  return d_.close(outputs);
}

void Prepared::open() {
  a_.open();
  d_.open();
}

Result<Output> Prepared::collect() {
  Output out;
  out.kernel = info_.kernel;
  out.predicted_kernel = plan_.kernel(operands_.d.rows);
  const std::string& forced = plan_.options().variant;
  if (operands_.d.rows > 0 && plan_.spec().n > 0 && out.kernel.find(forced) == std::string::npos) {
    out.violation = "variant \"" + forced + "\" was forced and kernel \"" + out.kernel + "\" ran";
  }
  auto changed = changed_surroundings();
  if (!changed) return changed.status();
  if (!changed->empty()) out.violation = *changed;
  auto d = d_.read();
  if (!d) return d.status();
  out.d = std::move(d).value();
  return out;
}

Result<Output> run_once(const Backend& backend, Request request) {
  const arithmetic::FloatingPointMode ieee;  // whatever mode the engine leaves behind
  auto prepared = Prepared::make(backend, std::move(request));
  if (!prepared) return prepared.status();
  Device& device = backend.device();
  auto stream = device.create_stream();
  if (!stream) return stream.status();
  Status status = prepared->enqueue(*stream);
  const Status waited = device.synchronize(*stream);
  device.destroy_stream(*stream);
  if (!status) return status;
  if (!waited) return waited;
  return prepared->collect();
}

}  // namespace detgemm::conformance
