// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/peers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "backends/cuda/peer_memory.hpp"
#include "backends/gpu/address_rules.hpp"
#include "backends/gpu/arguments.hpp"
#include "core/arithmetic/step.hpp"
#include "core/contract/cover.hpp"

namespace detgemm::cuda {
namespace {

using peers::Header;
using peers::Job;
using Clock = std::chrono::steady_clock;

/// How long a window waits, when it is destroyed, until no rank will touch it.
constexpr auto kFarewell = std::chrono::seconds(2);
/// What CUDA IPC is given to unmap what others are about to unmap.
constexpr auto kUnmapping = std::chrono::milliseconds(50);

std::uint32_t shares_of(const std::vector<CudaCard>& cards) {
  std::uint32_t taken = 0;
  for (const CudaCard& card : cards) taken |= card.sm_shares;
  return taken;
}

/// How many nodes end with each node, as far as kernels can do it; see supports().
void closes_of(const GemmSpec& spec, std::span<const LeafRange> nodes, std::uint8_t* closes) {
  const std::int64_t sums = arithmetic::sums_per_leaf(spec.contract.arithmetic);
  const std::int64_t leaves = spec.contract.leaves(spec.k) * sums;
  for (const LeafRange& node : nodes) {
    *closes++ = static_cast<std::uint8_t>(
        nodes_closed_by(LeafRange{node.begin * sums, node.end * sums}, leaves));
  }
}

class CudaPeerWindow final : public PeerWindow {
 public:
  CudaPeerWindow(std::unique_ptr<CudaPeerMemory> memory, int rank, std::vector<CudaCard> cards,
                 std::vector<Reached> reached, std::chrono::milliseconds patience)
      : memory_(std::move(memory)),
        rank_(rank),
        cards_(std::move(cards)),
        reached_(std::move(reached)),
        patience_(patience),
        sm_share_(memory_->facts().ordinal, shares_of(cards_)) {
    most_ctas_ = peers::kMaxCtas;
    bool shared = false;
    for (std::size_t r = 0; r < cards_.size(); ++r) {
      most_ctas_ = std::min(most_ctas_, sm_share_.of(cards_[r].sms));
      for (std::size_t q = 0; q < r; ++q) shared = shared || cards_[q].device == cards_[r].device;
    }
    // On a device of several ranks, those that wait must leave room for the products of others.
    if (shared) most_ctas_ = std::max(1, most_ctas_ / (4 * ranks()));
    has_blank_roots_ = !shared && memory_->facts().major >= 9;
  }

  ~CudaPeerWindow() override {
    const OnDeviceOf here(own().ordinal);
    const bool ended = last_join_ended();
    if (!ended) {
      for (Reached& other : reached_) other.keep();
    }
    const bool quiet = ended && failure().why == PeerFailure::Why::none && say_farewell();
    const bool mapped =
        std::any_of(reached_.begin(), reached_.end(), [](const Reached& r) { return r.mapped(); });
    reached_.clear();
    if (!quiet) {
      memory_->keep();  // somebody may still use it
    } else if (mapped) {
      std::this_thread::sleep_for(kUnmapping);
    }
  }

  std::byte* data() const noexcept override { return data_of(rank_); }
  std::byte* data_of(int rank) const noexcept override { return memory_of(rank) + sizeof(Header); }
  std::size_t bytes() const noexcept override { return own().bytes; }

  Status mark_all() override {
    for (int r = 0; r < ranks(); ++r) {
      if (Status s = write(&header_of(r)->mark[rank_], own().mark); !s) return s;
    }
    return {};
  }
  Status find_marks() override {
    for (int r = 0; r < ranks(); ++r) {
      const auto found = read(&header_of(rank_)->mark[r]);
      if (!found) return found.status();
      if (*found == cards_[static_cast<std::size_t>(r)].mark) continue;
      return {Errc::unavailable, "cuda: a write of rank " + std::to_string(r) +
                                     " did not reach the window of rank " + std::to_string(rank_)};
    }
    return {};
  }

