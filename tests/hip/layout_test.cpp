// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "hip/gfx9/stream_tile.hpp"
#include "hip/gfx9/tile.hpp"

namespace detgemm::hip::gfx9 {
namespace {

/// AMD's published formulas (the register layouts of dense MFMAs with 4 k per register pair in the
/// CDNA ISA guides): an operand element (row, k) of a rows x depth matrix lies in lane
/// row + rows * (k / 4), element k % 4.
struct Slot {
  int lane, element;
  auto operator<=>(const Slot&) const = default;
};
Slot operand_slot(int rows, int row, int k) { return {row + rows * (k / 4), k % 4}; }

/// A result element (x, y): lane y + columns * ((x / 4) % groups), register
/// 4 * (x / (4 * groups)) + x % 4, with 64 / columns groups.
Slot result_slot(int columns, int x, int y) {
  const int groups = 64 / columns;
  return {y + columns * (x / 4 % groups), 4 * (x / (4 * groups)) + x % 4};
}

TEST(MfmaLayout, ResultsAreWhereThePublishedFormulasSay) {
  for (int x = 0; x < 32; ++x) {
    const Slot s = result_slot(32, x, 7);
    EXPECT_EQ(result_row_32(s.lane, s.element), x);
    EXPECT_EQ(s.lane % 32, 7);
  }
  for (int x = 0; x < 16; ++x) {
    const Slot s = result_slot(16, x, 5);
    EXPECT_EQ(result_row_16(s.lane, s.element), x);
    EXPECT_EQ(s.lane % 16, 5);
  }
}

/// The steps that an instruction fuses are runs of consecutive k in ascending order, so that the
/// contract's order holds within it: 8 k are two groups of lanes of 32x32x8, and the four groups of
/// 16x16x16 are two such steps (cdna3) or four of 4 (cdna2).
TEST(MfmaLayout, LaneGroupsHoldConsecutiveK) {
  for (const int rows : {32, 16}) {
    const int depth = 64 / rows * 4;
    for (int k = 0; k < depth; ++k) {
      const Slot s = operand_slot(rows, 3, k);
      EXPECT_EQ(s.lane / rows, k / 4);
      // The kernels supply lane s.lane with packet k / 4 of its row, whose elements ascend.
      EXPECT_EQ(4 * (s.lane / rows) + s.element, k);
    }
  }
}

TEST(Stage, EveryPacketHasItsPlace) {
  std::set<int> places;
  for (int row = 0; row < 512; ++row) {
    for (int packet = 0; packet < kPackets; ++packet) {
      const int at = packet_at(row, packet);
      EXPECT_EQ(at % 8, 0);
      EXPECT_EQ(at / kRowBytes, row);
      places.insert(at);
    }
  }
  EXPECT_EQ(places.size(), 512U * kPackets);
}

/// Shared memory serves 128 bytes per clock, 4 from each of 32 banks; 16 lanes read 8 bytes each.
int max_uses_of_a_bank(const std::vector<int>& addresses) {
  std::map<int, int> uses;
  int max_uses = 0;
  for (const int address : addresses) {
    for (const int word : {0, 1}) max_uses = std::max(max_uses, ++uses[(address / 4 + word) % 32]);
  }
  return max_uses;
}

TEST(Stage, ReadsHaveNoBankConflicts) {
  for (int first = 0; first < 512; first += 16) {
    for (int packet = 0; packet < kPackets; ++packet) {
      std::vector<int> addresses;
      for (int lane = 0; lane < 16; ++lane) addresses.push_back(packet_at(first + lane, packet));
      EXPECT_EQ(max_uses_of_a_bank(addresses), 1) << first << " " << packet;
    }
  }
}

TEST(Stage, WithoutTheSpreadReadsWouldConflict) {
  std::vector<int> addresses;
  for (int lane = 0; lane < 16; ++lane) addresses.push_back(lane * kRowBytes);
  EXPECT_EQ(max_uses_of_a_bank(addresses), 8);
}

/// Transposed operands are written as packets of every fourth row.
TEST(Stage, TransposedWritesConflictTwiceAtMost) {
  for (int first = 0; first < 256; first += 64) {
    std::vector<int> addresses;
    for (int lane = 0; lane < 16; ++lane) addresses.push_back(packet_at(first + 4 * lane, 3));
    EXPECT_LE(max_uses_of_a_bank(addresses), 2);
  }
}

/// In the streams' buffers of A, 16 lanes read one packet of 16 rows, and write the 16 packets of
/// one row.
TEST(StreamStage, HasNoBankConflicts) {
  std::set<int> places;
  for (int row = 0; row < 128; ++row) {
    std::vector<int> written;
    for (int packet = 0; packet < 16; ++packet) {
      written.push_back(stream_packet_at(row, packet));
      EXPECT_EQ(written.back() / (kStreamStage * 2), row);
      places.insert(written.back());
    }
    EXPECT_EQ(max_uses_of_a_bank(written), 1) << row;
  }
  EXPECT_EQ(places.size(), 128U * 16);
  for (int first = 0; first < 128; first += 16) {
    for (int packet = 0; packet < 16; ++packet) {
      std::vector<int> read, unspread;
      for (int lane = 0; lane < 16; ++lane) {
        read.push_back(stream_packet_at(first + lane, packet));
        unspread.push_back((first + lane) * kStreamStage * 2 + packet * 8);
      }
      EXPECT_EQ(max_uses_of_a_bank(read), 1) << first << " " << packet;
      EXPECT_EQ(max_uses_of_a_bank(unspread), 16) << "without the exclusive or";
    }
  }
}

/// The packet that each lane group multiplies in each step, after the exchange with the group
/// beside it, where a packet is its number in the row. `partner` is the bit in which groups that
/// exchange differ, `shift` moves the chunks of odd groups.
std::map<std::pair<int, int>, int> dealt(int partner, int shift) {
  std::map<std::pair<int, int>, int> packets;
  const auto low = [&](int group, int chunk) {
    return stream_chunk_at(group, chunk) / 4 + (group % 2 != 0 ? shift : 0);
  };
  for (int group = 0; group < 4; ++group) {
    for (int chunk = 0; chunk < kStreamChunks; ++chunk) {
      const int other = group ^ partner;
      const auto exchange = [&](int) {
        return other % 2 != 0 ? low(other, chunk) : low(other, chunk) + 1;
      };
      const int first = low(group, chunk);
      deal_chunk(group % 2 != 0, first, first + 1, exchange, packets[{group, 2 * chunk}],
                 packets[{group, 2 * chunk + 1}]);
    }
  }
  return packets;
}

/// Weights are loaded by 16 bytes and multiplied in the contract's order of k: in step u lane group
/// g has packet 4 * u + g. With another partner or other chunks it has not.
TEST(StreamStage, ExchangedPacketsAreInOrder) {
  const auto wrong = [](const std::map<std::pair<int, int>, int>& packets) {
    int count = 0;
    for (const auto& [place, packet] : packets) count += packet != 4 * place.second + place.first;
    return count;
  };
  EXPECT_EQ(dealt(1, 0).size(), 4U * kStreamSteps);
  EXPECT_EQ(wrong(dealt(1, 0)), 0);
  EXPECT_GT(wrong(dealt(2, 0)), 0);
  EXPECT_GT(wrong(dealt(1, 4)), 0);
}

/// A load of 64 lanes reads 64 adjacent bytes of each column, so two of them read whole lines.
TEST(StreamStage, LoadsReadHalfLines) {
  for (int chunk = 0; chunk < kStreamChunks; ++chunk) {
    std::set<int> at;
    for (int group = 0; group < 4; ++group) at.insert(stream_chunk_at(group, chunk));
    EXPECT_EQ(at, (std::set<int>{32 * chunk, 32 * chunk + 8, 32 * chunk + 16, 32 * chunk + 24}));
  }
}

/// Two workgroups share a compute unit's 64 KB, and a thread's registers hold sums and stages.
TEST(StreamStage, TwoWorkgroupsFit) {
  const auto check = [](auto stream, int sums_of_an_output) {
    using W = decltype(stream);
    EXPECT_LE(2 * W::kSharedBytes, 65536);
    const int stage = 2 * (W::kRowBlocks + W::kColBlocks * kStreamSteps);
    const int depth = sums_of_an_output == 1 ? W::kDepth : W::kLeavesDepth;
    EXPECT_GE(depth, 3);
    EXPECT_LE(4 * W::kBlocks * sums_of_an_output + depth * stage, 176) << W::kM << "x" << W::kN;
  };
  for (const int sums : {1, 2}) {
    check(Stream32{}, sums);
    check(Stream64{}, sums);
    check(Stream48x128{}, sums);
    check(Stream64x128{}, sums);
    check(Stream80x128{}, sums);
  }
  check(Stream96x128{}, 1);
}

TEST(Stage, IsOneCacheLinePerRow) { EXPECT_EQ(kStage * 2, 128); }

TEST(Tiles, FitTheChip) {
  const auto check = [](auto tile) {
    using T = decltype(tile);
    EXPECT_LE(T::kSharedBytes, 65536);
    EXPECT_LE(T::kThreads, 1024);
    EXPECT_EQ(T::kM % (T::kWavesM * 32), 0);
    EXPECT_EQ(T::kN % (T::kWavesN * 32), 0);
    EXPECT_LE(T::kBlocksM * T::kBlocksN * 16, 128) << "accumulators, of 256 registers";
    // Whole passes of all threads, four per row of half a stage, fill both operands.
    EXPECT_EQ(T::kFilledM * 4 % T::kThreads, 0);
    EXPECT_GE(T::kFilledM, T::kM);
    EXPECT_EQ(T::kFilledN * 4 % T::kThreads, 0);
    EXPECT_GE(T::kFilledN, T::kN);
  };
  check(Tile256{});
  check(Tile256x224{});
  check(Tile256x192{});
  check(Tile160x256{});
  check(Tile256x128{});
  check(Tile128{});
  check(Tile64{});
}

}  // namespace
}  // namespace detgemm::hip::gfx9
