// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <cstring>
#include <memory>

#include "core/cli/arguments.hpp"
#include "core/cli/command.hpp"
#include "core/cli/execute.hpp"
#include "core/cli/files.hpp"
#include "core/cli/golden_file.hpp"
#include "core/cli/host_memory.hpp"
#include "core/cli/known_backends.hpp"
#include "core/cli/subcommands.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary =
    "Compare with results captured from real tensor cores, bit for bit";
constexpr const char* kFooter =
    R"(Use it to check that a backend returns what the hardware returned. Each file holds A, B, C and
what the hardware made of them; the backend computes the same product under
ARITH/TYPE/chain->fp32, NT, its accumulator starting from C, and every bit is compared.
A file is named TYPE_DIST_kK.bin; folders are searched for *.bin at any depth.

Examples:
  detgemm golden tests/golden
  detgemm golden tests/golden/bf16_wide_k256.bin --backend reference --json
  detgemm golden captures/a100 --contract ampere

Exit codes: 0 every bit agrees; 1 a mismatch, or it failed on the way; 2 a wrong argument, name or file; 3
nothing was checked, or no backend here computes it.)";

struct GoldenOptions {
  std::vector<std::string> paths;
  std::string arithmetic = "hopper";
  std::string backend, variant;
  std::string threads = "0";
};

/// What the comparison of one file gave.
struct Comparison {
  std::int64_t mismatches = 0;
  std::int64_t first = -1;  ///< row-major index of the first mismatch
  std::uint32_t expected = 0;
  std::uint32_t got = 0;
  std::string backend;
  std::string kernel;
};

struct Totals {
  std::int64_t files = 0;
  std::int64_t outputs = 0;
  std::int64_t mismatches = 0;
  std::int64_t bad = 0;
  std::int64_t skipped = 0;  ///< the backend does not compute this contract

  Exit exit() const {
    if (mismatches > 0) return kFailed;
    if (bad > 0) return kUsage;
    return files > 0 ? kOk : kNothingRan;
  }
};

GemmSpec spec_of(const GoldenFile& file, Arithmetic arithmetic) {
  GemmSpec spec;
  spec.n = kGoldenExtent;
  spec.k = file.k;
  auto contract = Contract::make(arithmetic, file.type, {}, DType::fp32);
  // The file is fine; its type is none of this arithmetic's.
  if (!contract) throw Refusal(unsupported(file.path + ": " + contract.status().message()));
  spec.contract = *contract;
  spec.op_b = Op::transpose;
  spec.continue_from_c = true;
  return spec;
}

Comparison check(const GoldenFile& file, Arithmetic arithmetic, const GoldenOptions& options) {
  const GemmSpec spec = spec_of(file, arithmetic);
  const Backend& backend = choose_backend(options.backend, spec);
  const Plan plan = need(Plan::create(backend, spec, {options.variant, 0}));
  need_memory(file.bytes() + file.tile_bytes());
  const Buffer captured(host_device(), file.bytes());
  read_file("file", file.path, captured.data(), captured.bytes());
  const auto* a = static_cast<const std::byte*>(captured.data());
  const auto* b = a + file.operand_bytes();
  const auto* c = b + file.operand_bytes();
  const auto* expected = c + file.tile_bytes();

  const Buffer d(host_device(), file.tile_bytes());
  const DType stored = file.type == DType::tf32 ? DType::fp32 : file.type;
  const Operands operands{row_major(a, kGoldenExtent, file.k, stored),
                          row_major(b, kGoldenExtent, file.k, stored),
                          row_major(d.data(), kGoldenExtent, kGoldenExtent, DType::fp32),
                          row_major(c, kGoldenExtent, kGoldenExtent, DType::fp32)};
  Comparison result;
  result.kernel = execute(plan, operands).kernel;
  result.backend = backend.name();
  const auto* got = static_cast<const std::byte*>(d.data());
  for (std::int64_t i = 0; i < kGoldenExtent * kGoldenExtent; ++i) {
    std::uint32_t want_bits = 0;
    std::uint32_t got_bits = 0;
    std::memcpy(&want_bits, expected + 4 * i, 4);
    std::memcpy(&got_bits, got + 4 * i, 4);
    if (want_bits == got_bits) continue;
    if (result.mismatches++ > 0) continue;
    result.first = i;
    result.expected = want_bits;
    result.got = got_bits;
  }
  return result;
}

std::string hex32(std::uint32_t bits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", bits);
  return text;
}

