// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/lds.hpp"

#include <algorithm>
#include <cstring>

namespace detgemm::gcn {

namespace {

u32 wave_of(u32 tag) { return Order::wave_of(tag); }
[[noreturn]] void refuse(const std::string& before, u32 word, const std::string& after, int lane) {
  throw Fault(before + "LDS word at byte " + std::to_string(4 * word) + after, lane);
}
bool active(u64 exec, int lane) { return (exec >> lane & 1) != 0; }
/// A bit per byte to the bits of these bytes.
u32 bits_of(u32 bytes) {
  return (bytes & 1) * 0xff | (bytes >> 1 & 1) * 0xff00 | (bytes >> 2 & 1) * 0xff0000 |
         (bytes >> 3 & 1) * 0xff000000;
}

}  // namespace

void Lds::reset(u32 bytes) {
  if (bytes > kLargest) throw Fault("more local memory than a workgroup has");
  size_ = bytes;
  reads_.reset();
  writes_.reset();
  const std::size_t words = (bytes + 3) / 4;
  std::fill_n(writers_.begin(), words, 0);
  std::fill_n(readers_.begin(), words, 0);
}

void Lds::check_range(Wave& w, const u32* address, u32 bytes) const {
  // Naturally aligned; a chip in its unaligned mode would allow the others, in more time.
  const u32 align = bytes - 1;
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
    if ((address[l] & align) != 0)
      throw Fault("misaligned LDS access of " + std::to_string(bytes) + " bytes", l);
  }
}

/// A load that bypasses the registers; its wave knows only by s_waitcnt vmcnt that it arrived.
void Lds::check_dma(const Wave& w, u32 word, const char* does, int lane) {
  const u32 tag = writers_[word];
  if ((tag & kDma) == 0 || wave_of(tag) != static_cast<u32>(w.index)) return;
  if (writes_.outstanding(w, tag))
    refuse(does, word, " before s_waitcnt vmcnt guarantees the load into it", lane);
}

void Lds::note_read(u32 word, u32 tag, u32 limit) {
  u32& reader = readers_[word];
  const bool others = reader > limit && wave_of(reader ^ tag) != 0;
  reader = tag | (others ? Order::kSeveral << 3 : 0);
}

void Lds::check_read(const Wave& w, u32 word, u32 mask, int lane) {
  const u32 writer = writers_[word];
  if (writer == 0 || ((writer & kPartial) != 0 && (mask & ~parts_[word]) != 0))
    refuse("reads unwritten LDS: ", word, "", lane);
  if (!writes_.ordered(w, writer)) {
    refuse("LDS race: ", word,
           ", written by " + Order::by_whom(writer) +
               ", is read with no barrier after a completed write",
           lane);
  }
  check_dma(w, word, "reads ", lane);
}

void Lds::check_write(const Wave& w, u32 word, u32 mask, u32 tag, bool same, int lane) {
  const u32 reader = readers_[word];
  const u32 old = writers_[word];
  const char* const race = ", is overwritten with no barrier after a completed ";
  if (!reads_.ordered(w, reader))
    refuse("LDS race: ", word, ", read by " + Order::by_whom(reader) + race + "read", lane);
  // Waves may write different bytes of a word between two barriers.
  const bool partial = (old & kPartial) != 0;
  const u32 fresh = writes_.released(old) ? 0 : partial ? parts_[word] >> 4 : 15;
  const bool mixed = !writes_.ordered(w, old);
  if (mixed && (fresh & mask) != 0 && !same)
    refuse("LDS race: ", word, ", written by " + Order::by_whom(old) + race + "write", lane);
  check_dma(w, word, "overwrites ", lane);
  writers_[word] = tag | (mixed ? Order::kSeveral << 3 : 0);
  if (mask == 15) return;
  const u32 ever = old == 0 ? 0 : partial ? parts_[word] & 15 : 15;
  writers_[word] = tag | kPartial | (mixed ? Order::kSeveral << 3 : 0);
  parts_[word] = static_cast<u8>((fresh | mask) << 4 | ever | mask);
}

void Lds::read(Wave& w, const u32* address, int bytes, u32 (*out)[kLanes], u32 mark) {
  check_range(w, address, static_cast<u32>(bytes));
  const u32 tag = reads_.stamped(w, mark);
  const u32 limit = writes_.limit();
  const u32 read_limit = reads_.limit();
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
  const u32 tag = writes_.stamped(w, mark) | (dma ? kDma : 0);
  const u32 limit = writes_.limit();
  const u32 read_limit = reads_.limit();
  for (int l = 0; l < kLanes; ++l) {
    if (!active(exec, l)) continue;
    const u32 mask = bytes < 4 ? ((1U << bytes) - 1) << (address[l] & 3) : 15;
    for (u32 i = 0; i < static_cast<u32>(bytes + 3) / 4; ++i) {
      const u32 word = address[l] / 4 + i;
      const bool quiet = readers_[word] <= read_limit || wave_of(readers_[word]) == wave_of(tag);
      if (mask == 15 && quiet && (writers_[word] <= limit || writers_[word] == tag)) {
        writers_[word] = tag;
      } else {
        const u32 value = rows[i][l] << (8 * (address[l] & 3)) & bits_of(mask);
        check_write(w, word, mask, tag, value == (data_[word] & bits_of(mask)), l);
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
  reads_.barrier(waves);
  writes_.barrier(waves);
}

}  // namespace detgemm::gcn