  Status supports(const GemmSpec& spec, std::span<const LeafRange> nodes) const override {
    const auto limit = static_cast<std::size_t>(peers::kMaxNodes);
    if (nodes.size() > limit) {
      return unsupported("cuda: shares have " + std::to_string(nodes.size()) +
                         " nodes of the tree: kernels of peers join at most " +
                         std::to_string(limit));
    }
    std::uint8_t closes[peers::kMaxNodes];
    closes_of(spec, nodes, closes);
    const int waiting = peers::most_waiting(closes, static_cast<int>(nodes.size()));
    if (waiting <= peers::kMaxWaiting) return {};
    return unsupported("cuda: shares let " + std::to_string(waiting) +
                       " sums wait at one time: kernels of peers hold at most " +
                       std::to_string(peers::kMaxWaiting));
  }

  Status join(Stream stream, const GemmSpec& spec, const PeerJoin& what,
              RunInfo* info) const override {
    const auto on = gpu::handle<Cuda>(stream);
    const int device = own().ordinal;
    if (Status s = gpu::check_stream<Cuda>(on, device); !s) return s;
    if (Status s = gpu::check_outputs<Cuda>(spec, what.operands, device); !s) return s;
    for (std::size_t i = 0; i < what.roots.size(); ++i) {
      const std::string name = "roots[" + std::to_string(i) + "]";
      if (Status s = gpu::check_array<Cuda>(name, what.roots[i], device); !s) return s;
    }
    bool captured = false;
    if (const cudaError_t error = Cuda::is_capturing(on, &captured); error != cudaSuccess) {
      return failed("querying whether the stream is captured", error);
    }
    Job job = job_of(spec, what);
    if (!captured) job.number = joins_ + 1;
    const bool blank = job.own > 0 && is_blank_array(job.root[job.first_own]);
    // A captured call takes its turn too, and runs later or never: behind a call in the same array
    // this one starts when its own product has ended.
    peers::Way how = way();
    const void* const array = blank ? job.root[job.first_own] : nullptr;
    if (blank && last_[captured ? 1 : 0].exchange(array) == array) how.overlap = false;
    const cudaError_t error = peers::enqueue(job, how, blank, on);
    if (blank) {
      taken_ = false;
      turn_ = 1 - turn_;
      if (error != cudaSuccess) spoiled_ = true;
    }
    if (error != cudaSuccess) return failed("launching " + peers::name(job), error);
    if (!captured) joins_ = job.number;
    if (info != nullptr) info->kernel = peers::name(job);
    return {};
  }

  std::byte* take_blank_roots(std::size_t bytes) const noexcept override {
    if (!has_blank_roots_ || bytes > CudaPeerMemory::kBlankBytes || spoiled_) return nullptr;
    spoiled_ = taken_.exchange(true);
    return spoiled_ ? nullptr : memory_->blank_roots(turn_);
  }

  PeerFailure failure() const noexcept override {
    const std::uint64_t word =
        std::atomic_ref<std::uint64_t>(*memory_->host_word()).load(std::memory_order_acquire);
    return {static_cast<PeerFailure::Why>(word >> 48), static_cast<int>(word & 0xffffffU),
            static_cast<int>(word >> 24 & 0xffffffU)};
  }

  /// Kernels that wait look at the host's word from time to time; the others' hear it from them,
  /// or find that this rank is late.
  void give_up() noexcept override {
    std::uint64_t none = 0;
    std::atomic_ref<std::uint64_t>(*memory_->host_word())
        .compare_exchange_strong(none, peers::reason(peers::Why::aborted, rank_));
    const OnDeviceOf here(own().ordinal);
    for (int r = 0; r < ranks(); ++r) {
      if (!write(&header_of(r)->given_up, peers::reason(peers::Why::aborted, rank_))) return;
    }
  }

