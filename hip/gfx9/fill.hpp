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

/// The same offset, of which the compiler does not know that it was needed before. Otherwise it
/// keeps it as 64 bits and adds it to the address by vector instructions; as it is, the load itself
/// adds it to an address in scalar registers. The compiler counts the statement as an instruction
/// that keeps a load from overwriting the address of the one before it, so there is one.
DETGEMM_DEVICE std::uint32_t fresh_offset(std::uint32_t offset) {
  asm volatile("s_nop 0" : "+v"(offset));
  return offset;
}

/// A thread's share of a stage, kRows x 64 elements, on the way from global to shared memory.
/// `load` brings products k .. k + length - 1 into registers, followed by zeros, and `load_whole`
/// all 64; `store` writes one half of them as packets of 4 consecutive k. Rows that do not exist
/// repeat the last one.
template <int kRows, int kThreads, Major kMajor>
struct Fill;

/// 16 bytes (8 consecutive k) of each half per thread and pass, four threads per row. The two loads
/// of a pass follow each other, so that a line of 128 bytes is fetched once.
///
///   a row's line   | thread 0 | 1 | 2 | 3 | thread 0 | 1 | 2 | 3 |
///                    half 0, 16 bytes each  half 1
template <int kRows, int kThreads>
struct Fill<kRows, kThreads, Major::k> {
  static constexpr int kPasses = kRows * 4 / kThreads;
  int thread;
  const char* origin;
  std::uint32_t offset[kPasses];  // bytes from origin; the chooser keeps them below 2^31
  u32x4 chunk[2][kPasses];

  DETGEMM_DEVICE void start(const Operand& o, std::int64_t first, int rows) {
    thread = fresh_thread();
    origin = reinterpret_cast<const char*>(o.data + first * o.row_stride);
    const int last = rows_left(o, first, rows) - 1;
    const auto pitch = static_cast<std::uint32_t>(o.row_stride) * 2U;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const int row = thread / 4 + p * (kThreads / 4);
      offset[p] = static_cast<std::uint32_t>(row < last ? row : last) * pitch +
                  static_cast<std::uint32_t>(thread % 4) * 16U;
    }
  }

  DETGEMM_DEVICE void load_whole(std::int64_t k) {
    const char* at = origin + k * 2;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const std::uint32_t from = fresh_offset(offset[p]);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        chunk[h][p] = *reinterpret_cast<const u32x4*>(at + from + h * kRowBytes);
      }
    }
  }

  DETGEMM_DEVICE void load(std::int64_t k, int length) {
    const char* at = origin + k * 2;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int begin = fresh_thread() % 4 * 8 + h * kHalf;
      if (length % 8 == 0) {
        const bool inside = begin < length;
        const auto to = static_cast<std::uint32_t>(h * kRowBytes);
        const auto back = static_cast<std::uint32_t>(fresh_thread() % 4) * 16U;
#pragma unroll
        for (int p = 0; p < kPasses; ++p) {
          const std::uint32_t from = inside ? offset[p] + to : offset[p] - back;
          const u32x4 value = *reinterpret_cast<const u32x4*>(at + from);
          chunk[h][p] = inside ? value : u32x4{0, 0, 0, 0};
        }
      } else {
        load_elements(h, at, begin, length);
      }
    }
  }

  /// Loads a chunk in which k ends, element by element. This is a loop because it is rare, and
  /// unrolled it would raise the number of registers of the whole kernel.
  DETGEMM_DEVICE void load_elements(int h, const char* at, int begin, int length) {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const char* row = at + (offset[p] - static_cast<std::uint32_t>(begin % kHalf) * 2U);
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
      chunk[h][p] = words;
    }
  }

  DETGEMM_DEVICE void store(int h, char* half) const {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const int row = thread / 4 + p * (kThreads / 4);
      const int packet = thread % 4 * 2;
      const u32x4 c = chunk[h][p];
      *reinterpret_cast<Packet*>(half + packet_at(row, packet)) = Packet{c[0], c[1]};
      *reinterpret_cast<Packet*>(half + packet_at(row, packet + 1)) = Packet{c[2], c[3]};
    }
  }
};

/// 4 rows x 4 k of each half per thread and pass: one load of 8 bytes for each k, transposed in
/// registers. Where half a stage has fewer such pieces than there are threads, the first threads
/// have one of the first half and the others one of the second.
///
///   loaded   k0: r0 r1 r2 r3    stored   r0: k0 k1 k2 k3
///            k1: r0 r1 r2 r3             r1: k0 k1 k2 k3   ...
template <int kRows, int kThreads>
struct Fill<kRows, kThreads, Major::mn> {
  static constexpr int kQuads = kRows / 4;
  static constexpr int kPieces = kQuads * kPackets;
  static constexpr bool kBoth = kPieces >= kThreads;  // every thread has pieces of both halves
  static_assert(kBoth ? kPieces % kThreads == 0 : kPieces * 2 == kThreads,
                "a stage must divide evenly among the threads");
  static constexpr int kHalves = kBoth ? 2 : 1;
  static constexpr int kPasses = kBoth ? kPieces / kThreads : 1;
  int thread;
  const char* origin;
  std::int64_t pitch;  // bytes between successive k
  u32x2 line[kHalves][kPasses][4];
  std::uint32_t offset[kPasses];

