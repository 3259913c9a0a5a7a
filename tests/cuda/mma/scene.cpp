// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/mma/scene.hpp"

#include <algorithm>
#include <cstring>

#include "core/contract/compute_element.hpp"

namespace detgemm::test {
namespace {

constexpr std::size_t kMargin = 64;  // elements before and after an array

struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
  }
  template <class V, std::size_t N>
  V of(const V (&list)[N]) {
    return list[below(N)];
  }
};

/// Strides of rows x cols elements whose lines are rows, and the elements that they span.
Strides strides_of(Lie lie, std::int64_t rows, std::int64_t cols) {
  const auto up = [](std::int64_t extent) { return (extent + 7) / 8 * 8; };
  const auto some = [](std::int64_t extent, std::int64_t s) { return extent > 1 ? s : 0; };
  switch (lie) {
    case Lie::along:
      return {some(rows, up(cols) + 8), some(cols, 1)};
    case Lie::across:
      return {some(rows, 1), some(cols, up(rows) + 8)};
    case Lie::odd_along:
      return {some(rows, cols + 3), some(cols, 1)};
    case Lie::odd_across:
      return {some(rows, 1), some(cols, rows + 1)};
    default:
      return {some(rows, 2 * cols + 1), some(cols, 2)};
  }
}
std::size_t span_of(const Strides& s, std::int64_t rows, std::int64_t cols) {
  return rows == 0 || cols == 0
             ? 0
             : static_cast<std::size_t>((rows - 1) * s.row + (cols - 1) * s.col + 1);
}
bool is_odd(Lie lie) { return lie != Lie::along && lie != Lie::across; }

/// The first element of an array, of `units` of 2 bytes: at a multiple of 16 bytes, or not.
std::uint16_t* first_of(std::vector<std::uint16_t>& memory, Lie lie, std::size_t units) {
  auto at = reinterpret_cast<std::uintptr_t>(memory.data() + kMargin);
  at = (at + 15) / 16 * 16;
  return reinterpret_cast<std::uint16_t*>(at) + (is_odd(lie) ? units : 0);
}

/// A number of 16 bits: 0 near 1, 1 any exponent, 2 any bits now and then, 3 near 1 for pairs that
/// cancel.
std::uint16_t number(Random& random, DType type, int kind) {
  const auto h = static_cast<std::uint32_t>(random.next());
  const bool bf16 = type == DType::bf16;
  const int bits = bf16 ? 7 : 10;
  const std::uint32_t fraction = h & ((1U << bits) - 1);
  const std::uint32_t sign = h >> 31 << 15;
  if (kind == 2 && h % 61 == 0) return static_cast<std::uint16_t>(random.next());
  const std::uint32_t middle = bf16 ? 127 : 15;
  const std::uint32_t spread = kind == 1 ? (bf16 ? 250 : 30) : 9;
  const std::uint32_t field = kind == 1 ? (h >> 12) % spread : middle - 4 + (h >> 12) % spread;
  return static_cast<std::uint16_t>(sign | field << bits | fraction);
}

}  // namespace

std::string MmaProblem::text() const {
  const auto number_of = [](auto v) { return std::to_string(v); };
  Contract c;
  c.arithmetic = arithmetic;
  c.input = input;
  c.reduction = reduction;
  c.output = output;
  return c.text() + " " + number_of(m) + "x" + number_of(n) + "x" + number_of(k) + " a " +
         number_of(static_cast<int>(a)) + " b " + number_of(static_cast<int>(b)) + " d " +
         number_of(static_cast<int>(d)) + " activation " +
         number_of(static_cast<int>(epilogue.activation)) + " alpha " + number_of(epilogue.alpha) +
         " beta " + number_of(epilogue.beta) + (epilogue.has_bias ? " bias" : "") +
         (from_c ? " continue" : "") + " data " + number_of(data) + " seed " + number_of(seed);
}

MmaProblem draw_mma_problem(std::uint64_t seed, std::int64_t tile_m, std::int64_t tile_n,
                            bool leaves) {
  Random random{seed};
  MmaProblem p;
  p.seed = seed;
  p.arithmetic = random.of({Arithmetic::hopper, Arithmetic::ampere, Arithmetic::blackwell});
  p.input = random.of({DType::bf16, DType::fp16});
  const bool large = tile_m * tile_n > 64 * 128;
  p.m = 1 + random.below(large ? tile_m : 2 * tile_m);
  p.n = 1 + random.below(large ? tile_n : 3 * tile_n / 2);
  p.k = random.of({1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 70, 72, 96, 97});
  if (!large) p.k += random.of({0, 0, 64, 128});
  if (random.below(40) == 0) p.k = 0;
  if (leaves) {
    p.reduction.kind = random.of({ReductionKind::fold, ReductionKind::tree});
    p.reduction.leaf_k = random.of({16, 16, 32, 48, 64, 80});
    if (p.arithmetic == Arithmetic::ampere) p.reduction.leaf_k -= random.of({0, 8});
  }
  p.a = random.of(kLies);
  p.b = random.of(kLies);
  p.d = random.of(kLies);
  p.output = random.of({DType::bf16, DType::fp16, DType::fp32});
  p.data = static_cast<int>(random.below(4));
  if (random.below(2) == 0) {
    p.epilogue.alpha = random.of({1.0F, -0.5F, 1.7F});
    p.epilogue.beta = random.of({0.0F, 0.0F, 1.0F, -0.3F});
    p.epilogue.has_bias = random.below(2) == 0;
    p.epilogue.activation = random.of({Activation::none, Activation::relu, Activation::gelu,
                                       Activation::gelu_tanh, Activation::silu});
    p.bias_type = random.of({DType::bf16, DType::fp16, DType::fp32});
  }
  if (p.reduction.kind != ReductionKind::tree && random.below(4) == 0) {
    p.from_c = true;
    p.epilogue.beta = 0;
  }
  return p;
}

