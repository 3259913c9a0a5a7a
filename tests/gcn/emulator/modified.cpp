// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Operand and result modifiers, done around the plain instruction: a changed source is written to
// a scratch row first, and the instruction then reads that row.

#include <algorithm>

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

/// A part of a word: SDWA's BYTE_n, WORD_n, DWORD.
struct Part {
  int shift = 0;
  int bits = 32;
};

Part part_of(const std::string& name) {
  if (name == "DWORD") return {};
  const int n = name.back() - '0';
  return name.rfind("BYTE_", 0) == 0 ? Part{8 * n, 8} : Part{16 * n, 16};
}

/// The lane a DPP control reads for lane l, or -1 outside the row or wave.
int dpp_source(const std::string& control, const std::string& value, int l) {
  const int row = l & ~15;
  const int n = value.empty() || value[0] == '[' ? 0 : std::stoi(value);
  const auto in_row = [row](int lane) { return lane >= row && lane < row + 16 ? lane : -1; };
  if (control == "quad_perm") return (l & ~3) + (value[1 + 2 * (l & 3)] - '0');
  if (control == "row_shl") return in_row(l + n);
  if (control == "row_shr") return in_row(l - n);
  if (control == "row_ror") return row + ((l - n) & 15);
  if (control == "row_mirror") return row + 15 - (l & 15);
  if (control == "row_half_mirror") return (l & ~7) + 7 - (l & 7);
  if (control == "row_newbcast") return row + n;
  if (control == "row_bcast") return l >= n + 1 ? ((l - n - 1) / (n + 1)) * (n + 1) + n : -1;
  if (control == "wave_shl") return l + 1 < kLanes ? l + 1 : -1;
  if (control == "wave_shr") return l - 1;
  throw Fault("unknown lane control " + control);
}

const char* const kDppControls[] = {"quad_perm",    "row_shl",   "row_shr",  "row_ror",
                                    "row_newbcast", "row_bcast", "wave_shl", "wave_shr"};

bool ends_with(const std::string& s, const char* end) {
  const std::string e = end;
  return s.size() >= e.size() && s.compare(s.size() - e.size(), e.size(), e) == 0;
}

}  // namespace

struct Modified {
  struct Change {
    int slot;
    Part part;
    bool extend, negate, absolute;
    u32 sign;  // bit of the operand's type
  };
  Instruction plain;
  std::vector<Change> changes;
  bool dpp = false, zero_invalid = false;
  int dpp_slot = 1;
  int lane_source[kLanes];
  u64 dpp_lanes = ~u64{0};  // by row and bank mask
  Part result;
  enum { pad, preserve, extend } unused = pad;
  bool clamp = false;
};

std::shared_ptr<const Modified> make_modified(Instruction& in) {
  auto m = std::make_shared<Modified>();
  const auto& mods = in.statement->modifiers;
  const std::string& name = in.statement->mnemonic;
  const auto get = [&](const char* key) {
    const auto found = mods.find(key);
    return found == mods.end() ? std::string() : found->second;
  };
  const int first = name.find("_co_") != std::string::npos ? 2 : 1;
  const bool half =
      name.find("f16") != std::string::npos && name.find("cvt_f16") == std::string::npos;
  for (int i = 0; i < static_cast<int>(in.operands.size()); ++i) {
    Operand& o = in.operands[static_cast<std::size_t>(i)];
    Modified::Change c{i, {}, o.extend, o.negate, o.absolute, half ? 0x8000U : 0x80000000U};
    const std::string select = i == first ? get("src0_sel") : i == first + 1 ? get("src1_sel") : "";
    if (!select.empty()) c.part = part_of(select);
    if (c.negate || c.absolute || c.part.bits != 32) m->changes.push_back(c);
    if ((c.negate || c.absolute) && ends_with(name, "f64")) throw Fault("signs of f64 operands");
  }
  for (const char* control : kDppControls) {
    if (mods.count(control) == 0) continue;
    m->dpp = true;
    for (int l = 0; l < kLanes; ++l) m->lane_source[l] = dpp_source(control, get(control), l);
  }
  for (const char* control : {"row_mirror", "row_half_mirror"}) {
    if (std::find(in.statement->operands.begin(), in.statement->operands.end(), control) ==
        in.statement->operands.end()) {
      continue;
    }
    m->dpp = true;
    in.operands.pop_back();
    for (int l = 0; l < kLanes; ++l) m->lane_source[l] = dpp_source(control, "", l);
  }
  if (m->dpp) {
    m->dpp_slot = first;
    m->zero_invalid = mods.count("bound_ctrl") != 0;
    const u32 rows = mods.count("row_mask") ? std::stoul(get("row_mask"), nullptr, 0) : 15;
    const u32 banks = mods.count("bank_mask") ? std::stoul(get("bank_mask"), nullptr, 0) : 15;
    for (int l = 0; l < kLanes; ++l) {
      if ((rows >> (l / 16) & 1) == 0 || (banks >> (l % 16 / 4) & 1) == 0) {
        m->dpp_lanes &= ~(u64{1} << l);
      }
    }
    if (std::none_of(m->changes.begin(), m->changes.end(),
                     [&](const auto& c) { return c.slot == first; })) {
      m->changes.push_back({first, {}, false, false, false, 0});
    }
  }
  if (!get("dst_sel").empty()) m->result = part_of(get("dst_sel"));
  if (get("dst_unused") == "UNUSED_PRESERVE") m->unused = Modified::preserve;
  if (get("dst_unused") == "UNUSED_SEXT") m->unused = Modified::extend;
  m->clamp = mods.count("clamp") != 0;
  if (m->clamp && !ends_with(name.substr(0, name.rfind("_e")), "f32")) {
    throw Fault("clamp is known for fp32 results only");
  }
  if (m->changes.empty() && !m->clamp && m->result.bits == 32) return nullptr;
  if (m->changes.size() > 3) throw Fault("too many modified operands");
  m->plain = in;
  for (std::size_t i = 0; i < m->changes.size(); ++i) {
    Operand& o = m->plain.operands[static_cast<std::size_t>(m->changes[i].slot)];
    if (o.count != 1) throw Fault("modifiers of an operand of several words");
    o = Operand{};
    o.kind = Operand::vector;
    o.reg = static_cast<u16>(kScratch + i);
  }
  if (m->result.bits != 32) {
    m->plain.operands[0].reg = kScratch + 3;
    if (in[0].kind != Operand::vector) throw Fault("dst_sel of a mask");
  }
  return m;
}

