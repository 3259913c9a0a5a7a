// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detgemm/plan.hpp"

/// Products whose K is spread over ranks, with the bits of one rank. A transport moves
/// bytes and never adds; every addition is made here, in the order of the contract's tree, and the
/// epilogue is applied once per output. docs/cluster.md is the guide.
namespace detgemm::cluster {

/// How a matrix is spread over the ranks: every rank has all of it, or rank r has the rows or the
/// columns `rows_of(extent, r, ranks)` and no others.
enum class Placement : std::int32_t { replicated = 0, rows = 1, columns = 2 };

/// "replicated", "rows" or "columns"; "unknown" for a value that is not listed.
DETGEMM_API std::string_view name(Placement placement) noexcept;

/// The half-open range [begin, end) of rows or columns.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  /// How many there are.
  std::int64_t size() const { return end - begin; }
  /// The same rows or columns.
  bool operator==(const Range&) const = default;
};

/// The rows (or columns) of rank `rank` where m of them are spread over `ranks`: multiples of 8,
/// which differ by at most 8 between ranks; the last ranks may have none.
DETGEMM_API Range rows_of(std::int64_t m, int rank, int ranks) noexcept;

/// Which leaves of k each rank owns: ranges that follow each other in rank order and hold all
/// leaves. A rank may own none.
class DETGEMM_API Shares {
 public:
  /// Shares that differ by at most one leaf. Refused: a contract without a tree, ranks below 1.
  static Result<Shares> even(const Contract& contract, std::int64_t k, int ranks);
  /// The caller's shares, one per rank. Refused: a cut inside of a leaf, a gap, an overlap.
  static Result<Shares> of(const Contract& contract, std::int64_t k,
                           std::span<const KRange> ranges);

  /// How many ranks share k.
  int ranks() const noexcept { return static_cast<int>(leaves_.size()); }
  /// All products.
  std::int64_t k() const noexcept { return k_; }
  /// The leaves of a rank in [0, ranks); another throws std::out_of_range.
  LeafRange leaves(int rank) const { return leaves_.at(static_cast<std::size_t>(rank)); }
  /// The products of a rank, likewise.
  KRange k_range(int rank) const { return ranges_.at(static_cast<std::size_t>(rank)); }
  /// The nodes of the tree that a rank's leaves consist of, in order, likewise.
  std::span<const LeafRange> cover(int rank) const {
    return covers_.at(static_cast<std::size_t>(rank));
  }

 private:
  static Result<Shares> make(const Contract& contract, std::int64_t k,
                             std::vector<LeafRange> leaves);
  std::int64_t k_ = 0;
  std::vector<LeafRange> leaves_;
  std::vector<KRange> ranges_;
  std::vector<std::vector<LeafRange>> covers_;
};

/// Bytes for one rank, or from one. Several messages between the same two ranks arrive in the order
/// in which they are listed.
struct Send {
  int to = 0;
  const void* data = nullptr;
  std::size_t bytes = 0;
};
/// Room for the bytes of one rank.
struct Receive {
  int from = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Moves bytes between ranks and never looks at them. There are transports for the threads of a
/// process (below) and for MPI (detgemm/mpi.hpp); a program may bring its own. The functions are
/// collective: every rank calls them, in the same order.
class DETGEMM_API Transport {
 public:
  virtual ~Transport();
  /// For example "threads", "Open MPI v4.1.4" or "NCCL 2.28.9".
  virtual std::string description() const = 0;
  /// This rank, in [0, size()).
  virtual int rank() const noexcept = 0;
  /// How many ranks there are.
  virtual int size() const noexcept = 0;
  /// Gives every rank the bytes of all ranks, in rank order; `all` is `size()` times as long as
  /// `mine`. Host memory, few bytes; blocks until all ranks have called or `patience` has passed;
  /// then it returns `peer` and names a rank that timed out, where the transport has its number.
  virtual Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
                       std::chrono::milliseconds patience) = 0;
  /// Moves all messages of one step. Memory of the stream's device. On a GPU the transport either
  /// enqueues the step or waits for the stream and moves the bytes itself. A message to oneself is
  /// a copy.
  virtual Status exchange(Stream stream, std::span<const Send> sends,
                          std::span<const Receive> receives,
                          std::chrono::milliseconds patience) = 0;
  /// Whether `exchange` on streams of this kind of device is put on the stream and returns without
  /// waiting for other ranks, so that it can be captured into a graph. Unless a transport says so,
  /// it waits.
  virtual bool enqueues(DeviceKind kind) const noexcept;
  /// ok, or why this transport is of no use any more.
  virtual Status health() = 0;
  /// Lets go of every wait, here and on the other ranks as far as the transport can.
  virtual void abort() noexcept = 0;
};

/// The transports of `ranks` threads of this process, one for each. Memory that is not the host's
/// is moved through the host by the backend's Device, which waits for the stream.
DETGEMM_API std::vector<std::shared_ptr<Transport>> threads(int ranks);

