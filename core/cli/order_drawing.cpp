// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/order_drawing.hpp"

#include <algorithm>

namespace detgemm::cli {
namespace {

/// Up to this many leaves are drawn one by one.
constexpr std::int64_t kDrawnLeaves = 16;
/// Levels of a larger tree that are drawn above "...".
constexpr int kDrawnLevels = 3;

std::string range(std::int64_t begin, std::int64_t end) {
  return "k [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

/// Leaves of the reduction that a leaf of K becomes: its three sums under snap3.
std::int64_t sums_of(const Contract& contract) {
  return contract.arithmetic == Arithmetic::snap3 ? 3 : 1;
}
std::int64_t leaves_of(const Contract& contract, std::int64_t k) {
  return contract.leaves(k) * sums_of(contract);
}

std::string steps_of(const Contract& contract, std::int64_t length) {
  if (contract.arithmetic == Arithmetic::snap) {
    return std::to_string(length) + " snapped products, exact in any order";
  }
  const std::int64_t steps = length == 0 ? 0 : (length - 1) / contract.k_block + 1;
  const std::int64_t zeros = steps * contract.k_block - length;
  std::string text = std::to_string(steps) + (steps == 1 ? " step of " : " steps of ") +
                     std::to_string(contract.k_block) +
                     (contract.k_block == 1 ? " product" : " products");
  if (zeros > 0) text += ", the last padded with " + std::to_string(zeros) + " zero products";
  return text;
}

std::string leaf_text(const Contract& contract, std::int64_t k, std::int64_t leaf) {
  const std::int64_t sums = sums_of(contract);
  const std::int64_t begin = leaf / sums * contract.reduction.leaf_k;
  const std::int64_t length = std::min(k - begin, contract.reduction.leaf_k);
  const std::string text =
      "leaf " + std::to_string(leaf) + "  " + range(begin, begin + length) + "  ";
  if (sums == 1) return text + steps_of(contract, length);
  constexpr const char* kParts[] = {"first parts of A and B", "first part of A, second of B",
                                    "second part of A, first of B"};
  return text + std::to_string(length) + " products, " + kParts[leaf % sums] +
         ", exact in any order";
}

/// Draws leaves [lo, hi) with the split the contract prescribes: at lo + (hi - lo) / 2.
class TreeDrawing {
 public:
  TreeDrawing(const Contract& contract, std::int64_t k)
      : contract_(contract), k_(k), all_(leaves_of(contract, k) <= kDrawnLeaves) {}

  std::string draw() {
    node(0, leaves_of(contract_, k_), "", "", 0);
    return text_;
  }

 private:
  void node(std::int64_t lo, std::int64_t hi, const std::string& branch, const std::string& indent,
            int level) {
    if (hi - lo == 1) {
      text_ += branch + leaf_text(contract_, k_, lo) + "\n";
      return;
    }
    text_ += branch + "+  leaves " + std::to_string(lo) + " to " + std::to_string(hi - 1);
    if (!all_ && level == kDrawnLevels) {
      text_ += "  ... " + std::to_string(hi - lo - 1) + " additions\n";
      return;
    }
    text_ += "\n";
    const std::int64_t mid = lo + (hi - lo) / 2;
    node(lo, mid, indent + "|-- ", indent + "|   ", level + 1);
    node(mid, hi, indent + "`-- ", indent + "    ", level + 1);
  }

  const Contract& contract_;
  std::int64_t k_;
  bool all_;
  std::string text_;
};

/// The fold of `scaled` reads from the inside out, so its steps are drawn one below the other.
std::string draw_scaled(const Contract& contract, std::int64_t k) {
  const std::int64_t leaves = contract.leaves(k);
  const bool all = leaves <= kDrawnLeaves;
  std::string text = "acc = start (+0, or C with continue)\n";
  for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
    if (!all && leaf == kDrawnLevels) {
      const std::int64_t skipped = leaves - 1 - leaf;
      text += "  acc = ... " + std::to_string(skipped) + " leaves ...\n";
      leaf += skipped;
    }
    const std::string i = std::to_string(leaf);
    text += "  acc = fma(sa[m, " + i + "] * sb[" + i + ", n], leaf, acc)  " +
            leaf_text(contract, k, leaf) + "\n";
  }
  return text;
}

std::string draw_fold(const Contract& contract, std::int64_t k) {
  const std::int64_t leaves = leaves_of(contract, k);
  const bool all = leaves <= kDrawnLeaves;
  std::string text = "start (+0, or C with continue)\n";
  for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
    if (!all && leaf == kDrawnLevels) {
      const std::int64_t skipped = leaves - 1 - leaf;
      text += "  + ... " + std::to_string(skipped) + " leaves ...\n";
      leaf += skipped;
    }
    text += "  + " + leaf_text(contract, k, leaf) + "\n";
  }
  return text;
}

}  // namespace

std::string draw_order(const Contract& contract, std::int64_t k) {
  if (k == 0) return "no products: +0, or C with continue\n";
  switch (contract.reduction.kind) {
    case ReductionKind::chain:
      return "start (+0, or C with continue)\n  -> " + range(0, k) + "  " + steps_of(contract, k) +
             ", k ascending\n";
    case ReductionKind::fold:
      return draw_fold(contract, k);
    case ReductionKind::scaled:
      return draw_scaled(contract, k);
    case ReductionKind::tree:
      return TreeDrawing(contract, k).draw();
  }
  return {};
}

}  // namespace detgemm::cli
