// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/grouped_sweep/scene.hpp"

#include <vector>

namespace detgemm::test {
namespace {

constexpr std::uint64_t kRoleA = 1, kRoleB = 2, kRoleC = 3, kRoleBias = 4, kRoleScale = 5;

/// Elements from the first to behind the last one of all groups.
std::size_t extent(const ConstMatrix& view, std::int64_t distance, std::int64_t groups) {
  if (view.rows == 0 || view.cols == 0) return 0;
  const std::int64_t last = (view.rows - 1) * view.row_stride + (view.cols - 1) * view.col_stride;
  return static_cast<std::size_t>(last + 1 + (groups - 1) * distance);
}
std::size_t extent(const BlockScales& s, std::int64_t distance, std::int64_t groups) {
  if (s.blocks == 0 || s.leaves == 0) return 0;
  return static_cast<std::size_t>((s.blocks - 1) * s.stride + (s.leaves - 1) * s.leaf_stride + 1 +
                                  (groups - 1) * distance);
}

void* at(const Arena& arena, std::int64_t elements, std::size_t bytes) {
  return static_cast<char*>(arena.array()) + elements * static_cast<std::int64_t>(bytes);
}

}  // namespace

GroupScene::GroupScene(cudaStream_t stream)
    : stream_(stream),
      a_(kMaxElements),
      b_(kMaxElements),
      c_(kMaxElements),
      bias_(1 << 17),
      scale_a_(kMaxElements / 8),
      scale_b_(kMaxElements / 8),
      offsets_(1 << 10),
      d_(kMaxElements),
      e_(kMaxElements) {
  must(cudaMalloc(&scratch_, sizeof(Difference) + sizeof(unsigned long long)), "scratch");
}
GroupScene::~GroupScene() {
  cudaFree(workspace_);
  cudaFree(scratch_);
}

Draw GroupScene::draw(DType type, std::uint64_t role, std::int64_t group) const {
  const std::uint64_t key = problem_.key ^ mix(role + 16 * static_cast<std::uint64_t>(group));
  Draw d{problem_.data, type, key, problem_.shift, role == kRoleB};
  if (role >= kRoleC && d.data != Data::specials) d.data = Data::normal;
  return d;
}

void GroupScene::fill_results(const Arena& arena, const GroupLayout& layout, DType type) {
  const Strides s = layout.col_major ? Strides{1, layout.ld} : Strides{layout.ld, 1};
  const std::int64_t groups = layout.distance > 0 ? problem_.spec.groups : 1;
  for (std::int64_t g = 0; g < groups; ++g) {
    must(fill({at(arena, g * layout.distance, size_of(type)), s, problem_.m, problem_.spec.gemm.n},
              draw(type, kRoleC, g), stream_),
         "filling C");
  }
}

void GroupScene::fill_all() {
  const GemmSpec& g = problem_.spec.gemm;
  const Operands& x = operands_.arrays;
  const DType in = stored(g.contract.input);
  const std::int64_t groups = problem_.spec.groups;
  const auto count = [&](std::int64_t distance) { return distance > 0 ? groups : 1; };
  const Strides b = strides_of(x.b, g.op_b);
  for (std::int64_t i = 0; i < count(operands_.group.a); ++i) {
    must(fill({at(a_, i * operands_.group.a, size_of(in)), strides_of(x.a, g.op_a), problem_.m,
               problem_.k},
              draw(in, kRoleA, i), stream_),
         "filling A");
  }
  for (std::int64_t i = 0; i < count(operands_.group.b); ++i) {
    must(fill({at(b_, i * operands_.group.b, size_of(in)), {b.col, b.row}, g.n, problem_.k},
              draw(in, kRoleB, i), stream_),
         "filling B");
  }
  if (g.reads_c() && !problem_.in_place) fill_results(c_, problem_.c, x.c.dtype);
  for (std::int64_t i = 0; g.bias && i < count(operands_.group.bias); ++i) {
    must(fill({at(bias_, i * operands_.group.bias, size_of(*g.bias)), {0, 1}, 1, g.n},
              draw(*g.bias, kRoleBias, i), stream_),
         "filling the bias");
  }
  const auto scales = [&](BlockScales s, std::int64_t distance, const Arena& arena,
                          std::uint64_t role) {
    for (std::int64_t i = 0; i < count(distance); ++i) {
      s.data = at(arena, i * distance, size_of(s.type));
      must(fill_scales(s, draw(DType::fp32, role, i), stream_), "filling scales");
    }
  };
  if (g.reads_scales()) {
    scales(x.scale_a, operands_.group.scale_a, scale_a_, kRoleScale);
    scales(x.scale_b, operands_.group.scale_b, scale_b_, kRoleScale + 1);
  }
}

void GroupScene::place(const GroupProblem& problem) {
  problem_ = problem;
  const std::int64_t groups = problem.spec.groups;
  const GemmSpec& g = problem.spec.gemm;
  const GroupedOperands sizes = operands_of(problem, {}, nullptr);
  const Operands& x = sizes.arrays;
  const std::size_t in = size_of(g.contract.input), out = size_of(g.contract.output);
  a_.take(extent(x.a, sizes.group.a, groups), in, problem.a.offset);
  b_.take(extent(x.b, sizes.group.b, groups), in, problem.b.offset);
  const bool has_c = g.reads_c() && !problem.in_place;
  c_.take(has_c ? extent(x.c, sizes.group.c, groups) : 0, size_of(x.c.dtype), problem.c.offset);
  bias_.take(static_cast<std::size_t>(x.bias.size + (groups - 1) * sizes.group.bias),
             size_of(x.bias.dtype), 0);
  scale_a_.take(extent(x.scale_a, sizes.group.scale_a, groups), size_of(x.scale_a.type), 0);
  scale_b_.take(extent(x.scale_b, sizes.group.scale_b, groups), size_of(x.scale_b.type), 0);
  offsets_.take(static_cast<std::size_t>(groups), size_of(problem.offset_type), 0);
  for (Arena* arena : {&d_, &e_}) {
    arena->take(extent({nullptr, x.d.rows, x.d.cols, x.d.row_stride, x.d.col_stride, x.d.dtype},
                       sizes.group.d, groups),
                out, problem.d.offset);
  }
  Addresses where{a_.array(),    b_.array(),       c_.array(),      d_.array(),
                  bias_.array(), scale_a_.array(), scale_b_.array()};
  operands_ = operands_of(problem, where, offsets_.array());
  where.d = e_.array();
  expected_ = operands_of(problem, where, offsets_.array());
  for (const Arena* arena : {&a_, &b_, &c_, &bias_, &scale_a_, &scale_b_, &offsets_, &e_}) {
    must(cudaMemsetAsync(arena->memory(), problem.poison, arena->bytes(), stream_), "poison");
  }
  fill_all();
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (const std::int64_t size : problem.sizes) {
    end = problem.spec.kind == GroupKind::m_masked ? size : end + size;
    ends.push_back(end);
  }
  const std::vector<std::int32_t> narrow(ends.begin(), ends.end());
  const void* from = problem.offset_type == OffsetType::i32
                         ? static_cast<const void*>(narrow.data())
                         : static_cast<const void*>(ends.data());
  must(cudaMemcpyAsync(offsets_.array(), from, ends.size() * size_of(problem.offset_type),
                       cudaMemcpyHostToDevice, stream_),
       "offsets");
  if (problem.in_place) fill_results(e_, problem.d, x.d.dtype);
  compute_expected();
  sum_ = sum_of_inputs();
}

template <class Act>
void GroupScene::each_slice(const GroupedOperands& all, Act&& act) const {
  std::int64_t begin = 0;
  for (std::size_t g = 0; g < problem_.sizes.size(); ++g) {
    const auto [spec, operands] = slice_of(problem_, all, g, begin);
    begin += problem_.sizes[g];
    if (operands.d.rows > 0) act(spec, operands);
  }
}

void GroupScene::compute_expected() {
  each_slice(expected_, [&](const GemmSpec& spec, const Operands& x) {
    must(oracle(flatten(spec, x), spec.contract.input, stream_, spec.contract.arithmetic,
                flatten_scales(spec, x)),
         "the oracle");
  });
}

const GroupedOperands& GroupScene::reset() {
  must(cudaMemsetAsync(d_.memory(), problem_.poison, d_.bytes(), stream_), "poison");
  if (problem_.in_place) fill_results(d_, problem_.d, operands_.arrays.d.dtype);
  return operands_;
}

Difference GroupScene::difference() {
  Difference found;
  auto* out = static_cast<Difference*>(scratch_);
  const auto begin = [&] {
    const Difference none;
    must(cudaMemcpyAsync(out, &none, sizeof none, cudaMemcpyHostToDevice, stream_), "counters");
  };
  const auto end = [&] {
    Difference d;
    must(cudaMemcpyAsync(&d, out, sizeof d, cudaMemcpyDeviceToHost, stream_), "counters");
    must(cudaStreamSynchronize(stream_), "waiting for a comparison");
    return d;
  };
  begin();
  must(compare({d_.memory(), e_.memory(), d_.bytes(), 0, {}, 0, 0, DType::fp32}, out, stream_),
       "comparing");
  found.bytes = end().bytes;
  if (found.bytes == 0) return found;
  each_slice(operands_, [&](const GemmSpec&, const Operands& x) {
    const auto first = static_cast<std::size_t>(static_cast<const char*>(x.d.data) -
                                                static_cast<const char*>(d_.memory()));
    const Strides s{x.d.rows > 1 ? x.d.row_stride : 0, x.d.cols > 1 ? x.d.col_stride : 0};
    begin();
    must(compare({d_.memory(), e_.memory(), 0, first, s, x.d.rows, x.d.cols, x.d.dtype}, out,
                 stream_),
         "comparing");
    const Difference d = end();
    found.elements += d.elements;
    found.bytes_inside += d.bytes_inside;
  });
  return found;
}

void GroupScene::plant_bit() {
  void* last = nullptr;
  each_slice(operands_, [&](const GemmSpec&, const Operands& x) { last = x.d.data; });
  if (last != nullptr) must(poke(last, 1, stream_), "planting a bit");
}

unsigned long long GroupScene::sum_of_inputs() {
  auto* out = reinterpret_cast<unsigned long long*>(static_cast<Difference*>(scratch_) + 1);
  unsigned long long sum = 0;
  must(cudaMemsetAsync(out, 0, sizeof sum, stream_), "a sum");
  for (const Arena* arena : {&a_, &b_, &c_, &bias_, &scale_a_, &scale_b_, &offsets_}) {
    must(checksum(arena->memory(), arena->bytes(), out, stream_), "a sum");
  }
  must(cudaMemcpyAsync(&sum, out, sizeof sum, cudaMemcpyDeviceToHost, stream_), "a sum");
  must(cudaStreamSynchronize(stream_), "waiting for a sum");
  return sum;
}

bool GroupScene::inputs_intact() { return sum_of_inputs() == sum_; }

Workspace GroupScene::workspace(std::size_t bytes) {
  if (bytes > workspace_capacity_) {
    must(cudaStreamSynchronize(stream_), "waiting for a workspace");
    cudaFree(workspace_);
    workspace_capacity_ = 2 * bytes;
    must(cudaMalloc(&workspace_, workspace_capacity_), "a workspace");
    must(cudaMemsetAsync(workspace_, 0xa5, workspace_capacity_, stream_), "poison");
  }
  return {bytes != 0 ? workspace_ : nullptr, bytes};
}

}  // namespace detgemm::test
