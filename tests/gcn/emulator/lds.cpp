// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/lds.hpp"

#include <algorithm>
#include <cstring>

namespace detgemm::gcn {

namespace {

u32 wave_of(u32 tag) { return tag >> 3 & 31; }
std::string by_whom(u32 tag) {
  return wave_of(tag) == 31 ? "several waves" : "wave " + std::to_string(wave_of(tag));
}
[[noreturn]] void refuse(const std::string& before, u32 word, const std::string& after, int lane) {
  throw Fault(before + "LDS word at byte " + std::to_string(4 * word) + after, lane);
}
bool active(u64 exec, int lane) { return (exec >> lane & 1) != 0; }

template <class T>
void forget_done(std::vector<T>& list, const Wave& w) {
  const auto done = [&](const T& x) { return !w.outstanding(x.mark); };
  list.erase(std::remove_if(list.begin(), list.end(), done), list.end());
}

}  // namespace

void Lds::reset(u32 bytes, int waves) {
  if (bytes > kLargest || static_cast<std::size_t>(waves) > kWaves)
    throw Fault("more local memory or waves than a workgroup has");
  size_ = bytes;
  stamp_ = 0;
  history_ = {};
  const std::size_t words = (bytes + 3) / 4;
  std::fill_n(writers_.begin(), words, 0);
  std::fill_n(readers_.begin(), words, 0);
}

u32 Lds::stamped(const Wave& w, Kind kind, u32 mark) {
  if (++stamp_ >= 1U << 24) throw Fault("more LDS accesses than the emulator counts");
  const auto wave = static_cast<u32>(w.index);
  auto& pending = history_[kind].pending[wave];
  if (pending.size() >= 64) forget_done(pending, w);
  pending.push_back({mark, stamp_});
  return stamp_ << 8 | wave << 3;
}

bool Lds::released(Kind kind, u32 tag) const {
  const History& h = history_[kind];
  return tag >> 8 <= (wave_of(tag) == kSeveral ? h.safe : h.released[wave_of(tag)]);
}

bool Lds::ordered(const Wave& w, Kind kind, u32 tag) const {
  return wave_of(tag) == static_cast<u32>(w.index) || released(kind, tag);
}

void Lds::check_range(Wave& w, const u32* address, u32 bytes) const {
  const u32 align = std::min(bytes, 4U) - 1;
  const u32* mask = w.exec_words();
  // No branches, for speed: an address beyond `room` makes the top bit of one of the two.
  const u32 room = size_ - bytes;
  u32 wrong = size_ < bytes ? ~u32{0} : 0;
  for (int l = 0; l < kLanes; ++l) {
    const u32 a = address[l] & mask[l];
    wrong |= ((room - a) | a) >> 31 | (a & align);
  }
  for (int l = 0; wrong != 0 && l < kLanes; ++l) {
    if (!active(w.exec(), l)) continue;
    const u64 end = u64{address[l]} + bytes;
    if (end > size_) {
      throw Fault("LDS access out of bounds: bytes " + std::to_string(address[l]) + " to " +
                      std::to_string(end) + " of " + std::to_string(size_),
                  l);
    }
    if ((address[l] & align) != 0) throw Fault("misaligned LDS access", l);
  }
}

/// A load that bypasses the registers; its wave knows only by s_waitcnt vmcnt that it arrived.
void Lds::check_dma(const Wave& w, u32 word, const char* does, int lane) {
  const u32 tag = writers_[word];
  if ((tag & kDma) == 0 || wave_of(tag) != static_cast<u32>(w.index)) return;
  for (const Access& x : history_[kWrite].pending[wave_of(tag)]) {
    if (x.stamp == tag >> 8 && w.outstanding(x.mark))
      refuse(does, word, " before s_waitcnt vmcnt guarantees the load into it", lane);
  }
}

void Lds::note_read(u32 word, u32 tag, u32 limit) {
  u32& reader = readers_[word];
  const bool others = reader > limit && wave_of(reader ^ tag) != 0;
  reader = tag | (others ? kSeveral << 3 : 0);
}

void Lds::check_read(const Wave& w, u32 word, u32 mask, int lane) {
  const u32 writer = writers_[word];
  if (writer == 0 || ((writer & kPartial) != 0 && (mask & ~parts_[word]) != 0))
    refuse("reads unwritten LDS: ", word, "", lane);
  if (!ordered(w, kWrite, writer)) {
    refuse("LDS race: ", word,
           ", written by " + by_whom(writer) + ", is read with no barrier after a completed write",
           lane);
  }
  check_dma(w, word, "reads ", lane);
}

void Lds::check_write(const Wave& w, u32 word, u32 mask, u32 tag, int lane) {
  const u32 reader = readers_[word];
  const u32 old = writers_[word];
  const char* const race = ", is overwritten with no barrier after a completed ";
  if (!ordered(w, kRead, reader))
    refuse("LDS race: ", word, ", read by " + by_whom(reader) + race + "read", lane);
  // Waves may write different bytes of a word between two barriers.
  const bool partial = (old & kPartial) != 0;
  const u32 fresh = released(kWrite, old) ? 0 : partial ? parts_[word] >> 4 : 15;
  const bool mixed = !ordered(w, kWrite, old);
  if (mixed && (fresh & mask) != 0)
    refuse("LDS race: ", word, ", written by " + by_whom(old) + race + "write", lane);
  check_dma(w, word, "overwrites ", lane);
  writers_[word] = tag;
  if (mask == 15) return;
  const u32 ever = old == 0 ? 0 : partial ? parts_[word] & 15 : 15;
  writers_[word] = tag | kPartial | (mixed ? kSeveral << 3 : 0);
  parts_[word] = static_cast<u8>((fresh | mask) << 4 | ever | mask);
}

void Lds::read(Wave& w, const u32* address, int bytes, u32 (*out)[kLanes], u32 mark) {
  check_range(w, address, static_cast<u32>(bytes));
  const u32 tag = stamped(w, kRead, mark);
  const u32 limit = limit_of(kWrite);
  const u32 read_limit = limit_of(kRead);
  const u32 words = static_cast<u32>(bytes + 3) / 4;
  const u32* mask = w.exec_words();
  // Lanes often read what the first or the sixteenth before them reads, which is checked once.
  u32 place[16 + kLanes];
  alignas(64) bool other[kLanes];
  std::fill_n(place, 16, ~u32{0});
  for (int l = 0; l < kLanes; ++l) place[16 + l] = address[l] | ~mask[l];
  for (int l = 0; l < kLanes; ++l)
    other[l] = (place[16 + l] != place[15 + l]) & (place[16 + l] != place[l]);
  for (u64 lanes = packed_mask(other) & w.exec(); lanes != 0; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    for (u32 word = address[l] / 4; word < address[l] / 4 + words; ++word) {
      const u32 writer = writers_[word];
      // Nearly always the word is whole and released by every wave.
      if (writer - 1 >= limit || (writer & (kPartial | kDma)) != 0)
        check_read(w, word, bytes < 4 ? ((1U << bytes) - 1) << (address[l] & 3) : 15, l);
      note_read(word, tag, read_limit);
    }
  }
  for (u32 i = 0; i < words; ++i) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) out[i][l] = data_[(address[l] & mask[l]) / 4 + i];
  }
  for (int l = 0; bytes < 4 && l < kLanes; ++l)
    out[0][l] = out[0][l] >> (8 * (address[l] & 3)) & ((1U << (8 * bytes)) - 1);
}

