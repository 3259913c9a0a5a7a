// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>

#include "tests/cuda/peers/jobs.hpp"

namespace detgemm::test {

using namespace cluster;

/// One call whose arrays take vectors, against one rank: "" or what is wrong. D's rows are `gap`
/// elements apart. From a graph where it is replayed.
inline std::string run_aligned(const Communicator& communicator, const GemmSpec& spec,
                               std::int64_t m, std::int64_t gap, Algorithm algorithm,
                               bool vectors = true, bool serial = false, int replays = 0,
                               Placement output = Placement::replicated) {
  Device& device = fake::device();
  std::mt19937_64 random(static_cast<std::uint64_t>(m));
  const auto elements = [&](std::int64_t count) {
    std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
    for (auto& x : all) {
      x = static_cast<std::uint16_t>((random() & 0x807f) | ((117 + random() % 20) << 7));
    }
    return all;
  };
  const auto at_device = [&](const std::vector<std::uint16_t>& x) {
    return OnDevice(device, x.data(), x.size() * 2);
  };
  const OnDevice a = at_device(elements(m * spec.k)), b = at_device(elements(spec.k * spec.n));
  const OnDevice bias = at_device(elements(spec.n));
  const DType type = spec.contract.output;
  const std::int64_t ld = spec.n + gap;
  const auto d_bytes = static_cast<std::size_t>(m * ld) * size_of(type);
  const OnDevice whole(device, d_bytes), spread(device, d_bytes);
  const OwnStream stream(device);
  RowParallelOptions options;
  options.algorithm = algorithm;
  options.plan.serial_launch = serial;
  options.output = output;
  const Range rows = output == Placement::rows
                         ? rows_of(m, communicator.rank(), communicator.size())
                         : Range{0, m};
  const auto plan = *RowParallelPlan::create(communicator, peer_backend(), spec, options);
  const KRange k = plan.k_range();
  const auto view = [](const OnDevice& x, std::int64_t from, std::int64_t rows, std::int64_t cols,
                       std::int64_t distance) {
    return row_major(static_cast<const void*>(static_cast<const std::uint16_t*>(x.data()) + from),
                     rows, cols, DType::bf16, distance);
  };
  Operands all{view(a, 0, m, spec.k, spec.k), view(b, 0, spec.k, spec.n, spec.n),
               row_major(whole.data(), m, spec.n, type, ld)};
  all.bias = {bias.data(), spec.n, DType::bf16};
  Status s = Plan::create(skeleton_backend(), spec)->run({}, all);
  if (!s) return s.message();
  Operands local = all;
  local.a = view(a, k.begin, m, k.end - k.begin, spec.k);
  local.b = view(b, k.begin * spec.n, k.end - k.begin, spec.n, spec.n);
  const auto skipped = static_cast<std::size_t>(rows.begin * ld) * size_of(type);
  local.d = row_major(static_cast<void*>(static_cast<std::byte*>(spread.data()) + skipped),
                      rows.size(), spec.n, type, ld);
  const std::size_t bytes = *plan.workspace_bytes(m);
  const OnDevice room(device, bytes);
  RunInfo info;
  const auto enqueue = [&](Stream on) {
    return plan.run(on, m, local, {room.data(), bytes}, &info);
  };
  s = replays > 0 ? device.replay(stream, enqueue, replays) : enqueue(stream);
  if (s) s = device.synchronize(stream);
  if (s) s = communicator.health();
  if (!s) return s.message();
  std::string kernel = "peers/" + std::string(name(algorithm));
  if (info.kernel.find("/posted") != std::string::npos) kernel += "/posted";
  if (info.kernel != kernel + (vectors ? "" : "/single")) return "kernel " + info.kernel;
  const auto expected = whole.read(), found = spread.read();
  const auto end = skipped + static_cast<std::size_t>(rows.size() * ld) * size_of(type);
  const bool equal = std::equal(found.begin() + static_cast<std::ptrdiff_t>(skipped),
                                found.begin() + static_cast<std::ptrdiff_t>(end),
                                expected.begin() + static_cast<std::ptrdiff_t>(skipped));
  return equal ? "" : "other bits";
}

}  // namespace detgemm::test
