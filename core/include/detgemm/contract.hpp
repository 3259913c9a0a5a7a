// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

/// The longest leaf, in products.
inline constexpr std::int64_t kMaxLeaf = std::int64_t{1} << 31;

/// Which fused step adds `k_block` products to the accumulator (core/contract/CONTRACT.md).
enum class Arithmetic : std::int32_t {
  ieee_fma = 0,   ///< one fp32 fused multiply-add per product; the same on every IEEE device
  hopper = 1,     ///< NVIDIA SM90 tensor cores; measured
  ampere = 2,     ///< NVIDIA SM80 tensor cores; published model
  blackwell = 3,  ///< NVIDIA SM100 (tcgen05); published model, equals hopper except for fp8
  cdna3 = 4,      ///< AMD gfx942 matrix cores; published model, not run on AMD hardware
  cdna2 = 5,      ///< AMD gfx90a matrix cores; published model, not run on AMD hardware
  snap = 6,       ///< exact sums of leaves whose operands are rounded to a grid: any unit's bits
  snap3 = 7,      ///< three sums of snap per leaf: near fp32's accuracy, any unit's bits
};

/// The order in which k-blocks enter the accumulator.
enum class KOrder : std::int32_t { ascending = 0 };

/// How leaves (ranges of `leaf_k` products) are combined, in fp32 and rounded to nearest even.
enum class ReductionKind : std::int32_t {
  chain = 0,   ///< no leaves: one accumulator runs through all of K
  fold = 1,    ///< leaves are added in ascending order: ((+0 + l0) + l1) + l2 ...
  tree = 2,    ///< leaves are added in a balanced binary tree, split at the middle leaf index
  scaled = 3,  ///< a fold whose join is fma(scale, leaf, sum); operands bring scales (scales.hpp)
};

/// A reduction and the length of its leaves.
struct Reduction {
  ReductionKind kind = ReductionKind::chain;
  std::int64_t leaf_k = 0;  ///< products per leaf, a multiple of k_block; 0 for chain

  /// Same kind and same leaf.
  bool operator==(const Reduction&) const = default;
};

/// Rounding of the final fp32 value to the output type.
enum class Rounding : std::int32_t { nearest_even = 0 };

/// Everything that decides the bits of C = A*B, and nothing else.
///
/// Its text is `ARITHMETIC/INPUT/REDUCTION->OUTPUT`, for example `hopper/bf16/tree:512->bf16`,
/// where REDUCTION is one of `chain`, `fold:LEAF`, `tree:LEAF` and `scaled:LEAF`. Spaces around
/// `->` are accepted.
/// `->OUTPUT` may be left out: the output is then the input type for bf16 and fp16, and fp32 for
/// all others. A trailing `@1` names the version.
struct DETGEMM_API Contract {
  Arithmetic arithmetic = Arithmetic::ieee_fma;
  DType input = DType::bf16;
  std::int32_t k_block = 1;  ///< products fused in one step: decided by arithmetic and input
  KOrder k_order = KOrder::ascending;
  Reduction reduction;
  Rounding rounding = Rounding::nearest_even;
  DType output = DType::bf16;
  std::int32_t version = 1;

  /// Fills in k_block and checks the combination (invalid_argument).
  static Result<Contract> make(Arithmetic arithmetic, DType input, Reduction reduction,
                               DType output);
  /// Reads the text form; the sentence of a refusal says which part is wrong.
  static Result<Contract> parse(std::string_view text);

  /// The short text form; `parse(text())` gives this contract back.
  std::string text() const;
  /// Every field spelled out in one line; the digest is computed from it.
  std::string canonical() const;
  /// FNV-1a (64 bit) of `canonical()`: the same on every platform.
  std::uint64_t digest() const;
  /// ok, or the rule that this combination breaks.
  Status validate() const;

  /// The number of leaves for k products: 1 for chain, ceil(k / leaf_k) otherwise; 0 for k = 0.
  /// Under snap3 each of them becomes three leaves of the reduction.
  std::int64_t leaves(std::int64_t k) const;

  /// Same contract: the same bits are promised.
  bool operator==(const Contract&) const = default;
};

/// The products that one step fuses, or why this arithmetic has no step for this input.
DETGEMM_API Result<std::int32_t> k_block_of(Arithmetic arithmetic, DType input);

/// What is known about an arithmetic, in one sentence (measured, or published model).
DETGEMM_API std::string_view evidence(Arithmetic arithmetic) noexcept;

/// The lower-case name, for example "hopper"; "unknown" for a value that is not listed.
DETGEMM_API std::string_view name(Arithmetic arithmetic) noexcept;
/// The lower-case name, for example "chain".
DETGEMM_API std::string_view name(ReductionKind kind) noexcept;

/// Every arithmetic, in the order of the enumeration.
DETGEMM_API std::span<const Arithmetic> arithmetics() noexcept;
/// Every (arithmetic, input) pair that has a step, as `chain` contracts with fp32 output; but snap
/// and snap3, which have no chain.
DETGEMM_API std::span<const Contract> base_contracts() noexcept;

/// The digest as 16 lower-case hexadecimal digits.
DETGEMM_API std::string hex(std::uint64_t digest);

/// The half-open range [begin, end) of leaf indices.
struct LeafRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  /// The same leaves.
  bool operator==(const LeafRange&) const = default;
};
/// The half-open range [begin, end) of products.
struct KRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  /// The same products.
  bool operator==(const KRange&) const = default;
};
/// The share of K that tensor-parallel rank `rank` (from 0) of `ranks` must take so that combining
/// the ranks' roots gives the bits of one rank that computes all of K. Such a share exists only
/// under `tree`, where `ranks` is a power of two that divides the number of leaves; all else is
/// refused with a sentence.
DETGEMM_API Result<KRange> rank_share(const Contract& contract, std::int64_t k, std::int64_t rank,
                                      std::int64_t ranks);

/// The nodes of the tree over all leaves of k products that a range of leaves consists of, in
/// order: the fewest there are. One rank computes the root of each (a plan of fp32 output whose k
/// is `k_of(node)`), and `Plan::combine` joins the roots of all ranks. Refused with a sentence: a
/// contract without a tree, a range that is not inside of the leaves, and under snap3 one that no
/// node begins or ends with. An empty range has none.
DETGEMM_API Result<std::vector<LeafRange>> cover(const Contract& contract, std::int64_t k,
                                                 LeafRange leaves);
/// The products of a range of leaves of k products; the last leaf may be short. Same refusals.
DETGEMM_API Result<KRange> k_of(const Contract& contract, std::int64_t k, LeafRange leaves);

/// ok where a K that is cut into pieces of these lengths, in products and in order, has the bits of
/// the uncut one, if each piece but the first continues from the sums of the one before
/// (GemmSpec::continue_from_c). Every length but the last must then be a multiple of LEAF under
/// `fold:LEAF` and `scaled:LEAF`, and of k_block under `chain`. Refused with a sentence: another
/// length, a negative one, more than one under `tree` (unsupported), and a contract that is not
/// valid. For the gradient of weights K is the batch, so these are the rows of each micro-batch.
DETGEMM_API Status check_cuts(const Contract& contract, std::span<const std::int64_t> lengths);

}  // namespace detgemm
