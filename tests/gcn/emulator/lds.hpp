// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "tests/gcn/emulator/machine.hpp"

namespace detgemm::gcn {

/// Local memory of a workgroup, with a check for races. Every access has a stamp, from 1 up in the
/// order of execution; a barrier releases a wave's stamps up to the first access that `s_waitcnt`
/// has not seen complete. Before a write is released, only its own wave may read or overwrite what
/// it wrote; before a read is released, only its own wave may overwrite what was read.
class Lds {
 public:
  static constexpr u32 kLargest = 65536;

  void reset(u32 bytes, int waves);

  /// Words (or one sub-word of `bytes` < 4) for each active lane at `address[lane]`;
  /// out[word][lane]. By the load's `mark` a barrier knows whether it was waited for.
  void read(Wave& w, const u32* address, int bytes, u32 (*out)[kLanes], u32 mark);
  void write(Wave& w, const u32* address, int bytes, Rows rows, u32 mark, bool dma = false);

  /// All waves have reached a barrier.
  void barrier(const std::vector<std::unique_ptr<Wave>>& waves);

 private:
  static constexpr std::size_t kWaves = 16;
  static constexpr u32 kSeveral = 31;  ///< in place of a wave's index: more than one wave
  static constexpr u32 kPartial = 1, kDma = 2;
  enum Kind { kWrite, kRead };

  struct Access {
    u32 mark, stamp;
  };
  struct History {
    u32 safe = 0;  ///< every wave has released the stamps up to here
    std::array<u32, kWaves> released{};
    std::array<std::vector<Access>, kWaves> pending;
  };

  u32 stamped(const Wave& w, Kind kind, u32 mark);
  bool released(Kind kind, u32 tag) const;
  bool ordered(const Wave& w, Kind kind, u32 tag) const;
  void check_range(Wave& w, const u32* address, u32 bytes) const;
  void check_dma(const Wave& w, u32 word, const char* does, int lane);
  void note_read(u32 word, u32 tag, u32 limit);
  /// The largest tag that every wave has released.
  u32 limit_of(Kind kind) const { return history_[kind].safe << 8 | 255; }
  void check_read(const Wave& w, u32 word, u32 mask, int lane);
  void check_write(const Wave& w, u32 word, u32 mask, u32 tag, int lane);

  u32 size_ = 0;
  u32 stamp_ = 0;
  std::array<History, 2> history_;
  alignas(64) std::array<u32, kLargest / 4> data_;
  /// Per word and Kind the last access: stamp << 8 | wave << 3 | flags, 0 for none.
  alignas(64) std::array<u32, kLargest / 4> writers_, readers_;
  /// Per word with kPartial: bytes written since the last release << 4 | bytes ever written.
  std::array<u8, kLargest / 4> parts_;
};

}  // namespace detgemm::gcn
