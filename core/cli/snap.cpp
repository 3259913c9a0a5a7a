// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/snap.hpp"

#include <fnmatch.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "core/cli/arguments.hpp"
#include "core/cli/command.hpp"
#include "core/cli/files.hpp"
#include "core/cli/host_memory.hpp"
#include "core/cli/known_backends.hpp"
#include "core/cli/safetensors.hpp"
#include "core/cli/snap_matrix.hpp"
#include "core/cli/subcommands.hpp"
#include "core/cli/whole_file.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::cli {
namespace {

constexpr const char* kSummary = "Round weights once for contracts of snap; the file stays bf16";
constexpr const char* kFooter =
    R"(Use it to snap weights before they are used under a contract such as snap/bf16/fold:128->bf16. Each
run of LEAF numbers along K is rounded to a grid on which every sum of the leaf is exact, so that any
hardware returns the same bits. The products are those of the file as it was, because the contract
snaps operands anyway; but with the promise that the weights are snapped, it need not. The output has
the input's format, names and shapes, every other byte is copied, and a second run changes nothing.
OUT appears when it is whole, or not at all.

IN is a safetensors file, or with --rows and --cols a raw one. Of a safetensors file, BF16 tensors with
two dimensions are snapped, and with --tensor those that a pattern matches, of two or three dimensions
(three: a list of matrices, each by itself). Leave out what no product reads along K, such as
embeddings that are only looked up.

Examples:
  detgemm snap model.safetensors snapped.safetensors --skip "*embed_tokens*"
  detgemm snap model.safetensors --check --skip "*embed_tokens*"
  detgemm snap w.bin snapped.bin --rows 4096 --cols 14336 --leaf 256

Exit codes: 0 written, or with --check snapped already; 1 it failed on the way, or with --check it is
not snapped; 2 a wrong argument, name or file; 3 no backend here snaps.)";

struct SnapOptions {
  std::string input, output;
  std::string leaf = "128";
  std::string k = "cols";
  std::string rows, cols;
  std::vector<std::string> only, skip;
  bool check = false;
};

/// One part of the file: matrices that are snapped, or bytes that are copied.
struct Part {
  std::optional<Matrices> matrices;
  std::uint64_t bytes = 0;
};

struct Layout {
  std::string head;  ///< bytes before the first part
  std::vector<Part> parts;
};

SnapSpec spec_of(const SnapOptions& options) {
  SnapSpec spec;
  spec.leaf_k = parse_integer("leaf", options.leaf);
  if (options.k != "cols" && options.k != "rows") {
    refuse("k is " + in_quotes(options.k) + ": it must be cols or rows");
  }
  spec.k = options.k == "cols" ? KDimension::cols : KDimension::rows;
  need(validate(spec, {}, {}));
  return spec;
}

/// A raw file is one matrix.
Layout layout_of_raw(const SnapOptions& options) {
  if (options.rows.empty() || options.cols.empty()) {
    refuse("--rows and --cols describe a raw file: give both, or neither for a safetensors file");
  }
  if (!options.only.empty() || !options.skip.empty()) {
    refuse(
        "--tensor and --skip choose among the tensors of a safetensors file; a raw file has none");
  }
  Matrices whole{options.input, 1, parse_size("rows", options.rows),
                 parse_size("cols", options.cols)};
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(whole.rows, whole.cols, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t{2}, &bytes)) {
    refuse("input is " + options.rows + " x " + options.cols + ": its bytes must fit 2^63");
  }
  const auto size = static_cast<std::uint64_t>(bytes);
  need_file("input", options.input, size, options.rows + " x " + options.cols + " of bf16");
  return {"", {{whole, size}}};
}

