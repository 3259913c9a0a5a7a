// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Exchange between the lanes of a wave: DPP, ds_bpermute and ds_swizzle, which go through the
// hardware of local memory and touch none of it, v_permlane*_swap and v_writelane.

#include <utility>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

/// dst[l] = src[from(l)], 0 from a lane that is not active.
template <class F>
void exchange(Wave& w, const Operand& dst, const Operand& src, F from) {
  const u64 exec = w.exec();
  const int reg = vector_destination(src).reg;
  const u64 known = w.use(reg, 1);
  alignas(64) u32 row[1][kLanes];
  u64 unwritten = 0;
  for (u64 l = 0; l < kLanes; ++l) {
    const u64 f = from(l);
    const bool active = (exec >> f & 1) != 0;
    row[0][l] = active ? w.v[reg][f] : 0;
    unwritten |= (active ? ~known >> f & 1 : 0) << l;
  }
  w.define_loaded(vector_destination(dst).reg, 1, w.issue(kLgkm));
  w.copy_lanes(dst.reg, 1, row);
  w.written[dst.reg] &= ~(unwritten & exec);
}

void bpermute(Wave& w, const Instruction& in) {
  w.need(vector_destination(in[1]).reg, 1, w.exec());
  exchange(w, in[0], in[2], [&](u64 l) { return (w.v[in[1].reg][l] + in.offset[0]) >> 2 & 63; });
}

void swizzle(Wave& w, const Instruction& in) {
  const u32 how = in.offset[0];
  require(how < 0x8000, "a swizzle of quads is not known here");
  exchange(w, in[0], in[1], [&](u64 l) {
    return (l & 32) | ((((l & how) | (how >> 5 & 31)) ^ (how >> 10 & 31)) & 31);
  });
}

/// Of each two rows of N lanes, the first operand's second one and the second operand's first one
/// change places.
template <u64 N>
void swap_rows(Wave& w, const Instruction& in) {
  require(w.exec() == ~u64{0}, "a swap of rows with inactive lanes is not known here");
  const int a = vector_destination(in[0]).reg, b = vector_destination(in[1]).reg;
  const u64 known_a = w.use(a, 1), known_b = w.use(b, 1);
  constexpr u64 second = ~u64{0} / ((u64{1} << N) + 1) << N;
  for (u64 l = 0; l < kLanes; ++l)
    if ((second >> l & 1) != 0) std::swap(w.v[a][l], w.v[b][l - N]);
  w.written[a] = (known_a & ~second) | (known_b << N & second);
  w.written[b] = (known_b & second) | (known_a & second) >> N;
}

/// dst, value, lane.
void writelane(Wave& w, const Instruction& in) {
  const int reg = vector_destination(in[0]).reg;
  u64 known = 0;
  const u64 value = read_scalar(w, in[1], 1, known);
  const u64 lane = read_scalar(w, in[2], 1) & 63;
  w.settle(reg);
  w.v[reg][lane] = static_cast<u32>(value);
  w.written[reg] = (w.written[reg] & ~(u64{1} << lane)) | u64{known == ~u64{0}} << lane;
}

}  // namespace

void run_dpp(Wave& w, const Instruction& in) {
  const Dpp& dpp = *in.dpp;
  const u64 exec = w.exec();
  const int reg = in.operands.back().reg;
  const u64 known = w.use(reg, 1);
  u64 lanes = 0;
  u64 written = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    const int f = dpp.from[l];
    const bool there = f >= 0 && (exec >> f & 1) != 0;
    w.v[kExchanged][l] = there ? w.v[reg][f] : 0;
    written |= (there ? known >> f & 1 : 1) << l;
    lanes |= u64{there || dpp.zero} << l;
  }
  w.written[kExchanged] = written;
  w.pending[kExchanged] = 0;
  w.set(kExec, 2, exec & lanes & dpp.lanes);
  dpp.operation(w, in);
  w.set(kExec, 2, exec);
}

std::vector<Opcode> lane_opcodes() {
  return {
      op("ds_bpermute_b32", bpermute),
      op("ds_swizzle_b32", swizzle),
      op("v_permlane16_swap_b32", swap_rows<16>),
      op("v_permlane32_swap_b32", swap_rows<32>),
      op("v_writelane_b32", writelane),
  };
}

}  // namespace detgemm::gcn
