// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unordered_map>

#include "tests/gcn/emulator/instruction.hpp"

namespace detgemm::gcn {

namespace {

using Table = std::unordered_map<std::string, Opcode>;

Table opcodes(const std::string& architecture) {
  Table table;
  for (const auto& part : {vector_opcodes(), scalar_opcodes(), memory_opcodes(), lane_opcodes(),
                           mfma_opcodes(architecture), mfma_fp32_opcodes(architecture)}) {
    for (const Opcode& o : part) {
      if (!table.emplace(o.name, o).second) throw std::logic_error(o.name + std::string(" twice"));
    }
  }
  return table;
}

bool starts(const std::string& s, const char* with) { return s.rfind(with, 0) == 0; }
std::string modifier(const Statement& s, const char* name, const std::string& otherwise) {
  const auto found = s.modifiers.find(name);
  return found == s.modifiers.end() ? otherwise : found->second;
}

std::string base_name(std::string name) {
  for (const char* suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    const std::size_t at = name.size() - std::min(name.size(), std::strlen(suffix));
    if (name.compare(at, std::string::npos, suffix) == 0) name.resize(at);
  }
  return name;
}

bool is_number(const std::string& s) {
  const std::size_t at = s[0] == '-' ? 1 : 0;
  return s.size() > at && s[at] >= '0' && s[at] <= '9';
}

Operand constant(u64 value, bool sure) {
  Operand o;
  o.kind = Operand::constant;
  o.value = value;
  o.sure = sure;
  return o;
}

Operand constant(const std::string& s) {
  if (s.find('.') != std::string::npos)
    return constant(std::bit_cast<u32>(std::strtof(s.c_str(), nullptr)), false);
  const bool negative = s[0] == '-';
  const u64 magnitude = std::strtoull(s.c_str() + (negative ? 1 : 0), nullptr, 0);
  const u64 value = negative ? 0 - magnitude : magnitude;
  return constant(value, static_cast<i64>(value) <= 0x7fffffff);
}

/// v7, v[0:3], a[0:15], s4, s[2:3], vcc: file, first and count.
bool set_register(Operand& o, const std::string& s) {
  static const std::unordered_map<std::string, std::pair<int, int>> named = {
      {"vcc", {kVcc, 2}},   {"vcc_lo", {kVcc, 1}},   {"vcc_hi", {kVcc + 1, 1}},  {"m0", {kM0, 1}},
      {"exec", {kExec, 2}}, {"exec_lo", {kExec, 1}}, {"exec_hi", {kExec + 1, 1}}};
  if (const auto found = named.find(s); found != named.end()) {
    o.kind = Operand::scalar;
    o.reg = static_cast<u16>(found->second.first);
    o.count = static_cast<u8>(found->second.second);
    return true;
  }
  const char file = s[0];
  unsigned first = 0;
  unsigned last = 0;
  int end = 0;
  if (std::sscanf(s.c_str() + 1, "%u%n", &first, &end) == 1) {
    last = first;
  } else if (std::sscanf(s.c_str() + 1, "[%u:%u]%n", &first, &last, &end) != 2) {
    return false;
  }
  if (std::strchr("vas", file) == nullptr || s.size() != 1U + static_cast<unsigned>(end))
    return false;
  if (last < first || last >= (file == 's' ? 104U : 256U)) return false;
  o.kind = file == 's' ? Operand::scalar : Operand::vector;
  o.reg = static_cast<u16>(first + (file == 'a' ? kAgpr : 0));
  o.count = static_cast<u8>(last - first + 1);
  return true;
}

/// An operand with its signs; `sign` is the bit of its type, 0 where there is none.
Operand operand(std::string s, const KernelText& text, u32 sign) {
  const bool negate = s[0] == '-' && !is_number(s);
  if (negate) s.erase(0, 1);
  const bool absolute = s.size() > 2 && s[0] == '|' && s.back() == '|';
  if (absolute) s = s.substr(1, s.size() - 2);
  Operand o;
  if (is_number(s)) {
    o = constant(s);
  } else if (s == "off") {
    o.kind = Operand::off;
  } else if (const auto label = text.labels.find(s); label != text.labels.end()) {
    o.kind = Operand::label;
    o.value = label->second;
  } else if (!set_register(o, s)) {
    throw Fault("unknown operand " + s);
  }
  if ((negate || absolute) && (o.count != 1 || sign == 0)) throw Fault("a sign is not known here");
  o.keep = absolute ? ~sign : ~u32{0};
  o.flip = negate ? sign : 0;
  return o;
}

/// One word of an operand that has two.
Operand word(Operand o, bool high) {
  const bool there = !high || (o.kind == Operand::constant ? o.sure : o.count > 1);
  if (!there) throw Fault("an operand of one word, or of words that are not sure, as a pair");
  o.reg = static_cast<u16>(o.reg + (high ? 1 : 0));
  o.value >>= high ? 32 : 0;
  o.count = 1;
  return o;
}

/// The operands of an instruction on pairs: op_sel and op_sel_hi say which word of each the low and
/// the high result use, neg_lo and neg_hi with which sign.
std::vector<Operand> paired(const Statement& s, const std::vector<Operand>& o, Opcode::Form form) {
  std::vector<Operand> out = {o.at(0)};
  const auto bit = [&](const char* list, std::size_t i, bool otherwise) {
    return modifier(s, list, otherwise ? "[1,1,1]" : "[0,0,0]").at(2 * i - 1) == '1';
  };
  const auto take = [&](std::size_t i, bool high) {
    if (high && o.at(i).kind == Operand::constant)
      throw Fault("the high word of a constant in a packed operation");
    out.push_back(word(o.at(i), high));
  };
  if (form == Opcode::moves_pair) return {o.at(0), word(o.at(1), false), word(o.at(1), true)};
  if (form == Opcode::moves_words) {
    for (const std::size_t i : {1, 2}) take(i, bit("op_sel", i, false));
    return out;
  }
  for (const bool high : {false, true}) {
    for (std::size_t i = 1; i < o.size(); ++i) {
      take(i, bit(high ? "op_sel_hi" : "op_sel", i, high));
      if (bit(high ? "neg_hi" : "neg_lo", i, false)) out.back().flip = 0x80000000U;
    }
  }
  return out;
}

bool is_dpp(const Statement& s) {
  return s.mnemonic.size() > 4 && s.mnemonic.compare(s.mnemonic.size() - 4, 4, "_dpp") == 0;
}

/// Which lane each lane reads: in quads, in rows of 16, or the last lane of rows before.
int source_lane(const std::string& name, const std::string& value, int l) {
  const int n = name == "quad_perm" ? 0 : std::stoi(value);
  const int in_row = l & 15;
  if (name == "quad_perm")
    return (l & ~3) + (value.at(static_cast<std::size_t>(2 * (l & 3) + 1)) - '0');
  if (name == "row_shl") return in_row + n < 16 ? l + n : -1;
  if (name == "row_shr") return in_row >= n ? l - n : -1;
  if (name == "row_ror") return (l & ~15) + ((in_row - n) & 15);
  if (name == "row_bcast" && n == 15) return l >= 16 ? (l & ~15) - 1 : -1;
  if (name == "row_bcast" && n == 31) return l >= 32 ? 31 : -1;
  throw Fault("modifier " + name + ":" + value + " is not known here");
}

std::shared_ptr<const Dpp> exchange(const Statement& s, Operation operation) {
  Dpp dpp;
  dpp.from.fill(-2);
  dpp.operation = operation;
  u64 rows = 15;
  u64 banks = 15;
  for (const auto& [name, value] : s.modifiers) {
    if (name == "row_mask") {
      rows = std::stoul(value, nullptr, 0);
    } else if (name == "bank_mask") {
      banks = std::stoul(value, nullptr, 0);
    } else if (name == "bound_ctrl") {
      dpp.zero = true;
    } else {
      for (int l = 0; l < kLanes; ++l)
        dpp.from[static_cast<std::size_t>(l)] = source_lane(name, value, l);
    }
  }
  if (dpp.from[63] == -2) throw Fault("a DPP without lanes");
  for (int l = 0; l < kLanes; ++l) dpp.lanes |= (rows >> (l / 16) & banks >> (l / 4 % 4) & 1) << l;
  return std::make_shared<const Dpp>(dpp);
}

/// ds_swizzle's offset: bits of a lane's number in its 32 that are kept, set and turned.
u32 offset_of(const std::string& text) {
  u32 swap = 0;
  if (std::sscanf(text.c_str(), "swizzle(SWAP,%u)", &swap) == 1) return 31 | swap << 10;
  return static_cast<u32>(std::stol(text, nullptr, 0));
}

/// A result that goes to the upper half of its register, above zeros: an opcode of its own.
bool upper_half(const Statement& s) {
  return base_name(s.mnemonic) == "v_and_b32" && modifier(s, "dst_sel", "") == "WORD_1" &&
         modifier(s, "dst_unused", "") == "UNUSED_PAD";
}

/// Refuses a modifier that nothing below reads. Modifiers about caching have no meaning here.
void check_modifiers(const Statement& s, const Opcode& opcode) {
  static const std::set<std::string> known = {"offset",   "offset0",  "offset1", "nt",
                                              "glc",      "slc",      "sc0",     "sc1",
                                              "src0_sel", "src1_sel", "dst_sel", "dst_unused"};
  static const std::set<std::string> of_pairs = {"op_sel", "op_sel_hi", "neg_lo", "neg_hi"};
  const bool exchanges = is_dpp(s);
  const bool buffer = starts(s.mnemonic, "buffer_");
  if (buffer != (s.modifiers.count("offen") != 0)) throw Fault("a buffer without offen");
  for (const auto& [name, value] : s.modifiers) {
    if (exchanges || (buffer && name == "offen")) continue;
    const bool here = (opcode.form >= Opcode::pairs && of_pairs.count(name) != 0) ||
                      (name == "bitop3" && starts(s.mnemonic, "v_bitop3"));
    if ((known.count(name) == 0 && !here) ||
        (name == "dst_sel" && value != "DWORD" && !upper_half(s)))
      throw Fault("modifier " + name + " is not known here");
  }
}

/// `vmcnt(3) lgkmcnt(0)` to offsets [0] and [1]; a counter that is not named is not waited for.
void set_waitcnt(Instruction& in, const Statement& s) {
  in.offset[0] = in.offset[1] = ~u32{0};
  for (const std::string& o : s.operands) {
    if (std::sscanf(o.c_str(), "vmcnt(%u)", &in.offset[0]) != 1 &&
        std::sscanf(o.c_str(), "lgkmcnt(%u)", &in.offset[1]) != 1 && !starts(o, "expcnt(") &&
        o != "&") {
      throw Fault("unknown operand " + o);
    }
  }
}

/// s_addk_i32 s0, 5 is s_add_i32 s0, s0, 5 with a constant of 16 bits; others are alike.
std::string without_k(const Statement& s, const std::string& name) {
  const std::size_t at = name.find("k_");
  if (name[0] != 's' || at == std::string::npos || s.operands.size() != 2) return name;
  return name == "s_movk_i32" ? "s_mov_b32" : name.substr(0, at) + name.substr(at + 1);
}
void extend_k(const std::string& name, std::vector<Operand>& o) {
  const i64 k = static_cast<i16>(o[1].value);
  const bool is_signed = name.find("_i32") != std::string::npos;
  o[1] = constant(static_cast<u64>(is_signed ? k : k & 0xffff), true);
  if (name != "s_movk_i32" && !starts(name, "s_cmpk")) o.insert(o.begin(), o[0]);
}

Instruction decode(const Statement& s, const KernelText& text, const Table& table) {
  Instruction in;
  const std::string name = base_name(s.mnemonic);
  // Of clamped results compilers write one: a difference that stops at 0.
  const bool clamps = name == "v_sub_u32" && !s.operands.empty() && s.operands.back() == "clamp";
  const std::string full_name = clamps          ? name + " clamp"
                                : upper_half(s) ? name + " upper"
                                                : without_k(s, name);
  const auto found = table.find(full_name);
  if (found == table.end()) throw Fault("unknown opcode");
  const Opcode& opcode = found->second;
  in.operation = opcode.operation;
  check_modifiers(s, opcode);
  if (name == "s_waitcnt") {
    set_waitcnt(in, s);
    return in;
  }
  const bool half = name.find("f16") != std::string::npos && !starts(name, "v_cvt_f16") &&
                    !starts(name, "v_cvt_pk_");
  const bool sums = starts(name, "v_") && !starts(name, "v_mfma");
  const u32 sign = !sums ? 0 : half ? 0x8000 : 0x80000000;
  for (const std::string& o : s.operands) {
    if (clamps && o == "clamp") continue;
    if (half && o.find('.') != std::string::npos && is_number(o))
      throw Fault("a decimal constant of fp16 is not known here");
    in.operands.push_back(operand(o, text, sign));
  }
  if (full_name != name && name[0] == 's') extend_k(name, in.operands);
  for (const std::size_t i : {0, 1}) {
    const std::string part = modifier(s, i == 0 ? "src0_sel" : "src1_sel", "DWORD");
    if (part == "DWORD") continue;
    if (name.find("_co_") != std::string::npos) throw Fault("a part of an operand with carry");
    const int bits = part[0] == 'B' ? 8 : 16;  // BYTE_n, WORD_n
    Operand& o = in.operands.at(1 + i);
    o.shift = static_cast<u8>(bits * (part.back() - '0'));
    o.keep &= (1U << bits) - 1;
  }
  if (name == "v_bitop3_b32") in.operands.push_back(constant(modifier(s, "bitop3", "0")));
  if (opcode.form == Opcode::accumulates) in.operands.push_back(in.operands.at(0));
  if (opcode.form == Opcode::reads_vcc) in.operands.push_back(operand("vcc", text, 0));
  if (opcode.form >= Opcode::pairs) in.operands = paired(s, in.operands, opcode.form);
  const std::string offset = modifier(s, "offset", modifier(s, "offset0", "0"));
  in.offset[0] = offset_of(offset);
  in.offset[1] = static_cast<u32>(std::stol(modifier(s, "offset1", "0"), nullptr, 0));
  if (is_dpp(s)) {
    if (in[1].kind != Operand::vector || in[1].changed()) throw Fault("a DPP of no plain register");
    in.dpp = exchange(s, in.operation);
    in.operation = run_dpp;
    in.operands[1].reg = kExchanged;
    in.operands.push_back(operand(s.operands[1], text, 0));
  }
  return in;
}

}  // namespace

Kernel::Kernel(KernelText from) : text(std::move(from)) {
  const Table table = opcodes(text.architecture);
  if (text.descriptor("private_segment_fixed_size") != 0) {
    throw std::runtime_error("gcn: " + text.name + " needs scratch memory, which is not modelled");
  }
  code.reserve(text.code.size());
  for (const Statement& s : text.code) {
    try {
      code.push_back(decode(s, text, table));
    } catch (const std::exception& e) {
      throw std::runtime_error("gcn: " + text.name + " line " + std::to_string(s.line) + ": " +
                               s.text + ": " + e.what());
    }
  }
  if (text.descriptor("user_sgpr_kernarg_preload_length") == 0) return;
  // A chip starts 256 bytes behind the first instruction, which old firmware starts with: there
  // the arguments are loaded, and a branch goes to the place where both meet.
  const auto branch = std::find_if(text.code.begin(), text.code.end(),
                                   [](const Statement& s) { return s.mnemonic == "s_branch"; });
  if (branch == text.code.end()) throw std::runtime_error("gcn: " + text.name + " has no prologue");
  entry = text.labels.at(branch->operands.at(0));
}

}  // namespace detgemm::gcn