MmaScene::MmaScene(const MmaProblem& p) {
  Random random{p.seed ^ 0x5ca1ab1eULL};
  g_.m = p.m;
  g_.n = p.n;
  g_.k = p.k;
  g_.reduction = p.reduction;
  g_.epilogue = p.epilogue;
  g_.output = p.output;
  g_.c_type = p.from_c ? DType::fp32 : p.output;
  g_.bias_type = p.bias_type;
  g_.continue_from_c = p.from_c;
  const bool tf32 = p.input == DType::tf32;
  const std::size_t units = tf32 ? 2 : 1;
  const auto fill = [&](std::vector<std::uint16_t>& memory, Lie lie, std::int64_t lines,
                        const Strides& s, bool pairs) {
    memory.assign(units * (span_of(s, lines, p.k) + 2 * kMargin + 9), 0x7fff);
    std::uint16_t* const first = first_of(memory, lie, units);
    for (std::int64_t line = 0; line < lines; ++line) {
      std::uint32_t before = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        std::uint32_t v = number(random, tf32 ? DType::bf16 : p.input, p.data);
        if (tf32) v = v << 16 | (random.next() & 0xffffU);
        if (p.data == 3 && k % 2 != 0) {
          const auto low = static_cast<std::uint32_t>(random.next() % 4);
          v = before ^ (pairs ? (tf32 ? 0x80000000U : 0x8000U) : (tf32 ? low << 13 : low));
        }
        before = v;
        const std::size_t bytes = 2 * units;
        std::memcpy(reinterpret_cast<char*>(first) +
                        static_cast<std::ptrdiff_t>(bytes) * (line * s.row + k * s.col),
                    &v, bytes);
      }
    }
    return first;
  };
  // Lines of B are its columns.
  g_.as = strides_of(p.a, p.m, p.k);
  const Strides lines_of_b = strides_of(p.b, p.n, p.k);
  g_.bs = {lines_of_b.col, lines_of_b.row};
  g_.a = fill(a_, p.a, p.m, g_.as, true);
  g_.b = fill(b_, p.b, p.n, lines_of_b, false);
  g_.ds = strides_of(p.d, p.m, p.n);
  g_.cs = strides_of(Lie::odd_along, p.m, p.n);
  const auto bytes_of = [](DType type) { return type == DType::fp32 ? std::size_t{4} : 2; };
  c_.resize((span_of(g_.cs, p.m, p.n) + 2) * bytes_of(g_.c_type));
  bias_.resize(static_cast<std::size_t>(p.n) * bytes_of(p.bias_type));
  const auto fill_values = [&](std::vector<unsigned char>& memory, DType type) {
    for (std::size_t i = 0; i < memory.size() / bytes_of(type); ++i) {
      const float v = arithmetic::to_float<DType::bf16>(number(random, DType::bf16, p.data));
      store_rounded(memory.data(), static_cast<std::int64_t>(i), type, v);
    }
  };
  fill_values(c_, g_.c_type);
  fill_values(bias_, p.bias_type);
  g_.c = c_.data();
  g_.bias = p.epilogue.has_bias ? bias_.data() : nullptr;
  d_.resize((span_of(g_.ds, p.m, p.n) + 2 * kMargin + 9) * bytes_of(p.output));
  const auto at = (reinterpret_cast<std::uintptr_t>(d_.data()) + 127) / 64 * 64;
  g_.d = reinterpret_cast<void*>(at + (is_odd(p.d) ? bytes_of(p.output) : 0));
  reset_d();
  arithmetic::for_step(p.arithmetic, p.input, [&]<Arithmetic A, DType T>() {
    for (std::int64_t row = 0; row < p.m; ++row) {
      for (std::int64_t col = 0; col < p.n; ++col) compute_element<A, T>(g_, row, col);
    }
  });
  expected_ = d_;
  reset_d();
}

void MmaScene::reset_d() { std::fill(d_.begin(), d_.end(), 0xa5); }

}  // namespace detgemm::test
