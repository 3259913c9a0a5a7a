// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>

#include "tests/cluster/on_device.hpp"

// Messages that only one rank of two sends, in groups of their own: what a call did that did not
// end on two H200s (docs/log/cluster.md). Each kind changes one thing, to tell which one it was.

namespace detgemm::cluster {

/// The last rank sends to rank 0 (`up`), then rank 0 to the last rank (`down`), as two steps.
struct OneWay {
  const char* name;
  std::size_t bytes = 56;       ///< the message of the call that did not end
  std::size_t offset = 0;       ///< of both addresses from a multiple of 256
  bool up = true, down = true;  ///< which of the two steps there are
  bool both = false;            ///< both ranks send in both steps
  bool two_streams = false;     ///< a stream for each step
  bool agree_between = false;   ///< all ranks send to all between the steps
  bool product = false;         ///< the first step is that of a product of two rows, rows out
  bool nobody_sends = false;    ///< the control: rank 0 does not take the second step
};

inline constexpr OneWay kOneWay[] = {
    {"both ways", 56, 0, true, true, true},
    {"up alone", 56, 0, true, false},
    {"down alone", 56, 0, false, true},
    {"up, then down", 56},
    {"up, then down, 4 bytes past a multiple of 16", 56, 4},
    {"the same, 1 MB", std::size_t{1} << 20, 4},
    {"the same, a stream each", 56, 4, true, true, false, true},
    {"the same, all to all between", 56, 4, true, true, false, false, true},
    {"a product of two rows, then down", 56, 4, true, true, false, false, false, true},
    {"nobody sends: the control", 56, 0, true, true, false, false, false, false, true},
};

/// One kind on all ranks of a communicator: "", "did not end" or "other bytes". A communicator on
/// which it did not end has been aborted.
inline std::string run_one_way(const Communicator& communicator, Transport& transport,
                               const Backend& backend, const OneWay& kind,
                               std::chrono::milliseconds limit) {
  Device& device = backend.device();
  const int rank = transport.rank(), last = transport.size() - 1;
  const Sample sample("ieee_fma/bf16/tree:16->fp32", 7, 2);
  RowParallelOptions options;
  options.output = Placement::rows;
  const auto plan = RowParallelPlan::create(communicator, backend, sample.spec, options);
  if (!plan) return plan.status().message();
  const SampleOnDevice arrays(device, sample, plan->k_range(), rows_of(2, rank, last + 1));
  const std::size_t room = *plan->workspace_bytes(2);
  const OnDevice scratch(device, room);
  const std::vector<std::byte> pattern(kind.bytes + kind.offset, std::byte(0x30 + rank));
  const OnDevice out(device, pattern.data(), pattern.size());
  const OnDevice in(device, pattern.size()), in_second(device, pattern.size());
  const OwnStream first(device), second(device);
  const auto at = [&](const OnDevice& array) {
    return static_cast<std::byte*>(array.data()) + kind.offset;
  };
  const auto step = [&](Stream stream, int from, int to, const OnDevice& into) {
    std::vector<Send> sends;
    std::vector<Receive> receives;
    if (rank == from || (kind.both && rank == to)) {
      sends.push_back({rank == from ? to : from, at(out), kind.bytes});
    }
    if (rank == to || (kind.both && rank == from)) {
      receives.push_back({rank == to ? from : to, at(into), kind.bytes});
    }
    return transport.exchange(stream, sends, receives, limit);
  };
  Status s;
  if (kind.product) {
    s = plan->run(first, 2, arrays.operands(sample), {scratch.data(), room});
  } else if (kind.up) {
    s = step(first, last, 0, in);
  }
  if (s && kind.agree_between) {
    std::byte mine{};
    std::vector<std::byte> all(static_cast<std::size_t>(last) + 1);
    s = transport.agree({&mine, 1}, all, limit);
  }
  const Stream stream_of_down = kind.two_streams ? second : first;
  if (s && kind.down && !(kind.nobody_sends && rank == 0)) {
    s = step(stream_of_down, 0, last, in_second);
  }
  if (!s) return s.message();
  const auto from = std::chrono::steady_clock::now();
  for (const Stream stream : {Stream(first), Stream(second)}) {
    for (;;) {
      const auto finished = device.finished(stream);
      if (!finished) return finished.status().message();
      if (*finished) break;
      if (std::chrono::steady_clock::now() - from > limit) {
        communicator.abort();  // or the arrays could not be given back
        static_cast<void>(device.synchronize(stream));
        return "did not end";
      }
      std::this_thread::yield();
    }
  }
  const auto holds = [&](const OnDevice& array, int sender) {
    const auto bytes = array.read();
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(kind.offset), bytes.end(),
                       [&](std::byte x) { return x == std::byte(0x30 + sender); });
  };
  if (kind.up && !kind.product && rank == 0 && !holds(in, last)) return "other bytes";
  if (kind.down && rank == last && last > 0 && !holds(in_second, 0)) return "other bytes";
  return kind.product ? arrays.verdict(sample) : "";
}

}  // namespace detgemm::cluster
