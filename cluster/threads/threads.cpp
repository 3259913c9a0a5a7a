// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "cluster/common/host_copies.hpp"

// Ranks that are threads of one process. A sender lists where its bytes are and waits until each
// receiver has copied them, so that on the host nothing is copied twice. Device memory goes through
// the host, by the backend's Device.

namespace detgemm::cluster {
namespace {

/// Bytes that a sender offers.
struct Offer {
  const std::byte* data;
  std::size_t bytes;
  enum class State { waiting, copied, taken } state = State::waiting;  ///< copied: at this moment
};

/// What the ranks of one group share.
class Hub {
 public:
  explicit Hub(int ranks) : ranks_(ranks), offers_(static_cast<std::size_t>(ranks * ranks)) {}

  int ranks() const { return ranks_; }

  Status agree(int rank, std::span<const std::byte> mine, std::span<std::byte> all,
               std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    if (arrived_.empty()) records_.assign(static_cast<std::size_t>(ranks_), {});
    records_[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
    arrived_.push_back(rank);
    if (static_cast<int>(arrived_.size()) == ranks_) {
      finished_ = records_;
      arrived_.clear();
      ++round_;
      changed_.notify_all();
    }
    if (Status s = wait(
            lock, patience, [&] { return round_ != round; }, [&] { return absent(); });
        !s) {
      return s;
    }
    for (std::size_t r = 0; r < finished_.size(); ++r) {
      if (finished_[r].size() != mine.size()) {
        return fail("ranks disagree on the size of a record: rank " + std::to_string(r) +
                    " brought " + std::to_string(finished_[r].size()) + " bytes and rank " +
                    std::to_string(rank) + " " + std::to_string(mine.size()));
      }
      std::copy(finished_[r].begin(), finished_[r].end(),
                all.begin() + static_cast<std::ptrdiff_t>(r * mine.size()));
    }
    return {};
  }

  /// `take(receive, data)` copies one message, outside of the lock.
  template <class Take>
  Status exchange(int rank, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience, Take&& take) {
    std::deque<Offer> mine;  // addresses of elements stay
    std::unique_lock lock(mutex_);
    for (const Send& send : sends) {
      mine.push_back({static_cast<const std::byte*>(send.data), send.bytes});
      queue(rank, send.to).push_back(&mine.back());
    }
    changed_.notify_all();
    Status status;
    for (const Receive& receive : receives) {
      auto& from = queue(receive.from, rank);
      const auto late = [&] {
        return "rank " + std::to_string(receive.from) + " of " + std::to_string(ranks_) +
               " did not send";
      };
      status = wait(
          lock, patience, [&] { return !from.empty(); }, late);
      if (!status) break;
      Offer* const offer = from.front();
      if (offer->bytes != receive.bytes) {
        status = fail("rank " + std::to_string(receive.from) + " sends " +
                      std::to_string(offer->bytes) + " bytes and rank " + std::to_string(rank) +
                      " expects " + std::to_string(receive.bytes) +
                      ": the ranks call with different m or different plans");
        break;
      }
      from.pop_front();
      offer->state = Offer::State::copied;
      lock.unlock();
      status = take(receive, offer->data);
      lock.lock();
      offer->state = Offer::State::taken;
      changed_.notify_all();
      if (!status) break;
    }
    const auto all_taken = [&] {
      return std::all_of(mine.begin(), mine.end(),
                         [](const Offer& o) { return o.state == Offer::State::taken; });
    };
    if (status) {
      status =
          wait(lock, patience, all_taken, [&] { return std::string("a rank does not receive"); });
    } else {
      status = fail(status.message());
    }
    withdraw(rank, mine);
    // No rank may read this rank's memory after it has returned.
    wait_until(lock, [&] {
      return std::none_of(mine.begin(), mine.end(),
                          [](const Offer& o) { return o.state == Offer::State::copied; });
    });
    return status;
  }

  Status health() {
    const std::scoped_lock lock(mutex_);
    return broken_;
  }
  void abort(int rank) noexcept {
    const std::scoped_lock lock(mutex_);
    static_cast<void>(fail("rank " + std::to_string(rank) + " aborted"));
  }

 private:
  std::deque<Offer*>& queue(int from, int to) {
    return offers_[static_cast<std::size_t>(from * ranks_ + to)];
  }

  /// The first failure of the group, which ends the wait of all.
  Status fail(const std::string& sentence) {
    if (broken_.ok()) broken_ = {Errc::peer, sentence};
    changed_.notify_all();
    return broken_;
  }

  /// In place of wait(), whose symbol GCC 12 gave a new version: with it a wheel would not load on
  /// RHEL 9.
  template <class Done>
  void wait_until(std::unique_lock<std::mutex>& lock, const Done& done) {
    while (!changed_.wait_for(lock, std::chrono::hours(1), done)) {
    }
  }

  template <class Done, class Late>
  Status wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds patience, Done&& done,
              Late&& late) {
    const auto over = [&] { return done() || !broken_.ok(); };
    if (patience.count() == 0) {
      wait_until(lock, over);
    } else if (!changed_.wait_for(lock, patience, over)) {
      return fail(late() + " within " + std::to_string(patience.count()) + " ms");
    }
    return done() ? Status{} : broken_;
  }

  std::string absent() const {
    for (int r = 0; r < ranks_; ++r) {
      if (std::find(arrived_.begin(), arrived_.end(), r) == arrived_.end()) {
        return "rank " + std::to_string(r) + " of " + std::to_string(ranks_) + " did not arrive";
      }
    }
    return "a rank did not arrive";
  }

  void withdraw(int rank, const std::deque<Offer>& mine) {
    for (int to = 0; to < ranks_; ++to) {
      std::erase_if(queue(rank, to), [&](const Offer* offer) {
        return std::any_of(mine.begin(), mine.end(), [&](const Offer& o) { return &o == offer; });
      });
    }
  }

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Status broken_;
  std::vector<std::deque<Offer*>> offers_;  ///< per sender and receiver
  std::uint64_t round_ = 0;                 ///< of agreement
  std::vector<int> arrived_;
  std::vector<std::vector<std::byte>> records_, finished_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  std::string description() const override { return "threads"; }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return hub_->ranks(); }
  Status health() override { return hub_->health(); }
  void abort() noexcept override { hub_->abort(rank_); }

  Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
               std::chrono::milliseconds patience) override {
    return hub_->agree(rank_, mine, all, patience);
  }

  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience) override {
    const auto device = device_of(stream.kind);
    if (!device) return device.status();
    std::vector<std::vector<std::byte>> copies;
    std::vector<Send> from_host(sends.begin(), sends.end());
    if (stream.kind != DeviceKind::host) {
      if (Status s = copy_to_host(**device, stream, from_host, copies); !s) return s;
    }
    return hub_->exchange(rank_, from_host, receives, patience,
                          [&](const Receive& receive, const std::byte* data) {
                            return (*device)->to_device(receive.data, data, receive.bytes);
                          });
  }

 private:
  std::shared_ptr<Hub> hub_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<Transport>> threads(int ranks) {
  std::vector<std::shared_ptr<Transport>> all;
  const auto hub = std::make_shared<Hub>(std::max(ranks, 1));
  for (int r = 0; r < ranks; ++r) all.push_back(std::make_shared<ThreadTransport>(hub, r));
  return all;
}

}  // namespace detgemm::cluster
