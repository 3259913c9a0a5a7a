// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Global, flat and buffer memory. Addresses are the host's; every access must lie in a registered
// allocation.

#include <algorithm>
#include <cstring>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

/// Where each lane goes; lanes outside a buffer's range are not in `lanes`.
struct Target {
  u64 address[kLanes];
  u64 lanes;
};

/// vaddr, saddr: a 64-bit address, or a scalar base and a 32-bit offset.
void global_target(Wave& w, const Operand& vaddr, const Operand& saddr, u32 offset, Target& t) {
  const u64 displacement = static_cast<u64>(static_cast<i64>(static_cast<i32>(offset)));
  t.lanes = w.exec();
  const bool flat = saddr.kind == Operand::off || saddr.kind == Operand::none;
  const int reg = vector_destination(vaddr).reg;
  w.need(reg, flat ? 2 : 1, w.exec());
  const u32* low = w.v[reg];
  if (flat) {
    const u32* high = w.v[reg + 1];
    for (int l = 0; l < kLanes; ++l)
      t.address[l] = (low[l] | static_cast<u64>(high[l]) << 32) + displacement;
  } else {
    const u64 base = read_scalar64(w, saddr) + displacement;
    for (int l = 0; l < kLanes; ++l) t.address[l] = base + low[l];
  }
}

/// A raw buffer: base, records in bytes. Out of range reads give 0 and writes are dropped, as long
/// as the whole access is out of range.
void buffer_target(Wave& w, const Instruction& in, int first, int bytes, Target& t) {
  const Operand& resource = in[first + 1];
  if (resource.kind != Operand::scalar || resource.count != 4)
    throw Fault("wants a buffer resource");
  w.need_scalar(resource.reg, 4);
  const u32* s = &w.s[resource.reg];
  if ((s[1] >> 16 & 0x3fff) != 0 || s[1] >> 31 != 0)
    throw Fault("structured buffers are not modelled");
  const u64 base = s[0] | static_cast<u64>(s[1] & 0xffff) << 32;
  const u64 uniform = static_cast<u64>(read_scalar(w, in[first + 2])) + in.offset[0];
  const bool offen = in[first].kind == Operand::vector;
  if (offen) w.need(in[first].reg, 1, w.exec());
  t.lanes = w.exec();
  for (int l = 0; l < kLanes; ++l) {
    const u64 offset = uniform + (offen ? w.v[in[first].reg][l] : 0);
    t.address[l] = base + offset;
    if ((w.exec() >> l & 1) == 0 || offset + static_cast<u64>(bytes) <= s[2]) continue;
    if (offset < s[2]) throw Fault("buffer access across the end of its range", l);
    t.lanes &= ~(u64{1} << l);
  }
}

/// Every lane's access lies in one registered allocation.
void check(const Wave& w, const Target& t, int bytes, const char* verb) {
  u64 lowest = ~u64{0};
  u64 highest = 0;
  for (int l = 0; l < kLanes; ++l) {
    const bool active = (t.lanes >> l & 1) != 0;
    lowest = std::min(lowest, active ? t.address[l] : ~u64{0});
    highest = std::max(highest, active ? t.address[l] : 0);
  }
  if (t.lanes == 0 || w.memory->holds(lowest, highest - lowest + static_cast<u64>(bytes))) return;
  for (int l = 0; l < kLanes; ++l) {
    if ((t.lanes >> l & 1) == 0 || w.memory->holds(t.address[l], static_cast<u64>(bytes))) continue;
    throw Fault("global access out of bounds: " + std::string(verb) + " " + std::to_string(bytes) +
                    " bytes outside every allocation",
                l);
  }
}

template <int BYTES>
void load_lanes(Wave& w, const Operand& dst, const Target& t) {
  constexpr int words = BYTES < 4 ? 1 : BYTES / 4;
  check(w, t, BYTES, "reads");
  const u64 exec = w.exec();
  const int reg = vector_destination(dst).reg;
  w.define_loaded(reg, words, w.issue(kVm));
  for (int l = 0; l < kLanes; ++l) {
    if ((exec >> l & 1) == 0) continue;
    u32 loaded[words] = {};
    if ((t.lanes >> l & 1) != 0)
      std::memcpy(loaded, reinterpret_cast<const void*>(t.address[l]), BYTES);
    for (int i = 0; i < words; ++i) w.v[reg + i][l] = loaded[i];
  }
}

