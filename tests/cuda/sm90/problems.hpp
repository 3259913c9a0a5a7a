// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "core/contract/gemm_arguments.hpp"
#include "cuda/families.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/realign/realign.hpp"

namespace detgemm::test {

/// A GEMM whose arrays lie as described; the addresses are never followed.
struct Layout {
  std::int64_t m = 1, n = 1, k = 1;
  bool a_mn = false, b_mn = false, d_col = false;
  std::int64_t unit = 8;  ///< divides the distances of A's, B's and D's rows
  std::uintptr_t address = 4096;
  DType output = DType::bf16;
};

inline GemmArguments arguments(const Layout& l) {
  const auto pitch = [&](std::int64_t extent) { return (extent + l.unit - 1) / l.unit * l.unit; };
  const auto stride = [](std::int64_t extent, std::int64_t s) { return extent > 1 ? s : 0; };
  GemmArguments g;
  g.m = l.m;
  g.n = l.n;
  g.k = l.k;
  g.a = g.b = reinterpret_cast<const void*>(l.address);
  g.d = reinterpret_cast<void*>(l.address);
  g.as = {stride(l.m, l.a_mn ? 1 : pitch(l.k)), stride(l.k, l.a_mn ? pitch(l.m) : 1)};
  g.bs = {stride(l.k, l.b_mn ? pitch(l.n) : 1), stride(l.n, l.b_mn ? 1 : pitch(l.k))};
  g.ds = {stride(l.m, l.d_col ? 1 : pitch(l.n)), stride(l.n, l.d_col ? pitch(l.m) : 1)};
  g.output = l.output;
  return g;
}

inline std::string text(const Layout& l) {
  return std::to_string(l.m) + " x " + std::to_string(l.n) + " x " + std::to_string(l.k) +
         (l.a_mn ? " A-mn" : "") + (l.b_mn ? " B-mn" : "") + (l.d_col ? " D-col" : "");
}

inline cuda::Question question(const GemmArguments& g, int sms = 132, int forced = -1) {
  cuda::LaunchOptions options;
  options.sms = sms;
  options.forced = forced;
  return cuda::question_of({g, Arithmetic::hopper, DType::bf16}, options);
}
/// How the arrays lie, in the words of the SM90 kernels.
enum class Path { plain, general, realign, gather };

inline Path path_of(cuda::Family family, cuda::sm90::Form form) {
  if (family == cuda::Family::gather) return Path::gather;
  if (family == cuda::Family::realign) return Path::realign;
  return form == cuda::sm90::Form::plain ? Path::plain : Path::general;
}
inline Path path_of(const cuda::Decision& d) { return path_of(d.family, d.form); }
inline Path path_of(const GemmArguments& g) {
  const cuda::Question q = question(g);
  return path_of(q.family, q.form);
}

/// What the chooser says, without the memory of decisions.
inline cuda::Choice choose(const GemmArguments& g, int sms, int forced) {
  return cuda::sm90::choose(question(g, sms, forced));
}

inline std::span<const cuda::sm90::Geometry> geometries_of(Path path) {
  using namespace cuda;
  return sm90::geometries_of(path == Path::realign ? Family::realign : Family::chain);
}

inline bool is_taken(const cuda::Choice& choice) {
  return choice.why_not == nullptr && choice.decision.family != cuda::Family::none;
}

}  // namespace detgemm::test
