// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/common/buffers.hpp"

#include <algorithm>

namespace detgemm::bench {
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t kAll = 1 << 20;
constexpr DType kTypes[] = {DType::bf16, DType::fp16, DType::fp32,
                            DType::tf32, DType::e4m3, DType::e5m2};

/// Index of a type's pool.
int pool_of(DType type) { return static_cast<int>(type); }

std::int64_t padded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

/// Copy number `call` of an operand, out of as many as fit and are wanted.
char* Buffers::copy_of(const Pool& pool, std::int64_t bytes, std::int64_t wanted, int call) {
  const std::int64_t copies = std::clamp<std::int64_t>(pool.bytes / padded(bytes), 1, wanted);
  return pool.data + call % copies * padded(bytes);
}

Buffers::Buffers(Memory& memory, const std::vector<Problem>& problems, PoolBytes least)
    : memory_(memory) {
  const auto grow = [](Pool& pool, std::int64_t bytes, std::int64_t at_least) {
    pool.bytes = std::max({pool.bytes, 2 * padded(bytes), at_least});
  };
  for (const Problem& problem : problems) {
    const Gemm g = gemm_of(problem);
    const int type = pool_of(problem.type);
    grow(a_[type], g.a_bytes(), least.others);
    grow(b_[type], g.b_bytes(), problem.kind == Kind::db ? least.others : least.weights);
    grow(d_, g.d_bytes(), least.others);
    // A bias takes the beginning of the pool of C, which has a row of any D.
    if (problem.extra != Extra::none) {
      grow(c_[pool_of(output_of(problem))], g.d_bytes(), least.others);
    }
  }
  const auto fill = [&](Pool& pool, DType type, std::uint64_t seed) {
    if (pool.bytes == 0) return;
    pool.data = static_cast<char*>(memory_.allocate(pool.bytes));
    memory_.fill_normal(pool.data, pool.bytes, type, seed);
  };
  for (const DType type : kTypes) {
    fill(a_[pool_of(type)], type, 1);
    fill(b_[pool_of(type)], type, 2);
    fill(c_[pool_of(type)], type, 3);
  }
  if (d_.bytes == 0) return;
  d_.data = static_cast<char*>(memory_.allocate(d_.bytes));
  memory_.fill_zero(d_.data, d_.bytes);
}

Buffers::~Buffers() {
  for (int type = 0; type < 6; ++type) {
    if (a_[type].data != nullptr) memory_.release(a_[type].data);
    if (b_[type].data != nullptr) memory_.release(b_[type].data);
    if (c_[type].data != nullptr) memory_.release(c_[type].data);
  }
  if (d_.data != nullptr) memory_.release(d_.data);
}

Buffers::Call Buffers::at(const Problem& problem, int call) const {
  const Gemm g = gemm_of(problem);
  const int type = pool_of(problem.type);
  // Few tokens: activations come warm from the kernel ahead. Many: nothing survives in a cache.
  const bool warm = problem.kind == Kind::forward && problem.tokens <= 512;
  const std::int64_t weights = problem.hot ? 1 : kAll;
  const std::int64_t a = problem.hot ? 1 : warm ? 2 : kAll;
  const std::int64_t d = problem.hot ? 1 : warm ? 4 : kAll;
  Call at{copy_of(a_[type], g.a_bytes(), a, call), copy_of(b_[type], g.b_bytes(), weights, call),
          copy_of(d_, g.d_bytes(), d, call), nullptr, nullptr};
  const Pool& c = c_[pool_of(output_of(problem))];
  if (problem.extra == Extra::beta) at.c = copy_of(c, g.d_bytes(), d, call);
  if (has_bias(problem.extra)) at.bias = c.data;
  return at;
}

}  // namespace detgemm::bench
