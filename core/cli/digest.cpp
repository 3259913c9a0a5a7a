// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/digest.hpp"

#include <memory>

#include "core/cli/arguments.hpp"
#include "core/cli/command.hpp"
#include "core/cli/execute.hpp"
#include "core/cli/files.hpp"
#include "core/cli/host_memory.hpp"
#include "core/cli/subcommands.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary = "The digest of a raw matrix file, or of a contract";
constexpr const char* kFooter =
    R"(Use it to compare a result with one computed elsewhere: equal digests mean equal types, shapes and
bits. A matrix digest is 64-bit FNV-1a over the type's name, rows and columns as little-endian
64-bit integers, and the elements row by row. A contract's digest is FNV-1a over its canonical line.

Examples:
  detgemm digest d.bin --rows 8 --cols 64 --dtype bf16
  detgemm digest --contract "hopper/bf16/tree:512->bf16"

Exit codes: 0 printed; 1 it failed on the way; 2 a wrong argument, name or file.)";

struct DigestOptions {
  std::string file, rows, cols, dtype, contract;
};

Report digest_contract(const std::string& text) {
  const Contract contract = parse_contract(text);
  Report report;
  report.json["command"] = "digest";
  report.json["contract"] = contract.text();
  report.json["canonical"] = contract.canonical();
  report.json["digest"] = hex(contract.digest());
  report.text = hex(contract.digest()) + "  " + contract.text() + "\n";
  return report;
}

Report digest_file(const DigestOptions& options) {
  if (options.rows.empty() || options.cols.empty() || options.dtype.empty()) {
    refuse("file is " + in_quotes(options.file) +
           ": --rows, --cols and --dtype must say what it holds");
  }
  const std::int64_t rows = parse_size("rows", options.rows);
  const std::int64_t cols = parse_size("cols", options.cols);
  const DType dtype = need(parse_dtype(options.dtype));
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, cols, &elements) ||
      __builtin_mul_overflow(elements, static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    refuse("file is " + std::to_string(rows) + " x " + std::to_string(cols) +
           ": its bytes must fit 2^63");
  }
  need_file("file", options.file, static_cast<std::uint64_t>(bytes),
            std::to_string(rows) + " x " + std::to_string(cols) + " of " + options.dtype);
  need_memory(static_cast<std::uint64_t>(bytes));
  const Buffer buffer(host_device(), static_cast<std::size_t>(bytes));
  read_file("file", options.file, buffer.data(), buffer.bytes());
  const ConstMatrix matrix = row_major(static_cast<const void*>(buffer.data()), rows, cols, dtype);
  const std::string digest = hex(need(digest_matrix(matrix)));
  Report report;
  report.json["command"] = "digest";
  report.json["file"] = options.file;
  report.json["rows"] = rows;
  report.json["cols"] = cols;
  report.json["dtype"] = name(dtype);
  report.json["digest"] = digest;
  report.text = digest + "  " + printable(options.file) + "\n";
  return report;
}

Report digest(const DigestOptions& options) {
  if (options.file.empty() == options.contract.empty()) {
    refuse("digest takes either a FILE with --rows, --cols and --dtype, or --contract");
  }
  if (options.file.empty() &&
      !(options.rows.empty() && options.cols.empty() && options.dtype.empty())) {
    refuse("digest --contract takes no --rows, --cols or --dtype");
  }
  return options.file.empty() ? digest_contract(options.contract) : digest_file(options);
}

}  // namespace

void register_digest(CLI::App& root, int& exit_code) {
  auto options = std::make_shared<DigestOptions>();
  Command command(root, exit_code, "digest", kSummary);
  command.positional("file", options->file, "raw little-endian elements, row-major and packed");
  command.option("--rows", "ROWS", options->rows, "rows in the file");
  command.option("--cols", "COLS", options->cols, "columns in the file");
  command.option("--dtype", "DTYPE", options->dtype, "bf16, fp16, fp32, e4m3 or e5m2");
  command.option("--contract", "CONTRACT", options->contract, "digest this contract instead");
  command.footer(kFooter);
  command.action([options] { return digest(*options); });
}

}  // namespace detgemm::cli
