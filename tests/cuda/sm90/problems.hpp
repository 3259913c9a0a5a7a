// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "core/contract/gemm_arguments.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/realign/realign.hpp"

namespace detgemm::test {

/// A GEMM whose arrays lie as told; the addresses are never followed.
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

inline const cuda::sm90::Geometry& geometry_of(const cuda::sm90::Decision& d) {
  using namespace cuda::sm90;
  const auto i = static_cast<std::size_t>(d.geometry);
  if (d.path == Path::plain) return kPlainGeometries.at(i);
  return d.path == Path::realign ? kRealignGeometries.at(i) : kGeneralGeometries.at(i);
}

}  // namespace detgemm::test
