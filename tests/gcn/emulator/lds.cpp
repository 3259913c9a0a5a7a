// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/lds.hpp"

#include <algorithm>
#include <cstring>

#include "tests/gcn/emulator/machine.hpp"

namespace detgemm::gcn {

namespace {

std::string at(std::uint32_t word) { return "LDS word at byte " + std::to_string(4 * word); }
int wave_of(std::uint32_t tag) { return static_cast<int>(tag >> 3 & 31); }
std::string name(int wave) { return wave == 31 ? "several waves" : "wave " + std::to_string(wave); }

template <class T>
void forget_done(std::vector<T>& list, const Wave& w) {
  list.erase(
      std::remove_if(list.begin(), list.end(), [&](const T& x) { return !w.outstanding(x.mark); }),
      list.end());
}

}  // namespace

void Lds::reset(std::uint32_t bytes, int waves) {
  if (bytes > kLargest || waves > kWaves)
    throw Fault("more local memory or waves than a workgroup has");
  size_ = bytes;
  stamp_ = safe_ = 0;
  epoch_ = 1;
  released_.fill(0);
  const std::size_t words = (bytes + 3) / 4;
  std::fill_n(tags_.begin(), words, 0);
  std::fill_n(readers_.begin(), words, 0);
  std::fill_n(parts_.begin(), words, 0);
  for (int i = 0; i < kWaves; ++i) reads_[i].clear(), writes_[i].clear(), dmas_[i].clear();
}

void Lds::check_range(const std::uint32_t* address, std::uint64_t exec, int bytes) const {
  const std::uint32_t align = static_cast<std::uint32_t>(std::min(bytes, 4)) - 1;
  std::uint32_t largest = 0;
  std::uint32_t low_bits = 0;
  for (int l = 0; l < 64; ++l) {
    const std::uint32_t a = (exec >> l & 1) != 0 ? address[l] : 0;
    largest = std::max(largest, a);
    low_bits |= a;
  }
  if (exec == 0 || (largest < kLargest && largest + bytes <= size_ && (low_bits & align) == 0))
    return;
  for (int l = 0; l < 64; ++l) {
    if ((exec >> l & 1) == 0) continue;
    const std::uint64_t end = std::uint64_t{address[l]} + static_cast<unsigned>(bytes);
    if (end > size_) {
      throw Fault("LDS access out of bounds: bytes " + std::to_string(address[l]) + " to " +
                      std::to_string(end) + " of " + std::to_string(size_),
                  l);
    }
    if ((address[l] & align) != 0) throw Fault("misaligned LDS access", l);
  }
}

bool Lds::in_flight(const Wave& w, std::uint32_t stamp) {
  forget_done(dmas_[w.index], w);
  return std::any_of(dmas_[w.index].begin(), dmas_[w.index].end(),
                     [&](const Write& x) { return x.stamp == stamp; });
}

void Lds::note_reader(std::uint32_t word, int wave) {
  std::uint32_t& r = readers_[word];
  r = (r >> 16 == epoch_ ? r : epoch_ << 16) | 1U << wave;
}

void Lds::check_read(const Wave& w, std::uint32_t word, std::uint32_t mask, int lane) {
  const std::uint32_t tag = tags_[word];
  if (tag == 0 || ((tag & kPartial) != 0 && (mask & ~parts_[word] & 15) != 0)) {
    throw Fault("reads unwritten LDS: " + at(word), lane);
  }
  const int writer = wave_of(tag);
  if (writer != w.index && tag >> 8 > released(writer)) {
    throw Fault("LDS race: " + at(word) + ", written by " + name(writer) +
                    ", is read with no barrier after a completed write",
                lane);
  }
  if (writer == w.index && (tag & kDma) != 0 && in_flight(w, tag >> 8)) {
    throw Fault("reads " + at(word) + " before s_waitcnt vmcnt guarantees the load into it", lane);
  }
  note_reader(word, w.index);
}

void Lds::check_write(const Wave& w, std::uint32_t word, std::uint32_t mask, std::uint32_t tag,
                      int lane) {
  const std::uint32_t readers = readers_[word];
  if (readers >> 16 == epoch_ && (readers & 0xffff & ~(1U << w.index)) != 0) {
    const int other = std::countr_zero(readers & 0xffff & ~(1U << w.index));
    throw Fault("LDS race: " + at(word) + ", read by " + name(other) +
                    ", is overwritten with no barrier after a completed read",
                lane);
  }
  const std::uint32_t old = tags_[word];
  const int writer = wave_of(old);
  const std::uint32_t part = parts_[word];
  const std::uint32_t fresh = part >> 16 == epoch_ && (old & kPartial) != 0 ? part >> 8 & 15 : 0;
  bool mixed = false;
  if (old != 0 && writer != w.index && old >> 8 > released(writer)) {
    mixed = (old & kPartial) != 0 && fresh != 0 && (fresh & mask) == 0;
    if (!mixed) {
      throw Fault("LDS race: " + at(word) + ", written by " + name(writer) +
                      ", is overwritten with no barrier after a completed write",
                  lane);
    }
  }
  if (old != 0 && writer == w.index && (old & kDma) != 0 && in_flight(w, old >> 8)) {
    throw Fault("overwrites " + at(word) + " while a load into it is on its way", lane);
  }
  tags_[word] = tag;
  if (mask == 15) return;
  const std::uint32_t ever = old == 0 ? 0 : (old & kPartial) != 0 ? part & 15 : 15;
  tags_[word] = (mixed ? tag | kMixed << 3 : tag) | kPartial;
  parts_[word] = epoch_ << 16 | (fresh | mask) << 8 | ever | mask;
}

/// The usual case: whole words that every wave has released. Returns whether some word is not.
template <int kWords>
bool Lds::read_words(int wave, const std::uint32_t* address, std::uint64_t exec,
                     std::uint32_t (*out)[64]) {
  const std::uint32_t limit = safe_ << 8 | 255;
  const std::uint32_t now = epoch_ << 16 | 1U << wave;
  std::uint32_t doubtful = 0;
  int last = -1;  // the lane before, as lanes often read the same
  for (int l = 0; l < 64; ++l) {
    if ((exec >> l & 1) == 0) continue;
    if (last >= 0 && address[last] == address[l]) {
      for (int i = 0; i < kWords; ++i) out[i][l] = out[i][last];
      continue;
    }
    last = l;
    const std::uint32_t word = address[l] / 4;
    for (int i = 0; i < kWords; ++i) {
      const std::uint32_t tag = tags_[word + i];
      const std::uint32_t r = readers_[word + i];
      doubtful |= (tag - 1 >= limit ? 1U : 0U) | (tag & 3);
      readers_[word + i] = (r >> 16 == epoch_ ? r : 0) | now;
      std::memcpy(&out[i][l], &data_[address[l] + 4 * i], 4);
    }
  }
  return doubtful != 0;
}

void Lds::read(const Wave& w, const std::uint32_t* address, std::uint64_t exec, int bytes,
               std::uint32_t (*out)[64], std::uint32_t mark) {
  check_range(address, exec, bytes);
  if (bytes < 4) {
    for (int l = 0; l < 64; ++l) {
      if ((exec >> l & 1) == 0) continue;
      check_read(w, address[l] / 4, ((1U << bytes) - 1) << (address[l] & 3), l);
      out[0][l] = 0;
      std::memcpy(&out[0][l], &data_[address[l]], static_cast<std::size_t>(bytes));
    }
  } else {
    const int words = bytes / 4;
    const auto usual = words == 4   ? &Lds::read_words<4>
                       : words == 3 ? &Lds::read_words<3>
                       : words == 2 ? &Lds::read_words<2>
                                    : &Lds::read_words<1>;
    const bool doubtful = (this->*usual)(w.index, address, exec, out);
    for (int l = 0; doubtful && l < 64; ++l) {
      if ((exec >> l & 1) == 0) continue;
      for (int i = 0; i < words; ++i) check_read(w, address[l] / 4 + i, 15, l);
    }
  }
  auto& list = reads_[w.index];
  if (list.size() >= 16) forget_done(list, w);
  list.push_back({mark, bytes, exec, {}});
  std::memcpy(list.back().address.data(), address, sizeof list.back().address);
}

void Lds::write(const Wave& w, const std::uint32_t* address, std::uint64_t exec, int bytes,
                const std::uint32_t* const* rows, std::uint32_t mark, bool dma) {
  check_range(address, exec, bytes);
  if (++stamp_ >= 1U << 24) throw Fault("more LDS writes than the emulator counts");
  const std::uint32_t tag =
      stamp_ << 8 | static_cast<std::uint32_t>(w.index) << 3 | (dma ? kDma : 0);
  const std::uint32_t limit = safe_ << 8 | 255;
  const std::uint32_t others = 0xffffU & ~(1U << w.index);
  for (int l = 0; l < 64; ++l) {
    if ((exec >> l & 1) == 0) continue;
    const std::uint32_t word = address[l] / 4;
    if (bytes < 4) {
      check_write(w, word, ((1U << bytes) - 1) << (address[l] & 3), tag, l);
      std::memcpy(&data_[address[l]], &rows[0][l], static_cast<std::size_t>(bytes));
      continue;
    }
    for (int i = 0; i < bytes / 4; ++i) {
      const std::uint32_t r = readers_[word + i];
      const bool quiet = r >> 16 != epoch_ || (r & others) == 0;
      if (quiet && (tags_[word + i] <= limit || tags_[word + i] == tag)) {
        tags_[word + i] = tag;
      } else {
        check_write(w, word + i, 15, tag, l);
      }
      std::memcpy(&data_[address[l] + 4 * i], &rows[i][l], 4);
    }
  }
  auto& list = dma ? dmas_[w.index] : writes_[w.index];
  if (list.size() >= 64) forget_done(list, w);
  list.push_back({mark, stamp_});
}

void Lds::barrier(const std::vector<Wave*>& waves) {
  if (++epoch_ > 0xffff) {
    epoch_ = 1;
    readers_.fill(0);
    for (std::uint32_t& p : parts_) p &= 0xff;
  }
  safe_ = stamp_;
  for (const Wave* w : waves) {
    std::uint32_t& r = released_[w->index];
    r = stamp_;
    for (auto* list : {&writes_[w->index], &dmas_[w->index]}) {
      forget_done(*list, *w);
      for (const Write& x : *list) r = std::min(r, x.stamp - 1);
    }
    safe_ = std::min(safe_, r);
    forget_done(reads_[w->index], *w);
    for (const Read& x : reads_[w->index]) {
      for (int l = 0; l < 64; ++l) {
        if ((x.exec >> l & 1) == 0) continue;
        for (int i = 0; i < (x.bytes + 3) / 4; ++i) note_reader(x.address[l] / 4 + i, w->index);
      }
    }
  }
}

}  // namespace detgemm::gcn
