// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <cstring>

#include "core/arithmetic/formats.hpp"
#include "dropin/column_major.hpp"
#include "dropin/device_access.hpp"
#include "dropin/state.hpp"

namespace detgemm::dropin {

DType dtype_of(BlasType type) noexcept {
  return type == BlasType::bf16 ? DType::bf16 : type == BlasType::fp16 ? DType::fp16 : DType::fp32;
}

std::optional<Kind> kind_of(BlasType a, BlasType b, BlasType d, BlasCompute compute,
                            bool fewer_bits, std::string& why) {
  if (a == BlasType::other || b == BlasType::other || d == BlasType::other) {
    why = "its types have no contract (fp64, complex, integers, 8 bits and fewer)";
    return {};
  }
  if (a != b) {
    why = "A and B have different types";
    return {};
  }
  if (d != a && d != BlasType::fp32) {
    why = "the output is neither the inputs' type nor fp32";
    return {};
  }
  if (compute == BlasCompute::other || (compute == BlasCompute::fp16 && a != BlasType::fp16)) {
    why = "its compute type has no contract";
    return {};
  }
  if (a == BlasType::bf16) return Kind::bf16;
  if (a == BlasType::fp16) return Kind::fp16;
  const bool fewer = compute == BlasCompute::fp32_of_fewer_bits ||
                     (fewer_bits && compute != BlasCompute::fp32_always);
  return fewer ? Kind::tf32 : Kind::fp32;
}

Status read_scalar(const void* at, bool fp16, bool on_device, void* stream, float& out) {
  std::uint32_t bits = 0;
  const std::size_t bytes = fp16 ? 2 : 4;
  if (!on_device) {
    std::memcpy(&bits, at, bytes);
  } else {
    if (!policy().wait_for_reads) {
      return unsupported("alpha and beta are on the device (device_reads = pass)");
    }
    const auto with = backend();
    if (!with) return with.status();
    const DeviceKind kind = (*with)->device().kind();
    if (Status s = device_access(kind).read(&bits, at, bytes, {kind, stream}); !s) return s;
  }
  out = fp16 ? arithmetic::to_float<DType::fp16>(static_cast<std::uint16_t>(bits))
             : std::bit_cast<float>(bits);
  return {};
}

}  // namespace detgemm::dropin
