// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/plain.cuh"

namespace detgemm::cuda::sm90 {

/// How a warp stages 8 rows of its accumulators, rounded to 16 bits, for lines of D at any address:
/// in its quarter of the group's boxes of D, as wide as that has room for.
template <class T>
struct Lines {
  static constexpr int kRows = 8;
  static constexpr int kRoom = T::kBoxes * T::kBoxBytes / 4;
  static constexpr int kMax = kRoom / (kRows * 2) / 64 * 64;
  static constexpr int kColumns = T::kN < kMax ? T::kN : kMax;
  static constexpr int kAcross = (T::kN + kColumns - 1) / kColumns;
  static constexpr int kCount = kAcross * 2 * T::kBlocks;
  static constexpr int kPitch = (kColumns + 63) / 64 * 128;  ///< bytes
  /// Chunks of 16 bytes that a thread moves at once, as far as accumulators leave it registers.
  static constexpr int kBatch = T::kBlocks * T::kN <= 256 ? 3 : 1;
  static_assert(kMax >= 64 && kRows * kPitch <= kRoom, "Eight rows of 64 columns fit.");

  static constexpr int column(int p) { return p % kAcross * kColumns; }
  static constexpr int columns(int p) {
    return T::kN - column(p) < kColumns ? T::kN - column(p) : kColumns;
  }
  static constexpr int half(int p) { return p / kAcross % 2; }
  static constexpr int block(int p) { return p / kAcross / 2; }
  /// Chunk `chunk` of a row. Chunks of 8 rows are in different banks.
  static __device__ __forceinline__ std::uint32_t at(std::uint32_t room, int row, int chunk) {
    return room + row * kPitch + (chunk / 8 * 8 + (chunk % 8 ^ row)) * 16;
  }
};

/// Elements shift .. shift + 7 of two chunks: two selects shift by words, and prmt by a half word.
__device__ __forceinline__ void shift_two_chunks(const uint4& low, const uint4& high, int shift,
                                                 std::uint32_t (&out)[4]) {
  const std::uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  std::uint32_t by_two[6], by_one[5];
#pragma unroll
  for (int i = 0; i < 6; ++i) by_two[i] = (shift & 4) != 0 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) by_one[i] = (shift & 2) != 0 ? by_two[i + 1] : by_two[i];
  const std::uint32_t bytes = (shift & 1) != 0 ? 0x5432U : 0x3210U;
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = __byte_perm(by_one[i], by_one[i + 1], bytes);
}

