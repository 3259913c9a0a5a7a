// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <memory>

#include "core/cli/arguments.hpp"
#include "core/cli/execute.hpp"
#include "core/cli/files.hpp"
#include "core/cli/host_memory.hpp"
#include "core/cli/known_backends.hpp"
#include "core/cli/problem.hpp"
#include "core/cli/random_data.hpp"
#include "core/cli/subcommands.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary = "Compute one GEMM from raw files or seeded random data";
constexpr const char* kFooter =
    R"(Use it to get a result's digest on two machines and compare. Files are raw little-endian elements,
row-major and packed, without a header; tf32 is stored as fp32. An array without a file is random: the
same seed gives the same data on every platform, row i of A is the same whatever M is, and so is
column j of B whatever N is; the layout changes the place of elements, not their values. So the
digest of D is the same for NN, NT, TN and TT, for every backend, variant and number of threads.

Examples:
  detgemm run --contract hopper/bf16/chain --m 8 --n 64 --k 256
  detgemm run --contract "hopper/bf16/tree:512->fp32" --m 8 --n 64 --k 4096 --dist wide --seed 7
  detgemm run --contract ieee_fma/fp32/chain --m 2 --n 2 --k 2 --a a.bin --b b.bin -o d.bin

Exit codes: 0 computed; 1 it failed on the way; 2 a wrong argument, name or file; 3 no backend
here computes it.)";

struct RunOptions {
  ProblemOptions problem;
  std::string a, b, c, bias;
  std::string seed = "1";
  std::string dist = "normal";
  std::string backend, variant;
  std::string threads = "0";
  std::string stable = "none";
  std::string output;

  std::vector<std::string> inputs() const { return {a, b, c, bias}; }
};

/// One input: its source and its host memory.
struct Input {
  const Array& array;
  const std::string& path;
  Role role;
  Buffer buffer;

  Input(const Array& from, const std::string& file, Role stream)
      : array(from), path(file), role(stream), buffer(host_device(), from.used ? from.bytes : 0) {}
};

void check_files(const RunOptions& options, const Problem& problem) {
  if (!options.c.empty() && !problem.c.used) {
    refuse("c is " + in_quotes(options.c) + ": C is read only with --beta or --continue");
  }
  const auto check = [](const Array& array, const std::string& path) {
    if (!path.empty()) need_file(array.name, path, array.bytes, array.shape());
  };
  check(problem.a, options.a);
  check(problem.b, options.b);
  check(problem.c, options.c);
  check(problem.bias, options.bias);
}

/// The logical lines of an array: rows of op(A), columns of op(B), rows of C, the bias.
Lines lines_of(const Problem& problem, const Array& array, Role role) {
  const bool by_column = role == Role::a   ? problem.spec.op_a == Op::transpose
                         : role == Role::b ? problem.spec.op_b == Op::none
                                           : false;
  if (by_column) return {array.cols, array.rows, 1, array.cols};
  return {array.rows, array.cols, array.cols, 1};
}

void load(const Input& input, const Problem& problem, Distribution dist, std::uint64_t seed) {
  if (!input.array.used) return;
  if (!input.path.empty()) {
    read_file(input.array.name, input.path, input.buffer.data(), input.buffer.bytes());
    return;
  }
  const bool operand = input.role == Role::a || input.role == Role::b;
  const DType type = operand ? problem.spec.contract.input : input.array.dtype;
  fill_random(input.buffer.data(), type, lines_of(problem, input.array, input.role), dist, seed,
              input.role);
}

void add_digest(Report& report, const Array& array, const void* data, const std::string& from) {
  const std::string digest = hex(need(digest_matrix(array.view(data))));
  report.json["digests"][array.name] = digest;
  report.line("digest " + array.name, digest + "  " + array.shape() + from);
}

