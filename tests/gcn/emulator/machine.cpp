// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/machine.hpp"

namespace detgemm::gcn {

namespace {
std::string register_name(int r) {
  if (r >= kScratch) return "an operand";
  return r >= kAgpr ? "a" + std::to_string(r - kAgpr) : "v" + std::to_string(r);
}
std::string scalar_name(int r) {
  if (r == kVcc || r == kVcc + 1) return "vcc";
  if (r == kExec || r == kExec + 1) return "exec";
  return r == kM0 ? "m0" : "s" + std::to_string(r);
}
const char* const kCounterNames[] = {"vmcnt", "lgkmcnt"};
}  // namespace

void refuse_scalar(int r) { throw Fault("reads " + scalar_name(r) + ", which was never written"); }

void Wave::reset() {
  written.fill(0);
  pending.fill(0);
  s_pending.fill(0);
  s_known.fill(0);
  issued = done = {0, 0};
  last_smem = 0;
  scc = ended = at_barrier = false;
  pc = 0;
  set_scalar64(kExec, 0);
  instructions = mfmas = 0;
}

void Wave::spread_exec() {
  exec_of_row = exec();
  for (int l = 0; l < kLanes; ++l) exec_row[l] = (exec_of_row >> l & 1) != 0 ? ~u32{0} : 0;
}

void Wave::wait(Counter c, u32 left) {
  // While a scalar load is on its way, only waiting for nothing left says which ones arrived.
  if (c == kLgkm && left != 0 && last_smem > done[kLgkm]) return;
  if (issued[c] > left && issued[c] - left > done[c]) done[c] = issued[c] - left;
}

void Wave::settle(int r) {
  if (outstanding(pending[r])) {
    throw Fault(register_name(r) + " is used before s_waitcnt " + kCounterNames[pending[r] & 1] +
                " guarantees its load");
  }
  pending[r] = 0;
}

void Wave::settle_scalar(int r) {
  if (outstanding(s_pending[r])) {
    throw Fault(scalar_name(r) + " is used before s_waitcnt lgkmcnt guarantees its load");
  }
  s_pending[r] = 0;
}

void Wave::refuse_unwritten(int r, u64 lanes) const {
  throw Fault("reads " + register_name(r) + ", which was never written", std::countr_zero(lanes));
}

}  // namespace detgemm::gcn