void Lds::write(Wave& w, const u32* address, int bytes, Rows rows, u32 mark, bool dma) {
  check_range(w, address, static_cast<u32>(bytes));
  const u64 exec = w.exec();
  const u32 tag = stamped(w, kWrite, mark) | (dma ? kDma : 0);
  const u32 limit = limit_of(kWrite);
  const u32 read_limit = limit_of(kRead);
  for (int l = 0; l < kLanes; ++l) {
    if (!active(exec, l)) continue;
    const u32 mask = bytes < 4 ? ((1U << bytes) - 1) << (address[l] & 3) : 15;
    for (u32 i = 0; i < static_cast<u32>(bytes + 3) / 4; ++i) {
      const u32 word = address[l] / 4 + i;
      const bool quiet = readers_[word] <= read_limit || wave_of(readers_[word]) == wave_of(tag);
      if (mask == 15 && quiet && (writers_[word] <= limit || writers_[word] == tag)) {
        writers_[word] = tag;
      } else {
        check_write(w, word, mask, tag, l);
      }
      if (bytes < 4) {
        u8* part = reinterpret_cast<u8*>(&data_[word]) + (address[l] & 3);
        std::memcpy(part, &rows[i][l], static_cast<std::size_t>(bytes));
      } else {
        data_[word] = rows[i][l];
      }
    }
  }
}

void Lds::barrier(const std::vector<std::unique_ptr<Wave>>& waves) {
  for (History& h : history_) {
    h.safe = stamp_;
    for (const auto& w : waves) {
      const auto wave = static_cast<std::size_t>(w->index);
      forget_done(h.pending[wave], *w);
      h.released[wave] = stamp_;
      for (const Access& x : h.pending[wave])
        h.released[wave] = std::min(h.released[wave], x.stamp - 1);
      h.safe = std::min(h.safe, h.released[wave]);
    }
  }
}

}  // namespace detgemm::gcn
