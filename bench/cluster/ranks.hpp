// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace detgemm::bench {

/// Ranks that one program starts on one host, and what they tell each other outside of what is
/// measured. Every function but the first two is collective, and throws where another rank has
/// failed or does not come within two minutes.
class Ranks {
 public:
  static constexpr int kMax = 16;
  static constexpr std::size_t kValues = 256;
  struct Shared;

  Ranks(Shared& shared, int rank, int size) : shared_(shared), rank_(rank), size_(size) {}
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Waits for all.
  void meet();
  /// The largest value of any rank, one by one; as many values on every rank, at most kValues.
  std::vector<double> largest(const std::vector<double>& mine);
  double largest(double mine) { return largest(std::vector<double>{mine}).front(); }
  /// Whether it is so on all ranks.
  bool all(bool mine) { return largest(mine ? 0 : 1) == 0; }
  /// The values of all ranks, in rank order.
  std::vector<std::uint64_t> gather(std::uint64_t mine);
  /// The 128 bytes that rank 0 has.
  std::array<std::byte, 128> from_first(const std::array<std::byte, 128>& mine);

 private:
  Shared& shared_;
  int rank_, size_;
};

using RankBody = std::function<int(Ranks&)>;

/// `body` on every rank: each a process of its own, forked here, so nothing that does not survive a
/// fork may have been started; or each a thread. 0, or 1 after one sentence on stderr: an exception
/// or a nonzero result of a rank, or how it ended. Ranks that still run ten seconds after that are
/// killed, where they are processes.
int run_as_processes(int ranks, const RankBody& body);
int run_as_threads(int ranks, const RankBody& body);

/// The answer, from 0 to 255, in a process of its own; 0 where that ended otherwise.
int ask_in_a_process(int (*question)());

}  // namespace detgemm::bench
