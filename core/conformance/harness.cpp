// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <ctime>
#include <new>
#include <thread>

#include "core/arithmetic/floating_point_mode.hpp"
#include "core/conformance/case.hpp"
#include "core/conformance/machine.hpp"
#include "core/conformance/property.hpp"
#include "core/conformance/share.hpp"
#include "detgemm/conformance.hpp"
#include "detgemm/version.hpp"

namespace detgemm::conformance {
namespace {

Result<std::vector<const Property*>> chosen(const std::vector<std::string>& names) {
  std::vector<const Property*> list;
  std::string known;
  for (const Property& property : properties()) {
    known += (known.empty() ? "" : ", ") + std::string(property.name);
    if (names.empty()) list.push_back(&property);
  }
  for (const std::string& wanted : names) {
    const auto found = std::find_if(properties().begin(), properties().end(),
                                    [&](const Property& p) { return p.name == wanted; });
    if (found == properties().end()) {
      return Status{Errc::not_found, "property is \"" + wanted + "\": it must be one of " + known};
    }
    if (std::find(list.begin(), list.end(), &*found) == list.end()) list.push_back(&*found);
  }
  return list;
}

/// Sets the verdict of a cell whose cases have all run. A failure stands, whatever else happened. A
/// `single` case repeats a failure: it is enough that this one can fail.
void set_verdict(const Property& property, const Evidence& evidence, bool single, Cell& cell) {
  const int needed = single ? 1 : kMinDiscriminating;
  if (cell.verdict == Verdict::failed) {
    const Failure& first = cell.failures.front();
    cell.reason = first.what;
  } else if (!evidence.untested.empty()) {
    cell.verdict = Verdict::untested;
    cell.reason = evidence.untested;
  } else if (!evidence.compared) {
    const bool refused = !evidence.unsupported.empty();
    cell.verdict = refused ? Verdict::unsupported
                           : (evidence.skipped.empty() ? Verdict::untested : Verdict::skipped);
    cell.reason = refused ? evidence.unsupported : evidence.skipped;
    if (cell.reason.empty()) cell.reason = "no case compared anything";
  } else if (property.needs_order && !single && evidence.distinct.size() < kMinDistinct) {
    cell.verdict = Verdict::mistrusted;
    cell.reason = "all outputs were equal, zero, infinite or NaN";
  } else if (evidence.discriminating < needed) {
    cell.verdict = Verdict::mistrusted;
    cell.reason = "a wrong computation would have given other bits in only " +
                  std::to_string(evidence.discriminating) + " of " + std::to_string(cell.cases) +
                  " cases: " + std::to_string(needed) + " are needed";
    if (!evidence.doubt.empty()) cell.reason = evidence.doubt + "; " + cell.reason;
  } else {
    cell.reason = evidence.unsupported;
  }
}

constexpr std::int64_t kExtraCases = 12;

bool wants_more(const Cell& cell, const Evidence& evidence) {
  return cell.verdict == Verdict::passed && evidence.compared && evidence.untested.empty() &&
         evidence.discriminating < kMinDiscriminating;
}

Cell empty_cell(const Property& property, const Contract& contract) {
  Cell cell;
  cell.property = property.name;
  cell.contract = contract.text();
  cell.digest = hex(contract.digest());
  return cell;
}

/// The command that repeats a cell, up to --case.
std::string repro_of(const Options& options, const Cell& cell) {
  return "detgemm conform " +
         (options.engine_flag.empty() ? "--backend " + std::string(options.engine->name())
                                      : options.engine_flag) +
         " --contract '" + cell.contract + "' --property " + cell.property +
         (options.level == Level::full ? " --full" : "") +
         (options.soak != 0 ? " --soak " + std::to_string(options.soak) : "") + " --seed " +
         std::to_string(options.seed);
}

/// Says nothing and never stops.
Observer& nobody() {
  static Observer observer;
  return observer;
}

/// Runs the cases of a cell. False if the observer ended it before the last one.
bool run_cell(const Options& options, const Property& property, const Contract& contract,
              Observer& observer, Cell& cell) {
  const auto start = std::chrono::steady_clock::now();
  Case::Setting setting{options.engine, options.oracle, contract,
                        options.level,  options.seed,   repro_of(options, cell)};
  Evidence evidence;
  GemmSpec plain;
  plain.n = 8;
  plain.k = 64;
  plain.contract = contract;
  const Status supported = options.engine->supports(plain);
  setting.limits_workers = supported.ok() && Plan::create(*options.engine, plain, {"", 1}).ok();
  setting.soak = options.soak;
  setting.observer = &observer;
  const std::int64_t count = property.cases(contract, options.level);
  const std::int64_t max_cases = count + kExtraCases;
  try {
    for (std::int64_t i = 0; supported.ok() && i < max_cases; ++i) {
      if (options.only_case && *options.only_case != i) continue;
      // Further cases make up for those that could not have shown a difference.
      if (i >= count && !options.only_case && !wants_more(cell, evidence)) break;
      if (observer.stop()) return false;
      observer.on_case(i);
      const std::size_t failures = cell.failures.size();
      Case one(setting, i, cell, evidence);
      property.run(one);
      ++cell.cases;
      if (cell.failures.size() != failures) observer.on_failure(cell);
    }
  } catch (const std::bad_alloc&) {
    evidence.untested = "host memory is exhausted";
  }
  if (!supported) evidence.unsupported = supported.message();
  if (options.only_case && *options.only_case >= max_cases) {
    evidence.skipped = "there are only " + std::to_string(max_cases) + " cases";
  }
  set_verdict(property, evidence, options.only_case.has_value(), cell);
  cell.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return true;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Report facts(const Options& options) {
  Report report;
  report.version = version();
  report.machine = machine_description();
  report.host = machine_name();
  report.engine = options.engine->name();
  report.description = options.engine->description();
  report.device = options.engine->device().description();
  report.oracle = options.oracle.backend == nullptr
                      ? "none"
                      : std::string(options.oracle.backend->name()) +
                            (options.oracle.options.variant.empty()
                                 ? ""
                                 : ", variant " + options.oracle.options.variant);
  report.date = utc_now();
  report.level = options.level == Level::full ? "full" : "quick";
  report.seed = options.seed;
  return report;
}

}  // namespace

std::vector<PropertyName> property_names() {
  std::vector<PropertyName> list;
  for (const Property& property : properties()) list.push_back({property.name, property.claim});
  return list;
}

Result<Report> run_conformance(const Options& options) {
  const arithmetic::FloatingPointMode ieee;
  if (options.engine == nullptr) return invalid("engine is null: name a backend or an engine");
  if (options.only_case && *options.only_case < 0) {
    return invalid("case is " + std::to_string(*options.only_case) + ": it must not be negative");
  }
  if (options.soak < 0) {
    return invalid("soak is " + std::to_string(options.soak) + ": it must not be negative");
  }
  auto list = chosen(options.properties);
  if (!list) return list.status();
  if (Status s = options.engine->available(); !s) return s;
  std::vector<Contract> contracts;
  for (const Contract& one :
       options.contracts.empty() ? default_contracts(*options.engine) : options.contracts) {
    if (std::find(contracts.begin(), contracts.end(), one) == contracts.end()) {
      contracts.push_back(one);
    }
  }
  Report report = facts(options);
  report.planned = contracts.size() * list->size();
  Observer& observer = options.observer == nullptr ? nobody() : *options.observer;
  observer.on_start(report);
  const auto start = std::chrono::steady_clock::now();
  std::size_t index = 0;
  for (const Contract& contract : contracts) {
    for (const Property* property : *list) {
      const std::size_t number = index++;
      if (number < options.first_cell || report.interrupted) continue;
      if (!has(options.share, number)) continue;
      Cell cell = empty_cell(*property, contract);
      observer.on_cell(number, cell, repro_of(options, cell));
      if (!run_cell(options, *property, contract, observer, cell)) {
        report.interrupted = true;
        continue;
      }
      observer.on_finished(number, cell);
      report.cells.push_back(std::move(cell));
    }
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace detgemm::conformance
