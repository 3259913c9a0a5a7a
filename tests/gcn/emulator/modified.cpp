// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Operand and result modifiers (neg, abs, SDWA, DPP, clamp), done around the plain instruction: a
// changed source is written to a scratch row first, and the instruction then reads that row.

#include <algorithm>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

struct Modified {
  struct Change {
    int slot;   // operand
    Part part;  // of its word
    u32 sign;   // bit of the operand's type
    Operand o;  // with its marks
  };
  Instruction plain;
  std::vector<Change> changes;
  Part result;
  bool preserve = false, clamp = false;
  // DPP: the lane each lane reads, -1 for none; which lanes may be written at all.
  std::vector<int> lane_source;
  int dpp_slot = 0;
  bool zero_invalid = false;
  u64 dpp_lanes = ~u64{0};
};

namespace {

/// SDWA's BYTE_n, WORD_n and DWORD.
Part part_of(const std::string& name) {
  const int n = name.empty() || name == "DWORD" ? -1 : name.back() - '0';
  if (n < 0) return {};
  return name[0] == 'B' ? Part{8 * n, 8} : Part{16 * n, 16};
}

/// The lane that lane l reads under a DPP control, -1 outside its row of 16.
int dpp_source(const std::string& control, const std::string& value, int l) {
  const int row = l & ~15;
  const int n = value.empty() || value[0] == '[' ? 0 : std::stoi(value);
  const auto in_row = [row](int lane) { return lane >= row && lane < row + 16 ? lane : -1; };
  if (control == "quad_perm") return (l & ~3) + (value[1 + 2 * static_cast<unsigned>(l & 3)] - '0');
  if (control == "row_shl") return in_row(l + n);
  if (control == "row_shr") return in_row(l - n);
  if (control == "row_ror") return row + ((l - n) & 15);
  if (control == "row_mirror") return row + 15 - (l & 15);
  if (control == "row_half_mirror") return (l & ~7) + 7 - (l & 7);
  // row_bcast:15 and 31: the last lane of the 16 or 32 before goes to all of the next.
  return l > n ? l / (n + 1) * (n + 1) - 1 : -1;
}

void set_dpp(Modified& m, const Instruction& in, int first) {
  const auto& mods = in.statement->modifiers;
  for (const char* control : {"quad_perm", "row_shl", "row_shr", "row_ror", "row_bcast",
                              "row_mirror", "row_half_mirror"}) {
    const auto found = mods.find(control);
    if (found == mods.end()) continue;
    for (int l = 0; l < kLanes; ++l) m.lane_source.push_back(dpp_source(control, found->second, l));
  }
  if (m.lane_source.empty()) return;
  m.dpp_slot = first;
  m.zero_invalid = in.has("bound_ctrl");
  const auto mask = [&](const char* name) {
    return mods.count(name) != 0 ? std::stoul(mods.at(name), nullptr, 0) : 15UL;
  };
  for (int l = 0; l < kLanes; ++l) {
    const bool written =
        (mask("row_mask") >> (l / 16) & 1) != 0 && (mask("bank_mask") >> (l % 16 / 4) & 1) != 0;
    if (!written) m.dpp_lanes &= ~(u64{1} << l);
  }
}

u32 changed(u32 x, const Modified::Change& c) {
  if (c.part.bits != 32) {
    x = x >> c.part.shift & ((1U << c.part.bits) - 1);
    const u32 top = 1U << (c.part.bits - 1);
    if (c.o.extend) x = (x ^ top) - top;
  }
  if (c.o.absolute) x &= ~c.sign;
  return c.o.negate ? x ^ c.sign : x;
}

/// Moves the DPP operand's lanes; returns the lanes the instruction may write.
u64 move_lanes(const Modified& m, u64 exec, u32* row, u64& valid) {
  u64 lanes = exec & m.dpp_lanes;
  u32 moved[kLanes];
  u64 moved_valid = 0;
  for (int l = 0; l < kLanes; ++l) {
    const int from = m.lane_source[static_cast<std::size_t>(l)];
    const bool reachable = from >= 0 && (exec >> from & 1) != 0;
    moved[l] = reachable ? row[from] : 0;
    moved_valid |= (reachable ? valid >> from & 1 : u64{1}) << l;
    if (!reachable && !m.zero_invalid) lanes &= ~(u64{1} << l);
  }
  std::copy(moved, moved + kLanes, row);
  valid = moved_valid;
  return lanes;
}

}  // namespace

