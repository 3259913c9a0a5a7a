// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/conformance/data.hpp"
#include "core/conformance/grouped_request.hpp"
#include "core/conformance/report.hpp"
#include "core/conformance/request.hpp"

namespace detgemm::conformance {

struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// A cell passes only when at least this many of its cases were discriminating: a wrong computation
/// would have given other bits in them.
inline constexpr int kMinDiscriminating = 3;

/// And so many different finite outputs that are not zero, where the order is to show.
inline constexpr std::size_t kMinDistinct = 2;

/// An engine may list so many variants, with names of so many bytes.
inline constexpr std::size_t kMaxVariants = 256;
inline constexpr std::size_t kMaxVariantName = 255;

/// What the cases of a cell have shown so far.
struct Evidence {
  std::set<std::uint32_t> distinct;  ///< finite nonzero outputs seen, at most kMinDistinct
  int discriminating = 0;            ///< cases in which a wrong computation gives other bits
  bool compared = false;
  std::string skipped, unsupported, untested;  ///< the first reason of each kind
  std::string doubt;  ///< why a case that differed in nothing shows nothing
};

/// One case of one property: it draws a problem, runs it, compares, and records all of that. A
/// property uses nothing else, so whatever it does is recorded.
class Case {
 public:
  struct Setting {
    const Backend* engine;
    Oracle oracle;
    Contract contract;
    Level level;
    std::uint64_t seed;
    std::string repro;  ///< the command up to --case
    /// The engine takes PlanOptions.max_workers: most small problems are then drawn with one
    /// worker, which changes no bit and avoids waking all of them a thousand times.
    bool limits_workers = false;
    std::int64_t soak = 0;
    Observer* observer = nullptr;  ///< hears of every problem; may be null
  };
  Case(const Setting& setting, std::int64_t index, Cell& cell, Evidence& evidence);

  Random& random() { return random_; }
  std::int64_t index() const { return index_; }
  /// Further calls of each case of run_to_run.
  std::int64_t soak() const { return setting_.soak; }
  bool full() const { return setting_.level == Level::full; }
  const Contract& contract() const { return setting_.contract; }
  const Backend& engine() const { return *setting_.engine; }
  bool has_oracle() const { return setting_.oracle.backend != nullptr; }
  /// Precondition: there is one.
  const Backend& oracle() const { return *setting_.oracle.backend; }
  /// The contract with this output type in place of its own.
  Contract with_output(DType output) const;

  /// Uniform and unaligned extents, with no more products than the level allows.
  Shape draw_shape();
  /// A K of up to several leaves, and now and then one long enough for kernels that split K.
  std::int64_t draw_k();
  /// The number of products after which a sum in another order has other bits: a leaf, or a few
  /// steps.
  std::int64_t stretch() const;
  /// Draws A and B and logs the problem.
  Request draw(const Shape& shape, Distribution distribution);
  /// With a distribution whose outputs are finite; for narrow outputs more often one that shows the
  /// last bits of the accumulator nevertheless.
  Request draw(const Shape& shape);

  /// With C as well, where the engine adds one: `result` becomes that sum. False if that failed.
  bool try_add_c(Request& request, Output& result);

  /// Runs on the engine. Nothing is returned when it refuses or fails, which is noted.
  std::optional<Output> run(Request request);
  std::optional<Output> run(GroupedRequest request);
  /// What a run of the engine has left: an output that broke a rule by itself fails the case.
  std::optional<Output> ran(Result<Output> output);
  std::optional<Output> run_oracle(Request request);

  /// Whether both are equal byte by byte; the first difference is recorded as a failure.
  bool same(const Elements& expected, const Elements& got, std::string_view what);
  /// Computes the products in another order too, and counts the case as discriminating if that
  /// changes a bit. Does nothing once enough cases are.
  void check_order_matters(const Request& request, const Elements& result);
  /// Counts the case as discriminating without that check: its data was made to tell a right result
  /// from a wrong one by something other than the order.
  void count_discriminating() { ++evidence_.discriminating; }
  void count_outputs(const Elements& outputs);

  void fail(std::string what);
  void fail_at(std::string what, std::int64_t row, std::int64_t col, std::string expected,
               std::string got);
  void skip(std::string reason);
  /// The case ran and shows nothing, for this reason.
  void doubt(std::string reason);
  /// Whether this case or one before it in the cell showed nothing.
  bool doubted() const { return !evidence_.doubt.empty(); }
  void note(const Status& refusal);
  void log(const std::string& line);

 private:
  std::int64_t budget() const;
  std::optional<Output> noted(Result<Output> output);

  const Setting& setting_;
  std::int64_t index_;
  Cell& cell_;
  Evidence& evidence_;
  Random random_;
  std::string problem_;
  bool failed_ = false;
};

}  // namespace detgemm::conformance
