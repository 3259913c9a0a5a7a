// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detgemm/detgemm.h"
#include "tests/fuzz/bytes.hpp"

namespace detgemm::fuzz {

/// Bytes behind a struct, for the struct_size of a newer caller.
inline constexpr std::size_t kTail = 256;

template <class T>
struct alignas(8) Roomy {
  union {
    T value;
    std::array<std::uint8_t, sizeof(T) + kTail> room{};
  };
  T* get() { return &value; }
};

/// Everything a call can take, built from bytes: first a valid small problem in one block of real
/// memory, then some fields, pointers and sizes spoiled.
class Arguments {
 public:
  explicit Arguments(Bytes& bytes);

  /// Every view that the library could accept lies in the block: only then may an accepted call
  /// touch elements.
  bool inside() const;
  /// The block differs from when it was made only in elements of D and in the workspace.
  bool only_d_changed() const;
  bool unchanged() const;
  /// The bytes of D's elements, row by row.
  std::vector<std::uint8_t> elements_of_d() const;
  void restore();

  Roomy<detgemm_contract_t> contract;
  Roomy<detgemm_gemm_spec_t> spec;
  Roomy<detgemm_const_matrix_t> a, b, c;
  Roomy<detgemm_matrix_t> d;
  Roomy<detgemm_vector_t> bias;
  Roomy<detgemm_stream_t> stream;
  Roomy<detgemm_operands_t> operands;
  Roomy<detgemm_plan_options_t> plan_options;
  Roomy<detgemm_gemm_options_t> gemm_options;
  Roomy<detgemm_run_info_t> info;
  std::array<Roomy<detgemm_const_matrix_t>, 4> roots;
  std::array<const detgemm_const_matrix_t*, 4> root_pointers{};
  std::size_t root_count = 1;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  std::string backend, variant;

  static constexpr std::size_t kBlock = 8192;

 private:
  void build(Bytes& bytes);
  void spoil(Bytes& bytes);
  template <class View>
  void spoil_view(Bytes& bytes, View& view);
  template <class View>
  void place(Bytes& bytes, View& view, std::int64_t rows, std::int64_t cols, detgemm_dtype_t type);
  void* odd_pointer(Bytes& bytes);

  alignas(256) std::array<std::uint8_t, kBlock> block_{};
  std::array<std::uint8_t, kBlock> before_{};
  std::size_t used_ = 0;
};

}  // namespace detgemm::fuzz
