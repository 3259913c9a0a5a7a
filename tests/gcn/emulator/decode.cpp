// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "tests/gcn/emulator/instruction.hpp"

namespace detgemm::gcn {

namespace {

using Table = std::unordered_map<std::string, Opcode>;

std::vector<Opcode> opcodes(const std::string& architecture) {
  std::vector<Opcode> all;
  for (const auto& part :
       {vector_integer_opcodes(), vector_float_opcodes(), vector_compare_opcodes(), lane_opcodes(),
        scalar_opcodes(), control_opcodes(), memory_opcodes(), lds_opcodes(),
        mfma_opcodes(architecture)}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::string base_name(std::string name) {
  for (const char* suffix : {"_e32", "_e64", "_sdwa", "_dpp", "_e64"}) {
    const std::size_t length = std::strlen(suffix);
    if (name.size() > length && name.compare(name.size() - length, length, suffix) == 0) {
      name.resize(name.size() - length);
    }
  }
  return name;
}

bool is_number(const std::string& s) {
  const std::size_t at = s[0] == '-' ? 1 : 0;
  return s.size() > at && s[at] >= '0' && s[at] <= '9';
}

void set_constant(Operand& o, const std::string& s) {
  o.kind = Operand::constant;
  o.decimal = s.find('.') != std::string::npos && s.find("0x") == std::string::npos;
  if (o.decimal) {
    o.value = std::bit_cast<u32>(std::strtof(s.c_str(), nullptr));
  } else {
    const bool negative = s[0] == '-';
    o.value = std::strtoull(s.c_str() + (negative ? 1 : 0), nullptr, 0);
    if (negative) o.value = 0 - o.value;
    const i64 value = static_cast<i64>(o.value);
    o.literal = value < -16 || value > 64;
  }
  auto spread = std::make_shared<Spread>();
  for (int l = 0; l < kLanes; ++l) {
    spread->row[0][l] = static_cast<u32>(o.value);
    spread->row[1][l] = static_cast<u32>(o.value >> 32);
  }
  o.spread = spread;
}

/// v7, v[0:3], a[0:15], s4, s[2:3]: file, first and count.
bool set_register(Operand& o, const std::string& s) {
  const char file = s[0];
  if (s.size() < 2 || std::strchr("vas", file) == nullptr) return false;
  unsigned first = 0;
  unsigned last = 0;
  if (s[1] == '[') {
    if (std::sscanf(s.c_str() + 1, "[%u:%u]", &first, &last) != 2) return false;
  } else {
    if (s.find_first_not_of("0123456789", 1) != std::string::npos) return false;
    first = last = static_cast<unsigned>(std::stoul(s.substr(1)));
  }
  if (last < first || last >= (file == 's' ? 104U : 256U)) return false;
  o.kind = file == 's' ? Operand::scalar : Operand::vector;
  o.reg = static_cast<u16>(first + (file == 'a' ? kAgpr : 0));
  o.count = static_cast<u8>(last - first + 1);
  return true;
}

bool set_special(Operand& o, const std::string& s) {
  static const std::unordered_map<std::string, std::pair<int, int>> names = {
      {"vcc", {kVcc, 2}},   {"vcc_lo", {kVcc, 1}},   {"vcc_hi", {kVcc + 1, 1}},  {"m0", {kM0, 1}},
      {"exec", {kExec, 2}}, {"exec_lo", {kExec, 1}}, {"exec_hi", {kExec + 1, 1}}};
  const auto found = names.find(s);
  if (found == names.end()) return false;
  o.kind = Operand::scalar;
  o.reg = static_cast<u16>(found->second.first);
  o.count = static_cast<u8>(found->second.second);
  return true;
}

Operand operand(std::string s, const KernelText& text) {
  Operand o;
  if (s[0] == '-' && !is_number(s)) o.negate = true, s.erase(0, 1);
  if (s.size() > 2 && s[0] == '|' && s.back() == '|')
    o.absolute = true, s = s.substr(1, s.size() - 2);
  if (s.rfind("sext(", 0) == 0) o.extend = true, s = s.substr(5, s.size() - 6);
  if (is_number(s)) {
    set_constant(o, s);
  } else if (s == "off") {
    o.kind = Operand::off;
  } else if (const auto label = text.labels.find(s); label != text.labels.end()) {
    o.kind = Operand::label;
    o.value = label->second;
  } else if (!set_register(o, s) && !set_special(o, s)) {
    throw Fault("unknown operand " + s);
  }
  return o;
}

/// `vmcnt(3) lgkmcnt(0)` to offsets [0] and [1]; a counter not named is not waited for.
void set_waitcnt(Instruction& in) {
  in.offset[0] = in.offset[1] = ~u32{0};
  in.operands.clear();
  for (const std::string& s : in.statement->operands) {
    unsigned n = 0;
    if (std::sscanf(s.c_str(), "vmcnt(%u)", &n) == 1) {
      in.offset[0] = n;
    } else if (std::sscanf(s.c_str(), "lgkmcnt(%u)", &n) == 1) {
      in.offset[1] = n;
    } else if (s.rfind("expcnt(", 0) != 0 && s != "&") {
      throw Fault("unknown operand " + s);
    }
  }
}

/// op_sel, op_sel_hi, neg_lo and neg_hi of a packed operation, at bits 2 * operand + half; signs
/// eight bits higher.
void set_packed(Instruction& in, const std::string& name) {
  const bool packed = name.rfind("v_pk_", 0) == 0;
  if (packed) in.flags = 0b101010;
  const struct {
    const char* name;
    int first;
  } lists[] = {{"op_sel", 0}, {"op_sel_hi", 1}, {"neg_lo", 8}, {"neg_hi", 9}};
  for (const auto& list : lists) {
    const auto found = in.statement->modifiers.find(list.name);
    if (found == in.statement->modifiers.end()) continue;
    if (!packed) throw Fault(std::string("modifier ") + list.name + " is not known here");
    for (int i = 0; 1 + 2 * i < static_cast<int>(found->second.size()) && i < 3; ++i) {
      const u32 bit = 1U << (list.first + 2 * i);
      in.flags = found->second[static_cast<std::size_t>(1 + 2 * i)] == '1' ? in.flags | bit
                                                                           : in.flags & ~bit;
    }
  }
}

Instruction decode(const Statement& s, const KernelText& text, const Table& table) {
  Instruction in;
  in.statement = &s;
  const std::string name = base_name(s.mnemonic);
  const auto found = table.find(name);
  if (found == table.end()) throw Fault("unknown opcode");
  in.operation = found->second.operation;
  if (name == "s_waitcnt") {
    set_waitcnt(in);
    return in;
  }
  for (const std::string& o : s.operands) {
    if (name[0] != 's' || name.rfind("s_setprio", 0) != 0) in.operands.push_back(operand(o, text));
  }
  if (found->second.hidden == Opcode::accumulates) in.operands.push_back(in.operands.at(0));
  if (found->second.hidden == Opcode::reads_vcc) in.operands.push_back(operand("vcc", text));
  const char* const offsets[] = {"offset", "offset0", "offset1"};
  for (int i = 0; i < 3; ++i) {
    const auto offset = s.modifiers.find(offsets[i]);
    if (offset != s.modifiers.end() && offset->second.rfind("swizzle(", 0) != 0) {
      in.offset[i == 2 ? 1 : 0] = static_cast<u32>(std::stol(offset->second, nullptr, 0));
    }
  }
  in.to_lds = in.has("lds");
  if (in.has("idxen")) throw Fault("indexed buffers are not modelled");
  for (const char* refused : {"mul", "div", "cbsz", "abid", "blgp"}) {
    if (in.has(refused)) throw Fault(std::string("modifier ") + refused + " is not known");
  }
  set_packed(in, name);
  if (name[0] == 'v' && name.rfind("v_mfma", 0) != 0) {
    in.modified = make_modified(in);
    if (in.modified != nullptr) in.operation = run_modified;
  }
  return in;
}

}  // namespace

std::vector<std::string> opcode_names(const std::string& architecture) {
  std::vector<std::string> names;
  for (const Opcode& o : opcodes(architecture)) names.emplace_back(o.name);
  return names;
}

Kernel::Kernel(KernelText from) : text(std::move(from)) {
  Table table;
  for (const Opcode& o : opcodes(text.architecture)) table.emplace(o.name, o);
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
}

}  // namespace detgemm::gcn
