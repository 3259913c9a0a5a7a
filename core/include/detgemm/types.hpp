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
  tf32 = 3,  ///< contract input only: fp32 in memory, of whose fraction 10 bits are used
  e4m3 = 4,  ///< OCP FP8 E4M3 (no Inf; S.1111.111 is NaN)
  e5m2 = 5,  ///< OCP FP8 E5M2 (IEEE-like Inf and NaN)
};

/// How a stored operand enters the product.
enum class Op : std::int32_t { none = 0, transpose = 1 };

/// Activation of the epilogue; the exact evaluation order is in core/contract/CONTRACT.md.
enum class Activation : std::int32_t { none = 0, relu = 1, gelu = 2, gelu_tanh = 3, silu = 4 };

/// The kind of device whose memory and streams a call uses.
enum class DeviceKind : std::int32_t { host = 0, cuda = 1, hip = 2 };

/// A stream, not owned: `handle` is a cudaStream_t or hipStream_t (null is the default stream). It
/// is unused on the host, where every call has finished when it returns.
struct Stream {
  DeviceKind kind = DeviceKind::host;
  void* handle = nullptr;
};

/// Scratch memory on the stream's device, owned by the caller and aligned to kWorkspaceAlignment
/// bytes. A run may overwrite all of it, so no other work may use it until the run has finished.
/// Its contents and any bytes beyond what the plan needs never influence results. HostWorkspace
/// (workspace.hpp) allocates one on the host.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};
inline constexpr std::size_t kWorkspaceAlignment = 256;

/// Bytes of one element in memory (tf32 is stored as fp32).
DETGEMM_API std::size_t size_of(DType type) noexcept;

/// The lower-case name of a value, for example "bf16"; "unknown" for a value that is not listed.
DETGEMM_API std::string_view name(DType type) noexcept;
/// For example "transpose".
DETGEMM_API std::string_view name(Op op) noexcept;
/// For example "gelu_tanh".
DETGEMM_API std::string_view name(Activation activation) noexcept;
/// For example "cuda".
DETGEMM_API std::string_view name(DeviceKind kind) noexcept;

/// The value of a name; `not_found` lists the names there are.
DETGEMM_API Result<DType> parse_dtype(std::string_view text);
/// The value of a name; `not_found` lists the names there are.
DETGEMM_API Result<Activation> parse_activation(std::string_view text);

}  // namespace detgemm
