// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "bench/common/arm.hpp"
#include "bench/common/stats.hpp"

namespace detgemm::bench {

/// A number of calls of one arm that can be launched again and again: a captured graph on a GPU.
class Replay {
 public:
  explicit Replay(int calls) : calls_(calls) {}
  virtual ~Replay() = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  int calls() const { return calls_; }

 private:
  int calls_;
};

/// The queue of one device with its clock. The host is one whose calls have ended when they return.
class Queue {
 public:
  /// A point of the queue; what it holds is the queue's own affair.
  struct Mark {
    virtual ~Mark() = default;
  };
  using MarkPtr = std::unique_ptr<const Mark>;

  virtual ~Queue() = default;
  virtual Stream stream() const = 0;
  virtual std::unique_ptr<Replay> record(const Arm& arm, int calls) = 0;
  virtual void launch(const Replay& replay) = 0;
  virtual MarkPtr mark() = 0;
  /// Whether the device has already passed the mark.
  virtual bool passed(const Mark& mark) = 0;
  /// Waits for the later mark.
  virtual double us_between(const Mark& begin, const Mark& end) = 0;
  virtual void wait() = 0;
  /// Keeps the device busy, so that the host is ahead of it when what is timed begins.
  virtual void occupy(double us) = 0;
  /// Nothing runs for a while.
  virtual void rest(double ms) = 0;
  /// Enqueues a reading of the processors' own clocks; null where the device has none.
  virtual MarkPtr read_clocks() { return nullptr; }
  /// Mean MHz between two readings that are both there: cycles over time. Waits.
  virtual double mhz_between(const Mark&, const Mark&) { return 0; }
};

using Replays = std::vector<const Replay*>;
/// What was measured of one replay, sample by sample.
struct ReplaySamples {
  std::vector<double> us;   ///< microseconds per call
  std::vector<double> mhz;  ///< clock of the processors meanwhile; empty where there is no reading
};
using Samples = std::vector<ReplaySamples>;

/// The arms in turn, A B .. then .. B A, `idle_ms` of rest before each sample of one launch.
Samples sample_in_turn(Queue& queue, const Replays& replays, int repetitions, double idle_ms);

/// After `soak_s` of load and without a gap: blocks of `block_ms`, A B .. then .. B A, of which the
/// first third is not counted. `us` guesses the time of a call of each arm.
Samples sample_settled(Queue& queue, const Replays& replays, const std::vector<double>& us,
                       int repetitions, double soak_s, double block_ms);

/// Launches every arm until two samples of it in a row agree within 2 %, at most `most` times.
/// Returns whether all did.
bool warm_up(Queue& queue, const Replays& replays, int most);

/// A quick figure for one arm outside a replay, to decide how many calls a replay holds.
double time_roughly(Queue& queue, const Arm& arm);

}  // namespace detgemm::bench
