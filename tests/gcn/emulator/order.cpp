// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/order.hpp"

#include <algorithm>

namespace detgemm::gcn {

void Order::forget_done(std::vector<Access>& list, const Wave& w) {
  const auto done = [&](const Access& x) { return !w.outstanding(x.mark); };
  list.erase(std::remove_if(list.begin(), list.end(), done), list.end());
}

std::string Order::by_whom(u32 tag) {
  return wave_of(tag) == kSeveral ? "several waves" : "wave " + std::to_string(wave_of(tag));
}

u32 Order::stamped(const Wave& w, u32 mark) {
  if (++stamp_ >= 1U << 24) throw Fault("more memory accesses than the emulator counts");
  const auto wave = static_cast<u32>(w.index);
  auto& pending = pending_[wave];
  if (pending.size() >= 64) forget_done(pending, w);
  pending.push_back({mark, stamp_});
  return stamp_ << 8 | wave << 3;
}

bool Order::outstanding(const Wave& w, u32 tag) const {
  for (const Access& x : pending_[static_cast<std::size_t>(w.index)])
    if (x.stamp == tag >> 8 && w.outstanding(x.mark)) return true;
  return false;
}

void Order::barrier(const std::vector<std::unique_ptr<Wave>>& waves) {
  safe_ = stamp_;
  for (const auto& w : waves) {
    const auto wave = static_cast<std::size_t>(w->index);
    forget_done(pending_[wave], *w);
    released_[wave] = stamp_;
    for (const Access& x : pending_[wave]) released_[wave] = std::min(released_[wave], x.stamp - 1);
    safe_ = std::min(safe_, released_[wave]);
  }
}

}  // namespace detgemm::gcn
