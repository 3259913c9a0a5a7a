// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Operations that move values between lanes.

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

int lane_number(Wave& w, const Operand& o) { return static_cast<int>(read_scalar(w, o) & 63); }

void readlane(Wave& w, const Instruction& in) {
  const int lane = lane_number(w, in[2]);
  w.need(in[1].reg, 1, u64{1} << lane);
  write_scalar(w, in[0], w.v[in[1].reg][lane]);
}

void readfirstlane(Wave& w, const Instruction& in) {
  if (in[1].kind != Operand::vector) return write_scalar(w, in[0], read_scalar(w, in[1]));
  const int lane = w.exec() == 0 ? 0 : std::countr_zero(w.exec());
  w.need(in[1].reg, 1, u64{1} << lane);
  write_scalar(w, in[0], w.v[in[1].reg][lane]);
}

void writelane(Wave& w, const Instruction& in) {
  const int lane = lane_number(w, in[2]);
  const u32 value = read_scalar(w, in[1]);
  w.use(vector_destination(in[0]).reg, 1);
  w.v[in[0].reg][lane] = value;
  w.written[in[0].reg] |= u64{1} << lane;
}

/// v_mbcnt: lanes below this one in the half of the mask, plus operand 2.
template <int FIRST>
void mbcnt(Wave& w, const Instruction& in) {
  u64 valid = ~u64{0};
  Temp temp[2];
  const Source mask = fetch(w, in[1], 1, temp[0], valid);
  const Source base = fetch(w, in[2], 1, temp[1], valid);
  Temp result;
  for (int l = 0; l < kLanes; ++l) {
    const u64 below = (u64{1} << l) - 1;
    const u32 half = static_cast<u32>(below >> FIRST);
    result.row[0][l] = static_cast<u32>(std::popcount(mask.low[l] & half)) + base.low[l];
  }
  write_lanes(w, in[0], 1, result, valid);
}

/// dst[l] = source[from(l)], 0 from inactive lanes; counted like an LDS read.
template <class From>
void gather(Wave& w, const Instruction& in, const Operand& source, From from) {
  const u64 exec = w.exec();
  const u64 valid = w.use(source.reg, 1);
  Temp result;
  for (int l = 0; l < kLanes; ++l) {
    const int s = from(l);
    const bool active = (exec >> s & 1) != 0;
    if ((exec >> l & 1) != 0 && active && (valid >> s & 1) == 0)
      w.refuse_unwritten(source.reg, u64{1} << s);
    result.row[0][l] = active ? w.v[source.reg][s] : 0;
  }
  write_lanes(w, in[0], 1, result, ~u64{0});
  w.define_loaded(in[0].reg, 1, w.issue(kLgkm));
}

void bpermute(Wave& w, const Instruction& in) {
  w.need(in[1].reg, 1, w.exec());
  const u32* address = w.v[in[1].reg];
  gather(w, in, in[2],
         [&](int l) { return static_cast<int>((address[l] + in.offset[0]) >> 2 & 63); });
}

/// The lane that `offset:swizzle(MODE,...)` reads.
int swizzled(const std::string& offset, int l) {
  const auto argument = offset.find(',') + 1;
  if (offset.rfind("swizzle(SWAP", 0) == 0) return l ^ std::stoi(offset.substr(argument));
  if (offset.rfind("swizzle(BITMASK_PERM", 0) != 0) throw Fault("unknown swizzle");
  int lane = l & 32;
  for (int i = 0; i < 5; ++i) {  // "01pip", from bit 4 down: zero, one, preserved, inverted
    const char c = offset[argument + 1 + static_cast<std::size_t>(i)];
    const int own = l >> (4 - i) & 1;
    lane |= (c == '0' ? 0 : c == '1' ? 1 : c == 'p' ? own : 1 - own) << (4 - i);
  }
  return lane;
}

void swizzle(Wave& w, const Instruction& in) {
  const std::string& offset = in.statement->modifiers.at("offset");
  gather(w, in, in[1], [&](int l) { return swizzled(offset, l); });
}

}  // namespace

std::vector<Opcode> lane_opcodes() {
  return {
      {"v_readlane_b32", readlane},      {"v_readfirstlane_b32", readfirstlane},
      {"v_writelane_b32", writelane},    {"v_mbcnt_lo_u32_b32", mbcnt<0>},
      {"v_mbcnt_hi_u32_b32", mbcnt<32>}, {"ds_bpermute_b32", bpermute},
      {"ds_swizzle_b32", swizzle},
  };
}

}  // namespace detgemm::gcn
