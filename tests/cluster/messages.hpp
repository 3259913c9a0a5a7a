// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <map>

#include "tests/cluster/passing.hpp"
#include "tests/cluster/ranks.hpp"

// What ranks send each other, written down by a transport around another one.

namespace detgemm::cluster {

/// The messages of one rank in one step: per other rank the bytes of each, in order.
struct Step {
  std::map<int, std::vector<std::size_t>> to, from;
};

/// Passes everything on and remembers the steps.
class Recorder : public PassingTransport {
 public:
  using PassingTransport::PassingTransport;
  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience) override {
    Step step;
    for (const Send& send : sends) step.to[send.to].push_back(send.bytes);
    for (const Receive& receive : receives) step.from[receive.from].push_back(receive.bytes);
    steps.push_back(std::move(step));
    return PassingTransport::exchange(stream, sends, receives, patience);
  }

  std::vector<Step> steps;
};

/// "" or the first thing that is wrong with the steps of all ranks: they must have as many, every
/// message must be expected with its size by its receiver, and none may be empty. With `both_ways`
/// two ranks that have to do with each other in a step must both send.
inline std::string check_steps(const std::vector<std::vector<Step>>& ranks, bool both_ways) {
  for (std::size_t a = 0; a < ranks.size(); ++a) {
    if (ranks[a].size() != ranks[0].size()) return "ranks have different numbers of steps";
    for (std::size_t i = 0; i < ranks[a].size(); ++i) {
      const auto where = [&](std::size_t b) {
        return "step " + std::to_string(i) + ", ranks " + std::to_string(a) + " and " +
               std::to_string(b);
      };
      for (std::size_t b = 0; b < ranks.size(); ++b) {
        const auto of = [](const std::map<int, std::vector<std::size_t>>& all, std::size_t rank) {
          const auto found = all.find(static_cast<int>(rank));
          return found == all.end() ? std::vector<std::size_t>{} : found->second;
        };
        const auto sent = of(ranks[a][i].to, b);
        if (sent != of(ranks[b][i].from, a)) return where(b) + ": sizes differ";
        if (std::count(sent.begin(), sent.end(), std::size_t{0}) > 0) return where(b) + ": empty";
        if (both_ways && sent.empty() != of(ranks[b][i].to, a).empty()) {
          return where(b) + ": messages run one way";
        }
      }
    }
  }
  return "";
}

/// A sample of m rows in which each of `ranks` ranks has a leaf.
inline Sample sample_of_rows(std::int64_t m, int ranks) {
  for (std::uint64_t seed = 0;; ++seed) {
    Sample sample("ieee_fma/bf16/tree:16->fp32", seed, m);
    if (sample.spec.contract.leaves(sample.spec.k) >= ranks) return sample;
  }
}

/// Whether the last rank has no rows of m.
inline bool a_rank_has_no_rows(std::int64_t m, int ranks) {
  return rows_of(m, ranks - 1, ranks).size() == 0;
}

}  // namespace detgemm::cluster