void run_modified(Wave& w, const Instruction& in) {
  const Modified& m = *in.modified;
  const u64 exec = w.exec();
  u64 lanes = exec;
  for (std::size_t i = 0; i < m.changes.size(); ++i) {
    const auto& c = m.changes[i];
    const int row = kScratch + static_cast<int>(i);
    u64 valid = ~u64{0};
    Temp temp;
    const Source s = fetch(w, in[c.slot], 1, temp, valid);
    u32* out = w.v[row];
    for (int l = 0; l < kLanes; ++l) {
      u32 x = s.low[l];
      if (c.part.bits != 32) {
        x = x >> c.part.shift & ((1U << c.part.bits) - 1);
        const u32 top = 1U << (c.part.bits - 1);
        if (c.extend) x = (x ^ top) - top;
      }
      if (c.absolute) x &= ~c.sign;
      if (c.negate) x ^= c.sign;
      out[l] = x;
    }
    if (m.dpp && c.slot == m.dpp_slot) {
      u32 moved[kLanes];
      u64 moved_valid = 0;
      lanes &= m.dpp_lanes;
      for (int l = 0; l < kLanes; ++l) {
        const int from = m.lane_source[l];
        const bool reachable = from >= 0 && (exec >> from & 1) != 0;
        moved[l] = reachable ? out[from] : 0;
        moved_valid |= (reachable ? valid >> from & 1 : u64{1}) << l;
        if (!reachable && !m.zero_invalid) lanes &= ~(u64{1} << l);
      }
      std::copy(moved, moved + kLanes, out);
      valid = moved_valid;
    }
    w.written[row] = valid;
    w.pending[row] = 0;
  }
  w.set_scalar64(kExec, lanes);
  m.plain.operation(w, m.plain);
  if (m.result.bits != 32) {
    const u32 mask = ((1U << m.result.bits) - 1) << m.result.shift;
    const u32* from = w.v[kScratch + 3];
    const bool keep = m.unused == Modified::preserve;
    w.define(in[0].reg, 1, w.written[kScratch + 3]);
    for (int l = 0; l < kLanes; ++l) {
      if ((lanes >> l & 1) == 0) continue;
      u32& out = w.v[in[0].reg][l];
      const u32 placed = from[l] << m.result.shift & mask;
      const bool ones =
          m.unused == Modified::extend && (placed >> (m.result.shift + m.result.bits - 1) & 1) != 0;
      out = placed | (keep ? out & ~mask : ones ? ~mask & ~((1U << m.result.shift) - 1) : 0);
    }
  }
  if (m.clamp) {
    float* out = reinterpret_cast<float*>(w.v[in[0].reg]);
    for (int l = 0; l < kLanes; ++l) {
      if ((lanes >> l & 1) != 0) out[l] = out[l] > 0 ? std::min(out[l], 1.0F) : 0.0F;
    }
  }
  // v_cmpx narrows exec itself; everything else leaves it as it was.
  if (w.exec() == lanes) w.set_scalar64(kExec, exec);
}

}  // namespace detgemm::gcn
