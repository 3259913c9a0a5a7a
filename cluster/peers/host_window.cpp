// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/peers/host_window.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "cluster/common/workspace.hpp"
#include "cluster/peers/shared_memory.hpp"

// Each rank's memory, the header first:
//
//   given_up | probe of ranks 0 .. P-1 | signals, even epochs: of ranks 0 .. P-1 | odd epochs |
//   data
//
// A rank that is at its meeting number e writes its step and then e (release) into its signal in
// every other rank's header, and waits until the signals in its own header say e (acquire). No rank
// is at meeting e + 2 before all have left meeting e, so two signals per rank are enough, and a
// signal is never overwritten while it is read.

namespace detgemm::cluster {
namespace {

using Clock = std::chrono::steady_clock;
using Word = std::uint64_t;
constexpr std::size_t kLine = 64;  // a line of the cache per word that a rank waits for

struct alignas(kLine) Signal {
  Word epoch;
  PeerStep step;
};
struct alignas(kLine) Probe {
  Word mark;
};
static_assert(sizeof(Signal) == kLine && std::atomic_ref<Word>::is_always_lock_free);

/// Why a rank gave up, and one rank or two, in one word that is not 0.
enum class Why : Word { late = 1, aborted = 2, disagree = 3 };
Word reason(Why why, int rank, int other = 0) {
  return (static_cast<Word>(why) << 48) | (static_cast<Word>(other) << 24) |
         static_cast<Word>(rank);
}

std::size_t header_bytes(int ranks) {
  return padded(kLine + static_cast<std::size_t>(ranks) * (kLine + 2 * sizeof(Signal)));
}

class HostWindow final : public Window {
 public:
  HostWindow(int rank, std::size_t bytes, std::vector<std::shared_ptr<SharedMemory>> memory)
      : rank_(rank), bytes_(bytes), memory_(std::move(memory)) {}

  std::byte* data(int rank) const override { return header(rank) + header_bytes(ranks()); }
  std::size_t bytes() const override { return bytes_; }

