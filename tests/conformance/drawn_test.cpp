// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>

#include "core/conformance/controls/faulty_backend.hpp"
#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"
#include "detgemm/digest.hpp"
#include "tests/conformance/scripted.hpp"

// What a seed draws is pinned: the command that a failure prints must find the same problem in the
// next version, and a change that makes problems tamer would otherwise go unnoticed. An honest
// engine notes all that it is handed, and drawn.txt has a line per property and contract.

namespace detgemm::conformance {
namespace {

/// All that the engine was handed in one cell. Calls may come in any order.
struct Seen {
  std::mutex mutex;
  std::uint64_t sum = 0;

  void add(std::uint64_t digest) {
    const std::lock_guard lock(mutex);
    sum += digest;
  }
};
Seen seen;

class Digest {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::has_unique_object_representations_v<T>, "padding has no value to pin");
    bytes(&value, sizeof value);
  }
  void add(float value) { add(std::bit_cast<std::uint32_t>(value)); }
  void address(const void* at) { add(reinterpret_cast<std::uintptr_t>(at) % 256); }
  void matrix(const void* at, std::int64_t rows, std::int64_t cols, Strides s, std::size_t size) {
    if (at == nullptr) return add(-1);
    address(at);
    add(s.row), add(s.col);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        bytes(static_cast<const char*>(at) + (i * s.row + j * s.col) * static_cast<int>(size),
              size);
      }
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  void bytes(const void* data, std::size_t count) { value_ = digest_bytes(data, count, value_); }
  std::uint64_t value_ = kDigestSeed;
};

std::uint64_t digest_of(const GemmArguments& g, DType input) {
  Digest d;
  d.add(g.m), d.add(g.n), d.add(g.k);
  d.add(g.reduction.kind), d.add(g.reduction.leaf_k);
  d.add(g.output), d.add(g.continue_from_c), d.add(g.epilogue.alpha), d.add(g.epilogue.beta);
  d.add(g.epilogue.activation);
  d.matrix(g.a, g.m, g.k, g.as, size_of(input));
  d.matrix(g.b, g.k, g.n, g.bs, size_of(input));
  d.matrix(g.c, g.m, g.n, g.cs, size_of(g.c_type));
  d.matrix(g.bias, 1, g.n, {0, 1}, size_of(g.bias_type));
  d.matrix(g.d, 0, 0, g.ds, 1);
  return d.value();
}

void note_scales(const controls::Run& run, Digest& d) {
  if (!run.spec.reads_scales()) return;
  const ScalePair scales = flatten_scales(run.spec, run.operands);
  const std::int64_t leaves = run.spec.scale_leaves();
  for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::int64_t row = 0; row < run.operands.d.rows; ++row) {
      d.add(load_scale(scales.a, row, leaf));
    }
    for (std::int64_t col = 0; col < run.spec.n; ++col) d.add(load_scale(scales.b, col, leaf));
  }
}

void note_and_compute(const controls::Run& run) {
  Digest d;
  d.add(digest_of(flatten(run.spec, run.operands), run.spec.contract.input));
  note_scales(run, d);
  d.add(run.options.max_workers);
  seen.add(d.value());
  compute_in_play(run);
}

void note_group(const GroupedArguments& p, std::int64_t group, GemmArguments& g) {
  Digest d;
  d.add(group), d.add(p.groups), d.add(p.kind), d.add(p.offset_type), d.add(p.all.m),
      d.add(p.all.k);
  d.add(digest_of(g, p.a_bytes == 4 ? DType::fp32 : (p.a_bytes == 2 ? DType::bf16 : DType::e4m3)));
  seen.add(d.value());
}

constexpr std::array kContracts{"hopper/bf16/chain->bf16",     "hopper/bf16/tree:32->fp32",
                                "ieee_fma/fp16/fold:32->fp16", "cdna3/bf16/tree:64->bf16",
                                "hopper/e4m3/scaled:64->fp32", "snap/bf16/fold:64->fp32"};
/// It is slow, so only what differs for it is drawn.
constexpr const char* kSlow = "snap3/fp32/tree:64->fp32";
constexpr std::array<std::string_view, 3> kOfSlow{"permutation", "shares", "reference"};

/// What `only_case` of the property, or every case, draws and hands to the engine.
std::string drawn_by(const Property& property, const Contract& contract, Level level,
                     std::optional<std::int64_t> only_case) {
  static const Backend* const engine = [] {
    controls::Fault fault{"notes", note_and_compute};
    fault.groups = note_group;
    fault.device = &controls::graph_host();
    return controls::make_backend(fault);
  }();
  Options options;
  options.engine = engine;
  options.oracle.backend = &prompter();
  options.contracts = {contract};
  options.properties = {std::string(property.name)};
  options.level = level;
  options.only_case = only_case;
  Script script;
  script.counts = property.name == "large";  // what it draws does not depend on what it is given
  play(script);
  seen.sum = 0;
  const auto report = run_conformance(options);
  const Cell& cell = report->cells.front();
  std::uint64_t log = kDigestSeed;
  for (const std::string& line : cell.log) log = digest_bytes(line.data(), line.size(), log);
  return std::string(name(cell.verdict)) +
         " cases=" + std::to_string(only_case ? property.cases(contract, level) : cell.cases) +
         " runs=" + std::to_string(cell.runs) + " outputs=" + std::to_string(cell.outputs) +
         " log=" + hex(log) + " calls=" + hex(seen.sum);
}

/// The lines of drawn.txt for a property: all of level quick, and a case of level full.
std::vector<std::string> lines_of(const Property& property, const char* text) {
  const Contract contract = *Contract::parse(text);
  const std::string name = std::string(text) + " " + std::string(property.name);
  return {name + " quick " + drawn_by(property, contract, Level::quick, std::nullopt),
          name + " full " + drawn_by(property, contract, Level::full, 1)};
}

/// "CONTRACT PROPERTY LEVEL", with which a line begins.
std::string key_of(const std::string& line) {
  std::size_t at = 0;
  for (int i = 0; i < 3; ++i) at = line.find(' ', at) + 1;
  return line.substr(0, at);
}

TEST(Drawn, ASeedDrawsWhatItDrewBefore) {
  std::ifstream file(DETGEMM_TEST_DRAWN);
  std::map<std::string, std::string> expected;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') expected[key_of(line)] = line;
  }
  std::size_t compared = 0;
  const auto compare = [&](const Property& property, const char* contract) {
    for (const std::string& got : lines_of(property, contract)) {
      EXPECT_EQ(got, expected[key_of(got)]);
      if (got != expected[key_of(got)]) std::printf("+%s\n", got.c_str());
      ++compared;
    }
  };
  for (const Property& property : properties()) {
    for (const char* contract : kContracts) compare(property, contract);
    if (std::ranges::count(kOfSlow, property.name) > 0) compare(property, kSlow);
  }
  EXPECT_EQ(compared, expected.size());
}

}  // namespace
}  // namespace detgemm::conformance
