// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/grouped/slices.hpp"

#include <algorithm>
#include <numeric>

#include "tests/grouped/arrays.hpp"

namespace detgemm::grouped_tests {
namespace {

DType stored(DType type) { return type == DType::tf32 ? DType::fp32 : type; }

/// A matrix of `rows` x `cols` after its op, as it lies in memory: elements, and a view without
/// data.
struct Shape {
  ConstMatrix view;
  std::int64_t elements = 0;
};

Shape shape_of(std::int64_t rows, std::int64_t cols, Op op, std::int64_t pad, DType type) {
  if (op == Op::transpose) std::swap(rows, cols);
  return {row_major(static_cast<const void*>(nullptr), rows, cols, type,
                    std::max<std::int64_t>(cols + pad, 1)),
          rows * (cols + pad)};
}

const void* moved(const void* data, std::int64_t elements, DType type) {
  return static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(size_of(type));
}

/// Everything a problem needs, in the backend's memory.
class Arrays {
 public:
  Arrays(const Backend& backend, const Setup& s) : setup(s), device(backend.device()) {
    const auto groups = static_cast<std::int64_t>(s.sizes.size());
    const std::int64_t all = std::accumulate(s.sizes.begin(), s.sizes.end(), s.spare);
    const std::int64_t most =
        s.sizes.empty() ? 0 : *std::max_element(s.sizes.begin(), s.sizes.end());
    spec.gemm.contract = ok(Contract::parse(s.contract));
    spec.gemm.n = s.n;
    spec.gemm.k = s.k;
    spec.gemm.op_a = s.op_a;
    spec.gemm.op_b = s.op_b;
    spec.gemm.beta = s.beta;
    spec.gemm.bias = s.bias;
    spec.gemm.activation = s.activation;
    spec.gemm.continue_from_c = s.continues;
    spec.kind = s.kind;
    spec.groups = groups;
    m = s.kind == GroupKind::m_grouped ? all
                                       : (s.kind == GroupKind::m_masked ? most + s.spare : s.m);
    k = s.kind == GroupKind::k_grouped ? all : s.k;
    const DType in = stored(spec.gemm.contract.input);
    const DType out = spec.gemm.contract.output;
    const bool many_a = s.kind == GroupKind::batched || s.kind == GroupKind::m_masked;
    const bool many_b = s.kind != GroupKind::k_grouped && !s.shared_b;
    const bool many_d = s.kind != GroupKind::m_grouped;
    // Interleaved: row i of group g is line i * groups + g.
    Shape sa = shape_of(m, k, s.op_a, s.pad, in);
    Shape sb = shape_of(k, s.n, s.op_b, s.pad, in);
    Shape sd = shape_of(m, s.n, Op::none, s.pad, out);
    const auto place = [&](Shape& shape, bool many, bool interleaved) {
      if (!many) return std::int64_t{0};
      if (!interleaved) return shape.elements;
      const std::int64_t line = shape.view.row_stride;
      shape.view.row_stride *= groups;
      return line;
    };
    x.group.a = place(sa, many_a, s.interleaved_a);
    x.group.b = place(sb, many_b, s.interleaved_b);
    x.group.d = place(sd, many_d, s.interleaved);
    x.group.c = spec.gemm.reads_c() ? x.group.d : 0;
    x.group.bias = s.bias ? s.n : 0;
    test::Random random(s.seed);
    a.emplace(device, in, sa.elements * (many_a ? groups : 1), s, random);
    b.emplace(device, in, sb.elements * (many_b ? groups : 1), s, random);
    const std::int64_t outputs = sd.elements * (many_d ? groups : 1);
    const DType type_c = s.continues ? DType::fp32 : out;
    c.emplace(device, type_c, outputs, s, random);
    d.emplace(device, out, outputs, s, random);
    if (s.bias) bias.emplace(device, *s.bias, s.n * groups, s, random);
    x.arrays.a = sa.view, x.arrays.a.data = a->array.at();
    x.arrays.b = sb.view, x.arrays.b.data = b->array.at();
    x.arrays.d = {d->array.at(), m, s.n, sd.view.row_stride, 1, out};
    x.arrays.c = x.arrays.d;
    x.arrays.c.dtype = type_c;
    if (!s.in_place) x.arrays.c.data = c->array.at();
    if (s.bias) x.arrays.bias = {bias->array.at(), s.n, *s.bias};
    if (s.kind != GroupKind::batched) put_offsets(groups);
  }

  /// The slice of one group as a problem of its own, on the same arrays.
  std::pair<GemmSpec, Operands> slice(std::size_t group, std::int64_t begin) const {
    GemmSpec one = spec.gemm;
    Operands y = x.arrays;
    const auto g = static_cast<std::int64_t>(group);
    const std::int64_t size = setup.sizes[group];
    y.a.data = moved(y.a.data, g * x.group.a, y.a.dtype);
    y.b.data = moved(y.b.data, g * x.group.b, y.b.dtype);
    y.c.data = moved(y.c.data, g * x.group.c, y.c.dtype);
    y.d.data = const_cast<void*>(moved(y.d.data, g * x.group.d, y.d.dtype));
    if (setup.bias) y.bias.data = moved(y.bias.data, g * x.group.bias, y.bias.dtype);
    const bool at = setup.op_a == Op::transpose;
    const bool bt = setup.op_b == Op::transpose;
    if (setup.kind == GroupKind::m_masked || setup.kind == GroupKind::m_grouped) {
      const std::int64_t row = setup.kind == GroupKind::m_grouped ? begin : 0;
      y.a.data = moved(y.a.data, row * (at ? 1 : y.a.row_stride), y.a.dtype);
      y.c.data = moved(y.c.data, row * y.c.row_stride, y.c.dtype);
      y.d.data = const_cast<void*>(moved(y.d.data, row * y.d.row_stride, y.d.dtype));
      (at ? y.a.cols : y.a.rows) = size;
      y.c.rows = y.d.rows = size;
    }
    if (setup.kind == GroupKind::k_grouped) {
      y.a.data = moved(y.a.data, begin * (at ? y.a.row_stride : 1), y.a.dtype);
      y.b.data = moved(y.b.data, begin * (bt ? 1 : y.b.row_stride), y.b.dtype);
      (at ? y.a.rows : y.a.cols) = size;
      (bt ? y.b.cols : y.b.rows) = size;
      one.k = size;
    }
    return {one, y};
  }