/// Stores accumulators unchanged but rounded to 16 bits, where lines of D run along y and begin at
/// any address: whole aligned chunks by one store each, and single outputs before and behind them.
/// Fewer sectors of L2 are then written in parts than by words of 4 bytes.
///
///   staged row   |eeeeeeee|eeeeeeee|eeeeeeee|          chunks of 8 outputs
///   line of D      |....eeee|eeeeeeee|eeeeeeee|eeee....|     `late` = 4 outputs into a chunk
///                       head          whole        tail
template <class T>
__device__ __forceinline__ void store_lines(const SharedLayout<T>& shared, const GemmArguments& g,
                                            const LaunchShape& shape, int group, int x0, int y0,
                                            const Accumulators<T>& acc) {
  using L = Lines<T>;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const std::uint32_t room = shared.epilogue + group * T::kGroupBoxes + warp * L::kRoom;
  const std::int64_t along_x = shape.swapped ? g.ds.col : g.ds.row;
#pragma unroll 1
  for (int p = 0; p < L::kCount; ++p) {
    const int x = x0 + (group * T::kBlocks + L::block(p)) * 64 + warp * 16 + L::half(p) * 8;
    const int y = y0 + L::column(p);
    const int rows = min(shape.x_rows - x, L::kRows);
    const int columns = min(shape.y_rows - y, L::columns(p));
    if (rows <= 0 || columns <= 0) continue;
    [&]<int... kP>(std::integer_sequence<int, kP...>) {
      const auto put = [&]<int kOne>() {
        // Not before the loop over pieces: eight addresses would take a large tile's last
        // registers.
        std::uint32_t to = L::at(room, lane / 4, 0) + lane % 4 * 4;
        ptx::pin(to);
#pragma unroll
        for (int j = 0; j < L::columns(kOne) / 8; ++j) {
          const float* from = acc[L::block(kOne)] + L::column(kOne) / 2 + j * 4 + L::half(kOne) * 2;
          // As `at`: the row is in the address, and a room begins at a multiple of 128 bytes.
          ptx::st_shared_u32((to ^ (j % 8 * 16)) + j / 8 * 128,
                             pack(from[0], from[1], shape.output));
        }
      };
      ((p == kP ? put.template operator()<kP>() : void()), ...);
    }
    (std::make_integer_sequence<int, L::kCount>());
    __syncwarp();
    auto* const d = static_cast<std::uint16_t*>(g.d) + x * along_x + y;
    const auto late_of = [](const std::uint16_t* line) {
      return static_cast<int>(reinterpret_cast<std::uintptr_t>(line) / 2 % 8);
    };
    constexpr int kChunks = L::kColumns / 8 + 1;  // of a line, whole or not
    // Whole chunks. What a chunk's lane reads where there is none is not used.
    const auto whole = [&](int e, std::uint16_t*& to, int& row, int& first) {
      row = e / kChunks;
      std::uint16_t* const line = d + row * along_x;
      first = e % kChunks * 8 - late_of(line);
      to = line + first;
      return e < L::kRows * kChunks && row < rows && first >= 0 && first + 8 <= columns;
    };
    if constexpr (L::kBatch > 1) {
#pragma unroll 1
      for (int begin = lane; begin < L::kRows * kChunks; begin += 32 * L::kBatch) {
        uint4 low[L::kBatch], high[L::kBatch];
        std::uint16_t* to[L::kBatch];
        int shift[L::kBatch];
#pragma unroll
        for (int i = 0; i < L::kBatch; ++i) {  // all loads of a batch, then its stores
          int row, first;
          const bool exists = whole(begin + 32 * i, to[i], row, first);
          shift[i] = first % 8;
          if (!exists) to[i] = nullptr, row = first = 0;
          low[i] = ptx::ld_shared_v4_u32(L::at(room, row, first / 8));
          high[i] = ptx::ld_shared_v4_u32(L::at(room, row, min(first / 8 + 1, L::kPitch / 16 - 1)));
        }
#pragma unroll
        for (int i = 0; i < L::kBatch; ++i) {
          std::uint32_t out[4];
          shift_two_chunks(low[i], high[i], shift[i], out);
          if (to[i] != nullptr) ptx::st_global_v4_u32(to[i], {out[0], out[1], out[2], out[3]});
        }
      }
    } else {
#pragma unroll 1
      for (int e = lane; e < L::kRows * kChunks; e += 32) {
        std::uint16_t* to;
        int row, first;
        if (!whole(e, to, row, first)) continue;
        const std::uint32_t bytes = first % 2 != 0 ? 0x5432U : 0x3210U;
        std::uint32_t w[5];
#pragma unroll
        for (int i = 0; i < 5; ++i) {
          const int word = min(first / 2 + i, L::kPitch / 4 - 1);
          w[i] = ptx::ld_shared_u32(L::at(room, row, word / 4) + word % 4 * 4);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) w[i] = __byte_perm(w[i], w[i + 1], bytes);
        ptx::st_global_v4_u32(to, {w[0], w[1], w[2], w[3]});
      }
    }
#pragma unroll L::kBatch
    for (int i = 0; i < L::kRows * 16 / 32; ++i) {  // 8 places for each head, and for each tail
      const int e = i * 32 + lane;
      const int row = e / 16;
      std::uint16_t* const line = d + row * along_x;
      const int head = min((8 - late_of(line)) % 8, columns);
      const int at = e % 16 < 8 ? e % 8 : head + (columns - head) / 8 * 8 + e % 8;
      if (row >= rows || at >= (e % 16 < 8 ? head : columns)) continue;
      line[at] = ptx::ld_shared_u16(L::at(room, row, at / 8) + at % 8 * 2);
    }
    __syncwarp();
  }
}

}  // namespace detgemm::cuda::sm90
