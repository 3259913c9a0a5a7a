// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace detgemm::test {

/// When a thread touches memory: barriers of the CTA and of its warp that it has passed.
struct Moment {
  int thread = 0;
  std::uint32_t cta = 1, warp = 1;

  int warp_of() const { return thread / 32; }
};

/// The shared memory of a CTA that notices races: two accesses of a word, one of them a write, by
/// two threads with no barrier of both between them. An access of a word that cp.async has not
/// brought yet is one too.
class SharedMemory {
 public:
  void reset(std::size_t bytes) {
    bytes_.assign(bytes, 0xff);  // NaN in every format
    words_.assign(bytes / 4, {});
    races_ = 0;
  }
  unsigned char* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  std::uint64_t races() const { return races_; }

  void read(std::uint32_t from, void* to, std::size_t bytes, const Moment& now) {
    if (!inside(from, bytes)) return;
    for (std::size_t i = from / 4; i < (from + bytes) / 4; ++i) {
      Word& w = words_[i];
      races_ += w.pending || !before(w.written, now);
      if (w.read.cta != now.cta) w.readers = 0;
      w.readers |= 1U << now.warp_of();
      w.read = now;
    }
    std::memcpy(to, bytes_.data() + from, bytes);
  }
  void write(std::uint32_t to, const void* from, std::size_t bytes, const Moment& now) {
    if (!inside(to, bytes)) return;
    mark_written(to, bytes, now, false);
    std::memcpy(bytes_.data() + to, from, bytes);
  }
  /// A copy begins here ...
  void begin_copy(std::uint32_t to, std::size_t bytes, const Moment& now) {
    if (inside(to, bytes)) mark_written(to, bytes, now, true);
  }
  /// ... and has arrived where its thread has waited for it.
  void end_copy(std::uint32_t to, const void* from, std::size_t bytes, const Moment& now) {
    if (!inside(to, bytes)) return;
    for (std::size_t i = to / 4; i < (to + bytes) / 4; ++i) {
      words_[i].pending = false;
      words_[i].written = now;
    }
    std::memcpy(bytes_.data() + to, from, bytes);
  }

 private:
  struct Word {
    Moment written{-1, 0, 0}, read{-1, 0, 0};
    std::uint32_t readers = 0;  ///< warps since the last barrier of the CTA
    bool pending = false;
  };
  static bool before(const Moment& then, const Moment& now) {
    return then.cta != now.cta || then.thread == now.thread ||
           (then.warp_of() == now.warp_of() && then.warp != now.warp);
  }
  void mark_written(std::uint32_t to, std::size_t bytes, const Moment& now, bool pending) {
    for (std::size_t i = to / 4; i < (to + bytes) / 4; ++i) {
      Word& w = words_[i];
      const bool others = w.read.cta == now.cta && (w.readers & ~(1U << now.warp_of())) != 0;
      races_ += w.pending || others || !before(w.written, now) || !before(w.read, now);
      w.written = now;
      w.pending = pending;
    }
  }
  bool inside(std::uint32_t at, std::size_t bytes) {
    const bool yes = at % bytes == 0 && at + bytes <= bytes_.size();
    races_ += !yes;
    return yes;
  }

  std::vector<unsigned char> bytes_;
  std::vector<Word> words_;
  std::uint64_t races_ = 0;
};

}  // namespace detgemm::test
