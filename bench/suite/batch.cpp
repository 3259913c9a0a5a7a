// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/batch.hpp"

#include <cstddef>
#include <cstring>

namespace detgemm::bench {
namespace {

/// Row 0 of what call 0 of an arm writes, over an output that held something else before.
std::vector<std::byte> row_of(BenchDevice& device, const Arm& arm, const Problem& problem,
                              const Buffers& buffers) {
  const Gemm g = gemm_of(problem);
  void* const d = buffers.at(problem, 0).d;
  const std::int64_t size = arm.d_size != 0 ? arm.d_size : g.d_size;
  std::vector<std::byte> row(static_cast<std::size_t>(size * g.n), std::byte{0xff});
  Device& copies = device.backend().device();
  check(copies.to_device(d, row.data(), row.size()), "poison");
  check(arm.enqueue(device.queue().stream(), 0), arm.name);
  device.queue().wait();
  check(copies.to_host(row.data(), d, row.size()), "reading a row");
  return row;
}

}  // namespace

std::optional<bool> keeps_row(BenchDevice& device, const Case& c, const Arm& arm,
                              const std::function<Arm(const Problem&)>& make,
                              const Buffers& buffers) {
  const Problem& p = c.problem;
  if (p.kind == Kind::db || p.accumulate || p.tokens == 1) return std::nullopt;
  Problem alone = p;
  alone.tokens = 1;
  const auto in_batch = row_of(device, arm, p, buffers);
  const auto by_itself = row_of(device, make(alone), alone, buffers);
  return std::memcmp(in_batch.data(), by_itself.data(), in_batch.size()) == 0;
}

}  // namespace detgemm::bench
