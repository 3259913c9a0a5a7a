// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <detgemm/detgemm.hpp>
#include <detgemm/kokkos.hpp>
#include <vector>

namespace {

using detgemm::DType;
constexpr std::int64_t m = 37, n = 29, k = 300;

const detgemm::Contract& contract(const char* text) {
  static std::vector<detgemm::Contract> kept;
  kept.reserve(8);
  return kept.emplace_back(*detgemm::Contract::parse(text));
}

template <class T>
T number(std::int64_t i, std::int64_t j) {
  if constexpr (sizeof(T) == 4) return 1.0F / static_cast<float>(1 + (i * 31 + j * 17) % 97);
  return static_cast<T>(0x3f80 + (i * 31 + j * 17) % 129);  // bf16, from 1 to 2
}

template <class View>
View filled(View view) {
  for (std::size_t i = 0; i < view.extent(0); ++i) {
    for (std::size_t j = 0; j < view.extent(1); ++j) {
      view(i, j) = number<typename View::value_type>(static_cast<std::int64_t>(i),
                                                     static_cast<std::int64_t>(j));
    }
  }
  return view;
}

/// A view with gaps between its rows or columns, which run along the second or the first extent.
template <class T>
Kokkos::View<T**, Kokkos::LayoutStride> strided(std::int64_t rows, std::int64_t cols, bool by_row) {
  static std::deque<std::vector<T>> kept;
  kept.emplace_back(2 * (rows + 3) * (cols + 3));
  const Kokkos::LayoutStride layout(rows, by_row ? cols + 3 : 1, cols, by_row ? 1 : rows + 3);
  return Kokkos::View<T**, Kokkos::LayoutStride>(kept.back().data(), layout);
}

/// The bits that raw pointers give.
template <class T>
std::vector<float> expected(const detgemm::Contract& by, DType type) {
  std::vector<T> a, b;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < k; ++j) a.push_back(number<T>(i, j));
  }
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < n; ++j) b.push_back(number<T>(i, j));
  }
  std::vector<float> d(m * n);
  const auto status = detgemm::gemm({}, detgemm::row_major(a.data(), m, k, type),
                                    detgemm::row_major(b.data(), k, n, type),
                                    detgemm::row_major(d.data(), m, n, DType::fp32), by);
  if (!status) std::puts(status.message().c_str());
  return d;
}

int failures = 0;
void expect(bool good, const char* what) {
  if (!good) std::printf("failed: %s\n", what), ++failures;
}

template <class View>
bool same(const View& d, const std::vector<float>& as) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const float got = d(i, j);
      if (std::memcmp(&got, &as[i * n + j], sizeof got) != 0) return false;
    }
  }
  return true;
}

template <class A, class B, class D>
void check(const A& a, const B& b, const D& d, const std::vector<float>& as, const char* what) {
  const auto& by = contract("ieee_fma/fp32/chain->fp32");
  const Kokkos::DefaultHostExecutionSpace exec;
  Kokkos::deep_copy(d, -1.0F);
  expect(detgemm::kokkos::gemm(exec, a, b, d, by).ok() && same(d, as), what);
  Kokkos::deep_copy(d, -1.0F);
  expect(detgemm::kokkos::gemm(a, b, d, by).ok() && same(d, as), what);
}

void run() {
  using Left = Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  using Right = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  const auto as = expected<float>(contract("ieee_fma/fp32/chain->fp32"), DType::fp32);
  const Left la = filled(Left("la", m, k)), lb = filled(Left("lb", k, n)), ld("ld", m, n);
  const Right ra = filled(Right("ra", m, k)), rb = filled(Right("rb", k, n)), rd("rd", m, n);
  const auto sa = filled(strided<float>(m, k, true)), sb = filled(strided<float>(k, n, false));
  const auto sd = strided<float>(m, n, false);
  check(ra, rb, rd, as, "LayoutRight");
  check(la, lb, ld, as, "LayoutLeft");
  check(la, rb, sd, as, "Left x Right -> Stride");
  check(sa, sb, ld, as, "Stride x Stride -> Left");
  check(sa, lb, rd, as, "Stride x Left -> Right");
  const Kokkos::View<const float**, Kokkos::LayoutLeft, Kokkos::HostSpace> ca = la;
  check(ca, rb, rd, as, "const elements");

  // Part of a larger view, as subview gives it.
  const Right wide("wide", m, n + 5);
  check(ra, rb, Kokkos::subview(wide, Kokkos::ALL, std::make_pair(2, 2 + static_cast<int>(n))), as,
        "subview");

  // Bits of bf16 in integers.
  const auto& bf16 = contract("hopper/bf16/chain->fp32");
  using Bits = Kokkos::View<std::uint16_t**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  const auto a16 = filled(Bits("a16", m, k)), b16 = filled(Bits("b16", k, n));
  const auto status = detgemm::kokkos::gemm(detgemm::kokkos::as<DType::bf16>(a16),
                                            detgemm::kokkos::as<DType::bf16>(b16), rd, bf16);
  expect(status.ok() && same(rd, expected<std::uint16_t>(bf16, DType::bf16)), "bf16 in integers");

  // Refused in a sentence, and nothing is written.
  Kokkos::deep_copy(rd, -1.0F);
  const auto wrong = detgemm::kokkos::gemm(ra, ra, rd, contract("ieee_fma/fp32/chain->fp32"));
  expect(!wrong.ok() && wrong.message().find("b is ") != std::string::npos && rd(0, 0) == -1.0F,
         "the shape of B");
  const Kokkos::View<float**, Kokkos::LayoutStride> every_other(
      ra.data(), Kokkos::LayoutStride(m, k, k / 2, 2));
  expect(!detgemm::kokkos::gemm(every_other, rb, rd, contract("ieee_fma/fp32/chain->fp32")).ok(),
         "no unit stride");
}

}  // namespace

int main() {
  Kokkos::initialize();
  const auto runtime = detgemm::Runtime::start();  // a shared detgemm has a Kokkos of its own
  if (!runtime) std::puts(runtime.status().message().c_str()), ++failures;
  run();
  Kokkos::finalize();
  if (failures == 0) std::puts(detgemm::version());
  return failures;
}