Report run(RunOptions options) {
  if (!options.bias.empty() && options.problem.bias_type.empty()) {
    options.problem.bias_type = "fp32";
  }
  const Problem problem = parse_problem(options.problem);
  const std::uint64_t seed = parse_seed("seed", options.seed);
  const Distribution dist = need(parse_distribution(options.dist));
  const int threads = parse_threads(options.threads);
  const Stable stable = need(parse_stable(options.stable));
  check_files(options, problem);
  need_memory(problem.bytes());

  const Runtime runtime = need(Runtime::start({threads}));
  const Backend& backend = choose_backend(options.backend, problem.spec);
  const Plan plan = need(Plan::create(backend, problem.spec, {options.variant, 0, stable}));
  std::unique_ptr<OutputFile> output;
  if (!options.output.empty()) {
    output = std::make_unique<OutputFile>(options.output, options.inputs());
  }

  Progress progress;
  progress.show("reading A and B");
  const Input a(problem.a, options.a, Role::a);
  const Input b(problem.b, options.b, Role::b);
  const Input c(problem.c, options.c, Role::c);
  const Input bias(problem.bias, options.bias, Role::bias);
  for (const Input* input : {&a, &b, &c, &bias}) load(*input, problem, dist, seed);
  const Buffer d(host_device(), problem.d.bytes);
  Operands operands{problem.a.view(a.buffer.data()), problem.b.view(b.buffer.data()),
                    row_major(d.data(), problem.m, problem.spec.n, problem.d.dtype)};
  if (problem.c.used) operands.c = problem.c.view(c.buffer.data());
  if (problem.bias.used) operands.bias = {bias.buffer.data(), problem.spec.n, problem.bias.dtype};
  progress.show("computing on " + std::string(backend.name()));
  const Execution done = execute(plan, operands);
  if (output) output->write(d.data(), d.bytes());

  Report report;
  const double products = static_cast<double>(problem.m) * static_cast<double>(problem.spec.n) *
                          static_cast<double>(problem.spec.k);
  const double rate = done.seconds > 0.0 ? products / done.seconds : 0.0;
  report.json["command"] = "run";
  report.json["contract"] = problem.spec.contract.text();
  report.json["contract_digest"] = hex(problem.spec.contract.digest());
  report.json["problem"] = problem.json();
  report.json["seed"] = seed;
  report.json["dist"] = options.dist;
  report.json["backend"] = backend.name();
  report.json["kernel"] = done.kernel;
  report.json["workspace_bytes"] = done.workspace_bytes;
  report.json["threads"] = threads;
  report.json["stable"] = name(stable);
  report.json["seconds"] = done.seconds;
  report.json["products_per_second"] = rate;
  report.json["output"] = output ? Json(options.output) : Json(nullptr);
  report.line("contract",
              problem.spec.contract.text() + "  digest " + hex(problem.spec.contract.digest()));
  if (!problem.epilogue().empty()) report.line("epilogue", problem.epilogue());
  report.line("backend", std::string(backend.name()) + ", kernel " + done.kernel);
  for (const Input* input : {&a, &b, &c, &bias}) {
    if (!input->array.used) continue;
    const std::string from = input->path.empty()
                                 ? ", " + options.dist + ", seed " + std::to_string(seed)
                                 : ", from " + in_quotes(input->path);
    add_digest(report, input->array, input->buffer.data(), from);
  }
  add_digest(report, problem.d, d.data(), output ? ", to " + in_quotes(options.output) : "");
  char text[96];
  std::snprintf(text, sizeof text, "%.6f s, %.4g products/s", done.seconds, rate);
  report.line("time", text);
  return report;
}

}  // namespace

void register_run(CLI::App& root, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  Command command(root, exit_code, "run", kSummary);
  add_problem_options(command, options->problem);
  command.group("Data");
  command.option("--a", "FILE", options->a, "file of A; else random");
  command.option("--b", "FILE", options->b, "file of B; else random");
  command.option("--c", "FILE", options->c, "file of C: the output type, or fp32 with --continue");
  command.option("--bias", "FILE", options->bias,
                 "file of the bias; fp32 unless --bias-type is given");
  command.option("--seed", "SEED", options->seed, "of the random data, 0 to 2^64 - 1");
  command.option("--dist", "NAME", options->dist,
                 "normal, wide, bits, subnormal, cancel, positive, specials or ones");
  command.option("-o,--output", "FILE", options->output, "file for D; replaced if it exists");
  command.group("How (never changes a bit)");
  command.option("--backend", "NAME", options->backend, "a name; else the first that computes it");
  command.option("--variant", "NAME", options->variant, "force one of the backend's kernels");
  command.option("--threads", "COUNT", options->threads, "host threads; 0 for all");
  command.option("--stable", "OPERAND", options->stable,
                 "none, a or b: the operand that work still running on the stream does not write");
  command.footer(kFooter);
  command.action([options] { return run(*options); });
}

}  // namespace detgemm::cli
