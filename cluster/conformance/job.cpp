// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/conformance/job.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "cluster/common/state.hpp"
#include "cluster/conformance/faults.hpp"
#include "cluster/conformance/refusals.hpp"

namespace detgemm::cluster {
namespace {

using conformance::Report;

/// `concurrency` makes several calls at once, which a communicator does not take; the other three
/// test `Plan::combine`, graphs and kernels, of which a job has none of its own.
constexpr std::array<std::string_view, 5> kNotOfJobs{"concurrency", "ranks", "shares",
                                                     "graph_replay", "variants"};

constexpr std::array<std::string_view, 4> kContracts{
    "hopper/bf16/tree:64->bf16", "ieee_fma/fp32/tree:32->fp32", "cdna3/fp16/chain->fp32",
    "ampere/tf32/fold:64->fp32"};

/// Enough for the problems of the properties, the larger ones in pieces.
constexpr std::size_t kWindowBytes = std::size_t{2} << 20;

bool takes(Way way, const Contract& contract) {
  return !needs_tree(way) || contract.reduction.kind == ReductionKind::tree;
}

/// Where the ranks' own reports differ in their outcome, every one of them says so.
Status agree_on(Transport& transport, Report& report, std::chrono::milliseconds patience) {
  const bool bad = report.bad() != 0 || !report.cut_short.empty();
  std::vector<std::byte> all(static_cast<std::size_t>(transport.size()));
  const std::array mine{static_cast<std::byte>(bad ? 1 : 0)};
  if (Status s = transport.agree(mine, all, patience); !s) return s;
  if (bad) return {};
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] == std::byte{0}) continue;
    report.cut_short = "rank " + std::to_string(r) + " found a failure that this rank did not find";
    break;
  }
  return {};
}

Result<Report> run_way(const std::shared_ptr<Transport>& transport, const JobOptions& options,
                       const Backend& engine, std::vector<Contract> contracts) {
  conformance::Options harness = options.harness;
  harness.engine = &engine;
  harness.contracts = std::move(contracts);
  if (harness.properties.empty()) harness.properties = job_properties(harness.level);
  auto report = conformance::run_conformance(harness);
  if (!report) return report;
  report->engine = std::string(engine.name()) + " of " + options.backends;
  if (report->interrupted) return report;  // the others are in the middle of a call
  if (Status s = agree_on(*transport, *report, options.patience); !s) {
    report->cut_short = s.message();
  }
  return report;
}

Result<Communicator> communicator_of(const std::shared_ptr<Transport>& transport,
                                     const JobOptions& options) {
  Options choices;
  choices.patience = options.patience;
  choices.window_bytes = kWindowBytes;
  return Communicator::create(transport, choices);
}

}  // namespace

std::vector<std::string> job_properties(conformance::Level level) {
  std::vector<std::string> list;
  for (const conformance::PropertyName& one : conformance::property_names()) {
    // Large problems take as long as all others together.
    if (one.name == "large" && level == conformance::Level::quick) continue;
    if (std::find(kNotOfJobs.begin(), kNotOfJobs.end(), one.name) == kNotOfJobs.end()) {
      list.emplace_back(one.name);
    }
  }
  return list;
}

std::vector<Contract> job_contracts() {
  std::vector<Contract> list;
  for (const std::string_view text : kContracts) list.push_back(*Contract::parse(text));
  return list;
}

Result<int> greatest(Transport& transport, int mine, std::chrono::milliseconds patience) {
  std::vector<std::byte> all(static_cast<std::size_t>(transport.size()));
  const std::array byte{static_cast<std::byte>(mine)};
  if (Status s = transport.agree(byte, all, patience); !s) return s;
  int most = 0;
  for (const std::byte one : all) most = std::max(most, static_cast<int>(one));
  return most;
}

Result<std::vector<Report>> run_job(const std::shared_ptr<Transport>& transport,
                                    const JobOptions& options) {
  const auto ranks = communicator_of(transport, options);
  if (!ranks) return ranks.status();
  const auto contracts =
      options.harness.contracts.empty() ? job_contracts() : options.harness.contracts;
  // Windows are memory of one host, for backends that compute there.
  const bool on_host = options.backend->device().kind() == DeviceKind::host;
  const auto without =
      greatest(*transport, on_host && ranks->state().window ? 0 : 1, options.patience);
  if (!without) return without.status();
  std::vector<Report> reports;
  for (const Way way : kWays) {
    if (way == Way::peers && *without != 0 && ranks->size() > 1) continue;
    std::vector<Contract> taken;
    std::copy_if(contracts.begin(), contracts.end(), std::back_inserter(taken),
                 [&](const Contract& one) { return takes(way, one); });
    if (taken.empty()) continue;
    const auto engine = make_job_backend(*ranks, *options.backend, way);
    auto report = run_way(transport, options, *engine, taken);
    if (!report) return report.status();
    reports.push_back(*std::move(report));
    if (reports.back().interrupted || !transport->health()) return reports;
  }
  if (options.harness.properties.empty() && !options.harness.only_case) {
    auto report =
        run_refusals(transport, options, reports.empty() ? Report{} : Report(reports.back()));
    if (!report) return report.status();
    if (Status s = agree_on(*transport, *report, options.patience); !s) {
      report->cut_short = s.message();
    }
    reports.push_back(*std::move(report));
  }
  return reports;
}

Result<std::vector<Planted>> run_planted(const std::shared_ptr<Transport>& transport,
                                         const JobOptions& options) {
  if (transport->size() < 3) {
    return invalid("the job has " + std::to_string(transport->size()) +
                   " ranks: planted faults show with 3 and more, since two numbers have one sum");
  }
  std::vector<Planted> list;
  for (const Fault& fault : faults()) {
    // A fault may leave ranks in different places: each gets a communicator of its own.
    const auto ranks = communicator_of(transport, options);
    if (!ranks) return ranks.status();
    const auto engine = make_faulty_job(*ranks, fault);
    conformance::Options harness = options.harness;
    harness.engine = engine.get();
    harness.contracts = {*Contract::parse(kFaultContract)};
    harness.properties = {std::string(fault.property)};
    const auto report = conformance::run_conformance(harness);
    if (!report) return report.status();
    const bool failed = report->cells.front().verdict == conformance::Verdict::failed;
    const bool passed = report->cells.front().verdict == conformance::Verdict::passed;
    const bool missed = fault.name == kNoFault ? !passed : !failed;
    const auto any = greatest(*transport, missed ? 1 : 0, options.patience);
    if (!any) return any.status();
    const bool right = *any == 0;
    list.push_back({std::string(fault.name), std::string(fault.text), std::string(fault.property),
                    fault.name == kNoFault ? !right : right});
  }
  return list;
}

}  // namespace detgemm::cluster
