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

/// vaddr, saddr from operands `at` and `base`: a 64-bit address, or a scalar base and a 32-bit
/// offset. Every lane's `bytes` at that address have to lie in one registered allocation.
void addresses(Wave& w, const Instruction& in, int at, int base, int bytes, const char* verb,
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
  u64 lowest = ~u64{0};
  u64 highest = 0;
  u64 odd = 0;  // bits in which some address is not aligned
  for (int l = 0; l < kLanes; ++l) {
    address[l] = from + (low[l] | (static_cast<u64>(high[l]) << 32 & high_part));
    const bool active = (exec >> l & 1) != 0;
    lowest = std::min(lowest, active ? address[l] : ~u64{0});
    highest = std::max(highest, active ? address[l] : 0);
    odd |= active ? address[l] & static_cast<u64>(std::min(bytes, 4) - 1) : 0;
  }
  if (odd != 0) throw Fault("misaligned global access of " + std::to_string(bytes) + " bytes");
  const u64 size = static_cast<u64>(bytes);
  if (exec == 0 || w.memory->holds(lowest, highest - lowest + size)) return;
  for (int l = 0; l < kLanes; ++l) {
    if ((exec >> l & 1) == 0 || w.memory->holds(address[l], size)) continue;
    throw Fault("global access out of bounds: " + std::string(verb) + " " + std::to_string(bytes) +
                    " bytes outside every allocation",
                l);
  }
}

/// What a load brings: rows of words for the active lanes of its registers, which count as loaded
/// once `mark` has been waited for.
void deliver(Wave& w, const Operand& dst, int words, Rows rows, u32 mark) {
  w.define_loaded(vector_destination(dst).reg, words, mark);
  w.copy_lanes(dst.reg, words, rows);
}

/// The rows of registers from which a store reads its words.
Rows stored(Wave& w, const Operand& src, int words) {
  w.need(vector_destination(src).reg, words, w.exec());
  return &w.v[src.reg];
}

/// load dst, address...; to LDS (address...) at m0 + offset + 4 * lane, bypassing registers.
template <int BYTES, bool kToLds = false>
void load(Wave& w, const Instruction& in) {
  Addresses from;
  addresses(w, in, kToLds ? 0 : 1, kToLds ? 1 : 2, BYTES, "reads", from);
  alignas(64) u32 rows[kRowsOf<BYTES>][kLanes];
  for (int l = 0; l < kLanes; ++l) {
    u32 words[kRowsOf<BYTES>] = {};
    if ((w.exec() >> l & 1) != 0) std::memcpy(words, reinterpret_cast<const void*>(from[l]), BYTES);
    for (int i = 0; i < kRowsOf<BYTES>; ++i) rows[i][l] = words[i];
  }
  const u32 mark = w.issue(kVm);
  w.global->read(w, from, BYTES, mark);
  if constexpr (kToLds) {
    u32 to[kLanes];
    const u32 begin = static_cast<u32>(w.read(kM0, 1) & 0xffff) + in.offset[0];
    for (u32 l = 0; l < kLanes; ++l) to[l] = begin + 4 * l;
    w.lds->write(w, to, 4, rows, mark, true);
  } else {
    deliver(w, in[0], kRowsOf<BYTES>, rows, mark);
  }
}

template <int BYTES>
void store(Wave& w, const Instruction& in) {
  Addresses to;
  addresses(w, in, 0, 2, BYTES, "writes", to);
  const Rows rows = stored(w, in[1], kRowsOf<BYTES>);
  w.global->write(w, to, BYTES, w.issue(kVm));
  for (int l = 0; l < kLanes; ++l) {
    if ((w.exec() >> l & 1) == 0) continue;
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

template <int BYTES, int COUNT = 1, int UNIT = 1>
void lds_write(Wave& w, const Instruction& in) {
  const u32 mark = w.issue(kLgkm);
  for (int i = 0; i < COUNT; ++i) {
    u32 address[kLanes];
    lds_addresses(w, in[0], in.offset[i] * UNIT, address);
    const Rows rows = stored(w, in[1 + i], kRowsOf<BYTES>);
    w.lds->write(w, address, BYTES, rows, mark);
  }
}

// Loads and stores of one size: to global memory, to it as flat memory, and to LDS.
#define GLOBAL(LOADED, STORED, BYTES)                                           \
  op("global_load_" LOADED, load<BYTES>), op("flat_load_" LOADED, load<BYTES>), \
      op("global_store_" STORED, store<BYTES>), op("flat_store_" STORED, store<BYTES>)
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
