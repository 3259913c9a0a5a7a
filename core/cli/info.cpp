// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include "core/cli/build_info.hpp"
#include "core/cli/command.hpp"
#include "core/cli/known_backends.hpp"
#include "core/cli/subcommands.hpp"
#include "detgemm/runtime.hpp"
#include "detgemm/version.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary =
    "What this build is and can do: version, devices, backends and why one is absent, contracts";
constexpr const char* kFooter = R"(Use it first on a new machine, and attach it to bug reports.

Examples:
  detgemm info                     everything, for people
  detgemm info --json              the same, for programs

Each base contract is listed with fp32 output and the reduction 'chain'; any of them also takes
fold:LEAF, tree:LEAF or scaled:LEAF and the output types bf16 and fp16. snap and snap3 have no chain
and are listed with fold:128; scaled:128, whose leaves bring scales, is listed once per input type of
8 bits. 'evidence' is the source of an arithmetic: a measurement on the hardware it is named after,
or a published model.

Exit codes: 0 printed; 1 a backend's runtime failed to start, or stdout could not be written.)";

/// A problem that any backend that computes the contract at all should accept.
GemmSpec probe(const Contract& contract) {
  GemmSpec spec;
  spec.n = 64;
  spec.k = 64;
  spec.contract = contract;
  return spec;
}

void add_build(Report& report) {
  report.json["version"] = version();
  report.json["commit"] = kCommit;
  report.json["compiler"] = kCompiler;
  report.json["build_type"] = kBuildType;
  report.json["flags"] = kBuildFlags;
  report.json["system"] = kSystem;
  report.line("version", version());
  report.line("commit", kCommit);
  report.line("compiler", kCompiler);
  report.line("build type", *kBuildType == '\0' ? "none" : kBuildType);
  report.line("flags", kBuildFlags);
  report.line("system", kSystem);
}

/// Each device of a kind, with the facts to compare when bits or times differ.
void add_list(Report& report, Json& devices, const Device& device) {
  const auto list = device.list();
  if (list.empty()) {
    devices.push_back({{"kind", name(device.kind())}, {"description", device.description()}});
    report.line("  " + std::string(name(device.kind())), device.description());
  }
  int number = 0;
  for (const DeviceInfo& one : list) {
    devices.push_back({{"kind", name(device.kind())},
                       {"number", number},
                       {"description", one.name},
                       {"capability", one.capability},
                       {"processors", one.processors},
                       {"memory_bytes", one.memory_bytes},
                       {"driver", one.driver},
                       {"runtime", one.runtime}});
    char memory[32];
    std::snprintf(memory, sizeof memory, "%.1f GiB",
                  static_cast<double>(one.memory_bytes) / (1024.0 * 1024.0 * 1024.0));
    report.line("  " + std::string(name(device.kind())) + " " + std::to_string(number++),
                one.name + ", capability " + one.capability + ", " +
                    std::to_string(one.processors) + " processors, " + memory + ", driver " +
                    one.driver + ", runtime " + one.runtime);
  }
}

void add_devices(Report& report, const std::vector<KnownBackend>& list) {
  const unsigned threads = std::thread::hardware_concurrency();
  Json& devices = report.json["devices"] = Json::array();
  devices.push_back({{"kind", "host"}, {"description", "host"}, {"hardware_threads", threads}});
  report.text += "\nDevices\n";
  report.line("  host", std::to_string(threads) + " hardware threads");
  for (const KnownBackend& known : list) {
    if (!known.available || known.backend->device().kind() == DeviceKind::host) continue;
    add_list(report, devices, known.backend->device());
  }
}

