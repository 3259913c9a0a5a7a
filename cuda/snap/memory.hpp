// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/snap/leaf.hpp"
#include "cuda/snap/snap.hpp"

#if defined(__CUDA_ARCH__)
#define DETGEMM_UNROLL _Pragma("unroll")
#define DETGEMM_NO_UNROLL _Pragma("unroll 1")
#else
#define DETGEMM_UNROLL  // a host's compiler does as it likes
#define DETGEMM_NO_UNROLL
#endif

/// Loads and stores of bf16 numbers by words of two.
namespace detgemm::cuda::snap {

/// kCount words that a thread moves at once.
template <int kCount>
struct [[gnu::may_alias]] alignas(4 * kCount) Words {
  std::uint32_t word[kCount];
};

/// Precondition: the address is a multiple of 4 * kCount.
template <int kCount>
DETGEMM_HD void load_words(const std::uint16_t* from, std::uint32_t* word) {
  const auto words = *reinterpret_cast<const Words<kCount>*>(from);
  DETGEMM_UNROLL
  for (int i = 0; i < kCount; ++i) word[i] = words.word[i];
}
template <int kCount>
DETGEMM_HD void store_words(std::uint16_t* to, const std::uint32_t* word) {
  Words<kCount> words;
  DETGEMM_UNROLL
  for (int i = 0; i < kCount; ++i) words.word[i] = word[i];
  *reinterpret_cast<Words<kCount>*>(to) = words;
}

/// Two neighbours at any address, of which `left` exist; +0 for the others.
DETGEMM_HD std::uint32_t load_pair(const std::uint16_t* from, std::int64_t left) {
  std::uint32_t word = 0;
  if (left >= 1) word = from[0];
  if (left >= 2) word |= static_cast<std::uint32_t>(from[1]) << 16;
  return word;
}

/// One number, whatever it is, on the grid 2^t of its leaf.
DETGEMM_HD std::uint16_t one_on_grid(std::uint16_t bits, int t) {
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (t >= arithmetic::kSnapNone || magnitude > 0x7f80U) return 0x7fff;
  return magnitude == 0x7f80U ? bits : static_cast<std::uint16_t>(on_grid(bits, t));
}

}  // namespace detgemm::cuda::snap
