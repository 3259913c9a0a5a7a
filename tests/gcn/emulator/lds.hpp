// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/gcn/emulator/order.hpp"

namespace detgemm::gcn {

/// Local memory of a workgroup, with a check for races. Before a write is released (see Order),
/// only its own wave may read or overwrite what it wrote; before a read is released, only its own
/// wave may overwrite what was read. Only a write that changes nothing may follow that of another
/// wave: a compiler leaves copies of one number in several waves.
class Lds {
 public:
  static constexpr u32 kLargest = 65536;

  void reset(u32 bytes);

  /// Words (or one sub-word of `bytes` < 4) for each active lane at `address[lane]`;
  /// out[word][lane]. By the load's `mark` a barrier knows whether it was waited for.
  void read(Wave& w, const u32* address, int bytes, u32 (*out)[kLanes], u32 mark);
  void write(Wave& w, const u32* address, int bytes, Rows rows, u32 mark, bool dma = false);

  /// All waves have reached a barrier.
  void barrier(const std::vector<std::unique_ptr<Wave>>& waves);

 private:
  static constexpr u32 kPartial = 1, kDma = 2;
  void check_range(Wave& w, const u32* address, u32 bytes) const;
  void check_dma(const Wave& w, u32 word, const char* does, int lane);
  void note_read(u32 word, u32 tag, u32 limit);
  void check_read(const Wave& w, u32 word, u32 mask, int lane);
  void check_write(const Wave& w, u32 word, u32 mask, u32 tag, bool same, int lane);

  u32 size_ = 0;
  Order reads_, writes_;
  alignas(64) std::array<u32, kLargest / 4> data_;
  /// Per word the last access: its tag and flags, 0 for none.
  alignas(64) std::array<u32, kLargest / 4> writers_, readers_;
  /// Per word with kPartial: bytes written since the last release << 4 | bytes ever written.
  std::array<u8, kLargest / 4> parts_;
};

}  // namespace detgemm::gcn