bool matches(const std::string& name, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

/// The matrices that a tensor holds, or nothing where it is copied.
std::optional<Matrices> matrices_of(const StoredTensor& tensor, const SnapOptions& options) {
  const std::size_t rank = tensor.shape.size();
  if (tensor.dtype != "BF16" || tensor.begin == tensor.end) return {};
  if (matches(tensor.name, options.skip)) return {};
  if (rank == 2 && (options.only.empty() || matches(tensor.name, options.only))) {
    return Matrices{tensor.name, 1, tensor.shape[0], tensor.shape[1]};
  }
  if (rank == 3 && matches(tensor.name, options.only)) {
    return Matrices{tensor.name, tensor.shape[0], tensor.shape[1], tensor.shape[2]};
  }
  return {};
}

/// A pattern that chooses nothing is a mistake that nobody would see.
void check_patterns(const SnapOptions& options, const SafetensorsFile& file, const Layout& layout) {
  const auto used = [&](const char* option, const std::string& pattern, auto&& candidate) {
    for (const StoredTensor& tensor : file.tensors) {
      if (candidate(tensor) && ::fnmatch(pattern.c_str(), tensor.name.c_str(), 0) == 0) return;
    }
    refuse(std::string(option) + " is " + in_quotes(pattern) +
           ": it matches no BF16 tensor of two " + "or three dimensions in " +
           in_quotes(options.input));
  };
  const auto candidate = [](const StoredTensor& tensor) {
    return tensor.dtype == "BF16" && (tensor.shape.size() == 2 || tensor.shape.size() == 3);
  };
  for (const std::string& pattern : options.only) used("tensor", pattern, candidate);
  for (const std::string& pattern : options.skip) used("skip", pattern, candidate);
  for (const Part& part : layout.parts) {
    if (part.matrices) return;
  }
  throw Refusal(Status{Errc::invalid_argument, "input is " + in_quotes(options.input) +
                                                   ": nothing in it would be snapped, as no BF16 "
                                                   "tensor of two dimensions is chosen"});
}

Layout layout_of_safetensors(const SnapOptions& options) {
  const SafetensorsFile file = read_safetensors(options.input);
  Layout layout{file.head, {}};
  for (const StoredTensor& tensor : file.tensors) {
    layout.parts.push_back({matrices_of(tensor, options), tensor.end - tensor.begin});
  }
  check_patterns(options, file, layout);
  return layout;
}

const Backend& host_backend() {
  std::string why = "this build has no backend that works in host memory";
  for (const KnownBackend& known : known_backends()) {
    if (known.backend == nullptr || known.backend->device().kind() != DeviceKind::host) continue;
    if (known.available) return *known.backend;
    why = known.available.message();
  }
  throw Refusal(Status{Errc::unavailable, why});
}

/// The input, from its beginning to its end.
class Input {
 public:
  explicit Input(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) fail("it could not be opened: " + std::string(std::strerror(errno)));
  }
  void read(void* out, std::uint64_t bytes) {
    file_.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes));
    if (static_cast<std::uint64_t>(file_.gcount()) != bytes)
      fail("it became shorter while it was read");
  }
  void end() {
    if (file_.peek() != std::ifstream::traits_type::eof())
      fail("it became longer while it was read");
  }

 private:
  [[noreturn]] void fail(const std::string& rule) {
    throw Refusal(Status{Errc::io, "input is " + in_quotes(path_) + ": " + rule});
  }
  std::string path_;
  std::ifstream file_;
};

void copy(Input& input, WholeFile* output, std::uint64_t bytes) {
  constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;
  std::vector<char> piece(std::min(bytes, kPiece));
  for (std::uint64_t left = bytes; left > 0; left -= piece.size()) {
    piece.resize(std::min(left, kPiece));
    input.read(piece.data(), piece.size());
    if (output != nullptr) output->write(piece.data(), piece.size());
  }
}

Json described(const Matrices& matrices, const std::vector<std::uint16_t>& elements) {
  Json json;
  json["name"] = matrices.name;
  if (matrices.count != 1) json["count"] = matrices.count;
  json["rows"] = matrices.rows;
  json["cols"] = matrices.cols;
  const ConstMatrix all = row_major(static_cast<const void*>(elements.data()),
                                    matrices.count * matrices.rows, matrices.cols, DType::bf16);
  json["digest"] = hex(need(digest_matrix(all)));
  return json;
}

/// What all tensors come to.
struct Sum {
  std::int64_t tensors = 0, copied = 0, moved = 0, elements = 0;
  double largest = 0;
  std::string where;
};