template <int BYTES, int SHIFT>
void store_lanes(Wave& w, const Operand& src, const Target& t) {
  constexpr int words = BYTES < 4 ? 1 : BYTES / 4;
  check(w, t, BYTES, "writes");
  const int reg = vector_destination(src).reg;
  w.need(reg, words, w.exec());
  w.issue(kVm);
  for (int l = 0; l < kLanes; ++l) {
    if ((t.lanes >> l & 1) == 0) continue;
    u32 stored[words];
    for (int i = 0; i < words; ++i) stored[i] = w.v[reg + i][l] >> SHIFT;
    std::memcpy(reinterpret_cast<void*>(t.address[l]), stored, BYTES);
  }
}

/// Into LDS at m0 + offset + 4 * lane, past the registers.
void load_to_lds(Wave& w, const Instruction& in, const Target& t) {
  check(w, t, 4, "reads");
  w.need_scalar(kM0, 1);
  u32 value[kLanes] = {};
  u32 address[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    address[l] = (w.s[kM0] & 0xffff) + in.offset[0] + 4 * static_cast<u32>(l);
    if ((t.lanes >> l & 1) != 0)
      std::memcpy(&value[l], reinterpret_cast<const void*>(t.address[l]), 4);
  }
  const u32* rows[] = {value};
  w.lds->write(w, address, w.exec(), 4, rows, w.issue(kVm), true);
}

const Operand kNothing;
const Operand& operand_or_none(const Instruction& in, int i) {
  return i < static_cast<int>(in.operands.size()) ? in[i] : kNothing;
}

template <int BYTES>
void global_load(Wave& w, const Instruction& in) {
  Target t;
  global_target(w, in[1], operand_or_none(in, 2), in.offset[0], t);
  load_lanes<BYTES>(w, in[0], t);
}
template <int BYTES, int SHIFT = 0>
void global_store(Wave& w, const Instruction& in) {
  Target t;
  global_target(w, in[0], operand_or_none(in, 2), in.offset[0], t);
  store_lanes<BYTES, SHIFT>(w, in[1], t);
}
void global_load_lds(Wave& w, const Instruction& in) {
  Target t;
  global_target(w, in[0], in[1], in.offset[0], t);
  load_to_lds(w, in, t);
}
template <int BYTES>
void buffer_load(Wave& w, const Instruction& in) {
  Target t;
  if (in.to_lds) {
    if (BYTES != 4) throw Fault("loads to LDS are words");
    buffer_target(w, in, 0, BYTES, t);
    return load_to_lds(w, in, t);
  }
  buffer_target(w, in, 1, BYTES, t);
  load_lanes<BYTES>(w, in[0], t);
}
template <int BYTES, int SHIFT = 0>
void buffer_store(Wave& w, const Instruction& in) {
  Target t;
  buffer_target(w, in, 1, BYTES, t);
  store_lanes<BYTES, SHIFT>(w, in[0], t);
}

// One access in its three forms.
#define GCN_LOAD(NAME, ...)                                                                       \
  {"global_load_" NAME, global_load<__VA_ARGS__>}, {"flat_load_" NAME, global_load<__VA_ARGS__>}, \
  {                                                                                               \
    "buffer_load_" NAME, buffer_load<__VA_ARGS__>                                                 \
  }
#define GCN_STORE(NAME, ...)                             \
  {"global_store_" NAME, global_store<__VA_ARGS__>},     \
      {"flat_store_" NAME, global_store<__VA_ARGS__>}, { \
    "buffer_store_" NAME, buffer_store<__VA_ARGS__>      \
  }

}  // namespace

std::vector<Opcode> memory_opcodes() {
  return {
      GCN_LOAD("ubyte", 1),
      GCN_LOAD("ushort", 2),
      GCN_LOAD("dword", 4),
      GCN_LOAD("dwordx2", 8),
      GCN_LOAD("dwordx3", 12),
      GCN_LOAD("dwordx4", 16),
      GCN_STORE("byte", 1),
      GCN_STORE("short", 2),
      GCN_STORE("short_d16_hi", 2, 16),
      GCN_STORE("dword", 4),
      GCN_STORE("dwordx2", 8),
      GCN_STORE("dwordx3", 12),
      GCN_STORE("dwordx4", 16),
      {"global_load_lds_dword", global_load_lds},
  };
}

}  // namespace detgemm::gcn