  Status meet(const PeerStep& step, std::chrono::milliseconds patience,
              const std::function<Status()>& health) override {
    ++epoch_;
    for (int r = 0; r < ranks(); ++r) {
      if (r == rank_) continue;
      Signal& signal = signal_of(r, rank_);
      signal.step = step;
      word(signal.epoch).store(epoch_, std::memory_order_release);
    }
    const auto from = Clock::now();
    for (int r = 0; r < ranks(); ++r) {
      if (r == rank_) continue;
      Signal& signal = signal_of(rank_, r);
      for (int round = 0; word(signal.epoch).load(std::memory_order_acquire) != epoch_; ++round) {
        if (const Word why = given_up(rank_).load(std::memory_order_acquire); why != 0) {
          return {Errc::peer, sentence(why, patience)};
        }
        if (round % 64 == 63) {
          if (Status s = health(); !s) return give_up(reason(Why::aborted, rank_)), s;
          if (patience.count() != 0 && Clock::now() - from > patience) {
            return {Errc::peer, sentence(give_up(reason(Why::late, r)), patience)};
          }
        }
        // Ranks may share cores: give them up, and after a while sleep.
        if (round < 2000) {
          std::this_thread::yield();
        } else {
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
      }
      if (signal.step != step) {
        const Word why = reason(Why::disagree, std::min(r, rank_), std::max(r, rank_));
        return {Errc::peer, sentence(give_up(why), patience)};
      }
    }
    return {};
  }

  void give_up() noexcept override { give_up(reason(Why::aborted, rank_)); }

  /// Writes this rank's mark into all headers, or finds those of the others in its own.
  void mark_all(Word mark) const {
    for (int r = 0; r < ranks(); ++r) {
      word(probe_of(r, rank_).mark).store(mark, std::memory_order_release);
    }
  }
  Status find_marks(const std::vector<Word>& marks) const {
    for (int r = 0; r < ranks(); ++r) {
      if (word(probe_of(rank_, r).mark).load(std::memory_order_acquire) !=
          marks[static_cast<std::size_t>(r)]) {
        return {Errc::unavailable, "windows: a write of rank " + std::to_string(r) +
                                       " did not reach rank " + std::to_string(rank_)};
      }
    }
    return {};
  }

 private:
  static std::atomic_ref<Word> word(Word& at) { return std::atomic_ref<Word>(at); }
  int ranks() const { return static_cast<int>(memory_.size()); }
  std::byte* header(int rank) const { return memory_[static_cast<std::size_t>(rank)]->data(); }
  std::atomic_ref<Word> given_up(int rank) const {
    return word(*reinterpret_cast<Word*>(header(rank)));
  }
  Probe& probe_of(int owner, int writer) const {
    return reinterpret_cast<Probe*>(header(owner) + kLine)[writer];
  }
  Signal& signal_of(int owner, int writer) const {
    const auto probes = static_cast<std::size_t>(ranks()) * sizeof(Probe);
    auto* const all = reinterpret_cast<Signal*>(header(owner) + kLine + probes);
    return all[static_cast<int>(epoch_ % 2) * ranks() + writer];
  }

  /// The first reason stays, for all ranks; the one that this rank then has.
  Word give_up(Word mine) const noexcept {
    for (int r = 0; r < ranks(); ++r) {
      Word none = 0;
      given_up(r).compare_exchange_strong(none, mine, std::memory_order_acq_rel);
    }
    return given_up(rank_).load(std::memory_order_acquire);
  }
  std::string sentence(Word why, std::chrono::milliseconds patience) const {
    const auto number = [&](int shift) { return std::to_string((why >> shift) & 0xffffffU); };
    const std::string rank = "rank " + number(0);
    switch (static_cast<Why>(why >> 48)) {
      case Why::late:
        return rank + " of " + std::to_string(ranks()) +
               " timed out in an exchange of peers after " + std::to_string(patience.count()) +
               " ms";
      case Why::disagree:
        return "ranks " + number(0) + " and " + number(24) +
               " are in one exchange of peers with different m or different plans";
      case Why::aborted:
        break;
    }
    return rank + " aborted";
  }

  const int rank_;
  const std::size_t bytes_;
  const std::vector<std::shared_ptr<SharedMemory>> memory_;
  Word epoch_ = 0;
};

/// What a rank sends the others about its memory.
struct Card {
  SharedMemory::Id id{};
  Word mark = 0;
};

Status reach(const std::vector<Card>& cards, const std::shared_ptr<SharedMemory>& own, int rank,
             std::size_t bytes, std::vector<std::shared_ptr<SharedMemory>>& memory) {
  for (std::size_t r = 0; r < cards.size(); ++r) {
    if (static_cast<int>(r) == rank) {
      memory.push_back(own);
      continue;
    }
    auto opened = SharedMemory::open(cards[r].id, bytes);
    if (!opened) {
      return {Errc::unavailable, "windows: the memory of rank " + std::to_string(r) +
                                     " is not reached from rank " + std::to_string(rank) + ": " +
                                     opened.status().message()};
    }
    memory.push_back(*std::move(opened));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Window>> make_host_window(Communicator::State& state, std::size_t bytes) {
  Transport& transport = *state.transport;
  const std::size_t usable = bytes / kWorkspaceAlignment * kWorkspaceAlignment;
  const std::size_t header = header_bytes(transport.size());
  const auto own = SharedMemory::create(header + usable);
  if (Status s = agree(state, own.status(), {}); !s) {
    if (own) (*own)->hide();
    return s;
  }
  std::vector<Card> cards(static_cast<std::size_t>(transport.size()));
  const Card mine{(*own)->id(), (*own)->id()[0] | 1U};
  Status s = state.after(transport.agree(std::as_bytes(std::span(&mine, 1)),
                                         std::as_writable_bytes(std::span(cards)),
                                         state.options.patience));
  if (!s) {
    (*own)->hide();
    return s;
  }
  std::vector<std::shared_ptr<SharedMemory>> memory;
  const Status reached = reach(cards, *own, transport.rank(), header + usable, memory);
  auto window = reached ? std::make_shared<HostWindow>(transport.rank(), usable, memory) : nullptr;
  if (window != nullptr) window->mark_all(mine.mark);
  s = agree(state, reached, {});
  (*own)->hide();  // all have it, or no rank uses it
  if (!s) return s;
  std::vector<Word> marks;
  for (const Card& card : cards) marks.push_back(card.mark);
  if (s = agree(state, window->find_marks(marks), {}); !s) return s;
  return std::shared_ptr<Window>(std::move(window));
}

}  // namespace detgemm::cluster
