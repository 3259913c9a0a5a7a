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

void permute(Wave& w, const Instruction& in) {
  w.need(in[1].reg, 1, w.exec());
  w.need(in[2].reg, 1, w.exec());
  Temp result{};
  for (int l = 0; l < kLanes; ++l) {
    if ((w.exec() >> l & 1) == 0) continue;
    result.row[0][(w.v[in[1].reg][l] + in.offset[0]) >> 2 & 63] = w.v[in[2].reg][l];
  }
  write_lanes(w, in[0], 1, result, ~u64{0});
  w.define_loaded(in[0].reg, 1, w.issue(kLgkm));
}

/// The lane ds_swizzle reads, from `offset:swizzle(MODE,...)` or the number that encodes it.
int swizzled(const std::string& offset, int l) {
  const auto arguments = offset.find(',');
  const auto number = [&](std::size_t at) { return std::stoi(offset.substr(at)); };
  if (offset.rfind("swizzle(SWAP", 0) == 0) return l ^ number(arguments + 1);
  if (offset.rfind("swizzle(REVERSE", 0) == 0) return l ^ (number(arguments + 1) - 1);
  if (offset.rfind("swizzle(BROADCAST", 0) == 0) {
    const int group = number(arguments + 1);
    return (l & ~(group - 1)) + number(offset.find(',', arguments + 1) + 1);
  }
  if (offset.rfind("swizzle(QUAD_PERM", 0) == 0) {
    return (l & ~3) + (offset[arguments + 1 + 2 * static_cast<std::size_t>(l & 3)] - '0');
  }
  if (offset.rfind("swizzle(BITMASK_PERM", 0) == 0) {
    const std::string bits = offset.substr(offset.find('"') + 1, 5);
    int lane = l & 32;
    for (int i = 0; i < 5; ++i) {
      const int own = l >> (4 - i) & 1;
      const char c = bits[static_cast<std::size_t>(i)];
      lane |= (c == '0' ? 0 : c == '1' ? 1 : c == 'p' ? own : 1 - own) << (4 - i);
    }
    return lane;
  }
  const int code = std::stoi(offset, nullptr, 0);
  if ((code & 0x8000) != 0) return (l & ~3) + (code >> (2 * (l & 3)) & 3);
  return (l & 32) + ((((l & 31) & code) | (code >> 5 & 31)) ^ (code >> 10 & 31));
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
      {"ds_permute_b32", permute},       {"ds_swizzle_b32", swizzle},
  };
}

}  // namespace detgemm::gcn
