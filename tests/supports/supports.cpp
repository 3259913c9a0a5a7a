// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Asks every backend of this build what it computes, over all contracts, operands, epilogues and
// groups, and prints the answers as blocks of lines, which pages.py compares with the documents:
//
//   backend cuda
//   description NVIDIA GPUs: ...
//   computes hopper/{bf16,fp16,e4m3}, ...
//   | arithmetic/input | chain | ...
//
// No device is needed. A backend first says what it has no kernels for (`unsupported`) and then
// that there is no device (`unavailable`), so where no device is visible, `unavailable` means that
// a device would compute it. Where one is visible, its own limits would enter: hide it.

#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "detgemm/backend.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm {
namespace {

constexpr std::array kInputs{DType::bf16, DType::fp16, DType::fp32,
                             DType::tf32, DType::e4m3, DType::e5m2};
constexpr std::array kOutputs{DType::bf16, DType::fp16, DType::fp32};
constexpr std::array kKinds{ReductionKind::chain, ReductionKind::fold, ReductionKind::tree,
                            ReductionKind::scaled};
constexpr std::array kGroups{GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked,
                             GroupKind::k_grouped};

/// What was answered to the questions of one cell.
struct Cell {
  int yes = 0;
  int no = 0;

  std::string text() const {
    if (yes + no == 0) return "-";
    return no == 0 ? "yes" : yes == 0 ? "no" : "some";
  }
};

struct Row {
  std::array<Cell, kKinds.size()> reductions;
  Cell line_scales;
  std::array<Cell, kGroups.size()> groups;

  /// Questions about one product, and how many of them were answered with yes.
  std::pair<int, int> asked_and_computed() const {
    int asked = 0;
    int computed = 0;
    for (const Cell& cell : reductions) {
      asked += cell.yes + cell.no;
      computed += cell.yes;
    }
    return {asked, computed};
  }
  std::string text() const {
    std::string cells;
    for (const Cell& cell : reductions) cells += " " + cell.text() + " |";
    cells += " " + line_scales.text() + " |";
    for (const Cell& cell : groups) cells += " " + cell.text() + " |";
    return cells;
  }
};

bool computes(const Status& answer) { return answer || answer.code() == Errc::unavailable; }
void count(Cell& cell, const Status& answer) { ++(computes(answer) ? cell.yes : cell.no); }

/// Every epilogue and every op that this contract allows.
std::vector<GemmSpec> problems(const Contract& contract) {
  GemmSpec plain;
  plain.n = 64;
  plain.k = 4096;
  plain.contract = contract;
  std::vector<GemmSpec> all{plain};
  const auto add = [&](auto&& change) {
    GemmSpec spec = plain;
    change(spec);
    all.push_back(spec);
  };
  add([](GemmSpec& spec) { spec.alpha = 0.5F; });
  add([](GemmSpec& spec) { spec.beta = 1.0F; });
  add([](GemmSpec& spec) { spec.continue_from_c = true; });
  for (const DType bias : {DType::bf16, DType::fp16, DType::fp32}) {
    add([&](GemmSpec& spec) { spec.bias = bias; });
  }
  for (const Activation activation :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    add([&](GemmSpec& spec) { spec.activation = activation; });
  }
  add([](GemmSpec& spec) { spec.op_a = Op::transpose; });
  add([](GemmSpec& spec) { spec.op_b = Op::transpose; });
  return all;
}

/// The answers to one contract: every problem alone and in groups.
void ask(const Backend& backend, const Contract& contract, bool snapped, Row& row) {
  const auto kind = static_cast<std::size_t>(contract.reduction.kind);
  for (GemmSpec spec : problems(contract)) {
    spec.a_snapped = spec.b_snapped = snapped;
    if (!validate(spec)) continue;
    const Status alone = backend.supports(spec);
    count(row.reductions[kind], alone);
    // Scales of lines and groups are asked about for the products that are computed alone.
    if (!computes(alone)) continue;
    GemmSpec scaled = spec;
    scaled.line_scales = true;
    if (validate(scaled)) count(row.line_scales, backend.supports(scaled));
    for (std::size_t i = 0; i < kGroups.size(); ++i) {
      for (const std::int64_t groups : {1, 8, 4096}) {
        GroupedSpec grouped{spec, kGroups[i], groups};
        if (kGroups[i] == GroupKind::k_grouped) grouped.gemm.k = 0;
        if (validate(grouped)) count(row.groups[i], backend.supports_grouped(grouped));
      }
    }
  }
}

/// A row of the table, or nothing where the pair has no step.
std::optional<Row> row_of(const Backend& backend, Arithmetic arithmetic, DType input,
                          bool snapped) {
  if (!k_block_of(arithmetic, input)) return {};
  Row row;
  for (const ReductionKind kind : kKinds) {
    for (const std::int64_t leaf : {32, 128, 1024}) {
      for (const DType output : kOutputs) {
        const Reduction reduction{kind, kind == ReductionKind::chain ? 0 : leaf};
        const auto contract = Contract::make(arithmetic, input, reduction, output);
        if (contract) ask(backend, *contract, snapped, row);
      }
    }
  }
  return row;
}

void print(const Backend& backend) {
  std::string computes;
  std::string table;
  bool every = true;
  for (const Arithmetic arithmetic : arithmetics()) {
    std::string computed;
    int count = 0;
    for (const bool snapped : {false, true}) {
      if (snapped && arithmetic != Arithmetic::snap && arithmetic != Arithmetic::snap3) continue;
      // Inputs with the same answers share a row; they stay in the order of the enumeration.
      std::vector<std::pair<std::string, std::string>> rows;  // cells, inputs
      for (const DType input : kInputs) {
        const auto row = row_of(backend, arithmetic, input, snapped);
        if (!row) continue;
        const auto [asked, yes] = row->asked_and_computed();
        every = every && yes == asked;
        if (yes == 0) continue;
        const std::string word(name(input));
        if (!snapped) computed += (count++ == 0 ? "" : ",") + word;
        const std::string cells = row->text();
        bool found = false;
        for (auto& [other, inputs] : rows) {
          if (other != cells) continue;
          inputs += ", " + word;
          found = true;
        }
        if (!found) rows.emplace_back(cells, word);
      }
      for (const auto& [cells, inputs] : rows) {
        table += "| `" + std::string(name(arithmetic)) + "`" + (snapped ? ", snapped" : "") +
                 " | " + inputs + " |" + cells + "\n";
      }
    }
    if (count == 0) continue;
    computes += (computes.empty() ? "" : ", ") + std::string(name(arithmetic)) + "/" +
                (count > 1 ? "{" + computed + "}" : computed);
  }
  std::printf("backend %s\n", std::string(backend.name()).c_str());
  std::printf("description %s\n", std::string(backend.description()).c_str());
  std::printf("computes %s\n", every ? "every contract" : computes.c_str());
  std::printf("| arithmetic | inputs | chain | fold | tree | scaled | line scales |");
  for (const GroupKind kind : kGroups) std::printf(" %s |", std::string(name(kind)).c_str());
  std::printf("\n|---|---|---|---|---|---|---|---|---|---|---|\n%s", table.c_str());
}

}  // namespace
}  // namespace detgemm

// No device, so no runtime either: to look for the twenty names of HIP's again for each question
// took ten times as long as all answers.
extern "C" void* dlopen(const char* /*file*/, int /*flags*/) noexcept { return nullptr; }

int main() {
  for (const detgemm::Backend* backend : detgemm::backends()) detgemm::print(*backend);
  return detgemm::backends().empty() ? 1 : 0;
}
