// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gcn/control.hpp"
#include "hip/gfx9/tile.hpp"
#include "hip/grid.hpp"

namespace detgemm::hip::gfx9 {

using gcn::Packet;
using gcn::u32x2;
using gcn::u32x4;

/// An operand of 16-bit elements as the kernels see it: `rows` vectors of k.
struct Operand {
  const std::uint16_t* data;
  std::int64_t rows;
  std::int64_t row_stride, k_stride;
};
DETGEMM_DEVICE Operand operand_a(const GemmArguments& g) {
  return {static_cast<const std::uint16_t*>(g.a), g.m, g.as.row, g.as.col};
}
DETGEMM_DEVICE Operand operand_b(const GemmArguments& g) {
  return {static_cast<const std::uint16_t*>(g.b), g.n, g.bs.col, g.bs.row};
}

/// How many rows of the operand a tile that starts at row `first` has: at least 1 and at most
/// `max_rows`.
DETGEMM_DEVICE int rows_left(const Operand& o, std::int64_t first, int max_rows) {
  const std::int64_t left = o.rows - first;
  return left < max_rows ? static_cast<int>(left) : max_rows;
}

/// A thread's share of kRows x 32 elements on the way from global memory to a stage of shared
/// memory. `load` brings products k .. k + length - 1 into registers, followed by zeros; `store`
/// writes them as packets of 4 consecutive k. Rows that do not exist repeat the last one.
template <int kRows, int kThreads, Major kMajor>
struct Fill;

/// 16 bytes (8 consecutive k) per thread and pass, four threads per row.
template <int kRows, int kThreads>
struct Fill<kRows, kThreads, Major::k> {
  static constexpr int kPasses = kRows * 4 / kThreads;
  int thread;
  const char* origin;
  std::uint32_t offset[kPasses];  // bytes from origin; the chooser keeps them below 2^31
  u32x4 chunk[kPasses];

  DETGEMM_DEVICE void start(const Operand& o, std::int64_t first) {
    thread = fresh_thread();
    origin = reinterpret_cast<const char*>(o.data + first * o.row_stride);
    const int last = rows_left(o, first, kRows) - 1;
    const auto pitch = static_cast<std::uint32_t>(o.row_stride) * 2U;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const int row = thread / 4 + p * (kThreads / 4);
      offset[p] = static_cast<std::uint32_t>(row < last ? row : last) * pitch +
                  static_cast<std::uint32_t>(thread % 4) * 16U;
    }
  }

  DETGEMM_DEVICE void load(std::int64_t k, int length) {
    const char* at = origin + k * 2;
    if (length == kStage) {
#pragma unroll
      for (int p = 0; p < kPasses; ++p) {
        chunk[p] = *reinterpret_cast<const u32x4*>(at + offset[p]);
      }
      return;
    }
    const int begin = fresh_thread() % 4 * 8;
    if (length % 8 == 0) {
      const std::uint32_t back = begin < length ? 0U : static_cast<std::uint32_t>(begin) * 2U;
#pragma unroll
      for (int p = 0; p < kPasses; ++p) {
        const u32x4 value = *reinterpret_cast<const u32x4*>(at + (offset[p] - back));
        chunk[p] = begin < length ? value : u32x4{0, 0, 0, 0};
      }
      return;
    }
    load_elements(at, begin, length);
  }

  /// Loads a chunk in which k ends, element by element. This is a loop because it is rare, and
  /// unrolled it would raise the number of registers of the whole kernel.
  DETGEMM_DEVICE void load_elements(const char* at, int begin, int length) {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const char* row = at + (offset[p] - static_cast<std::uint32_t>(begin) * 2U);
      u32x4 words = {0, 0, 0, 0};
      const int count = length - begin < 8 ? length - begin : 8;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const std::uint32_t value = reinterpret_cast<const std::uint16_t*>(row)[begin + i];
        const std::uint32_t placed = value << (16 * (i % 2));
        words[0] |= i / 2 == 0 ? placed : 0U;
        words[1] |= i / 2 == 1 ? placed : 0U;
        words[2] |= i / 2 == 2 ? placed : 0U;
        words[3] |= i / 2 == 3 ? placed : 0U;
      }
      chunk[p] = words;
    }
  }

  DETGEMM_DEVICE void store(char* stage) const {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const int row = thread / 4 + p * (kThreads / 4);
      const int packet = thread % 4 * 2;
      *reinterpret_cast<Packet*>(stage + packet_at(row, packet)) = Packet{chunk[p][0], chunk[p][1]};
      *reinterpret_cast<Packet*>(stage + packet_at(row, packet + 1)) =
          Packet{chunk[p][2], chunk[p][3]};
    }
  }
};