std::shared_ptr<const Modified> make_modified(const Instruction& in) {
  auto m = std::make_shared<Modified>();
  const auto get = [&](const char* key) {
    const auto found = in.statement->modifiers.find(key);
    return found == in.statement->modifiers.end() ? std::string() : found->second;
  };
  const std::string& name = in.statement->mnemonic;
  const int first = name.find("_co_") != std::string::npos ? 2 : 1;
  set_dpp(*m, in, first);
  const bool half =
      name.find("f16") != std::string::npos && name.find("cvt_f16") == std::string::npos;
  for (int i = 0; i < static_cast<int>(in.operands.size()); ++i) {
    const Operand& o = in[i];
    const Part part = part_of(i == first ? get("src0_sel") : i == first + 1 ? get("src1_sel") : "");
    const bool moved = !m->lane_source.empty() && i == first;
    if (!o.negate && !o.absolute && part.bits == 32 && !moved) continue;
    if (o.count != 1 || name.find("f64") != std::string::npos) throw Fault("modifier of 64 bits");
    m->changes.push_back({i, part, half ? 0x8000U : 0x80000000U, o});
  }
  m->result = part_of(get("dst_sel"));
  m->preserve = get("dst_unused") == "UNUSED_PRESERVE";
  m->clamp = in.has("clamp");
  if (m->changes.empty() && !m->clamp && m->result.bits == 32) return nullptr;
  if (m->clamp && name.find("_f32") == std::string::npos) throw Fault("clamp of other than fp32");
  if (get("dst_unused") == "UNUSED_SEXT" || m->changes.size() > 3) throw Fault("unknown modifier");
  m->plain = in;
  for (std::size_t i = 0; i < m->changes.size(); ++i) {
    Operand& o = m->plain.operands[static_cast<std::size_t>(m->changes[i].slot)];
    o = Operand{};
    o.kind = Operand::vector;
    o.reg = static_cast<u16>(kScratch + i);
  }
  if (m->result.bits != 32) m->plain.operands[0].reg = kScratch + 3;
  return m;
}

void run_modified(Wave& w, const Instruction& in) {
  const Modified& m = *in.modified;
  const u64 exec = w.exec();
  u64 lanes = exec;
  for (std::size_t i = 0; i < m.changes.size(); ++i) {
    const Modified::Change& c = m.changes[i];
    u64 valid = ~u64{0};
    Temp temp;
    const Source s = fetch(w, in[c.slot], 1, temp, valid);
    u32* row = w.v[kScratch + i];
    for (int l = 0; l < kLanes; ++l) row[l] = changed(s.low[l], c);
    if (!m.lane_source.empty() && c.slot == m.dpp_slot) lanes = move_lanes(m, exec, row, valid);
    w.written[kScratch + i] = valid;
  }
  w.set_scalar64(kExec, lanes);
  m.plain.operation(w, m.plain);
  const bool narrowed = w.exec() != lanes;  // by v_cmpx
  if (m.result.bits != 32) {
    const u32 mask = ((1U << m.result.bits) - 1) << m.result.shift;
    const u32* old = w.v[in[0].reg];
    Temp result;
    for (int l = 0; l < kLanes; ++l) {
      result.row[0][l] =
          (w.v[kScratch + 3][l] << m.result.shift & mask) | (m.preserve ? old[l] & ~mask : 0);
    }
    write_lanes(w, in[0], 1, result, w.written[kScratch + 3]);
  }
  if (m.clamp) {
    Temp result;
    for (int l = 0; l < kLanes; ++l) {
      const float x = arithmetic::float_of(w.v[in[0].reg][l]);
      result.row[0][l] = arithmetic::bits_of(x > 0 ? std::min(x, 1.0F) : 0.0F);
    }
    write_lanes(w, in[0], 1, result, w.written[in[0].reg]);
  }
  if (!narrowed) w.set_scalar64(kExec, exec);
}

}  // namespace detgemm::gcn
