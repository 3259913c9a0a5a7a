// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>

#include "core/cli/command.hpp"
#include "core/cli/files.hpp"
#include "core/cli/known_backends.hpp"
#include "core/cli/subcommands.hpp"
#include "detgemm/runtime.hpp"
#include "detgemm/version.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary =
    "Whether this device returns the contract's bits, for devices that the project never ran";
constexpr const char* kFooter =
    R"(Use it on a GPU that the project never had. Tensor cores differ between generations of GPUs; the
project measured some, and of others there is a published model. Where a contract rests on a model, pinned products are computed on this device and
compared with the contract, bit for bit. A library does so by itself at the first plan.

Examples:
  detgemm verify                         one line per arithmetic and input that this device has
  detgemm verify --report verify.json    the same as a file, to be sent to the project

Exit codes: 0 every arithmetic here is measured or verified; 1 some output differs; 2 a wrong argument or
file; 3 no backend here has an arithmetic to verify.)";

struct VerifyOptions {
  std::string report;
};

struct Counts {
  int verified = 0, measured = 0, different = 0, failed = 0;
};

/// One arithmetic and input on one backend; nothing where there is nothing to say.
void add_one(Report& report, Counts& counts, const KnownBackend& known, const Contract& contract) {
  GemmSpec spec;
  spec.n = spec.k = 64;
  spec.contract = contract;
  if (!would_run(known, spec)) return;
  const auto v = known.backend->verify(contract);
  if (v.status().code() == Errc::unsupported) return;
  Json entry{{"backend", known.name}, {"contract", contract.text()}};
  const std::string what = contract.text();
  if (!v) {
    ++counts.failed;
    entry["failed"] = v.status().message();
    report.line(what, v.status().message());
  } else {
    ++(v->measured ? counts.measured : v->different > 0 ? counts.different : counts.verified);
    entry["device"] = v->device;
    entry["measured"] = v->measured;
    entry["outputs"] = v->outputs;
    entry["different"] = v->different;
    entry["text"] = v->text;
    report.line(what, v->text);
  }
  report.json["results"].push_back(entry);
}

Report verify(const VerifyOptions& options) {
  const Runtime runtime = need(Runtime::start());
  std::optional<OutputFile> file;
  if (!options.report.empty()) file.emplace(options.report, std::vector<std::string>{});
  Report report;
  report.json["command"] = "verify";
  report.json["version"] = version();
  report.json["results"] = Json::array();
  Counts counts;
  for (const KnownBackend& known : known_backends()) {
    if (!known.available) continue;
    for (const Contract& contract : base_contracts()) add_one(report, counts, known, contract);
  }
  report.json["verified"] = counts.verified;
  report.json["measured"] = counts.measured;
  report.json["different"] = counts.different;
  report.json["failed"] = counts.failed;
  if (report.json["results"].empty()) {
    throw Refusal(
        {Errc::unavailable,
         "no backend here has an arithmetic to verify: a CPU computes the contract itself"});
  }
  if (file) {
    const std::string text = report.json.dump(1) + "\n";
    file->write(text.data(), text.size());
  }
  report.exit = counts.different + counts.failed > 0 ? kFailed : kOk;
  return report;
}

}  // namespace

void register_verify(CLI::App& root, int& exit_code) {
  auto options = std::make_shared<VerifyOptions>();
  Command command(root, exit_code, "verify", kSummary);
  command.option("--report", "FILE", options->report, "write the results to this file, as JSON");
  command.footer(kFooter);
  command.action([options] { return verify(*options); });
}

}  // namespace detgemm::cli
