// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/fill.hpp"
#include "hip/gfx9/stream_tile.hpp"

namespace detgemm::hip::gfx9 {

/// A lane's row of one operand, read as packets of 4 consecutive k directly from global memory.
///
///   one MFMA:  k  0..3 | 4..7 | 8..11 | 12..15      32 bytes of each of 16 rows
///          lanes 0..15 |16..31| 32..47| 48..63
template <Major kMajor>
struct StreamRow {
  const std::uint16_t* at;
  std::int64_t k_stride;

  /// Row first + row; where there is no such row, the operand's last one.
  DETGEMM_DEVICE StreamRow(const Operand& o, std::int64_t first, int row) : k_stride(o.k_stride) {
    const std::int64_t wanted = first + row;
    at = o.data + (wanted < o.rows ? wanted : o.rows - 1) * o.row_stride;
  }

  /// Products k .. k + 3, all of which exist.
  DETGEMM_DEVICE Packet whole(std::int64_t k) const {
    if constexpr (kMajor == Major::k) return *reinterpret_cast<const Packet*>(at + k);
    return elements(k, k + 4);
  }
  /// Products k .. k + 3 with zeros from `end` on; `end` itself is at least 1.
  DETGEMM_DEVICE Packet part(std::int64_t k, std::int64_t end) const {
    if (kMajor == Major::k && end % 4 == 0) {
      const Packet packet = whole(k < end ? k : end - 4);
      return k < end ? packet : Packet{0, 0};
    }
    return elements(k, end);
  }

 private:
  DETGEMM_DEVICE Packet elements(std::int64_t k, std::int64_t end) const {
    Packet packet;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      std::uint32_t pair = 0;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const std::int64_t e = k + 2 * i + j;
        const std::uint32_t value = at[(e < end ? e : end - 1) * k_stride];
        pair |= (e < end ? value : 0U) << (16 * j);
      }
      packet[i] = pair;
    }
    return packet;
  }
};

/// How many whole pieces of kProducts there are in so many products, which are not negative.
template <int kProducts>
DETGEMM_DEVICE std::int64_t whole_pieces(std::int64_t products) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(products) / kProducts);
}

}  // namespace detgemm::hip::gfx9