/// Every pair of arithmetic and input: as a chain, as a fold for those that have no chain, and the
/// 8-bit types with the scales that they are made for too.
std::vector<Contract> listed_contracts() {
  std::vector<Contract> all;
  const auto chains = base_contracts();
  for (const Arithmetic arithmetic : arithmetics()) {
    for (const Contract& chain : chains) {
      if (chain.arithmetic == arithmetic) all.push_back(chain);
    }
    for (const DType input :
         {DType::bf16, DType::fp16, DType::fp32, DType::tf32, DType::e4m3, DType::e5m2}) {
      // Pairs without a step are refused here, as are scales under snap3.
      const bool narrow = size_of(input) == 1;
      const bool snaps = arithmetic == Arithmetic::snap || arithmetic == Arithmetic::snap3;
      if (!narrow && !snaps) continue;
      const auto kind = narrow ? ReductionKind::scaled : ReductionKind::fold;
      const auto contract = Contract::make(arithmetic, input, {kind, 128}, DType::fp32);
      if (contract) all.push_back(*contract);
    }
  }
  return all;
}

/// Every kernel that may be forced for some listed contract.
std::vector<std::string> variants_of(const KnownBackend& known) {
  std::vector<std::string> all;
  for (const Contract& contract : listed_contracts()) {
    if (!would_run(known, probe(contract))) continue;
    for (const std::string& variant : known.backend->variants(probe(contract))) {
      if (std::find(all.begin(), all.end(), variant) == all.end()) all.push_back(variant);
    }
  }
  return all;
}

/// Those that can run here first, in order of preference; absent ones would be read as preferred.
void add_backends(Report& report, std::vector<KnownBackend> list) {
  Json& backends = report.json["backends"] = Json::array();
  report.text += "\nBackends, in order of preference\n";
  std::ranges::stable_partition(list, [](const KnownBackend& one) { return one.available.ok(); });
  for (const KnownBackend& known : list) {
    const auto variants = variants_of(known);
    Json entry{{"name", known.name}, {"description", known.description}};
    entry["built"] = known.backend != nullptr;
    entry["available"] = known.available.ok();
    entry["reason"] = known.available ? Json(nullptr) : Json(known.available.message());
    entry["variants"] = variants;
    backends.push_back(entry);
    report.line("  " + known.name, known.description);
    if (!known.available) {
      report.line("", "absent: " + known.available.message());
    } else {
      report.line("", "available; variants: " + joined(variants));
    }
  }
}

void add_contracts(Report& report, const std::vector<KnownBackend>& list) {
  Json& contracts = report.json["contracts"] = Json::array();
  std::optional<Arithmetic> heading;
  report.text += "\nContracts: k_block, digest, and the backends here that compute it\n";
  for (const Contract& contract : listed_contracts()) {
    std::vector<std::string> supporting;
    Json entry{{"contract", contract.text()}, {"k_block", contract.k_block}};
    entry["digest"] = hex(contract.digest());
    entry["evidence"] = evidence(contract.arithmetic);
    entry["backends"] = Json::object();
    for (const KnownBackend& known : list) {
      const Status status = would_run(known, probe(contract));
      if (status) supporting.push_back(known.name);
      Json& answer = entry["backends"][known.name];
      answer = {{"supported", status.ok()},
                {"reason", status ? Json(nullptr) : Json(status.message())}};
      if (!status) continue;
      // What it rests on here, where the backend says more than the arithmetic's own evidence.
      const auto verification = known.backend->verify(contract);
      if (!verification) continue;
      answer["verification"] = verification->text;
      supporting.back() += " (" + verification->text + ")";
    }
    contracts.push_back(entry);
    if (contract.arithmetic != heading) {
      heading = contract.arithmetic;
      report.text += "  " + std::string(name(contract.arithmetic)) + ": " +
                     std::string(evidence(contract.arithmetic)) + "\n";
    }
    std::string row = "    " + contract.text();
    row.resize(36, ' ');
    row += "k_block " + std::to_string(contract.k_block);
    row.resize(48, ' ');
    report.text += row + hex(contract.digest()) + "  " + joined(supporting) + "\n";
  }
}

Report info() {
  const Runtime runtime = need(Runtime::start());
  const auto list = known_backends();
  Report report;
  report.json["command"] = "info";
  add_build(report);
  add_devices(report, list);
  add_backends(report, list);
  add_contracts(report, list);
  return report;
}

}  // namespace

void register_info(CLI::App& root, int& exit_code) {
  Command command(root, exit_code, "info", kSummary);
  command.footer(kFooter);
  command.action(info);
}

}  // namespace detgemm::cli
