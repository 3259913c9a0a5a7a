// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/instruction.hpp"

namespace detgemm::gcn {

namespace {

void branch(Wave& w, const Instruction& in) { w.pc = static_cast<u32>(in[0].value); }

template <class F>
Operation branch_if(F) {
  return [](Wave& w, const Instruction& in) {
    if (F{}(w)) branch(w, in);
  };
}
bool vcc_zero(Wave& w) {
  w.need_scalar(kVcc, 2);
  return w.scalar64(kVcc) == 0;
}

void nothing(Wave&, const Instruction&) {}
void waitcnt(Wave& w, const Instruction& in) {
  w.wait(kVm, in.offset[0]);
  w.wait(kLgkm, in.offset[1]);
}

/// s_load_dwordxN dst, base, offset: N words from memory the launch registered.
template <int WORDS>
void scalar_load(Wave& w, const Instruction& in) {
  const u64 address = (read_scalar64(w, in[1]) + read_scalar(w, in[2]) + in.offset[0]) & ~u64{3};
  if (!w.memory->holds(address, 4 * WORDS)) throw Fault("reads memory that is not allocated");
  require(in[0].kind == Operand::scalar, "wants a scalar destination");
  w.define_scalar(in[0].reg, WORDS);
  __builtin_memcpy(&w.s[in[0].reg], reinterpret_cast<const void*>(address), 4 * WORDS);
  const u32 mark = w.issue(kLgkm);
  w.last_smem = w.issued[kLgkm];
  for (int i = 0; i < WORDS; ++i) w.s_pending[in[0].reg + i] = mark;
}

}  // namespace

std::vector<Opcode> control_opcodes() {
  return {
      {"s_nop", nothing},
      {"s_setprio", nothing},
      {"s_sleep", nothing},
      {"s_inst_prefetch", nothing},
      {"s_icache_inv", nothing},
      {"s_dcache_wb", nothing},
      {"s_sethalt", nothing},
      {"buffer_wbl2", nothing},
      {"buffer_inv", nothing},
      {"buffer_wbinvl1", nothing},
      {"buffer_wbinvl1_vol", nothing},
      {"buffer_invl2", nothing},
      {"s_waitcnt", waitcnt},
      {"s_barrier", [](Wave& w, const Instruction&) { w.at_barrier = true; }},
      {"s_endpgm", [](Wave& w, const Instruction&) { w.ended = true; }},
      {"s_branch", branch},
      {"s_cbranch_scc0", branch_if([](Wave& w) { return !w.scc; })},
      {"s_cbranch_scc1", branch_if([](Wave& w) { return w.scc; })},
      {"s_cbranch_vccz", branch_if([](Wave& w) { return vcc_zero(w); })},
      {"s_cbranch_vccnz", branch_if([](Wave& w) { return !vcc_zero(w); })},
      {"s_cbranch_execz", branch_if([](Wave& w) { return w.exec() == 0; })},
      {"s_cbranch_execnz", branch_if([](Wave& w) { return w.exec() != 0; })},
      {"s_load_dword", scalar_load<1>},
      {"s_load_dwordx2", scalar_load<2>},
      {"s_load_dwordx4", scalar_load<4>},
      {"s_load_dwordx8", scalar_load<8>},
      {"s_load_dwordx16", scalar_load<16>},
  };
}

}  // namespace detgemm::gcn
