// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/common/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace detgemm::bench {
namespace {

constexpr double kLeadUs = 60;
constexpr double kMaxLeadUs = 4000;

/// Arm number `i` of repetition `repetition`: every second one runs backwards.
std::size_t turn(std::size_t i, int repetition, std::size_t arms) {
  return repetition % 2 == 0 ? i : arms - 1 - i;
}

/// Two readings that saw no processor in common say 0, which is no clock.
void keep_clock(double mhz, std::vector<double>& clocks) {
  if (mhz > 0) clocks.push_back(mhz);
}

/// Microseconds per call of one launch. `lead` grows where the host was too slow for it. Clocks are
/// read outside of what is timed, and only where `mhz` is asked for.
double one_sample(Queue& queue, const Replay& replay, double& lead,
                  std::vector<double>* mhz = nullptr) {
  for (;;) {
    queue.occupy(lead);
    const auto before = mhz != nullptr ? queue.read_clocks() : nullptr;
    const auto begin = queue.mark();
    queue.launch(replay);
    const auto end = queue.mark();
    // The device must still be busy when the host is done; else once more, with more lead.
    const bool late = queue.passed(*begin) && lead < kMaxLeadUs;
    const auto after = mhz != nullptr ? queue.read_clocks() : nullptr;
    const double us = queue.us_between(*begin, *end);
    if (!late) {
      if (before && after) keep_clock(queue.mhz_between(*before, *after), *mhz);
      return us / replay.calls();
    }
    lead *= 2;
  }
}

}  // namespace

Samples sample_in_turn(Queue& queue, const Replays& replays, int repetitions, double idle_ms) {
  Samples samples(replays.size());
  double lead = kLeadUs;
  for (int r = 0; r < repetitions; ++r) {
    for (std::size_t i = 0; i < replays.size(); ++i) {
      const std::size_t arm = turn(i, r, replays.size());
      queue.rest(idle_ms);
      samples[arm].us.push_back(one_sample(queue, *replays[arm], lead, &samples[arm].mhz));
    }
  }
  return samples;
}

Samples sample_settled(Queue& queue, const Replays& replays, const std::vector<double>& us,
                       int repetitions, double soak_s, double block_ms) {
  const auto launches = [&](std::size_t arm, double ms) {
    return std::max(1, static_cast<int>(std::lround(ms * 1e3 / (us[arm] * replays[arm]->calls()))));
  };
  const auto load = [&](std::size_t arm, int times) {
    for (int i = 0; i < times; ++i) queue.launch(*replays[arm]);
  };
  // All of it is enqueued without waiting, so that nothing rests between blocks. The load before
  // is of all arms, so that none starts from another's temperature.
  const double part_ms = soak_s * 1e3 / static_cast<double>(replays.size());
  for (std::size_t arm = 0; arm < replays.size() && soak_s > 0; ++arm) {
    load(arm, launches(arm, part_ms));
  }
  struct Block {
    std::size_t arm;
    int calls;
    Queue::MarkPtr before, begin, end, after;
  };
  std::vector<Block> blocks;
  for (int r = 0; r < repetitions; ++r) {
    for (std::size_t i = 0; i < replays.size(); ++i) {
      const std::size_t arm = turn(i, r, replays.size());
      const int counted = launches(arm, block_ms * 2 / 3);
      load(arm, launches(arm, block_ms / 3));
      Block block{arm, counted * replays[arm]->calls(), queue.read_clocks(), queue.mark(), {}, {}};
      load(arm, counted);
      block.end = queue.mark();
      block.after = queue.read_clocks();
      blocks.push_back(std::move(block));
    }
  }
  Samples samples(replays.size());
  for (const Block& block : blocks) {
    ReplaySamples& to = samples[block.arm];
    to.us.push_back(queue.us_between(*block.begin, *block.end) / block.calls);
    if (block.before && block.after) {
      keep_clock(queue.mhz_between(*block.before, *block.after), to.mhz);
    }
  }
  return samples;
}

bool warm_up(Queue& queue, const Replays& replays, int most) {
  constexpr double kAgree = 0.02;
  bool all = true;
  double lead = kLeadUs;
  for (const Replay* replay : replays) {
    double before = one_sample(queue, *replay, lead);
    bool settled = false;
    for (int i = 1; i < most && !settled; ++i) {
      const double now = one_sample(queue, *replay, lead);
      settled = std::abs(now - before) <= kAgree * before;
      before = now;
    }
    all = all && settled;
  }
  return all;
}

double time_roughly(Queue& queue, const Arm& arm) {
  constexpr int kCalls = 4;
  // Where one call is long the clock's own cost is nothing, and four would only cost time.
  constexpr double kLongUs = 20'000;
  queue.occupy(kLeadUs);
  const auto start = queue.mark();
  check(arm.enqueue(queue.stream(), 1), arm.name);
  const auto first = queue.mark();
  const double once = queue.us_between(*start, *first);
  if (once > kLongUs) return once;
  queue.occupy(kLeadUs);
  const auto begin = queue.mark();
  for (int i = 0; i < kCalls; ++i) check(arm.enqueue(queue.stream(), i + 1), arm.name);
  const auto end = queue.mark();
  return queue.us_between(*begin, *end) / kCalls;
}

}  // namespace detgemm::bench