/// 4 rows x 4 k per thread and pass: one load of 8 bytes for each k, transposed in registers.
///
///   loaded   k0: r0 r1 r2 r3    stored   r0: k0 k1 k2 k3
///            k1: r0 r1 r2 r3             r1: k0 k1 k2 k3   ...
template <int kRows, int kThreads>
struct Fill<kRows, kThreads, Major::mn> {
  static constexpr int kQuads = kRows / 4;
  static constexpr int kPieces = kQuads * kPackets;
  static constexpr bool kAll = kPieces >= kThreads;  // otherwise the last threads have no piece
  static constexpr int kPasses = kAll ? kPieces / kThreads : 1;
  int thread;
  const char* origin;
  std::int64_t pitch;  // bytes between successive k
  u32x2 line[kPasses][4];
  std::uint32_t offset[kPasses];

  DETGEMM_DEVICE int quad(int pass) const { return (thread + pass * kThreads) % kQuads; }
  DETGEMM_DEVICE int packet(int pass) const { return packet_of(thread, pass); }
  DETGEMM_DEVICE static int packet_of(int thread, int pass) {
    return (thread + pass * kThreads) / kQuads % kPackets;
  }

  DETGEMM_DEVICE void start(const Operand& o, std::int64_t first) {
    thread = fresh_thread();
    origin = reinterpret_cast<const char*>(o.data + first);
    pitch = o.k_stride * 2;
    const int last = rows_left(o, first, kRows) / 4 - 1;  // the chooser requires rows % 4 == 0
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const int q = quad(p) < last ? quad(p) : last;
      offset[p] = static_cast<std::uint32_t>(packet(p) * 4) * static_cast<std::uint32_t>(pitch) +
                  static_cast<std::uint32_t>(q) * 8U;
    }
  }

  DETGEMM_DEVICE void load(std::int64_t k, int length) {
    const char* at = origin + k * pitch;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      if (length == kStage) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          line[p][j] = *reinterpret_cast<const u32x2*>(at + j * pitch + offset[p]);
        }
      } else {
        const int first = packet_of(fresh_thread(), p) * 4;
        const char* row = at + (offset[p] - static_cast<std::uint32_t>(first) *
                                                static_cast<std::uint32_t>(pitch));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int e = first + j;
          const int inside = e < length ? e : length - 1;
          const u32x2 value = *reinterpret_cast<const u32x2*>(row + inside * pitch);
          line[p][j] = e < length ? value : u32x2{0, 0};
          gcn::schedule_fence();  // keeps the addresses of one line at a time in registers
        }
      }
    }
  }

  DETGEMM_DEVICE void store(char* stage) const {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      if (!kAll && thread >= kPieces) break;
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        // Row r of the quad is the half r % 2 of word r / 2 in every line.
        const auto pair = [&](int low, int high) {
          const std::uint32_t a = line[p][low][r / 2];
          const std::uint32_t b = line[p][high][r / 2];
          return r % 2 == 0 ? gcn::permute<0x05040100U>(b, a) : gcn::permute<0x07060302U>(b, a);
        };
        *reinterpret_cast<Packet*>(stage + packet_at(quad(p) * 4 + r, packet(p))) =
            Packet{pair(0, 1), pair(2, 3)};
      }
    }
  }
};

/// Element by element, for any strides and alignment: slow, but always possible.
template <int kRows, int kThreads>
struct Fill<kRows, kThreads, Major::any> {
  static constexpr int kPasses = kRows * kPackets / kThreads;
  int thread;
  const std::uint16_t* at[kPasses];
  std::int64_t k_stride;
  Packet packet[kPasses];

  DETGEMM_DEVICE int row(int pass) const {
    return thread / kPackets + pass * (kThreads / kPackets);
  }

  DETGEMM_DEVICE void start(const Operand& o, std::int64_t first) {
    thread = fresh_thread();
    const int last = rows_left(o, first, kRows) - 1;
    k_stride = o.k_stride;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      at[p] = o.data + (first + (row(p) < last ? row(p) : last)) * o.row_stride;
    }
  }

  DETGEMM_DEVICE void load(std::int64_t k, int length) {
    const int begin = thread % kPackets * 4;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        std::uint32_t pair = 0;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int e = begin + 2 * i + j;
          const std::int64_t inside = k + (e < length ? e : length - 1);
          const std::uint32_t value = at[p][inside * k_stride];
          pair |= (e < length ? value : 0U) << (16 * j);
        }
        packet[p][i] = pair;
      }
    }
  }

  DETGEMM_DEVICE void store(char* stage) const {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      *reinterpret_cast<Packet*>(stage + packet_at(row(p), thread % kPackets)) = packet[p];
    }
  }
};

}  // namespace detgemm::hip::gfx9
