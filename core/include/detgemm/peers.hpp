// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "detgemm/backend.hpp"

/// Memory of devices that the ranks of one host share, and joins through it, as a backend offers
/// them to detgemm/cluster.hpp. Applications do not need this header.
namespace detgemm {

/// What a rank sends to the others about its memory, so that they can reach it.
struct PeerCard {
  std::array<std::byte, 256> bytes{};
};

/// Why joins through windows have ended for good.
struct PeerFailure {
  /// `late`: rank timed out after the patience. `disagree`: rank and other made different
  /// calls. `aborted`: rank gave up.
  enum class Why : std::int32_t { none = 0, late = 1, aborted = 2, disagree = 3 };
  Why why = Why::none;
  int rank = 0;
  int other = 0;
};

/// One join on one rank: D = epilogue(the tree over the roots of all ranks). Offsets are bytes in
/// PeerWindow::data, and all of it but `d`, `c` and `roots` is the same on all ranks.
struct PeerJoin {
  std::int64_t m = 0;  ///< of the roots, on all ranks
  /// one_shot: every rank sends its roots to all others and joins all of D. two_shot: rank r reads
  /// its rows of all roots, joins them, and all read the results. push: the same, but rank r's rows
  /// of all roots have been written into its own window by earlier work on the streams of all
  /// ranks.
  enum class Way : std::int32_t { one_shot = 0, two_shot = 1, push = 2 };
  Way way = Way::one_shot;
  std::span<const std::int64_t> rows;  ///< but one_shot: rank r joins rows [rows[r], rows[r + 1])
  bool rows_out = false;               ///< but one_shot: D and C are this rank's rows alone
  std::span<const LeafRange> nodes;    ///< of all ranks, in the order of the tree
  std::span<const int> owners;         ///< the rank of each node, which does not decrease
  /// This rank's roots, one per node of its own: m x N fp32, row-major and packed. For two_shot the
  /// rows of root i that other ranks join are at roots_at + i * root_stride too. None for push,
  /// where this rank's rows of node i of all nodes are there.
  std::span<const void* const> roots;
  std::size_t roots_at = 0, root_stride = 0;
  /// one_shot: room for the roots of all nodes, at even calls and, odd_mail further on, at odd
  /// ones: 16 bytes for two elements.
  std::size_t mail_at = 0, mail_stride = 0, odd_mail = 0;
  std::size_t results_at = 0;  ///< but one_shot: room for the rows of D that a rank joins
  std::uint64_t step = 0;      ///< which call it is: ranks with another one disagree
  Operands operands;           ///< C, bias and D; D as rows_out says
};

/// A window per rank, all of one size, in device memory that every rank reads and writes. Created
/// collectively; one join at a time, ordered by streams. The current device must be the window's.
/// The destructor waits until the last join has ended that is in no graph, as long as the patience
/// lasts; graphs that hold joins must have ended before it, and must not be replayed after it.
class DETGEMM_API PeerWindow {
 public:
  virtual ~PeerWindow();
  /// This rank's window: memory of its device, aligned to 256 bytes.
  virtual std::byte* data() const noexcept = 0;
  /// The window of any rank, at an address that this rank's device reads and writes.
  virtual std::byte* data_of(int rank) const noexcept = 0;
  /// Of each window.
  virtual std::size_t bytes() const noexcept = 0;
  /// Proves that every rank reaches every window: writes a mark into all of them ...
  virtual Status mark_all() = 0;
  /// ... and, when all ranks have done so, finds the marks of all ranks in its own.
  virtual Status find_marks() = 0;
  /// ok, or why the kernels do not join such nodes of the problem's tree. Pure.
  virtual Status supports(const GemmSpec& spec, std::span<const LeafRange> nodes) const = 0;
  /// Enqueues a join and returns; capturable, and every replay is a join of its own. `spec` is that
  /// of the whole problem. A rank that times out ends the wait after the patience: canonical
  /// NaN is then in every output that could not be joined, and failure() reports it on all ranks
  /// whose kernels have noticed.
  virtual Status join(Stream stream, const GemmSpec& spec, const PeerJoin& join,
                      RunInfo* info) const = 0;
  /// Memory of this rank alone where a product may write the roots of the next one_shot, which then
  /// sends each element as soon as it is there; null where there is none, or not `bytes` of it. The
  /// roots of a call are wholly in it, side by side, from its beginning on, and that call
  /// is the next join. Where a call has taken it and no join followed, there is none any more.
  virtual std::byte* take_blank_roots(std::size_t /*bytes*/) const noexcept { return nullptr; }
  /// What has failed so far. Does not wait.
  virtual PeerFailure failure() const noexcept = 0;
  /// Lets go of every wait: this rank takes part no more.
  virtual void give_up() noexcept = 0;
  /// Whether 16 bytes that this rank stores in one access arrive in every window in one piece, as
  /// one_shot needs it. Where it does not hold between all ranks, one_shot must be requested.
  virtual bool has_whole_words() const noexcept { return true; }
  /// For the devices of all ranks, in one line.
  virtual std::string description() const = 0;
};

/// Memory of one rank before it has been shown to the others.
class DETGEMM_API PeerMemory {
 public:
  virtual ~PeerMemory();
  /// What the other ranks need to reach it.
  virtual const PeerCard& card() const noexcept = 0;
};

/// A backend's half of windows.
class DETGEMM_API PeerEngine {
 public:
  virtual ~PeerEngine();
  /// Memory on the current device for a window of `bytes`.
  virtual Result<std::unique_ptr<PeerMemory>> allocate(std::size_t bytes) const = 0;
  /// The windows of all ranks, whose cards are in rank order. `patience` limits every wait of the
  /// kernels; it is positive. Refused with a sentence where a rank's memory is not reached.
  virtual Result<std::shared_ptr<PeerWindow>> open(std::unique_ptr<PeerMemory> memory, int rank,
                                                   std::span<const PeerCard> cards,
                                                   std::chrono::milliseconds patience) const = 0;
};

}  // namespace detgemm