  struct Filled {
    Array array;
    Filled(Device& device, DType type, std::int64_t count, const Setup& s, test::Random& random)
        : array(device, static_cast<std::size_t>(count) * size_of(type),
                static_cast<std::size_t>(s.shift) * size_of(type)) {
      fill(random, s.data, type, array.host(), count);
      array.upload();
    }
  };

  const Setup& setup;
  Device& device;
  GroupedSpec spec;
  GroupedOperands x;
  std::int64_t m = 0, k = 0;
  std::optional<Filled> a, b, c, d, bias;
  std::optional<Array> offsets;

 private:
  void put_offsets(std::int64_t groups) {
    const std::size_t size = size_of(setup.type);
    offsets.emplace(device, static_cast<std::size_t>(groups) * size);
    std::int64_t end = 0;
    for (std::size_t g = 0; g < setup.sizes.size(); ++g) {
      end = setup.kind == GroupKind::m_masked ? setup.sizes[g] : end + setup.sizes[g];
      const auto narrow = static_cast<std::int32_t>(end);
      std::memcpy(offsets->host() + g * size,
                  setup.type == OffsetType::i32 ? static_cast<const void*>(&narrow) : &end, size);
    }
    offsets->upload();
    x.offsets = {offsets->at(), groups, setup.type};
  }
};

/// D's memory after the slices, each by a plan of its own.
std::vector<std::byte> by_slices(const Backend& backend, Arrays& arrays) {
  std::int64_t begin = 0;
  for (std::size_t g = 0; g < arrays.setup.sizes.size(); ++g) {
    const auto [spec, operands] = arrays.slice(g, begin);
    begin += arrays.setup.sizes[g];
    const Plan plan = ok(Plan::create(backend, spec));
    const Scratch scratch(arrays.device, ok(plan.workspace_bytes(operands.d.rows)));
    ok(plan.run({arrays.device.kind(), nullptr}, operands, scratch.get()));
    ok(arrays.device.synchronize({arrays.device.kind(), nullptr}));
  }
  arrays.d->array.download();
  return arrays.d->array.image();
}

}  // namespace

std::string text_of(const Setup& s) {
  std::string text = s.contract + " " + std::string(name(s.kind)) + " sizes";
  for (std::int64_t size : s.sizes) text += " " + std::to_string(size);
  return text + " spare " + std::to_string(s.spare) + " m " + std::to_string(s.m) + " n " +
         std::to_string(s.n) + " k " + std::to_string(s.k) + " ops " + std::string(name(s.op_a)) +
         " " + std::string(name(s.op_b)) + " pad " + std::to_string(s.pad) + " shift " +
         std::to_string(s.shift) + " " + std::string(name(s.type)) +
         (s.shared_b ? " shared B" : "") + (s.interleaved ? " interleaved" : "") +
         (s.interleaved_a ? " interleaved A" : "") + (s.interleaved_b ? " interleaved B" : "") +
         (s.bias ? " bias" : "") + (s.continues ? " continue" : "") +
         (s.in_place ? " in place" : "") + " beta " + std::to_string(s.beta) + " seed " +
         std::to_string(s.seed);
}

std::int64_t compare_with_slices(const Backend& backend, const Setup& setup,
                                 const std::function<void(std::int64_t)>& compared) {
  Arrays expected(backend, setup);
  std::int64_t rows = 0;
  for (std::int64_t size : setup.sizes) {
    rows +=
        setup.kind == GroupKind::m_grouped || setup.kind == GroupKind::m_masked ? size : setup.m;
  }
  const std::vector<std::byte> wanted = by_slices(backend, expected);
  std::vector<std::string> variants = backend.grouped_variants(expected.spec);
  variants.emplace_back();
  if (compared) compared(0);
  std::int64_t runs = 0;
  for (const std::string& variant : variants) {
    Arrays arrays(backend, setup);
    PlanOptions options;
    options.variant = variant;
    const GroupedPlan plan = ok(GroupedPlan::create(backend, arrays.spec, options));
    const Stream stream{arrays.device.kind(), nullptr};
    const std::int64_t k = setup.kind == GroupKind::k_grouped ? arrays.k : 0;
    const Scratch scratch(arrays.device, ok(plan.workspace_bytes(arrays.m, k)));
    ok(plan.check(stream, arrays.x));
    const Status ran = plan.run(stream, arrays.x, scratch.get());
    if (!variant.empty() && ran.code() == Errc::unsupported) continue;  // it takes other arrays
    ok(ran);
    ++runs;
    ok(arrays.device.synchronize(stream));
    arrays.d->array.download();
    const auto& got = arrays.d->array.image();
    const auto at = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
    if (static_cast<std::size_t>(at) != got.size()) {
      throw Failure(text_of(setup) + ", variant \"" + variant + "\": byte " + std::to_string(at) +
                    " of D's memory differs from that of the slices");
    }
    if (compared) compared(rows * setup.n);
  }
  return rows * setup.n * runs;
}

}  // namespace detgemm::grouped_tests
