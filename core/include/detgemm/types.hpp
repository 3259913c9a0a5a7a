// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "detgemm/status.hpp"

namespace detgemm {

/// Element types. Values are stable: the C interface uses the same numbers.
enum class DType : std::int32_t {
  bf16 = 0,  ///< 1 sign, 8 exponent, 7 fraction bits
  fp16 = 1,  ///< IEEE binary16
  fp32 = 2,  ///< IEEE binary32
  tf32 = 3,  ///< contract input only: fp32 in memory, of which 10 fraction bits are used
  e4m3 = 4,  ///< OCP FP8 E4M3 (no Inf; S.1111.111 is NaN)
  e5m2 = 5,  ///< OCP FP8 E5M2 (IEEE-like Inf and NaN)
};

/// How a stored operand enters the product.
enum class Op : std::int32_t { none = 0, transpose = 1 };

/// Activation of the epilogue; the exact evaluation order is in core/contract/CONTRACT.md.
enum class Activation : std::int32_t { none = 0, relu = 1, gelu = 2, gelu_tanh = 3, silu = 4 };

/// Which memory and which queue a call refers to.
enum class DeviceKind : std::int32_t { host = 0, cuda = 1, hip = 2 };

/// A non-owning queue: `handle` is a cudaStream_t or hipStream_t, and unused on the host,
/// where every call has finished when it returns.
struct Stream {
  DeviceKind kind = DeviceKind::host;
  void* handle = nullptr;
};

/// Caller-owned scratch memory on the stream's device, aligned to 256 bytes.
/// Its size and contents never influence results.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};
inline constexpr std::size_t kWorkspaceAlignment = 256;

/// Bytes of one element in memory (tf32 is stored as fp32).
DETGEMM_API std::size_t size_of(DType type) noexcept;

DETGEMM_API std::string_view name(DType type) noexcept;
DETGEMM_API std::string_view name(Op op) noexcept;
DETGEMM_API std::string_view name(Activation activation) noexcept;
DETGEMM_API std::string_view name(DeviceKind kind) noexcept;

DETGEMM_API Result<DType> parse_dtype(std::string_view text);
DETGEMM_API Result<Activation> parse_activation(std::string_view text);

}  // namespace detgemm
