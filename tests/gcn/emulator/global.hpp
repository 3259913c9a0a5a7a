// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "tests/gcn/emulator/order.hpp"

namespace detgemm::gcn {

/// Who accessed each byte of global memory during a launch.
class GlobalShadow {
 public:
  static constexpr u64 kBytes = 1024;  ///< of a page
  /// The last accesses to each unit: (workgroup + 1) << 32 | tag, 0 for none. Units are the largest
  /// (of 16, 8, 4 or 2 bytes) of which every access to the page was made, so that nothing is lost.
  struct Page {
    u32 shift;  ///< units have 1 << shift bytes
    std::vector<u64> reader;
    std::vector<u64> writer;  ///< empty before the first write

    explicit Page(u32 s) : shift(s), reader(kBytes >> s) {}
    bool written() const { return !writer.empty(); }
    void refine(u32 to);
  };

  explicit GlobalShadow(bool shared) : shared_(shared) {}
  /// Held during an access where host threads share the shadow.
  std::unique_lock<std::mutex> lock() {
    return shared_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
  }
  Page& page(u64 number, u32 shift) {
    auto& p = pages_[number];
    if (!p) p = std::make_unique<Page>(shift);
    return *p;
  }

 private:
  bool shared_;
  std::mutex mutex_;
  std::unordered_map<u64, std::unique_ptr<Page>> pages_;
};

/// A workgroup's accesses to global memory. Workgroups of a launch run in any order and at the same
/// time, and nothing known here orders them: what one writes no other may access. Waves of one
/// workgroup are ordered as in local memory: by a barrier after s_waitcnt. Scalar loads pass
/// through a cache of their own, so that they may not read what the launch wrote at all.
class GlobalAccess {
 public:
  explicit GlobalAccess(GlobalShadow& shadow) : shadow_(shadow) {}
  void start(u64 workgroup);

  /// `bytes` for each of `lanes` at the even `address[lane]`.
  void read(Wave& w, u64 lanes, const u64* address, int bytes, u32 mark);
  void write(Wave& w, u64 lanes, const u64* address, int bytes, u32 mark);
  void read_scalar(Wave& w, u64 address, int bytes, u32 mark);
  void barrier(const std::vector<std::unique_ptr<Wave>>& waves);

 private:
  static constexpr u64 kNobody = 0, kSeveralGroups = ~u64{0};
  struct Cached {
    u64 number = ~u64{0};
    GlobalShadow::Page* page = nullptr;
  };

  /// The page of an address, in units of which `bytes` from there are made.
  GlobalShadow::Page& page(u64 address, u64 bytes) {
    const auto shift = static_cast<u32>(std::countr_zero(address | bytes | 16));
    const u64 number = address / GlobalShadow::kBytes;
    Cached& c = cache_[number % cache_.size()];
    if (c.number != number) c = {number, &shadow_.page(number, shift)};
    if (c.page->shift > shift) c.page->refine(shift);
    return *c.page;
  }
  /// Calls f(page, unit) for the units of [address, address + bytes).
  template <class F>
  void each(u64 address, u64 bytes, F f) {
    while (bytes != 0) {
      const u64 at = address % GlobalShadow::kBytes;
      const u64 here = std::min(bytes, GlobalShadow::kBytes - at);
      GlobalShadow::Page& p = page(address, here);
      for (u64 u = at >> p.shift; u < (at + here) >> p.shift; ++u) f(p, u);
      address += here, bytes -= here;
    }
  }
  bool ordered(const Wave& w, const Order& order, u64 access) const {
    return access == kNobody ||
           (access >> 32 == group_ && order.ordered(w, static_cast<u32>(access)));
  }
  void note_read(u64& reader, u64 access, u32 limit) const;
  [[noreturn]] void refuse(u64 access, const char* was, const char* is, int lane) const;

  GlobalShadow& shadow_;
  u64 group_ = 0;
  Order reads_, writes_;
  std::array<Cached, 1024> cache_;
};

}  // namespace detgemm::gcn
