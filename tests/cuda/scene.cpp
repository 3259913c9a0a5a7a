// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/scene.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace detgemm::test {
namespace {

/// Elements from the first to behind the last one of a stored matrix.
std::size_t extent(const ConstMatrix& view) {
  if (view.rows == 0 || view.cols == 0) return 0;
  const std::int64_t last = (view.rows - 1) * view.row_stride + (view.cols - 1) * view.col_stride;
  return static_cast<std::size_t>(last + 1);
}

constexpr int kGuardByte = 0x5a;
constexpr std::uint64_t kRoleA = 1, kRoleB = 2, kRoleC = 3, kRoleBias = 4, kRoleScale = 5;

std::size_t extent(const BlockScales& s) {
  if (s.blocks == 0 || s.leaves == 0) return 0;
  return static_cast<std::size_t>((s.blocks - 1) * s.stride + (s.leaves - 1) * s.leaf_stride + 1);
}

}  // namespace

void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s (%s)\n", what, cudaGetErrorString(error), cudaGetErrorName(error));
  std::exit(1);
}
void must(const Status& status, const char* what) {
  if (status) return;
  std::fprintf(stderr, "%s: %s\n", what, status.message().c_str());
  std::exit(1);
}

Arena::Arena(std::size_t elements) : capacity_(elements * sizeof(float) + 4 * kGuard) {
  must(cudaMalloc(&memory_, capacity_), "setting an arena aside");
}
Arena::~Arena() { cudaFree(memory_); }

void Arena::take(std::size_t elements, std::size_t element_size, std::int64_t offset) {
  first_ = kGuard + static_cast<std::size_t>(offset) * element_size;
  bytes_ = first_ + elements * element_size + kGuard;
  if (bytes_ <= capacity_) return;
  std::fprintf(stderr, "an array of %zu bytes does not fit its arena\n", bytes_);
  std::exit(1);
}

Scene::Scene(cudaStream_t stream)
    : stream_(stream),
      a_(kMaxElements),
      b_(kMaxElements),
      c_(kMaxElements),
      bias_(1 << 17),
      scale_a_(kMaxElements / 8),
      scale_b_(kMaxElements / 8),
      d_(kMaxElements),
      e_(kMaxElements) {
  must(cudaMalloc(&scratch_, sizeof(Difference) + sizeof(unsigned long long)), "scratch");
}
Scene::~Scene() {
  cudaFree(workspace_);
  cudaFree(scratch_);
}

void Scene::take_all() {
  const Operands sizes = operands_of(problem_, {});
  const std::size_t in = size_of(problem_.spec.contract.input);
  const std::size_t out = size_of(problem_.spec.contract.output);
  a_.take(extent(sizes.a), in, problem_.a.offset);
  b_.take(extent(sizes.b), in, problem_.b.offset);
  c_.take(problem_.in_place ? 0 : extent(sizes.c), size_of(sizes.c.dtype), problem_.c.offset);
  bias_.take(static_cast<std::size_t>(sizes.bias.size), size_of(sizes.bias.dtype), 0);
  scale_a_.take(extent(sizes.scale_a), size_of(sizes.scale_a.type), 0);
  scale_b_.take(extent(sizes.scale_b), size_of(sizes.scale_b.type), 0);
  d_.take(extent(sizes.d), out, problem_.d.offset);
  e_.take(extent(sizes.d), out, problem_.d.offset);
  Addresses at{a_.array(),    b_.array(),       c_.array(),      d_.array(),
               bias_.array(), scale_a_.array(), scale_b_.array()};
  operands_ = operands_of(problem_, at);
  at.d = e_.array();
  expected_ = operands_of(problem_, at);
}

void Scene::poison(const Arena& arena) {
  must(cudaMemsetAsync(arena.memory(), problem_.poison, arena.bytes(), stream_), "poison");
}

Draw Scene::draw(DType type, std::uint64_t role) const {
  Draw d{problem_.data, type, problem_.key ^ mix(role), problem_.shift, role == kRoleB};
  // What is added to products of cancelling numbers is to be of their size.
  if (role >= kRoleC && d.data != Data::specials) d.data = Data::normal;
  return d;
}

void Scene::fill_output_with_c(const Arena& arena) {
  if (!problem_.in_place) return;
  const Strides s = strides_of(operands_.d, Op::none);
  must(fill({arena.array(), s, problem_.m, problem_.spec.n}, draw(operands_.d.dtype, kRoleC),
            stream_),
       "filling C");
}

