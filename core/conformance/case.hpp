// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/conformance/data.hpp"
#include "core/conformance/report.hpp"
#include "core/conformance/request.hpp"

namespace detgemm::conformance {

enum class Level { quick, full };

/// Whom the engine is compared with: a backend, and how it is to compute.
struct Oracle {
  const Backend* backend = nullptr;
  PlanOptions options;
};

struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// A cell is believed when this many of its cases could have failed.
inline constexpr int kEnoughTelling = 3;

/// What has been learnt about a cell over its cases.
struct Evidence {
  std::set<std::uint32_t> distinct;  ///< finite nonzero outputs seen, at most a handful
  int telling = 0;  ///< cases in which a wrong computation would have given other bits
  bool compared = false;
  std::string skipped, unsupported, untested;  ///< the first reason of each kind
};

/// One case of one property: draws a problem, runs it, compares, and writes all of it down.
/// A property uses nothing else, so whatever it does is recorded.
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
    /// worker, which changes no bit and spares waking all of them a thousand times.
    bool limits_workers = false;
  };
  Case(const Setting& setting, std::int64_t index, Cell& cell, Evidence& evidence);

  Random& random() { return random_; }
  std::int64_t index() const { return index_; }
  bool full() const { return setting_.level == Level::full; }
  const Contract& contract() const { return setting_.contract; }
  const Backend& engine() const { return *setting_.engine; }
  bool has_oracle() const { return setting_.oracle.backend != nullptr; }
  /// The contract with fp32 outputs in place of its own.
  Contract with_output(DType output) const;

  /// Uniform, unaligned, and not larger than the level allows in products.
  Shape draw_shape();
  /// Up to several leaves, and now and then long enough for kernels that split K.
  std::int64_t draw_k();
  /// Products after which a sum in another order has other bits: a leaf, or a few steps.
  std::int64_t stretch() const;
  /// Draws A and B and logs the problem.
  Request draw(const Shape& shape, Distribution distribution);
  /// A distribution whose outputs are finite and, where they are narrow, more often one that
  /// shows the last bits of the accumulator all the same.
  Request draw(const Shape& shape);

  /// Runs on the engine; nothing comes back when it refuses (noted) or fails (noted).
  std::optional<Output> run(Request request);
  std::optional<Output> ask_oracle(Request request);

  /// Byte equality, and the first difference written down.
  bool same(const Elements& expected, const Elements& got, std::string_view what);
  /// Looks, until found in enough cases, whether another order of the products would have
  /// changed a bit.
  void look_for_order(const Request& request, const Elements& result);
  /// The data of this case was made to tell right from wrong, so order need not matter to it.
  void trust() { ++evidence_.telling; }
  void count_outputs(const Elements& outputs);

  void fail(std::string what);
  void fail_at(std::string what, std::int64_t row, std::int64_t col, std::string expected,
               std::string got);
  void skip(std::string reason);
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

std::string describe(const Request& request);

}  // namespace detgemm::conformance