  DETGEMM_DEVICE int quad(int pass) const { return (thread + pass * kThreads) % kQuads; }
  DETGEMM_DEVICE int packet(int pass) const {
    return (thread + pass * kThreads) / kQuads % kPackets;
  }
  /// The first k in the stage of a thread's piece in its first half.
  DETGEMM_DEVICE static int first_k(int thread, int pass) {
    const int packet = (thread + pass * kThreads) / kQuads;
    return 4 * (kBoth ? packet % kPackets : packet);
  }

  DETGEMM_DEVICE void start(const Operand& o, std::int64_t first, int rows) {
    thread = fresh_thread();
    origin = reinterpret_cast<const char*>(o.data + first);
    pitch = o.k_stride * 2;
    const int last = rows_left(o, first, rows) / 4 - 1;  // the chooser requires rows % 4 == 0
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const int q = quad(p) < last ? quad(p) : last;
      offset[p] =
          static_cast<std::uint32_t>(first_k(thread, p)) * static_cast<std::uint32_t>(pitch) +
          static_cast<std::uint32_t>(q) * 8U;
    }
  }

  DETGEMM_DEVICE void load_whole(std::int64_t k) {
    const char* at = origin + k * pitch;
    std::uint32_t from[kPasses];
#pragma unroll
    for (int p = 0; p < kPasses; ++p) from[p] = fresh_offset(offset[p]);
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int p = 0; p < kPasses; ++p) {
          line[h][p][j] = *reinterpret_cast<const u32x2*>(at + from[p]);
        }
        at += pitch;
      }
      at += (kHalf - 4) * pitch;
    }
  }

  DETGEMM_DEVICE void load(std::int64_t k, int length) {
    const char* at = origin + k * pitch;
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
#pragma unroll
      for (int p = 0; p < kPasses; ++p) {
        const int first = first_k(fresh_thread(), p);
        const char* row = at + (offset[p] - static_cast<std::uint32_t>(first) *
                                                static_cast<std::uint32_t>(pitch));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int e = first + h * kHalf + j;
          const auto inside = static_cast<std::uint32_t>(e < length ? e : length - 1);
          const u32x2 value = *reinterpret_cast<const u32x2*>(row + inside * pitch);
          line[h][p][j] = e < length ? value : u32x2{0, 0};
          gcn::schedule_fence();  // keeps the addresses of one line at a time in registers
        }
      }
    }
  }

  DETGEMM_DEVICE void store(int h, char* half) const {
    if (!kBoth && gcn::uniform(thread / gcn::kWave) / (kThreads / gcn::kWave / 2) != h) return;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        // Row r of the quad is the half r % 2 of word r / 2 in every line.
        const auto pair = [&](int low, int high) {
          const std::uint32_t a = line[kBoth ? h : 0][p][low][r / 2];
          const std::uint32_t b = line[kBoth ? h : 0][p][high][r / 2];
          return r % 2 == 0 ? gcn::permute<0x05040100U>(b, a) : gcn::permute<0x07060302U>(b, a);
        };
        *reinterpret_cast<Packet*>(half + packet_at(quad(p) * 4 + r, packet(p))) =
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
  Packet packet[2][kPasses];

  DETGEMM_DEVICE int row(int pass) const {
    return thread / kPackets + pass * (kThreads / kPackets);
  }

  DETGEMM_DEVICE void start(const Operand& o, std::int64_t first, int rows) {
    thread = fresh_thread();
    const int last = rows_left(o, first, rows) - 1;
    k_stride = o.k_stride;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      at[p] = o.data + (first + (row(p) < last ? row(p) : last)) * o.row_stride;
    }
  }

  DETGEMM_DEVICE void load_whole(std::int64_t k) { load(k, kStage); }

  DETGEMM_DEVICE void load(std::int64_t k, int length) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int begin = thread % kPackets * 4 + h * kHalf;
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
          packet[h][p][i] = pair;
        }
      }
    }
  }

  DETGEMM_DEVICE void store(int h, char* half) const {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      *reinterpret_cast<Packet*>(half + packet_at(row(p), thread % kPackets)) = packet[h][p];
    }
  }
};

}  // namespace detgemm::hip::gfx9
