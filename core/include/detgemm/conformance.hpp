// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detgemm/backend.hpp"
#include "detgemm/engine.h"

/// The conformance harness (component `conformance`, target detgemm::conformance): looks for a call
/// that breaks a promise of a backend or of an engine of your own, and prints how to repeat it.
///
///   auto engine = detgemm::conformance::load_engine("./libmine.so");
///   detgemm::conformance::Options options;
///   options.engine = engine->get();
///   options.oracle.backend = &detgemm::conformance::scalar_backend();
///   auto report = detgemm::conformance::run_conformance(options);
///   std::puts(detgemm::conformance::render_text({&*report, 1}).c_str());
namespace detgemm::conformance {

/// The result of one property under one contract, from best to worst.
enum class Verdict {
  passed,
  unsupported,  ///< the backend's sentence says what it does not compute
  skipped,      ///< the property does not apply; the reason says why
  mistrusted,   ///< nothing differed, but the data could not have shown a difference
  untested,     ///< an error kept it from being tested
  failed,
};
/// The lower-case name, for example "mistrusted".
std::string_view name(Verdict verdict);
/// Failed, mistrusted and untested make a run fail.
constexpr bool counts_as_failure(Verdict verdict) { return verdict >= Verdict::mistrusted; }

/// The first wrong output of a case, or a broken promise without one (row = -1).
struct Failure {
  std::int64_t case_index = 0;
  std::string what;     ///< what was compared, or what happened
  std::string problem;  ///< shapes, data, layout
  std::int64_t row = -1;
  std::int64_t col = -1;
  std::string expected;  ///< bits and value
  std::string got;
  std::string repro;  ///< the command that runs this case alone
};

/// One property under one contract.
struct Cell {
  std::string property;
  std::string contract;
  std::string digest;
  Verdict verdict = Verdict::passed;
  std::string reason;  ///< for every verdict but passed; for passed, what was left out
  std::int64_t cases = 0;
  std::int64_t runs = 0;          ///< calls of the engine
  std::int64_t outputs = 0;       ///< outputs compared
  std::int64_t mismatches = 0;    ///< outputs that differ
  double seconds = 0.0;           ///< from the first case to the verdict
  bool expected = false;          ///< it failed, and was expected to; see expect_failures
  std::vector<Failure> failures;  ///< the first of each failing case, at most kMaxFailures
  std::set<std::string> kernels;  ///< what ran
  std::vector<std::string> log;   ///< one line per problem drawn
};
inline constexpr std::size_t kMaxFailures = 8;

/// One engine's run.
struct Report {
  std::string version;
  std::string commit;   ///< as `detgemm info` names it; empty where another program ran the harness
  std::string machine;  ///< processor, threads, operating system
  std::string host;     ///< the machine's name
  std::string engine;
  std::string description;
  std::string device;
  std::string oracle;  ///< what the engine was compared with, or "none"
  std::string date;    ///< UTC, ISO 8601
  std::string level;
  std::uint64_t seed = 0;
  double seconds = 0.0;
  std::size_t planned = 0;   ///< cells that a whole run has
  bool interrupted = false;  ///< it was stopped: `cells` are those that had finished
  std::string cut_short;     ///< why the rest was given up, or empty; such a run fails
  std::vector<Cell> cells;