/// How ranks work together. The same on all of them.
struct Options {
  /// How long `create` and host transports wait for the other ranks; 0: for ever. More than a
  /// hundred years is a hundred years.
  std::chrono::milliseconds patience{30'000};
  /// Compare m and the plan of every call between the ranks before anything is sent (which of the
  /// communicator's plans it is, in the order in which all ranks made them): one round trip of a
  /// few bytes between hosts, so calls cannot be captured into graphs. It turns a disagreement that
  /// would hang or mix up data into a sentence on every rank.
  bool check_calls = false;
  /// Of the memory that a rank lets the others of its host read and write, for the algorithms of
  /// peers; allocated when the communicator is made, and one more such memory per rank is mapped.
  /// 0: none.
  std::size_t window_bytes = 0;
  /// Whose plans use the windows. Null: those of every backend that computes in the host's memory,
  /// where the windows then are. Else they are in the memory of the device that is current while
  /// the communicator is made, which must be one of this backend's; `patience` then limits every
  /// wait of its kernels, so it must not be 0.
  const Backend* window_backend = nullptr;
};

/// Ranks that work together. Creating one is collective, and so is every call on it. Copies share
/// one state; one call at a time, on streams too: a call begins when the one before it on this rank
/// has ended, by the order of one stream or by events. Through windows of devices two calls at once
/// take each other's signals, and D may be wrong without a word.
///
/// With windows of devices the last copy, which plans hold too, waits until this rank's last call
/// has ended on its stream, for the patience and 2 seconds at most. It does not see graphs: those
/// that hold calls must have ended before it goes, and must not be launched after.
class DETGEMM_API Communicator {
 public:
  /// All ranks succeed, or all refuse. Windows of one device divide its multiprocessors by the
  /// order in which they are made: make those of one device one after the other, never at the same
  /// time.
  static Result<Communicator> create(std::shared_ptr<Transport> transport,
                                     const Options& options = {});
  /// This rank, in [0, size()).
  int rank() const noexcept;
  /// How many ranks there are.
  int size() const noexcept;
  /// What it was created with.
  const Options& options() const noexcept;
  /// ok, or which rank failed, disagrees or is late. Once it is not ok it remains so, and every
  /// call returns it: make a new communicator then.
  Status health() const;
  /// Lets go of every wait; health() is `peer` from then on.
  void abort() const noexcept;
  /// Whether there are windows, on the host or on devices; `describe` has the reason if they were
  /// requested and there are none.
  bool has_windows() const noexcept;
  /// Transport, rank, size and windows in one line.
  std::string describe() const;

  struct State;
  State& state() const noexcept { return *state_; }  ///< for this library's own plans

