// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>

#include "cluster/common/state.hpp"
#include "cluster/peers/window.hpp"
#include "tests/cluster/ranks.hpp"

// Windows around another one, with delays or with a planted fault.

namespace detgemm::cluster {

/// Passes everything on.
class AroundWindow : public Window {
 public:
  explicit AroundWindow(std::shared_ptr<Window> inner) : inner_(std::move(inner)) {}
  std::byte* data(int rank) const override { return inner_->data(rank); }
  std::size_t bytes() const override { return inner_->bytes(); }
  Status meet(const PeerStep& step, std::chrono::milliseconds patience,
              const std::function<Status()>& health) override {
    return inner_->meet(step, patience, health);
  }
  void give_up() noexcept override { inner_->give_up(); }

 protected:
  std::shared_ptr<Window> inner_;
};

/// Sleeps before and after some meetings, drawn from a seed, so that ranks are apart from each
/// other.
class Delayed final : public AroundWindow {
 public:
  Delayed(std::shared_ptr<Window> inner, std::uint64_t seed)
      : AroundWindow(std::move(inner)), random_(seed) {}
  Status meet(const PeerStep& step, std::chrono::milliseconds patience,
              const std::function<Status()>& health) override {
    pause();
    const Status met = AroundWindow::meet(step, patience, health);
    pause();
    return met;
  }

 private:
  void pause() {
    if (random_() % 3 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 1500));
  }
  std::mt19937_64 random_;
};

/// What is planted. `none` is the control of the controls.
enum class Spoil { none, skipped_wait, stale_epoch, swapped_ranks };

/// Rank 0's windows. Calls of one piece each; those in which rank 0 does not wait, the last rank
/// begins with `wait_for_rank_0`, so that rank 0 joins what is not there yet.
///
///   skipped_wait    says that it came to the first meeting of a call, and does not wait there
///   stale_epoch     takes the signals of the meeting before for those of this one
///   swapped_ranks   finds the first two other ranks' memory under each other's numbers
class Spoiled final : public AroundWindow {
 public:
  /// How many calls rank 0 has joined; one object for the windows of all ranks.
  using Joined = std::shared_ptr<std::atomic<int>>;
  Spoiled(std::shared_ptr<Window> inner, Spoil what, int rank, int ranks, Joined joined)
      : AroundWindow(std::move(inner)),
        what_(what),
        rank_(rank),
        last_(ranks - 1),
        joined_(std::move(joined)) {}
  std::byte* data(int rank) const override {
    const bool swap = what_ == Spoil::swapped_ranks && rank_ == 0 && (rank == 1 || rank == 2);
    return AroundWindow::data(swap ? 3 - rank : rank);
  }
  Status meet(const PeerStep& step, std::chrono::milliseconds patience,
              const std::function<Status()>& health) override {
    const int call = met_++ / 2;
    if (rank_ == 0 && step.phase == 1) ++*joined_;
    if (rank_ != 0 || step.phase != 0 || !skips(call)) {
      // The meeting that was not waited for is made up for here, so that the call goes on.
      if (owed_) {
        owed_ = false;
        if (Status s = AroundWindow::meet(owed_step_, patience, health); !s) return s;
      }
      return AroundWindow::meet(step, patience, health);
    }
    owed_ = true;
    owed_step_ = step;
    return {};
  }

  /// Of the last rank, before its roots are put.
  void wait_for_rank_0(int call) const {
    const auto from = std::chrono::steady_clock::now();
    while (rank_ == last_ && skips(call) && *joined_ <= call &&
           std::chrono::steady_clock::now() - from < std::chrono::seconds(10)) {
      std::this_thread::yield();
    }
  }

 private:
  /// Whether rank 0 waits for nobody at the beginning of a call.
  bool skips(int call) const {
    return what_ == Spoil::skipped_wait || (what_ == Spoil::stale_epoch && call > 0);
  }
  Spoil what_;
  int rank_, last_;
  int met_ = 0;
  bool owed_ = false;
  PeerStep owed_step_;
  Joined joined_;
};

/// `make(window of this rank, rank)` in the place of a communicator's window.
inline void replace_window(
    const Communicator& communicator,
    const std::function<std::shared_ptr<Window>(std::shared_ptr<Window>, int)>& make) {
  auto& window = communicator.state().window;
  window = make(window, communicator.rank());
}

inline constexpr std::array kPeerAlgorithms{Algorithm::one_shot, Algorithm::two_shot,
                                            Algorithm::push};

}  // namespace detgemm::cluster
