// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "tests/gcn/emulator/machine.hpp"

namespace detgemm::gcn {

/// Accesses of one kind (reads or writes of one memory) by the waves of a workgroup, and which of
/// them every other wave can rely on. An access is a tag: its stamp, from 1 up in the order of
/// execution, << 8 | wave << 3. A barrier releases a wave's stamps up to the first access that
/// `s_waitcnt` has not seen complete.
class Order {
 public:
  static constexpr u32 kSeveral = 31;  ///< in place of a wave's index: more than one wave

  void reset() { *this = Order(); }
  /// A new access; by its `mark` a barrier knows whether it was waited for.
  u32 stamped(const Wave& w, u32 mark);
  bool released(u32 tag) const {
    return tag >> 8 <= (wave_of(tag) == kSeveral ? safe_ : released_[wave_of(tag)]);
  }
  /// Whether `w` comes after the access on every schedule.
  bool ordered(const Wave& w, u32 tag) const {
    return wave_of(tag) == static_cast<u32>(w.index) || released(tag);
  }
  /// The largest tag that every wave has released.
  u32 limit() const { return safe_ << 8 | 255; }
  /// Whether the access is one of `w`'s that it has not waited for.
  bool outstanding(const Wave& w, u32 tag) const;
  /// All waves have reached a barrier.
  void barrier(const std::vector<std::unique_ptr<Wave>>& waves);

  static u32 wave_of(u32 tag) { return tag >> 3 & 31; }
  static std::string by_whom(u32 tag);

 private:
  struct Access {
    u32 mark, stamp;
  };
  static constexpr std::size_t kWaves = 16;
  static void forget_done(std::vector<Access>& list, const Wave& w);

  u32 stamp_ = 0;
  u32 safe_ = 0;  ///< every wave has released the stamps up to here
  std::array<u32, kWaves> released_{};
  std::array<std::vector<Access>, kWaves> pending_;
};

}  // namespace detgemm::gcn