void add_checked(Report& report, const GoldenFile& file, const Comparison& result) {
  Json entry{{"path", file.path}, {"type", name(file.type)}};
  entry["distribution"] = file.distribution;
  entry["k"] = file.k;
  entry["backend"] = result.backend;
  entry["kernel"] = result.kernel;
  entry["outputs"] = kGoldenExtent * kGoldenExtent;
  entry["mismatches"] = result.mismatches;
  std::string line = std::to_string(result.mismatches) + " of " +
                     std::to_string(kGoldenExtent * kGoldenExtent) + " differ";
  if (result.mismatches > 0) {
    const std::int64_t row = result.first / kGoldenExtent;
    const std::int64_t col = result.first % kGoldenExtent;
    entry["first_mismatch"] = {{"row", row},
                               {"col", col},
                               {"expected", hex32(result.expected)},
                               {"got", hex32(result.got)}};
    line += "; first at (" + std::to_string(row) + ", " + std::to_string(col) + "): expected " +
            hex32(result.expected) + ", got " + hex32(result.got);
  }
  report.json["results"].push_back(entry);
  report.text +=
      printable(file.path) + "  " + result.backend + "/" + result.kernel + "  " + line + "\n";
}

void add_unchecked(Report& report, const std::string& path, const Refusal& refusal) {
  report.json["results"].push_back(
      {{"path", path}, {"error", {{"code", name(refusal.code())}, {"message", refusal.what()}}}});
  report.text += "not checked: " + printable(refusal.what()) + "\n";
}

Report golden(const GoldenOptions& options) {
  const Arithmetic arithmetic = parse_arithmetic("contract", options.arithmetic);
  const int threads = parse_threads(options.threads);
  const Runtime runtime = need(Runtime::start({threads}));
  Report report;
  report.json["command"] = "golden";
  report.json["contract"] = options.arithmetic;
  report.json["results"] = Json::array();
  Totals totals;
  std::vector<BadPath> bad;
  const auto paths = find_golden(options.paths, bad);
  for (const BadPath& folder : bad) {
    ++totals.bad;
    add_unchecked(report, folder.path, Refusal({Errc::io, folder.reason}));
  }
  {
    Progress progress;
    for (const std::string& path : paths) {
      progress.show(std::to_string(totals.files + totals.bad + totals.skipped + 1) + "/" +
                    std::to_string(paths.size()) + " " + path);
      try {
        const GoldenFile file = open_golden(path);
        const Comparison result = check(file, arithmetic, options);
        ++totals.files;
        totals.outputs += kGoldenExtent * kGoldenExtent;
        totals.mismatches += result.mismatches;
        add_checked(report, file, result);
      } catch (const Refusal& refusal) {
        // A file that is bad, or of a type the backend does not compute, does not hide the
        // others; any other refusal (no such backend, no memory) would apply to all of them.
        const bool skipped = refusal.code() == Errc::unsupported;
        const bool bad_file =
            refusal.code() == Errc::invalid_argument || refusal.code() == Errc::io;
        if (!skipped && !bad_file) throw;
        ++(skipped ? totals.skipped : totals.bad);
        add_unchecked(report, path, refusal);
      }
    }
  }
  report.exit = totals.exit();
  report.json["files"] = totals.files;
  report.json["outputs"] = totals.outputs;
  report.json["mismatches"] = totals.mismatches;
  report.json["bad_files"] = totals.bad;
  report.json["skipped_files"] = totals.skipped;
  report.text += std::to_string(totals.files) + " files checked against " + options.arithmetic +
                 ", " + std::to_string(totals.outputs) + " outputs, " +
                 std::to_string(totals.mismatches) + " mismatches";
  if (totals.bad > 0) report.text += ", " + std::to_string(totals.bad) + " bad files";
  if (totals.skipped > 0) report.text += ", " + std::to_string(totals.skipped) + " skipped";
  if (paths.empty()) report.text += ": no *.bin file was found";
  report.text += "\n";
  return report;
}

}  // namespace

void register_golden(CLI::App& root, int& exit_code) {
  auto options = std::make_shared<GoldenOptions>();
  Command command(root, exit_code, "golden", kSummary);
  command.positional("path", options->paths, "files, or folders with *.bin files");
  command.option("--contract", "ARITH", options->arithmetic,
                 "arithmetic the files were captured from");
  command.option("--backend", "NAME", options->backend, "a name; else the first that computes it");
  command.option("--variant", "NAME", options->variant, "force one of the backend's kernels");
  command.option("--threads", "COUNT", options->threads, "host threads; 0 for all");
  command.footer(kFooter);
  command.action([options] { return golden(*options); });
}

}  // namespace detgemm::cli