  /// Cells of that verdict.
  std::int64_t count(Verdict verdict) const;
  /// Cells that fail the run: those of a bad verdict that is not expected.
  std::int64_t bad() const;
  /// Whether anything was compared.
  bool ran() const;
  /// Whether something was compared, no cell is bad, and nothing was left out.
  bool passed() const;
};

/// Marks the cells that are known to fail: a line names a property and a contract, either of them
/// may be *. Text after # is a comment. Returns the lines that matched no failing cell, since
/// a list that is too long hides the next fault. Refuses a line that does not read so.
Result<std::vector<std::string>> expect_failures(Report& report, std::string_view lines);

/// How large problems are, and how many.
enum class Level {
  quick,  ///< small problems
  full,   ///< larger ones, and more of them
};

/// What the engine is compared with: a backend, and the options it computes with.
struct Oracle {
  const Backend* backend = nullptr;
  PlanOptions options;
};

/// Watches a run. Every function is called on the thread that runs the harness.
class Observer {
 public:
  virtual ~Observer() = default;
  /// The report so far: everything but cells and seconds.
  virtual void on_start(const Report&) {}
  /// Cell number `index` begins; `repro` is the command that repeats it.
  virtual void on_cell(std::size_t index, const Cell&, const std::string& repro) {
    static_cast<void>(index), static_cast<void>(repro);
  }
  /// A case of the cell begins.
  virtual void on_case(std::int64_t) {}
  /// A problem was drawn: shapes, data, layouts.
  virtual void on_problem(const std::string&) {}
  /// A case of it has failed; there may be more cases.
  virtual void on_failure(const Cell&) {}
  /// The cell has its verdict.
  virtual void on_finished(std::size_t index, const Cell&) { static_cast<void>(index); }
  /// Called between cases; true ends the run, whose report is then marked as interrupted.
  virtual bool stop() { return false; }
};

/// Which cells of a run one process tests, where several share it: each cell belongs to one of
/// `of` shares by its number alone.
struct Share {
  std::size_t number = 0;  ///< 0 to of - 1
  std::size_t of = 1;
};

/// What is tested, with what, and how much of it.
struct Options {
  const Backend* engine = nullptr;
  Oracle oracle;                    ///< if empty, `reference` is skipped
  std::vector<Contract> contracts;  ///< empty: default_contracts(*engine); one twice counts once
  std::vector<std::string> properties;  ///< names; empty: all; one twice counts once
  Level level = Level::quick;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> only_case;
  /// So many further calls in every case of run_to_run: faults that need time to show.
  std::int64_t soak = 0;
  /// How the command line names the engine, for repro lines; empty: "--backend NAME".
  std::string engine_flag;
  std::size_t first_cell = 0;    ///< cells before it are left out
  Share share;                   ///< cells of other shares are left out
  Observer* observer = nullptr;  ///< may be null
};

/// The contract's plain scalar definition as a backend: slow, computes everything, needs no Kokkos.
const Backend& scalar_backend() noexcept;

/// Every arithmetic and input type under chain, fold and tree with varied outputs, and with the
/// shortest leaf that the engine supports. Contracts that it does not support are listed too.
std::vector<Contract> default_contracts(const Backend& engine);

/// Runs the properties under the contracts, in this process: an engine that crashes or hangs takes
/// it along. Refuses unknown names (not_found) and an engine that is not available with a sentence;
/// everything after that is in the report.
Result<Report> run_conformance(const Options& options);

/// What a worker process tests. `owned` keeps alive what the pointers point to.
struct Candidate {
  const Backend* engine = nullptr;
  Oracle oracle;
  std::shared_ptr<const void> owned;
};

/// Limits on the processes of `run_isolated`.
struct Isolation {
  double seconds_per_case = 300.0;  ///< a case that takes longer is a failure
  /// Cells that may end in that way; afterwards the rest is untested.
  int max_timeouts = 3;
  /// Processes that test different cells side by side, each with an engine of its own; 1 to 1024.
  int jobs = 1;
};

/// The same in processes of its own: the candidate is loaded by `load` in a child of this one. An
/// engine that exits, crashes, aborts or does not return fails the cell in which it does, by
/// name, and a new child goes on with the next one; finished cells are never lost. The report does
/// not depend on `jobs`, apart from times; the observer sees cells in the order in which they end,
/// and cases of one cell among those of others. Linux and other POSIX systems; call it before this
/// process has started threads, Kokkos or a GPU runtime. `options.engine` and `options.oracle` are
/// not looked at.
Result<Report> run_isolated(const Options& options, const Isolation& isolation,
                            const std::function<Result<Candidate>()>& load);

/// Opens a shared object that exports `detgemm_engine_query` and presents it as a backend. The
/// object stays open to the end of the process: its code may run in any thread.
Result<std::unique_ptr<Backend>> load_engine(const std::string& path);

/// The same for a table in this process; refuses with a sentence what is missing from it.
Result<std::unique_ptr<Backend>> wrap_engine(const detgemm_engine* table);

/// The name of a property and the sentence that it claims.
struct PropertyName {
  std::string_view name;
  std::string_view claim;
};
/// Every property, in the order of a report.
std::vector<PropertyName> property_names();

/// For people at a terminal: counts per property, every failure with its command, one last
/// sentence.
std::string render_text(std::span<const Report> reports);
/// A table of properties by contracts, then every failure with the command that repeats it.
std::string render_markdown(std::span<const Report> reports);
/// Some lines of Markdown for the summary page of a CI job.
std::string render_summary(std::span<const Report> reports);
/// Everything, under the schema "detgemm-conformance-1".
std::string render_json(std::span<const Report> reports);
/// JUnit XML: a test suite per engine, a test case per cell, with times.
std::string render_junit(std::span<const Report> reports);
/// The schema of shields.io's endpoint badges.
std::string render_badge(std::span<const Report> reports);

}  // namespace detgemm::conformance
