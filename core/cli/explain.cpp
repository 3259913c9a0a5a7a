// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>

#include "core/cli/known_backends.hpp"
#include "core/cli/order_drawing.hpp"
#include "core/cli/problem.hpp"
#include "core/cli/subcommands.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary =
    "What would run, and in which order it would add, without running it";
constexpr const char* kFooter =
    R"(Use it to see what a contract means for a K, how much memory a problem takes, which kernel a
backend would pick, and why a backend refuses. Nothing is allocated or computed.

Examples:
  detgemm explain --contract "hopper/bf16/tree:512->bf16" --m 8 --n 4096 --k 4096
  detgemm explain --contract ieee_fma/fp32/chain --m 1 --n 64 --k 100 --backend reference
  detgemm explain --contract "hopper/bf16/fold:256->fp32" --m 8 --n 64 --k 1024 --continue --json

Exit codes: 0 some backend (or the one named) would run it; 1 it failed on the way; 2 a wrong argument or
name; 3 none would.)";

struct ExplainOptions {
  ProblemOptions problem;
  std::string backend;
  std::string stable = "none";
};

void add_contract(Report& report, const Problem& problem) {
  const Contract& contract = problem.spec.contract;
  const std::int64_t k = problem.spec.k;
  const std::int64_t leaves = contract.leaves(k);
  const std::string order = draw_order(contract, k);
  Json& json = report.json["contract"];
  json["text"] = contract.text();
  json["canonical"] = contract.canonical();
  json["digest"] = hex(contract.digest());
  json["k_block"] = contract.k_block;
  json["evidence"] = evidence(contract.arithmetic);
  json["leaves"] = leaves;
  json["order"] = order;
  report.line("contract", contract.text());
  report.line("", contract.canonical());
  report.line("digest", hex(contract.digest()));
  report.line("evidence", evidence(contract.arithmetic));
  report.line("k_block",
              std::to_string(contract.k_block) + (contract.arithmetic == Arithmetic::snap ||
                                                          contract.arithmetic == Arithmetic::snap3
                                                      ? " products, of which leaves are multiples"
                                                      : " products in one fused step"));
  report.line("leaves", std::to_string(leaves));
  report.text += "\nOrder of one output, '+' in fp32 to nearest even\n" + order + "\n";
}

void add_problem(Report& report, const Problem& problem) {
  report.json["problem"] = problem.json();
  report.json["problem"]["bytes"] = problem.bytes();
  report.line("problem", "m = " + std::to_string(problem.m) +
                             ", n = " + std::to_string(problem.spec.n) +
                             ", k = " + std::to_string(problem.spec.k) + ", " + problem.layout);
  if (!problem.epilogue().empty()) report.line("  epilogue", problem.epilogue());
  for (const Array* array : problem.arrays()) {
    report.line("  " + array->name,
                array->shape() + ", " + std::to_string(array->bytes) + " bytes");
  }
}

/// The problem's arrays, packed and at aligned addresses, as plans see them before there is memory.
Operands imagined(const Problem& problem) {
  std::uintptr_t next = 4096;
  const auto place = [&](const Array& array) {
    const std::uintptr_t at = next;
    next += static_cast<std::uintptr_t>(array.bytes + 511) / 256 * 256;
    return reinterpret_cast<void*>(at);
  };
  Operands all;
  all.a = problem.a.view(place(problem.a));
  all.b = problem.b.view(place(problem.b));
  all.d = row_major(place(problem.d), problem.d.rows, problem.d.cols, problem.d.dtype);
  if (problem.c.used) all.c = problem.c.view(place(problem.c));
  if (problem.bias.used) all.bias = {place(problem.bias), problem.spec.n, problem.bias.dtype};
  if (problem.spec.reads_scales()) {  // one number for all of them, behind everything else
    const std::int64_t leaves = problem.spec.contract.leaves(problem.spec.k);
    const void* const one = reinterpret_cast<const void*>(next);
    all.scale_a = {one, ScaleType::fp32, 1, problem.m, leaves, 0, 0};
    all.scale_b = {one, ScaleType::fp32, 1, problem.spec.n, leaves, 0, 0};
  }
  return all;
}

/// What one backend says; true where it would run the problem.
bool add_backend(Report& report, const KnownBackend& known, const Problem& problem, Stable stable) {
  Json entry{{"name", known.name}};
  Status status = would_run(known, problem.spec);
  if (status) {
    const auto plan = Plan::create(*known.backend, problem.spec, {"", 0, stable});
    status = plan.status();
    if (status) {
      const std::size_t workspace = need(plan->workspace_bytes(problem.m));
      const std::size_t fast = need(plan->fast_workspace_bytes(imagined(problem)));
      const auto variants = known.backend->variants(problem.spec);
      const auto promised = promises(known.backend->guarantees(problem.spec.contract));
      entry["would_run"] = true;
      entry["kernel"] = plan->kernel(problem.m);
      entry["workspace_bytes"] = workspace;
      entry["fast_workspace_bytes"] = fast;
      entry["variants"] = variants;
      entry["promises"] = promised;
      report.line("backend", known.name);
      report.line("  kernel", plan->kernel(problem.m));
      report.line("  workspace", std::to_string(workspace) + " bytes needed");
      if (fast > workspace) {
        report.line("", std::to_string(fast) +
                            " bytes make it faster: rows of A or B do not start at multiples of 16 "
                            "bytes, or leaves are not multiples of 64 k, and copies in the "
                            "workspace do");
      }
      report.line("  variants", joined(variants));
      report.line("  promises", joined(promised));
    }
  }
  if (!status) {
    entry["would_run"] = false;
    entry["reason"] = status.message();
    report.line("backend", known.name + " would not run it: " + status.message());
  }
  report.json["backends"].push_back(entry);
  return status.ok();
}

Report explain(const ExplainOptions& options) {
  const Problem problem = parse_problem(options.problem);
  const Stable stable = need(parse_stable(options.stable));
  const Runtime runtime = need(Runtime::start());
  Report report;
  report.json["command"] = "explain";
  add_contract(report, problem);
  add_problem(report, problem);
  report.json["chosen"] = nullptr;
  report.json["stable"] = name(stable);
  report.json["backends"] = Json::array();
  report.text += "\n";
  bool listed = false;
  report.exit = kNothingRan;
  for (const KnownBackend& known : known_backends()) {
    if (!options.backend.empty() && known.name != options.backend) continue;
    listed = true;
    if (!add_backend(report, known, problem, stable) || report.exit == kOk) continue;
    report.json["chosen"] = known.name;
    report.exit = kOk;
  }
  if (!listed) need(find_backend(options.backend));
  return report;
}

}  // namespace

void register_explain(CLI::App& root, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  Command command(root, exit_code, "explain", kSummary);
  add_problem_options(command, options->problem);
  command.option("--backend", "NAME", options->backend, "use this backend only");
  command.option("--stable", "OPERAND", options->stable,
                 "none, a or b: the operand that work still running on the stream does not write");
  command.footer(kFooter);
  command.action([options] { return explain(*options); });
}

}  // namespace detgemm::cli
