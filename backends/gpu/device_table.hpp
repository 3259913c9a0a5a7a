// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "backends/gpu/runtime.hpp"

namespace detgemm::gpu {

/// What device `ordinal` is. Asking a runtime takes about a millisecond and the answer never
/// changes, so each device is asked once per process.
template <Runtime R>
Result<typename R::Facts> facts_of(int ordinal) {
  static std::mutex mutex;
  static std::map<int, typename R::Facts> known;
  const std::lock_guard lock(mutex);
  if (const auto it = known.find(ordinal); it != known.end()) return it->second;
  auto facts = R::ask(ordinal);
  if (facts) known[ordinal] = *facts;
  return facts;
}

/// The same for the calling thread's current device, or why there is none.
template <Runtime R>
Result<typename R::Facts> current_device() {
  if (Status s = R::available(); !s) return s;
  int ordinal = 0;
  if (const auto error = R::current_device(&ordinal); error != R::kSuccess) {
    return failed<R>(function<R>("GetDevice"), error);
  }
  return facts_of<R>(ordinal);
}

/// What was prepared in a context, for example its loaded kernels.
///
/// Such things live and die with their context, and a device reset ends all contexts of a device.
/// An entry therefore belongs to a key that the backend chooses so that it never means a dead
/// context: an id that is never used again, or, where a runtime has no such ids, the device's
/// ordinal together with `forget` as soon as the runtime says that a handle is no longer valid.
template <class Value>
class ContextTable {
 public:
  using Key = std::uint64_t;
  using Entry = std::shared_ptr<const Value>;

  /// The entry for `key`. The first call makes it with `make() -> Result<Value>`, one thread at a
  /// time; a failure is returned and not remembered.
  template <class Make>
  Result<Entry> get(Key key, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end()) return it->second;
    Result<Value> made = make();
    if (!made) return made.status();
    return entries_[key] = std::make_shared<const Value>(std::move(*made));
  }

  /// Drops `dead` from the table, so that the next `get` makes a new entry. If another thread has
  /// replaced it already, its entry stays.
  void forget(Key key, const Entry& dead) {
    const std::lock_guard lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end() && it->second == dead) {
      entries_.erase(it);
    }
  }

 private:
  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace detgemm::gpu
