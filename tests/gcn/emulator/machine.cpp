// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/machine.hpp"

namespace detgemm::gcn {

namespace {
std::string name(int r) {
  if (r < kAgpr) return "v" + std::to_string(r);
  if (r < kRows) return "a" + std::to_string(r - kAgpr);
  r -= kRows;
  if (r == kVcc || r == kVcc + 1) return "vcc";
  if (r == kExec || r == kExec + 1) return "exec";
  return r == kM0 ? "m0" : "s" + std::to_string(r);
}
}  // namespace

void refuse_unwritten(int r, u64 lanes) {
  throw Fault("reads " + name(r) + ", which was never written",
              lanes == 0 ? -1 : std::countr_zero(lanes));
}

void Wave::reset() {
  written.fill(0);
  pending.fill(0);
  s_known.fill(0);
  issued = done = {0, 0};
  last_smem = 0;
  scc = ended = at_barrier = false;
  pc = 0;
  set(kExec, 2, 0);
  instructions = mfmas = 0;
}

void Wave::spread_exec() {
  exec_of_row = exec();
  for (int l = 0; l < kLanes; ++l) exec_row[l] = (exec_of_row >> l & 1) != 0 ? ~u32{0} : 0;
}

void Wave::wait(Counter c, u32 left) {
  // While scalar loads are in flight, only a wait for all of them says which ones have arrived.
  if (c == kLgkm && left != 0 && last_smem > done[kLgkm]) return;
  if (issued[c] > left && issued[c] - left > done[c]) done[c] = issued[c] - left;
}

void Wave::check_arrived(int r) {
  if (outstanding(pending[r])) {
    throw Fault(name(r) + " is used before s_waitcnt " +
                (pending[r] % 2 == kVm ? "vmcnt" : "lgkmcnt") + " guarantees its load");
  }
  pending[r] = 0;
}

}  // namespace detgemm::gcn
