// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gcn/emulator/lds.hpp"
#include "tests/gcn/emulator/memory_map.hpp"

namespace detgemm::gcn {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr int kLanes = 64;
inline constexpr int kAgpr = 256;     ///< a0 is row 256 of the vector registers
inline constexpr int kScratch = 512;  ///< rows for operands changed by a modifier
inline constexpr int kRows = 516;
inline constexpr int kVcc = 106, kM0 = 124, kExec = 126, kScalars = 128;

/// What stops a kernel. The launcher adds the instruction, workgroup and wave.
struct Fault : std::runtime_error {
  explicit Fault(const std::string& what, int in_lane = -1)
      : std::runtime_error(what), lane(in_lane) {}
  int lane;
};
[[noreturn]] void refuse_scalar(int r);
inline void require(bool holds, const char* otherwise, int lane = -1) {
  if (!holds) throw Fault(otherwise, lane);
}

/// The two counters of s_waitcnt that hold back results.
enum Counter { kVm = 0, kLgkm = 1 };

/// One wave of 64 lanes. Vector registers are rows of 64 words, so that an instruction is a loop
/// with a fixed trip count. Beside each register: which lanes were ever written, and the load that
/// is still to fill it (sequence number * 2 + counter; 0 for none).
struct Wave {
  alignas(64) u32 v[kRows][kLanes];
  alignas(64) u32 exec_row[kLanes];  ///< all ones where `exec_of_row` has the lane
  u64 exec_of_row = 0;
  std::array<u64, kRows> written;
  std::array<u32, kRows> pending;
  alignas(8) u32 s[kScalars];
  std::array<u32, kScalars> s_pending;
  std::array<u32, kScalars>
      s_known;  ///< bits that were written: loops build lane masks piece by piece
  bool scc = false;
  u32 pc = 0;
  bool ended = false, at_barrier = false;
  std::array<u32, 2> issued, done;  ///< per Counter
  u32 last_smem = 0;                ///< scalar loads come back in any order
  int index = 0;                    ///< in its workgroup
  u64 instructions = 0, mfmas = 0;
  Lds* lds = nullptr;
  const MemoryMap* memory = nullptr;

  void reset();
  u64 exec() const { return std::bit_cast<u64>(std::array<u32, 2>{s[kExec], s[kExec + 1]}); }
  u64 scalar64(int r) const { return s[r] | static_cast<u64>(s[r + 1]) << 32; }
  /// 64 words, all ones in active lanes.
  const u32* exec_words() {
    if (exec_of_row != exec()) spread_exec();
    return exec_row;
  }
  void spread_exec();

  void wait(Counter c, u32 left);
  /// A new entry of a counter; registers filled by it carry what this returns.
  u32 issue(Counter c) { return ++issued[c] * 2 + c; }
  bool outstanding(u32 mark) const { return mark >> 1 > done[mark & 1]; }

  /// Checks that no load is on its way to vector registers [r, r + n); lanes written in all.
  u64 use(int r, int n) {
    u64 lanes = ~u64{0};
    for (int i = r; i < r + n; ++i) {
      if (pending[i] != 0) settle(i);
      lanes &= written[i];
    }
    return lanes;
  }
  /// As `use`, and every active lane must have been written.
  void need(int r, int n, u64 lanes) {
    for (int i = r; i < r + n; ++i) {
      if (pending[i] != 0) settle(i);
      if ((lanes & ~written[i]) != 0) refuse_unwritten(i, lanes & ~written[i]);
    }
  }
  /// Marks [r, r + n) as written in the active lanes where `valid` is.
  void define(int r, int n, u64 valid) {
    const u64 active = exec();
    for (int i = r; i < r + n; ++i) {
      if (pending[i] != 0) settle(i);
      written[i] = (written[i] & ~active) | (valid & active);
    }
  }
  /// As `define`, for registers that a load of `mark` fills. Loads of one counter return in order,
  /// so that one may follow another into a register (the two sides of a branch do).
  void define_loaded(int r, int n, u32 mark) {
    const u64 active = exec();
    for (int i = r; i < r + n; ++i) {
      if (pending[i] != 0 && ((pending[i] ^ mark) & 1) != 0) settle(i);
      written[i] |= active;
      pending[i] = mark;
    }
  }
  void settle(int r);
  [[noreturn]] void refuse_unwritten(int r, u64 lanes) const;
  void need_scalar(int r, int n) {
    for (int i = r; i < r + n; ++i) {
      if (s_pending[i] != 0) settle_scalar(i);
      if (s_known[i] != ~u32{0}) refuse_scalar(i);
    }
  }
  void define_scalar(int r, int n) {
    for (int i = r; i < r + n; ++i) {
      if (s_pending[i] != 0) settle_scalar(i);
      s_known[i] = ~u32{0};
    }
  }
  void settle_scalar(int r);
  void set_scalar(int r, u32 value) { define_scalar(r, 1), s[r] = value; }
  void set_scalar64(int r, u64 value) {
    define_scalar(r, 2);
    s[r] = static_cast<u32>(value);
    s[r + 1] = static_cast<u32>(value >> 32);
  }
};

}  // namespace detgemm::gcn
