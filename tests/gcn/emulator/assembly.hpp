// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace detgemm::gcn {

/// One instruction as written, with its modifiers apart: `v_add_u32_e32 v0, 4, v1`.
struct Statement {
  int line = 0;          ///< number in the text, from 1
  std::string text;      ///< without its comment
  std::string mnemonic;  ///< as written, with _e32, _e64, _sdwa or _dpp
  std::vector<std::string> operands;
  std::map<std::string, std::string> modifiers;  ///< `offset:16` is {offset, 16}, `nt` {nt, }
};

/// An argument of a kernel, from the metadata.
struct Argument {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::string kind;  ///< by_value, global_buffer, hidden_...
};

/// A kernel as the compiler wrote it.
struct KernelText {
  std::string name;
  std::string architecture;  ///< gfx942, gfx90a
  std::vector<Statement> code;
  std::map<std::string, std::uint32_t> labels;  ///< label to index in code
  std::map<std::string, std::uint32_t> amdhsa;  ///< the descriptor's .amdhsa_NAME VALUE
  std::vector<Argument> arguments;
  std::string_view body;  ///< its part of the text, to the end of its instructions
  int first_line = 0;     ///< of the body
  std::uint32_t descriptor(const std::string& name) const;  ///< 0 where there is none
};

/// All kernels of an assembly text as clang 19 prints it, without their instructions and labels,
/// which take nearly all of the time: read_code() adds those, as long as the text lives. Throws
/// std::runtime_error on text that is not of that form.
std::vector<KernelText> list_kernels(std::string_view text);
void read_code(KernelText& kernel);

/// All kernels with their instructions.
std::vector<KernelText> parse_assembly(std::string_view text);

}  // namespace detgemm::gcn
