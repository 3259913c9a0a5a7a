// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Global and flat memory, and LDS. Addresses of memory are the host's; every access must lie in a
// registered allocation.

#include <algorithm>
#include <cstring>

#include "tests/gcn/emulator/global.hpp"
#include "tests/gcn/emulator/lds.hpp"
#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

template <int BYTES>
inline constexpr int kRowsOf = BYTES < 4 ? 1 : BYTES / 4;

using Addresses = u64[kLanes];

/// Every lane's `bytes` at its address have to lie in one registered allocation.
void check(const Wave& w, u64 lanes, int bytes, const char* verb, const Addresses& address) {
  u64 lowest = ~u64{0};
  u64 highest = 0;
  u64 odd = 0;  // bits in which some address is not aligned
  for (int l = 0; l < kLanes; ++l) {
    const bool active = (lanes >> l & 1) != 0;
    lowest = std::min(lowest, active ? address[l] : ~u64{0});
    highest = std::max(highest, active ? address[l] : 0);
    odd |= active ? address[l] & static_cast<u64>(std::min(bytes, 4) - 1) : 0;
  }
  if (odd != 0) throw Fault("misaligned global access of " + std::to_string(bytes) + " bytes");
  const u64 size = static_cast<u64>(bytes);
  if (lanes == 0 || w.memory->holds(lowest, highest - lowest + size)) return;
  for (int l = 0; l < kLanes; ++l) {
    if ((lanes >> l & 1) == 0 || w.memory->holds(address[l], size)) continue;
    throw Fault("global access out of bounds: " + std::string(verb) + " " + std::to_string(bytes) +
                    " bytes outside every allocation",
                l);
  }
}

/// vaddr, saddr from operands `at` and `base`: a 64-bit address, or a scalar base and a 32-bit
/// offset. Returns the lanes that access memory, which are the active ones.
u64 addresses(Wave& w, const Instruction& in, int at, int base, int bytes, const char* verb,
              Addresses& address) {
  const u64 exec = w.exec();
  const bool flat = base >= static_cast<int>(in.operands.size()) || in[base].kind == Operand::off;
  const int reg = vector_destination(in[at]).reg;
  w.need(reg, flat ? 2 : 1, exec);
  u64 from = static_cast<u64>(static_cast<i64>(static_cast<i32>(in.offset[0])));
  if (!flat) from += read_scalar(w, in[base], 2);
  const u32* low = w.v[reg];
  const u32* high = w.v[reg + (flat ? 1 : 0)];
  const u64 high_part = flat ? ~u64{0} : 0;
  for (int l = 0; l < kLanes; ++l)
    address[l] = from + (low[l] | (static_cast<u64>(high[l]) << 32 & high_part));
  check(w, exec, bytes, verb, address);
  return exec;
}

/// data, voffset, descriptor, soffset: a raw buffer, of which what lies outside is not accessed: a
/// load gives 0 there. Returns the lanes that access memory.
u64 buffer_addresses(Wave& w, const Instruction& in, int bytes, const char* verb,
                     Addresses& address) {
  const u64 exec = w.exec();
  const int reg = vector_destination(in[1]).reg;
  require(in[2].kind == Operand::scalar && in[2].count == 4, "wants a descriptor of a buffer");
  const u64 base = w.read(in[2].reg, 2);
  const u64 records = w.read(in[2].reg + 2, 1);
  require(base >> 48 == 0 && w.read(in[2].reg + 3, 1) == 0x27000, "a buffer of another form");
  require(read_scalar(w, in[3], 1) == 0, "a buffer with a scalar offset");
  w.need(reg, 1, exec);
  u64 lanes = 0;
  for (int l = 0; l < kLanes; ++l) {
    const u64 at = u64{w.v[reg][l]} + in.offset[0];
    address[l] = base + at;
    lanes |= u64{at < records} << l;
    if ((exec >> l & 1) != 0 && at < records && records - at < static_cast<u64>(bytes))
      throw Fault("an access across the end of a buffer", l);
  }
  check(w, exec & lanes, bytes, verb, address);
  return exec & lanes;
}

/// What a load brings: rows of words for the active lanes of its registers, which count as loaded
/// once `mark` has been waited for.
void deliver(Wave& w, const Operand& dst, int words, Rows rows, u32 mark) {
  w.define_loaded(vector_destination(dst).reg, words, mark);
  w.copy_lanes(dst.reg, words, rows);
}

/// The rows of registers from which a store reads its words.
Rows stored(Wave& w, const Operand& src, int words, u64 lanes) {
  w.need(vector_destination(src).reg, words, lanes);
  return &w.v[src.reg];
}

/// load dst, address...; to LDS (address...) at m0 + offset + 4 * lane, bypassing registers.
template <int BYTES, bool kToLds = false, bool kBuffer = false>
void load(Wave& w, const Instruction& in) {
  Addresses from;
  const u64 lanes = kBuffer
                        ? buffer_addresses(w, in, BYTES, "reads", from)
                        : addresses(w, in, kToLds ? 0 : 1, kToLds ? 1 : 2, BYTES, "reads", from);
  alignas(64) u32 rows[kRowsOf<BYTES>][kLanes];
  for (int l = 0; l < kLanes; ++l) {
    u32 words[kRowsOf<BYTES>] = {};
    if ((lanes >> l & 1) != 0) std::memcpy(words, reinterpret_cast<const void*>(from[l]), BYTES);
    for (int i = 0; i < kRowsOf<BYTES>; ++i) rows[i][l] = words[i];
  }
  const u32 mark = w.issue(kVm);
  w.global->read(w, lanes, from, BYTES, mark);
  if constexpr (kToLds) {
    u32 to[kLanes];
    const u32 begin = static_cast<u32>(w.read(kM0, 1) & 0xffff) + in.offset[0];
    for (u32 l = 0; l < kLanes; ++l) to[l] = begin + 4 * l;
    w.lds->write(w, to, 4, rows, mark, true);
  } else {
    deliver(w, in[0], kRowsOf<BYTES>, rows, mark);
  }
}

