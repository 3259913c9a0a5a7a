// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/contract.hpp"

#include <array>

#include "core/arithmetic/step.hpp"
#include "core/contract/cover.hpp"
#include "core/contract/wording.hpp"
#include "detgemm/digest.hpp"

namespace detgemm {

using arithmetic::is_snap;
using arithmetic::sums_per_leaf;

namespace {

constexpr std::array kArithmetics{Arithmetic::ieee_fma,  Arithmetic::hopper, Arithmetic::ampere,
                                  Arithmetic::blackwell, Arithmetic::cdna3,  Arithmetic::cdna2,
                                  Arithmetic::snap,      Arithmetic::snap3};
constexpr std::array kInputs{DType::bf16, DType::fp16, DType::fp32,
                             DType::tf32, DType::e4m3, DType::e5m2};

}  // namespace

std::span<const Arithmetic> arithmetics() noexcept { return kArithmetics; }

std::span<const Contract> base_contracts() noexcept {
  // Nothing here may allocate. k_block_of would make a sentence for a pair without a step, so it is
  // called only for pairs that have one.
  struct List {
    std::array<Contract, kArithmetics.size() * kInputs.size()> entries{};
    std::size_t count = 0;
  };
  static const List all = [] {
    List list;
    for (Arithmetic arithmetic : kArithmetics) {
      if (is_snap(arithmetic)) continue;  // has no chain
      for (DType input : kInputs) {
        arithmetic::for_step(arithmetic, input, [&]<Arithmetic A, DType T>() {
          Contract& contract = list.entries[list.count++];
          contract.arithmetic = A;
          contract.input = T;
          contract.k_block = arithmetic::Step<A, T>::products;
          contract.output = DType::fp32;
        });
      }
    }
    return list;
  }();
  return std::span(all.entries).first(all.count);
}

Result<std::int32_t> k_block_of(Arithmetic arithmetic, DType input) {
  std::int32_t products = 0;
  const bool exists = arithmetic::for_step(arithmetic, input, [&]<Arithmetic A, DType T>() {
    products = arithmetic::Step<A, T>::products;
  });
  if (exists) return products;
  if (name(arithmetic) == "unknown") {
    return invalid("contract arithmetic is " + described(arithmetic) + ": it must be from " +
                   std::string(name(kArithmetics.front())) + " (0) to " +
                   std::string(name(kArithmetics.back())) + " (" +
                   std::to_string(static_cast<int>(kArithmetics.back())) + ")");
  }
  std::string inputs;
  for (DType type : kInputs) {
    if (arithmetic::for_step(arithmetic, type, []<Arithmetic, DType>() {})) {
      inputs += (inputs.empty() ? "" : ", ") + std::string(name(type));
    }
  }
  return invalid("contract input is " + described(input) + ": " + std::string(name(arithmetic)) +
                 " is defined for " + inputs);
}

Result<Contract> Contract::make(Arithmetic arithmetic, DType input, Reduction reduction,
                                DType output) {
  auto k_block = k_block_of(arithmetic, input);
  if (!k_block) return k_block.status();
  Contract contract;
  contract.arithmetic = arithmetic;
  contract.input = input;
  contract.k_block = *k_block;
  contract.reduction = reduction;
  contract.output = output;
  if (Status status = contract.validate(); !status) return status;
  return contract;
}

Status Contract::validate() const {
  auto expected = k_block_of(arithmetic, input);
  if (!expected) return expected.status();
  const std::string pair = std::string(name(arithmetic)) + "/" + std::string(name(input));
  if (k_block != *expected) {
    return invalid("contract k_block is " + std::to_string(k_block) + ": " + pair + " fuses " +
                   std::to_string(*expected) + " products in a step");
  }
  if (k_order != KOrder::ascending) {
    return invalid("contract k_order is " + std::to_string(static_cast<int>(k_order)) +
                   ": only ascending (0) is defined");
  }
  if (rounding != Rounding::nearest_even) {
    return invalid("contract rounding is " + std::to_string(static_cast<int>(rounding)) +
                   ": only nearest_even (0) is defined");
  }
  if (version != 1) {
    return invalid("contract version is " + std::to_string(version) +
                   ": this library has version 1");
  }
  if (output != DType::bf16 && output != DType::fp16 && output != DType::fp32) {
    return invalid("contract output is " + described(output) + ": it must be bf16, fp16 or fp32");
  }
  const std::int64_t leaf = reduction.leaf_k;
  switch (reduction.kind) {
    case ReductionKind::chain:
      if (leaf != 0) {
        return invalid("contract leaf is " + std::to_string(leaf) + ": chain has no leaves");
      }
      if (is_snap(arithmetic)) {
        return invalid("contract reduction is chain: " + pair +
                       " rounds operands to a grid per leaf, so it needs fold or tree");
      }
      return {};
    case ReductionKind::scaled:
      if (arithmetic == Arithmetic::snap3) {
        return invalid("contract reduction is scaled: " + pair +
                       " makes three sums of a leaf, so it needs fold or tree");
      }
      [[fallthrough]];
    case ReductionKind::fold:
    case ReductionKind::tree:
      if (leaf < 1 || leaf > kMaxLeaf || leaf % k_block != 0) {
        return invalid("contract leaf is " + std::to_string(leaf) + ": it must be a multiple of " +
                       pair + "'s k_block " + std::to_string(k_block) + " between " +
                       std::to_string(k_block) + " and 2^31");
      }
      return {};
  }
  return invalid("contract reduction is " + std::to_string(static_cast<int>(reduction.kind)) +
                 ": it must be chain (0), fold (1), tree (2) or scaled (3)");
}

std::string Contract::canonical() const {
  std::string line = "detgemm-contract version=" + std::to_string(version);
  line += " arithmetic=" + std::string(name(arithmetic));
  line += " input=" + std::string(name(input));
  line += " k_block=" + std::to_string(k_block);
  line += " k_order=ascending reduction=" + std::string(name(reduction.kind));
  line += " leaf_k=" + std::to_string(reduction.leaf_k);
  line += " rounding=nearest_even output=" + std::string(name(output));
  return line;
}

std::uint64_t Contract::digest() const {
  const std::string line = canonical();
  return digest_bytes(line.data(), line.size());
}

std::int64_t Contract::leaves(std::int64_t k) const {
  if (k <= 0) return 0;
  if (reduction.kind != ReductionKind::chain && reduction.leaf_k < 1) return 0;  // not valid
  return reduction.kind == ReductionKind::chain ? 1 : leaves_of(k, reduction.leaf_k);
}

Result<KRange> rank_share(const Contract& contract, std::int64_t k, std::int64_t rank,
                          std::int64_t ranks) {
  if (Status status = contract.validate(); !status) return status;
  if (contract.reduction.kind != ReductionKind::tree) {
    return unsupported("contract is " + contract.text() +
                       ": only a tree can be shared between ranks");
  }
  if (k < 1) return invalid("k is " + std::to_string(k) + ": it must be at least 1");
  if (ranks < 1 || (ranks & (ranks - 1)) != 0) {
    return invalid("ranks is " + std::to_string(ranks) + ": it must be a power of two");
  }
  if (rank < 0 || rank >= ranks) {
    return invalid("rank is " + std::to_string(rank) + ": it must be in [0, " +
                   std::to_string(ranks) + ")");
  }
  const std::int64_t leaves = contract.leaves(k);
  if (leaves % ranks != 0) {
    return invalid("ranks is " + std::to_string(ranks) + ": it must divide the " +
                   std::to_string(leaves) + " leaves of k = " + std::to_string(k));
  }
  if (ranks == 1) return KRange{0, k};  // the last leaf may end past 2^63, so do not multiply
  const std::int64_t share = leaves / ranks * contract.reduction.leaf_k;  // products per rank
  const std::int64_t begin = rank * share;
  return KRange{begin, k - begin < share ? k : begin + share};
}

namespace {

/// A contract and k whose leaves may be shared, and a range of them.
Status check_leaf_range(const Contract& contract, std::int64_t k, LeafRange leaves) {
  if (Status status = contract.validate(); !status) return status;
  if (contract.reduction.kind != ReductionKind::tree) {
    return unsupported("contract is " + contract.text() +
                       ": only a tree can be shared between ranks");
  }
  if (k < 0) return invalid("k is " + std::to_string(k) + ": it must not be negative");
  const std::int64_t count = contract.leaves(k);
  if (leaves.begin >= 0 && leaves.begin <= leaves.end && leaves.end <= count) return {};
  return invalid("leaves is [" + std::to_string(leaves.begin) + ", " + std::to_string(leaves.end) +
                 "): it must be a range of the " + std::to_string(count) +
                 " leaves of k = " + std::to_string(k));
}

}  // namespace

Result<std::vector<LeafRange>> cover(const Contract& contract, std::int64_t k, LeafRange leaves) {
  if (Status status = check_leaf_range(contract, k, leaves); !status) return status;
  // The tree is over the leaves of the reduction.
  const std::int64_t sums = sums_per_leaf(contract.arithmetic);
  const std::int64_t all = contract.leaves(k) * sums;
  const LeafRange whole = leaves;
  std::vector<LeafRange> nodes;
  while (leaves.begin < leaves.end) {
    const LeafRange node = first_node_of({leaves.begin * sums, leaves.end * sums}, all);
    if (node.end % sums != 0) {
      return unsupported("leaves is [" + std::to_string(whole.begin) + ", " +
                         std::to_string(whole.end) + "): " + contract.text() + " has a tree over " +
                         std::to_string(all) +
                         " sums, three for each leaf of k = " + std::to_string(k) +
                         ", whose nodes cut within leaf " + std::to_string(node.end / sums));
    }
    nodes.push_back({node.begin / sums, node.end / sums});
    leaves.begin = nodes.back().end;
  }
  return nodes;
}

Result<KRange> k_of(const Contract& contract, std::int64_t k, LeafRange leaves) {
  if (Status status = check_leaf_range(contract, k, leaves); !status) return status;
  const std::int64_t leaf = contract.reduction.leaf_k;
  // The last leaf may end past 2^63, so an end is not multiplied before it is known to be inside.
  const auto at = [&](std::int64_t i) { return i < contract.leaves(k) ? i * leaf : k; };
  return KRange{at(leaves.begin), at(leaves.end)};
}

Status check_cuts(const Contract& contract, std::span<const std::int64_t> lengths) {
  if (Status status = contract.validate(); !status) return status;
  const auto said = [&](std::size_t i) {
    return "lengths[" + std::to_string(i) + "] is " + std::to_string(lengths[i]);
  };
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) return invalid(said(i) + ": it must not be negative");
  }
  if (lengths.size() < 2) return {};  // nothing is cut
  const bool chain = contract.reduction.kind == ReductionKind::chain;
  if (contract.reduction.kind == ReductionKind::tree) {
    return unsupported("lengths has " + std::to_string(lengths.size()) +
                       " pieces and the contract is " + contract.text() +
                       ": a tree's shape depends on the whole of K, so it cannot be cut; use "
                       "chain, fold or scaled");
  }
  const std::int64_t step = chain ? contract.k_block : contract.reduction.leaf_k;
  for (std::size_t i = 0; i + 1 < lengths.size(); ++i) {
    if (lengths[i] % step != 0) {
      return invalid(said(i) + ": under " + contract.text() +
                     " every length but the last must be a multiple of " + std::to_string(step));
    }
  }
  return {};
}

}  // namespace detgemm