void Scene::place(const Problem& problem) {
  problem_ = problem;
  take_all();
  for (const Arena* arena : {&a_, &b_, &c_, &bias_, &scale_a_, &scale_b_, &e_}) poison(*arena);
  const GemmSpec& spec = problem_.spec;
  const DType input = spec.contract.input;
  const Strides b = strides_of(operands_.b, spec.op_b);
  must(fill({a_.array(), strides_of(operands_.a, spec.op_a), problem_.m, spec.k},
            draw(stored(input), kRoleA), stream_),
       "filling A");
  must(fill({b_.array(), {b.col, b.row}, spec.n, spec.k}, draw(stored(input), kRoleB), stream_),
       "filling B");
  const std::int64_t leaf_k = spec.contract.reduction.leaf_k;
  if (spec.a_snapped) {
    must(snap_by_the_rule({a_.array(), strides_of(operands_.a, spec.op_a), problem_.m, spec.k},
                          leaf_k, stream_),
         "keeping the promise about A");
  }
  if (spec.b_snapped) {
    must(snap_by_the_rule({b_.array(), {b.col, b.row}, spec.n, spec.k}, leaf_k, stream_),
         "keeping the promise about B");
  }
  if (spec.reads_scales()) {
    must(fill_scales(operands_.scale_a, draw(DType::fp32, kRoleScale), stream_), "filling sa");
    must(fill_scales(operands_.scale_b, draw(DType::fp32, kRoleScale + 1), stream_), "filling sb");
  }
  if (spec.reads_c() && !problem_.in_place) {
    must(fill({c_.array(), strides_of(operands_.c, Op::none), problem_.m, spec.n},
              draw(operands_.c.dtype, kRoleC), stream_),
         "filling C");
  }
  if (spec.bias) {
    must(fill({bias_.array(), {0, 1}, 1, spec.n}, draw(*spec.bias, kRoleBias), stream_),
         "filling the bias");
  }
  fill_output_with_c(e_);
  must(oracle(flatten(spec, expected_), input, stream_, spec.contract.arithmetic,
              flatten_scales(spec, expected_)),
       "the oracle");
  sum_ = sum_of_inputs();
}

const Operands& Scene::reset() {
  poison(d_);
  fill_output_with_c(d_);
  return operands_;
}

void Scene::plant_bit(std::uint64_t index) {
  const Strides s = strides_of(operands_.d, Op::none);
  const auto row = static_cast<std::int64_t>(index) / problem_.spec.n;
  const auto col = static_cast<std::int64_t>(index) % problem_.spec.n;
  const auto at = static_cast<std::size_t>(row * s.row + col * s.col);
  must(poke(static_cast<char*>(d_.array()) + at * size_of(operands_.d.dtype), 1, stream_),
       "planting a bit");
}

void Scene::plant_outside() {
  must(poke(static_cast<char*>(d_.array()) - 1, 0x80, stream_), "planting a byte");
}

Difference Scene::difference() {
  const Difference none;
  Difference found;
  auto* out = static_cast<Difference*>(scratch_);
  must(cudaMemcpyAsync(out, &none, sizeof none, cudaMemcpyHostToDevice, stream_), "counters");
  const Comparison c{
      d_.memory(), e_.memory(),     d_.bytes(),       d_.first(), strides_of(operands_.d, Op::none),
      problem_.m,  problem_.spec.n, operands_.d.dtype};
  must(compare(c, out, stream_), "comparing");
  must(cudaMemcpyAsync(&found, out, sizeof found, cudaMemcpyDeviceToHost, stream_), "counters");
  must(cudaStreamSynchronize(stream_), "waiting for a comparison");
  return found;
}

unsigned long long Scene::sum_of_inputs() {
  auto* out = reinterpret_cast<unsigned long long*>(static_cast<Difference*>(scratch_) + 1);
  unsigned long long sum = 0;
  must(cudaMemsetAsync(out, 0, sizeof sum, stream_), "a sum");
  for (const Arena* arena : {&a_, &b_, &c_, &bias_, &scale_a_, &scale_b_}) {
    must(checksum(arena->memory(), arena->bytes(), out, stream_), "a sum");
  }
  must(cudaMemcpyAsync(&sum, out, sizeof sum, cudaMemcpyDeviceToHost, stream_), "a sum");
  must(cudaStreamSynchronize(stream_), "waiting for a sum");
  return sum;
}

Workspace Scene::workspace(std::size_t bytes) {
  if (bytes + Arena::kGuard > workspace_capacity_) {
    must(cudaStreamSynchronize(stream_), "waiting for a workspace");
    cudaFree(workspace_);
    workspace_capacity_ = 2 * bytes + Arena::kGuard;
    void* memory = nullptr;
    must(cudaMalloc(&memory, workspace_capacity_), "a workspace");
    workspace_ = static_cast<char*>(memory);
    must(cudaMemsetAsync(memory, 0xa5, workspace_capacity_, stream_), "poison");
  }
  workspace_bytes_ = bytes;
  must(cudaMemsetAsync(workspace_ + bytes, kGuardByte, Arena::kGuard, stream_), "a guard");
  return {bytes != 0 ? workspace_ : nullptr, bytes};
}

bool Scene::inputs_intact() {
  if (workspace_ != nullptr) {
    std::array<unsigned char, Arena::kGuard> guard{};
    must(cudaMemcpyAsync(guard.data(), workspace_ + workspace_bytes_, guard.size(),
                         cudaMemcpyDeviceToHost, stream_),
         "a guard");
    must(cudaStreamSynchronize(stream_), "waiting for a guard");
    for (const unsigned char byte : guard) {
      if (byte != kGuardByte) return false;
    }
  }
  return sum_of_inputs() == sum_;
}

}  // namespace detgemm::test