template <int BYTES, bool kBuffer = false>
void store(Wave& w, const Instruction& in) {
  Addresses to;
  const u64 lanes = kBuffer ? buffer_addresses(w, in, BYTES, "writes", to)
                            : addresses(w, in, 0, 2, BYTES, "writes", to);
  const Rows rows = stored(w, in[kBuffer ? 0 : 1], kRowsOf<BYTES>, lanes);
  w.global->write(w, lanes, to, BYTES, w.issue(kVm));
  for (int l = 0; l < kLanes; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    u32 words[kRowsOf<BYTES>];
    for (int i = 0; i < kRowsOf<BYTES>; ++i) words[i] = rows[i][l];
    std::memcpy(reinterpret_cast<void*>(to[l]), words, BYTES);
  }
}

/// LDS addresses: operand + offset.
void lds_addresses(Wave& w, const Operand& o, u32 offset, u32* out) {
  w.need(vector_destination(o).reg, 1, w.exec());
  for (int l = 0; l < kLanes; ++l) out[l] = w.v[o.reg][l] + offset;
}

/// ds_read: COUNT reads of BYTES, at offset0 and offset1 times UNIT where there are two.
template <int BYTES, int COUNT = 1, int UNIT = 1>
void lds_read(Wave& w, const Instruction& in) {
  constexpr int words = kRowsOf<BYTES>;
  const u32 mark = w.issue(kLgkm);
  alignas(64) u32 rows[words * COUNT][kLanes];
  for (int i = 0; i < COUNT; ++i) {
    u32 address[kLanes];
    lds_addresses(w, in[1], in.offset[i] * UNIT, address);
    w.lds->read(w, address, BYTES, rows + i * words, mark);
  }
  deliver(w, in[0], words * COUNT, rows, mark);
}

/// ds_read_b64_tr_b16: 16 lanes read 4 rows of 16 elements, and each gets a column of them.
void lds_read_columns(Wave& w, const Instruction& in) {
  const u32 mark = w.issue(kLgkm);
  u32 address[kLanes], read[2][kLanes];
  alignas(64) u32 rows[2][kLanes] = {};
  lds_addresses(w, in[1], in.offset[0], address);
  w.lds->read(w, address, 8, read, mark);
  for (int l = 0; l < kLanes; ++l) {
    for (int k = 0; k < 4; ++k) {
      const u32 word = read[l % 4 / 2][l / 16 * 16 + 4 * k + l % 16 / 4];
      rows[k / 2][l] |= (word >> (16 * (l % 2)) & 0xffff) << (16 * (k % 2));
    }
  }
  deliver(w, in[0], 2, rows, mark);
}

template <int BYTES, int COUNT = 1, int UNIT = 1>
void lds_write(Wave& w, const Instruction& in) {
  const u32 mark = w.issue(kLgkm);
  for (int i = 0; i < COUNT; ++i) {
    u32 address[kLanes];
    lds_addresses(w, in[0], in.offset[i] * UNIT, address);
    const Rows rows = stored(w, in[1 + i], kRowsOf<BYTES>, w.exec());
    w.lds->write(w, address, BYTES, rows, mark);
  }
}

/// ds_write_b16_d16_hi: the upper half of a word.
void lds_write_upper(Wave& w, const Instruction& in) {
  u32 address[kLanes], upper[1][kLanes];
  const Rows rows = stored(w, in[1], 1, w.exec());
  for (int l = 0; l < kLanes; ++l) upper[0][l] = rows[0][l] >> 16;
  lds_addresses(w, in[0], in.offset[0], address);
  w.lds->write(w, address, 2, upper, w.issue(kLgkm));
}

// Loads and stores of one size: to global memory, to it as flat memory and as a buffer, and to LDS.
#define GLOBAL(LOADED, STORED, BYTES)                                                   \
  op("global_load_" LOADED, load<BYTES>), op("flat_load_" LOADED, load<BYTES>),         \
      op("global_store_" STORED, store<BYTES>), op("flat_store_" STORED, store<BYTES>), \
      op("buffer_load_" LOADED, load<BYTES, false, true>),                              \
      op("buffer_store_" STORED, store<BYTES, true>)
#define LDS(NAME, ...) \
  op("ds_read" NAME, lds_read<__VA_ARGS__>), op("ds_write" NAME, lds_write<__VA_ARGS__>)

}  // namespace

std::vector<Opcode> memory_opcodes() {
  return {
      GLOBAL("ushort", "short", 2),
      GLOBAL("dword", "dword", 4),
      GLOBAL("dwordx2", "dwordx2", 8),
      GLOBAL("dwordx4", "dwordx4", 16),
      op("global_load_lds_dword", load<4, true>),
      op("ds_read_u16", lds_read<2>),
      op("ds_write_b16", lds_write<2>),
      op("ds_write_b16_d16_hi", lds_write_upper),
      op("ds_read_b64_tr_b16", lds_read_columns),
      LDS("_b32", 4),
      LDS("_b64", 8),
      LDS("_b128", 16),
      LDS("2_b32", 4, 2, 4),
      LDS("2_b64", 8, 2, 8),
      LDS("2st64_b32", 4, 2, 256),
      LDS("2st64_b64", 8, 2, 512),
  };
}

}  // namespace detgemm::gcn