  bool has_whole_words() const noexcept override {
    return std::all_of(reached_.begin(), reached_.end(),
                       [](const Reached& r) { return r.whole_words(); });
  }

  std::string description() const override {
    return "windows of " + std::to_string(bytes()) + " bytes on " + std::to_string(ranks()) +
           " ranks' devices, at most " + std::to_string(most_ctas_) + " CTAs";
  }

 private:
  int ranks() const { return static_cast<int>(cards_.size()); }
  peers::Way way() const { return {most_ctas_, own().major >= 9, sm_share_.is_first()}; }
  const CudaCard& own() const { return memory_->facts(); }
  std::byte* memory_of(int rank) const {
    if (rank == rank_) return memory_->memory();
    return reached_[static_cast<std::size_t>(rank < rank_ ? rank : rank - 1)].memory();
  }
  Header* header_of(int rank) const { return reinterpret_cast<Header*>(memory_of(rank)); }
  bool is_blank_array(const void* root) const {
    return root == memory_->blank_roots(0) || root == memory_->blank_roots(1);
  }

  /// Words of a header from and to the host, on a stream of this thread's own.
  Status copy(void* to, const void* from) const {
    cudaError_t error =
        cudaMemcpyAsync(to, from, sizeof(std::uint64_t), cudaMemcpyDefault, cudaStreamPerThread);
    if (error == cudaSuccess) error = cudaStreamSynchronize(cudaStreamPerThread);
    return error == cudaSuccess ? Status{} : failed("copying a word of a window", error);
  }
  Status write(std::uint64_t* to, std::uint64_t value) const { return copy(to, &value); }
  Result<std::uint64_t> read(const std::uint64_t* from) const {
    std::uint64_t value = 0;
    if (Status s = copy(&value, from); !s) return s;
    return value;
  }

  /// Whether this rank's kernels have left the windows: of those that are in no graph the last one
  /// has, since joins of one window follow each other. A kernel that waits ends within the
  /// patience, but what is before it on its stream may take longer, or never end.
  bool last_join_ended() const {
    const std::uint64_t last = joins_.load();
    const auto from = Clock::now();
    for (int cta = 0; cta < most_ctas_ && last != 0;) {
      const auto ended = read(&header_of(rank_)->ended[cta]);
      if (!ended) return false;
      if (*ended >= last) {
        ++cta;
      } else if (Clock::now() - from > patience_ + kFarewell) {
        return false;
      } else {
        std::this_thread::yield();
      }
    }
    return true;
  }

  /// Whether every rank has said that it will not touch this window again. Ranks that have given up
  /// do not say so.
  bool say_farewell() const {
    for (int r = 0; r < ranks(); ++r) {
      if (!write(&header_of(r)->left[rank_], 1)) return false;
    }
    const auto from = Clock::now();
    for (int r = 0; r < ranks();) {
      const auto left = read(&header_of(rank_)->left[r]);
      const auto given_up = read(&header_of(rank_)->given_up);
      if (!left || !given_up || *given_up != 0 || Clock::now() - from > kFarewell) return false;
      if (*left != 0) {
        ++r;
      } else {
        std::this_thread::yield();
      }
    }
    return true;
  }