std::string text_of(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

Report checked(const SnapOptions& options, const Layout& layout, const SnapSpec& spec,
               const Backend& backend, Report report) {
  Input input(options.input);
  copy(input, nullptr, layout.head.size());
  std::string first;
  std::int64_t asked = 0, others = 0;
  for (const Part& part : layout.parts) {
    if (!part.matrices) {
      copy(input, nullptr, part.bytes);
      continue;
    }
    std::vector<std::uint16_t> elements(part.matrices->elements());
    input.read(elements.data(), part.bytes);
    const bool snapped = are_snapped(backend, spec, *part.matrices, elements);
    Json entry = described(*part.matrices, elements);
    entry["snapped"] = snapped;
    report.json["tensors"].push_back(entry);
    ++asked;
    if (!snapped && others++ == 0) first = part.matrices->name;
  }
  input.end();
  report.json["snapped"] = others == 0;
  report.line("snapped", others == 0
                             ? "yes, all " + std::to_string(asked)
                             : "no: " + std::to_string(others) + " of " + std::to_string(asked) +
                                   " would change, the first is " + in_quotes(first));
  report.exit = others == 0 ? kOk : kFailed;
  return report;
}

Report written(const SnapOptions& options, const Layout& layout, const SnapSpec& spec,
               const Backend& backend, Report report) {
  WholeFile output(options.output, options.input);
  Input input(options.input);
  copy(input, &output, layout.head.size());
  Sum sum;
  Progress progress;
  for (const Part& part : layout.parts) {
    if (!part.matrices) {
      copy(input, &output, part.bytes);
      ++sum.copied;
      continue;
    }
    progress.show("snapping " + printable(part.matrices->name));
    std::vector<std::uint16_t> from(part.matrices->elements());
    std::vector<std::uint16_t> to(from.size());
    input.read(from.data(), part.bytes);
    const Moved moved = snap_matrices(backend, spec, *part.matrices, from, to);
    output.write(to.data(), part.bytes);
    Json entry = described(*part.matrices, to);
    entry["changed"] = moved.elements;
    entry["relative_change"] = moved.change;
    report.json["tensors"].push_back(entry);
    ++sum.tensors;
    sum.moved += moved.elements;
    sum.elements += static_cast<std::int64_t>(from.size());
    if (moved.change >= sum.largest) {
      sum.largest = moved.change;
      sum.where = part.matrices->name;
    }
  }
  input.end();
  output.finish();
  report.json["output"] = options.output;
  report.json["copied"] = sum.copied;
  report.line("snapped", std::to_string(sum.tensors) + " for leaves of " + options.leaf +
                             " along " + options.k + "; " + std::to_string(sum.copied) + " copied");
  report.line("changed", std::to_string(sum.moved) + " of " + std::to_string(sum.elements) +
                             " numbers; by at most " + text_of("%.2g", sum.largest) +
                             " of a tensor's norm (" + in_quotes(sum.where) + ")");
  report.line("output", in_quotes(options.output));
  return report;
}

Report snap_file(const SnapOptions& options) {
  if (options.input.empty()) refuse("in is missing: it must be the name of a file");
  if (options.check != options.output.empty()) {
    refuse(options.check ? "--check writes nothing, and out is " + in_quotes(options.output)
                         : "out is missing: it must be the name of a file (or use --check)");
  }
  const SnapSpec spec = spec_of(options);
  const bool raw = !options.rows.empty() || !options.cols.empty();
  const Layout layout = raw ? layout_of_raw(options) : layout_of_safetensors(options);
  std::uint64_t largest = 0;
  for (const Part& part : layout.parts) largest = std::max(largest, part.matrices ? part.bytes : 0);
  need_memory(2 * largest);
  const Runtime runtime = need(Runtime::start({1}));
  const Backend& backend = host_backend();
  Report report;
  report.json["command"] = "snap";
  report.json["input"] = options.input;
  report.json["leaf"] = spec.leaf_k;
  report.json["k"] = options.k;
  report.json["tensors"] = Json::array();
  return options.check ? checked(options, layout, spec, backend, std::move(report))
                       : written(options, layout, spec, backend, std::move(report));
}

}  // namespace

void register_snap(CLI::App& root, int& exit_code) {
  auto options = std::make_shared<SnapOptions>();
  Command command(root, exit_code, "snap", kSummary);
  command.positional("in", options->input,
                     "a safetensors file, or raw bf16 with --rows and --cols");
  command.positional("out", options->output, "the snapped file; replaced if it exists");
  command.option("--leaf", "LEAF", options->leaf, "the contract's LEAF, a multiple of 64");
  command.option("--k", "DIMENSION", options->k,
                 "cols: K runs along a row, as in a linear layer's weight (N x K); rows: down a "
                 "column (K x N)");
  command.flag("--check", options->check, "write nothing; print whether it is snapped already");
  command.group("Safetensors files");
  command.repeated("--tensor", "PATTERN", options->only, "snap tensors of such names alone");
  command.repeated("--skip", "PATTERN", options->skip, "copy tensors of such names");
  command.group("Raw files: little-endian bf16, row-major and packed");
  command.option("--rows", "ROWS", options->rows, "rows in the file");
  command.option("--cols", "COLS", options->cols, "columns in the file");
  command.footer(kFooter);
  command.action([options] { return snap_file(*options); });
}

}  // namespace detgemm::cli