 private:
  explicit Communicator(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// How the roots of ranks are joined. The bits do not depend on it.
///
///   gather   every rank receives all roots and joins all of D: few rows
///   scatter  rank r receives its rows of all roots, joins them, and sends its rows of D to all
///
/// and through windows of the ranks of one host (Options::window_bytes), where no messages are
/// sent:
///
///   one_shot  every rank has all roots, in its window or the others', and joins all of D
///   two_shot  rank r reads its rows of all roots and joins them; its rows of D go to all
///   push      rank r's rows of all roots are written into its window; it joins and writes as
///             above. Many rows alone: each rank's products are cut into as many as there are ranks
///
/// A rank that times out, or makes another call, leaves canonical NaN in D and the code `peer` on
/// every rank. Windows of the host: in all of D, and the call returns it. Of
/// devices: in every output that was not joined, and `health` and later calls return it, since
/// calls return before they have run.
///
/// Automatic takes one_shot or two_shot where there are windows of the backend's device, by the
/// size of the call, and never windows of the host. Else it takes scatter where every rank has 8
/// rows and more, and where a rank has none it is gather, whatever is requested. Rows of a D with
/// gaps are packed by copies on the stream before they travel.
enum class Algorithm : std::int32_t {
  automatic = 0,
  gather = 1,
  scatter = 2,
  one_shot = 3,
  two_shot = 4,
  push = 5
};

/// For example "automatic" or "two_shot"; "unknown" for a value that is not listed.
DETGEMM_API std::string_view name(Algorithm algorithm) noexcept;

/// Choices of how K is spread and where D goes. The bits do not depend on them.
struct RowParallelOptions {
  Placement output = Placement::replicated;  ///< or rows: reduce-scatter, for sequence parallelism
  std::optional<Shares> shares;              ///< empty: Shares::even
  PlanOptions plan;                          ///< of this rank's products
  Algorithm algorithm = Algorithm::automatic;
  /// Into how many chunks of rows a call is cut, so that the roots of one travel while the next is
  /// multiplied: at most so many, 1 for none, 0 (automatic) by m and the number of ranks. With
  /// output `rows` there is one. More chunks take more workspace.
  std::int32_t chunks = 0;
};

/// D = act(alpha * A*B + beta * C + bias) where K is spread over the ranks: rank r has the columns
/// k_range() of A and these rows of B. Contracts with a tree alone; D has the bits of one rank that
/// computes all of K. `C` and the bias are the ones of D: with `rows`, C is this rank's rows.
class DETGEMM_API RowParallelPlan {
 public:
  /// `whole` is the problem of one rank: its k is all of K. Collective; all ranks succeed, or all
  /// refuse with a sentence.
  static Result<RowParallelPlan> create(const Communicator& communicator, const Backend& backend,
                                        const GemmSpec& whole,
                                        const RowParallelOptions& options = {});
  /// The products of this rank.
  KRange k_range() const noexcept;
  /// Who owns which products.
  const Shares& shares() const noexcept;
  /// Bytes of workspace that `run` needs on this rank for any M from 0 to max_m.
  Result<std::size_t> workspace_bytes(std::int64_t max_m) const;
  /// Collective: every rank calls it with the same m, all of M. `local.a` and `local.b` are this
  /// rank's; `local.d` is m x N where D is replicated, and this rank's rows of it otherwise.
  Status run(Stream stream, std::int64_t m, const Operands& local, Workspace workspace,
             RunInfo* info = nullptr) const;
  /// Contract, shares, algorithm, and the bytes that this rank receives for m rows.
  std::string describe(std::int64_t m) const;

 private:
  struct State;
  explicit RowParallelPlan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Where A is read and where D is written. The bits do not depend on it.
struct ColumnParallelOptions {
  /// Of A: on every rank; or rows, which are gathered first (sequence parallelism); or columns, its
  /// products, which are gathered along K: with it a layer whose K is less than 2 N moves fewer
  /// bytes than sums of D would take, under any contract.
  Placement input = Placement::replicated;
  /// Of D: this rank's columns, or all of it on every rank.
  Placement output = Placement::columns;
  PlanOptions plan;  ///< of this rank's columns
  /// Into how many chunks of rows a call is cut, so that A and D of one travel while another is
  /// multiplied; as in RowParallelOptions. Where neither travels there is one.
  std::int32_t chunks = 0;
};

/// D = act(alpha * A*B + beta * C + bias) where N is spread over the ranks: rank r has the columns
/// `columns()` of B and the bias. Any contract, since a column's bits depend on no other column.
class DETGEMM_API ColumnParallelPlan {
 public:
  /// `whole` is the problem of one rank: its n is all of N. Collective.
  static Result<ColumnParallelPlan> create(const Communicator& communicator, const Backend& backend,
                                           const GemmSpec& whole,
                                           const ColumnParallelOptions& options = {});
  /// This rank's columns of op(B) and the bias, and of C and D unless D is replicated.
  Range columns() const noexcept;
  /// Bytes of workspace that `run` needs on this rank for any M from 0 to max_m: room for A where
  /// it is gathered, and for D where that is.
  Result<std::size_t> workspace_bytes(std::int64_t max_m) const;
  /// Collective: every rank calls it with the same m, all of M. `local.a` is op(A) as
  /// `options.input` says: m x K, this rank's rows of it, or its columns `rows_of(K, rank, ranks)`;
  /// `local.d` and C are m x N where D is replicated, and m x columns().size() otherwise.
  Status run(Stream stream, std::int64_t m, const Operands& local, Workspace workspace,
             RunInfo* info = nullptr) const;
  /// Contract, columns, and the bytes that this rank receives for m rows.
  std::string describe(std::int64_t m) const;

 private:
  struct State;
  explicit ColumnParallelPlan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Sums fp32 arrays that ranks hold as the roots of tree nodes: gradients of data-parallel
/// training, whose K is the tokens of all ranks.
class DETGEMM_API TreeSum {
 public:
  /// `whole` says what is summed: n columns, k products, a contract with a tree, and the epilogue
  /// of the sum. Collective.
  static Result<TreeSum> create(const Communicator& communicator, const Backend& backend,
                                const GemmSpec& whole, const Shares& shares,
                                Placement output = Placement::replicated,
                                Algorithm algorithm = Algorithm::automatic);
  /// Bytes of workspace that `run` needs on this rank for any M from 0 to max_m.
  Result<std::size_t> workspace_bytes(std::int64_t max_m) const;
  /// Where root `node` of a call of m rows may be, so that `run` does not copy it: m x N fp32 in
  /// this rank's window, for a kernel of the stream to write. Null: nowhere; there are no windows
  /// on devices, or not room for m rows in one piece, or another algorithm than two_shot joins
  /// them, or m or node is out of range. Each rank decides for itself. No other call of the
  /// communicator may run between the first write and the sum.
  void* place(std::int64_t m, std::size_t node) const;
  /// `roots` are this rank's, m x N fp32, row-major and packed, one per node of its cover; m,
  /// `local` and the rest are as in RowParallelPlan::run (`local.a` and `local.b` are ignored).
  Status run(Stream stream, std::int64_t m, std::span<const ConstMatrix> roots,
             const Operands& local, Workspace workspace, RunInfo* info = nullptr) const;
  /// Algorithm, and the bytes that this rank receives for m rows.
  std::string describe(std::int64_t m) const;

 private:
  struct State;
  explicit TreeSum(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace detgemm::cluster
