// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace detgemm::gcn {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr int kLanes = 64;
inline constexpr int kAgpr = 256;       ///< a0 is row 256 of the vector registers
inline constexpr int kExchanged = 512;  ///< a row of the emulator's own, see Dpp
inline constexpr int kRows = 513;
inline constexpr int kVcc = 106, kM0 = 124, kExec = 126, kScalars = 128;

/// acc + sum of a[i] * b[i], i < count, of bf16 operands.
using MatrixStep =
    std::function<float(const std::uint16_t* a, const std::uint16_t* b, int count, float acc)>;

/// Words of 64 lanes, one row per register.
using Rows = const u32 (*)[kLanes];

/// 64 bytes of 0 or 1 as a mask.
inline u64 packed_mask(const bool* flags) {
  u64 mask = 0;
  for (int i = 0; i < 8; ++i) {
    u64 eight = 0;
    __builtin_memcpy(&eight, flags + 8 * i, 8);
    mask |= (eight * 0x0102040810204080U >> 56) << (8 * i);
  }
  return mask;
}

/// A fault that stops a kernel. The launcher adds the instruction, workgroup and wave.
struct Fault : std::runtime_error {
  explicit Fault(const std::string& what, int in_lane = -1)
      : std::runtime_error(what), lane(in_lane) {}
  int lane;
};
/// Row `r` of the vector registers, or scalar `r - kRows`, was never written in one of `lanes`.
[[noreturn]] void refuse_unwritten(int r, u64 lanes = 0);
inline void require(bool holds, const char* otherwise) {
  if (!holds) throw Fault(otherwise);
}

/// The allocations that a kernel may access. Addresses are the host's own.
class MemoryMap {
 public:
  void add(const void* begin, u64 bytes) { ranges_[reinterpret_cast<u64>(begin)] = bytes; }
  bool remove(const void* begin) { return ranges_.erase(reinterpret_cast<u64>(begin)) != 0; }

  /// Whether [address, address + bytes) lies inside one allocation.
  bool holds(u64 address, u64 bytes) const {
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin()) return false;
    const auto& [begin, size] = *std::prev(next);
    return address - begin <= size && size - (address - begin) >= bytes;
  }

 private:
  std::map<u64, u64> ranges_;
};

/// The two counters of s_waitcnt for which results are held back.
enum Counter { kVm = 0, kLgkm = 1 };

class Lds;
class GlobalAccess;

/// One wave of 64 lanes. Vector registers are rows of 64 words, so that an instruction is a loop
/// with a fixed trip count. Beside each register: which lanes were ever written, and the load that
/// is still to fill it (sequence number * 2 + counter; 0 for none).
struct Wave {
  alignas(64) u32 v[kRows][kLanes];
  alignas(64) u32 exec_row[kLanes];  ///< all ones where `exec_of_row` has the lane
  u64 exec_of_row = 0;
  std::array<u64, kRows> written;
  alignas(8) u32 s[kScalars];
  std::array<u32, kScalars> s_known;  ///< written bits; loops build lane masks piece by piece
  std::array<u32, kRows + kScalars> pending;  ///< of rows, then of scalars
  bool scc = false;
  u32 pc = 0;
  bool ended = false, at_barrier = false;
  std::array<u32, 2> issued, done;  ///< per Counter
  u32 last_smem = 0;                ///< scalar loads arrive in any order
  int index = 0;                    ///< in its workgroup
  u64 instructions = 0, mfmas = 0;
  bool adverse = false;  ///< matrix instructions return -0 and odd NaNs, see Launch
  const MatrixStep *step = nullptr, *fp8_step = nullptr;  ///< see Launch
  Lds* lds = nullptr;
  GlobalAccess* global = nullptr;
  const MemoryMap* memory = nullptr;

  void reset();
  u64 exec() const { return std::bit_cast<u64>(std::array<u32, 2>{s[kExec], s[kExec + 1]}); }
  /// 64 words, all ones in active lanes.
  const u32* exec_words() {
    if (exec_of_row != exec()) spread_exec();
    return exec_row;
  }
  void spread_exec();

  void wait(Counter c, u32 left);
  /// A new entry of a counter; registers that it fills are marked with what this returns.
  u32 issue(Counter c) { return ++issued[c] * 2 + c; }
  bool outstanding(u32 mark) const { return mark >> 1 > done[mark & 1]; }

  /// Checks that no load to vector registers [r, r + n) is in flight; the lanes written in all.
  u64 use(int r, int n) {
    u64 lanes = ~u64{0};
    for (int i = r; i < r + n; ++i) {
      settle(i);
      lanes &= written[i];
    }
    return lanes;
  }
  /// As `use`, but every active lane has to have been written.
  void need(int r, int n, u64 lanes) {
    for (int i = r; i < r + n; ++i)
      if (const u64 bad = lanes & ~use(i, 1); bad != 0) refuse_unwritten(i, bad);
  }
  /// Marks [r, r + n) as written in the active lanes where `valid` is.
  void define(int r, int n, u64 valid) {
    const u64 active = exec();
    for (int i = r; i < r + n; ++i) {
      settle(i);
      written[i] = (written[i] & ~active) | (valid & active);
    }
  }
  /// As `define`, for registers that a load of `mark` fills. Loads of one counter return in order,
  /// so that one may follow another into a register (the two sides of a branch do).
  void define_loaded(int r, int n, u32 mark) {
    const u64 active = exec();
    for (int i = r; i < r + n; ++i) {
      if (((pending[i] ^ mark) & 1) != 0) settle(i);
      written[i] |= active;
      pending[i] = mark;
    }
  }
  /// Copies rows of words into registers [r, r + n), active lanes only.
  void copy_lanes(int r, int n, Rows rows) {
    const u32* mask = exec_words();
    for (int i = 0; i < n; ++i) {
      u32* out = v[r + i];
      for (int l = 0; l < kLanes; ++l) out[l] = (rows[i][l] & mask[l]) | (out[l] & ~mask[l]);
    }
  }
  /// Checks that no load to `r`, numbered as in `pending`, is in flight.
  void settle(int r) {
    if (pending[r] != 0) check_arrived(r);
  }
  void check_arrived(int r);
  /// Scalars [r, r + n) of one or two words and which of their bits were ever written.
  u64 read(int r, int n, u64& known) {
    u64 value = 0;
    known = n == 2 ? 0 : ~u64{0} << 32;
    for (int i = 0; i < n; ++i) {
      settle(kRows + r + i);
      value |= static_cast<u64>(s[r + i]) << (32 * i);
      known |= static_cast<u64>(s_known[r + i]) << (32 * i);
    }
    return value;
  }
  u64 read(int r, int n) {
    u64 known = 0;
    const u64 value = read(r, n, known);
    if (known != ~u64{0}) refuse_unwritten(kRows + r + (static_cast<u32>(known) == ~u32{0}));
    return value;
  }
  void set(int r, int n, u64 value, u64 known = ~u64{0}) {
    for (int i = 0; i < n; ++i) {
      settle(kRows + r + i);
      s[r + i] = static_cast<u32>(value >> (32 * i));
      s_known[r + i] = static_cast<u32>(known >> (32 * i));
    }
    if (r == kExec && known != ~u64{0}) refuse_unwritten(kRows + kExec);
  }
};

}  // namespace detgemm::gcn
