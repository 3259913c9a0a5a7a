// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

/// The longest leaf.
inline constexpr std::int64_t kMaxLeaf = std::int64_t{1} << 31;

/// Which fused step adds `k_block` products to the accumulator (core/contract/CONTRACT.md).
enum class Arithmetic : std::int32_t {
  ieee_fma = 0,   ///< one fp32 fused multiply-add a product; the same on every IEEE device
  hopper = 1,     ///< NVIDIA SM90 tensor cores; measured
  ampere = 2,     ///< NVIDIA SM80 tensor cores; published model
  blackwell = 3,  ///< NVIDIA SM100 (tcgen05); published model, equals hopper but for fp8
  cdna3 = 4,      ///< AMD gfx942 matrix cores; published model, not run on AMD hardware
  cdna2 = 5,      ///< AMD gfx90a matrix cores; published model, not run on AMD hardware
};

/// The order in which k-blocks enter the accumulator.
enum class KOrder : std::int32_t { ascending = 0 };

/// How leaves (ranges of `leaf_k` products) are combined, in fp32 to nearest even.
enum class ReductionKind : std::int32_t {
  chain = 0,  ///< no leaves: one accumulator runs through all of K
  fold = 1,   ///< ((+0 + l0) + l1) + l2 ...
  tree = 2,   ///< balanced, split at the middle leaf index
};

struct Reduction {
  ReductionKind kind = ReductionKind::chain;
  std::int64_t leaf_k = 0;  ///< products a leaf; a multiple of k_block; 0 for chain

  bool operator==(const Reduction&) const = default;
};

/// Rounding of the final fp32 value to the output type.
enum class Rounding : std::int32_t { nearest_even = 0 };

/// Everything that decides the bits of C = A*B, and nothing else.
///
/// Text form: `ARITHMETIC/INPUT/REDUCTION->OUTPUT`, for example `hopper/bf16/tree:512->bf16`
/// with REDUCTION one of `chain`, `fold:LEAF`, `tree:LEAF`. Spaces around `->` are accepted;
/// `->OUTPUT` may be left out and then is the input type for bf16 and fp16, else fp32.
/// A trailing `@1` names the version.
struct DETGEMM_API Contract {
  Arithmetic arithmetic = Arithmetic::ieee_fma;
  DType input = DType::bf16;
  std::int32_t k_block = 1;  ///< products fused in one step: a function of the two above
  KOrder k_order = KOrder::ascending;
  Reduction reduction;
  Rounding rounding = Rounding::nearest_even;
  DType output = DType::bf16;
  std::int32_t version = 1;

  /// Fills in k_block and checks the combination.
  static Result<Contract> make(Arithmetic arithmetic, DType input, Reduction reduction,
                               DType output);
  static Result<Contract> parse(std::string_view text);

  /// The short text form; `parse(text())` gives this contract back.
  std::string text() const;
  /// Every field spelled out; the digest is taken of this line.
  std::string canonical() const;
  /// FNV-1a (64 bit) of `canonical()`: the same on every platform.
  std::uint64_t digest() const;
  /// ok, or the rule that this combination breaks.
  Status validate() const;

  /// Leaves of a product of length k: 1 for chain, ceil(k / leaf_k) otherwise; 0 for k = 0.
  std::int64_t leaves(std::int64_t k) const;

  bool operator==(const Contract&) const = default;
};

/// Products one step fuses, or why this arithmetic has no such step.
DETGEMM_API Result<std::int32_t> k_block_of(Arithmetic arithmetic, DType input);

/// What is known about an arithmetic, in one sentence (measured, or published model).
DETGEMM_API std::string_view evidence(Arithmetic arithmetic) noexcept;

DETGEMM_API std::string_view name(Arithmetic arithmetic) noexcept;
DETGEMM_API std::string_view name(ReductionKind kind) noexcept;

/// Every arithmetic, in the order of the enumeration.
DETGEMM_API std::span<const Arithmetic> arithmetics() noexcept;
/// Every (arithmetic, input) pair that has a step, as `chain` contracts with fp32 output.
DETGEMM_API std::span<const Contract> base_contracts() noexcept;

/// The digest as 16 lower-case hexadecimal digits.
DETGEMM_API std::string hex(std::uint64_t digest);

/// A half-open range of k.
struct KRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
/// The share of K that tensor-parallel rank `rank` of `ranks` must take so that combining the
/// ranks' roots gives the bits of one rank. Refuses with a sentence where no such share exists:
/// only `tree`, `ranks` a power of two, and a number of leaves that `ranks` divides.
DETGEMM_API Result<KRange> rank_share(const Contract& contract, std::int64_t k, std::int64_t rank,
                                      std::int64_t ranks);

}  // namespace detgemm
