// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/covering.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/conformance/random.hpp"

namespace detgemm::conformance {
namespace {

constexpr int kCandidates = 12;  // rows tried for each one that is taken

/// The pairs of levels that no row has yet.
class OpenPairs {
 public:
  explicit OpenPairs(std::span<const int> levels) : levels_(levels) {
    std::size_t next = 0;
    for (const int count : levels) {
      first_.push_back(next);
      next += static_cast<std::size_t>(count);
    }
    size_ = next;
    open_.assign(size_ * size_, true);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      for (std::size_t j = i + 1; j < levels.size(); ++j) {
        left_ += static_cast<std::int64_t>(levels[i]) * levels[j];
      }
    }
  }

  std::int64_t left() const { return left_; }
  bool open(std::size_t i, int x, std::size_t j, int y) const {
    return open_[(first_[i] + static_cast<std::size_t>(x)) * size_ + first_[j] +
                 static_cast<std::size_t>(y)];
  }
  void close(const LevelRow& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (std::size_t j = i + 1; j < row.size(); ++j) {
        if (open(i, row[i], j, row[j])) --left_;
        set(i, row[i], j, row[j]);
        set(j, row[j], i, row[i]);
      }
    }
  }

 private:
  void set(std::size_t i, int x, std::size_t j, int y) {
    open_[(first_[i] + static_cast<std::size_t>(x)) * size_ + first_[j] +
          static_cast<std::size_t>(y)] = false;
  }

  std::span<const int> levels_;
  std::vector<std::size_t> first_;
  std::size_t size_ = 0;
  std::vector<bool> open_;
  std::int64_t left_ = 0;
};

/// Factors in a random order; each takes the level that closes the most pairs with those before it.
LevelRow candidate(Random& random, std::span<const int> levels, const OpenPairs& pairs,
                   std::int64_t& gain) {
  std::vector<std::size_t> order(levels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  }
  LevelRow row(levels.size(), 0);
  gain = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::size_t factor = order[at];
    const auto start = static_cast<int>(random.below(levels[factor]));
    std::int64_t most_closed = -1;
    for (int i = 0; i < levels[factor]; ++i) {
      const int level = (start + i) % levels[factor];
      std::int64_t closes = 0;
      if (at == 0) {  // the level with the most open pairs of all
        for (std::size_t other = 0; other < levels.size(); ++other) {
          for (int x = 0; other != factor && x < levels[other]; ++x) {
            closes += pairs.open(factor, level, other, x) ? 1 : 0;
          }
        }
      } else {
        for (std::size_t before = 0; before < at; ++before) {
          closes += pairs.open(factor, level, order[before], row[order[before]]) ? 1 : 0;
        }
      }
      if (closes <= most_closed) continue;
      most_closed = closes;
      row[factor] = level;
    }
    if (at > 0) gain += most_closed;
  }
  return row;
}

}  // namespace

std::vector<LevelRow> covering_rows(std::span<const int> levels) {
  Random random(1);
  OpenPairs pairs(levels);
  std::vector<LevelRow> rows;
  while (pairs.left() > 0) {
    LevelRow best;
    std::int64_t largest_gain = -1;
    for (int i = 0; i < kCandidates; ++i) {
      std::int64_t gain = 0;
      LevelRow row = candidate(random, levels, pairs, gain);
      if (gain <= largest_gain) continue;
      largest_gain = gain;
      best = std::move(row);
    }
    if (largest_gain == 0) continue;
    pairs.close(best);
    rows.push_back(std::move(best));
  }
  return rows;
}

}  // namespace detgemm::conformance