  Job job_of(const GemmSpec& spec, const PeerJoin& what) const {
    Job job;
    job.g = gpu::arguments_of(spec, what.operands);
    job.rank = rank_;
    job.ranks = ranks();
    job.nodes = static_cast<int>(what.nodes.size());
    job.two_shot = what.way != PeerJoin::Way::one_shot;
    job.pushed = what.way == PeerJoin::Way::push;
    job.rows_out = what.rows_out;
    job.step = what.step & ((std::uint64_t{1} << peers::kStepBits) - 1);
    job.limit_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(patience_).count());
    job.host_word = memory_->host_word();
    job.mail_at = what.mail_at;
    job.mail_stride = what.mail_stride;
    job.odd_mail = what.odd_mail;
    job.results_at = what.results_at;
    for (int r = 0; r < ranks(); ++r) {
      job.header[r] = header_of(r);
      job.data[r] = data_of(r);
      job.row[r + 1] = job.two_shot ? what.rows[static_cast<std::size_t>(r) + 1] : what.m;
    }
    if (what.rows_out) job.first_row = job.row[rank_];
    closes_of(spec, what.nodes, job.closes);
    int of_owner = 0;
    for (int i = 0; i < job.nodes; ++i) {
      const auto node = static_cast<std::size_t>(i);
      const int owner = what.owners[node];
      of_owner = i > 0 && what.owners[node - 1] == owner ? of_owner + 1 : 0;
      if (owner == rank_ && job.own++ == 0) job.first_own = i;
      job.owner[i] = static_cast<std::uint8_t>(owner);
      const auto slot = static_cast<std::size_t>(job.pushed ? i : of_owner);
      const std::size_t in_window = what.roots_at + slot * what.root_stride;
      const void* from = data_of(job.pushed ? rank_ : owner) + in_window;
      if (!job.pushed && owner == rank_) from = what.roots[slot];
      job.root[i] = static_cast<const float*>(from);
    }
    for (int r = 0; r < ranks(); ++r) {
      job.has_silent = job.has_silent ||
                       std::find(what.owners.begin(), what.owners.end(), r) == what.owners.end();
    }
    return job;
  }

  const std::unique_ptr<CudaPeerMemory> memory_;
  const int rank_;
  const std::vector<CudaCard> cards_;
  std::vector<Reached> reached_;  ///< of the others, in rank order
  const std::chrono::milliseconds patience_;
  const SmShare sm_share_;
  int most_ctas_ = 1;
  bool has_blank_roots_ = false;
  mutable std::atomic<std::uint64_t> joins_{0};  ///< that are in no graph
  mutable std::atomic<int> turn_{0};             ///< which array of blank roots is next
  /// The array of the last call that was not captured, and of the last one that was.
  mutable std::array<std::atomic<const void*>, 2> last_{};
  mutable std::atomic<bool> taken_{false};    ///< by a call whose join has not been enqueued
  mutable std::atomic<bool> spoiled_{false};  ///< by a product behind which no join ran
};

class CudaPeers final : public PeerEngine {
 public:
  Result<std::unique_ptr<PeerMemory>> allocate(std::size_t bytes) const override {
    auto made = CudaPeerMemory::make(bytes);
    if (!made) return made.status();
    return std::unique_ptr<PeerMemory>(std::move(made).value());
  }

  Result<std::shared_ptr<PeerWindow>> open(std::unique_ptr<PeerMemory> memory, int rank,
                                           std::span<const PeerCard> cards,
                                           std::chrono::milliseconds patience) const override {
    if (cards.size() > peers::kMaxRanks) {
      return unsupported("cuda: there are " + std::to_string(cards.size()) +
                         " ranks: windows of devices are for at most " +
                         std::to_string(peers::kMaxRanks));
    }
    std::unique_ptr<CudaPeerMemory> own(static_cast<CudaPeerMemory*>(memory.release()));
    const OnDeviceOf here(own->facts().ordinal);
    std::vector<CudaCard> all(cards.size());
    std::vector<Reached> reached;
    for (std::size_t r = 0; r < cards.size(); ++r) {
      std::memcpy(&all[r], cards[r].bytes.data(), sizeof all[r]);
      if (static_cast<int>(r) == rank) continue;
      auto opened = Reached::open(own->facts(), all[r], static_cast<int>(r));
      if (!opened) {
        own->keep();  // others may have opened it
        return opened.status();
      }
      reached.push_back(std::move(opened).value());
    }
    return std::shared_ptr<PeerWindow>(std::make_shared<CudaPeerWindow>(
        std::move(own), rank, std::move(all), std::move(reached), patience));
  }
};

}  // namespace

const PeerEngine& peer_engine() noexcept {
  static const CudaPeers one;
  return one;
}

}  // namespace detgemm::cuda
