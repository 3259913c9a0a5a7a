// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Contract text: what parses, to what, and what each refusal says.

#include <gtest/gtest.h>

#include <string>

#include "detgemm/contract.hpp"
#include "tests/support/finds.hpp"

namespace detgemm {
namespace {

struct Good {
  const char* typed;
  const char* text;
};
constexpr Good kGood[] = {
    {"hopper/bf16/tree:512->bf16", "hopper/bf16/tree:512->bf16"},
    {"hopper/bf16/tree:512 -> bf16", "hopper/bf16/tree:512->bf16"},
    {"hopper/bf16/tree:512   ->   fp32", "hopper/bf16/tree:512->fp32"},
    {"  hopper/bf16/chain->bf16  ", "hopper/bf16/chain->bf16"},
    {"hopper/bf16/chain", "hopper/bf16/chain->bf16"},
    {"hopper/fp16/chain", "hopper/fp16/chain->fp16"},
    {"hopper/e4m3/chain", "hopper/e4m3/chain->fp32"},
    {"hopper/tf32/fold:64", "hopper/tf32/fold:64->fp32"},
    {"hopper/e4m3/scaled:128->bf16", "hopper/e4m3/scaled:128->bf16"},
    {"snap/bf16/scaled:64", "snap/bf16/scaled:64->bf16"},
    {"ieee_fma/fp32/chain", "ieee_fma/fp32/chain->fp32"},
    {"ieee_fma/bf16/tree:1->fp16", "ieee_fma/bf16/tree:1->fp16"},
    {"ieee_fma/bf16/tree:2147483648->fp16", "ieee_fma/bf16/tree:2147483648->fp16"},
    {"ieee_fma/bf16/tree:007->fp16", "ieee_fma/bf16/tree:7->fp16"},
    {"hopper/bf16/chain->bf16@1", "hopper/bf16/chain->bf16"},
    {"hopper/bf16/chain @1", "hopper/bf16/chain->bf16"},
    {"cdna3/fp16/chain->fp32 @1", "cdna3/fp16/chain->fp32"},
};

TEST(ContractText, ParsesAndPrintsTheShortForm) {
  for (const Good& row : kGood) {
    SCOPED_TRACE(row.typed);
    const auto contract = Contract::parse(row.typed);
    ASSERT_TRUE(contract) << contract.status().message();
    EXPECT_EQ(contract->text(), row.text);
  }
}

TEST(ContractText, ARefusalShowsTextAsPlainCharacters) {
  const auto shown = [](const std::string& typed) {
    const std::string said = Contract::parse(typed).status().message();
    return said.substr(0, said.find(": "));
  };
  EXPECT_EQ(shown("a\x1f b~\x7f\x80\xff"), "contract is \"a? b~???\"");
  EXPECT_EQ(shown(std::string(80, 'x')), "contract is \"" + std::string(80, 'x') + "\"");
  EXPECT_EQ(shown(std::string(81, 'x')), "contract is \"" + std::string(80, 'x') + "...\"");
}

struct Bad {
  std::string typed;
  Errc code;
  const char* sentence;
};
const Bad kBad[] = {
    {"", Errc::invalid_argument, R"(contract is "": it must read ARITHMETIC/INPUT/REDUCTION)"},
    {" ", Errc::invalid_argument, R"(contract is " ": it must read)"},
    {"/", Errc::invalid_argument, R"(contract is "/": it must read)"},
    {"->", Errc::invalid_argument, R"(contract is "->": it must read)"},
    {"@1", Errc::invalid_argument, R"(contract is "@1": it must read)"},
    {"hopper/bf16", Errc::invalid_argument, R"(contract is "hopper/bf16": it must read)"},
    {"//", Errc::not_found, R"(contract arithmetic is "": it must be one of ieee_fma, hopper)"},
    {"volta/fp16/chain", Errc::not_found, R"(contract arithmetic is "volta": it must be one of)"},
    {"Hopper/bf16/chain", Errc::not_found, R"(contract arithmetic is "Hopper": it must be one of)"},
    {"hopper /bf16/chain", Errc::not_found,
     R"(contract arithmetic is "hopper ": it must be one of)"},
    {"\thopper/bf16/chain", Errc::not_found,
     R"(contract arithmetic is "\?hopper": it must be one of)"},
    {"h\xc3\xb6pper/bf16/chain", Errc::not_found,
     R"(contract arithmetic is "h\?\?pper": it must be one of)"},
    {"hopper//chain", Errc::not_found, R"(contract input is "": it must be one of bf16, fp16)"},
    {"hopper/int8/chain", Errc::not_found, R"(contract input is "int8": it must be one of bf16)"},
    {"hopper/fp32/chain", Errc::invalid_argument, R"(contract input is fp32: hopper is defined)"},
    {"cdna3/e4m3/chain", Errc::invalid_argument, R"(contract input is e4m3: cdna3 is defined)"},
    {"hopper/bf16/", Errc::invalid_argument, R"(contract reduction is "": it must be chain)"},
    {"hopper/bf16/tree", Errc::invalid_argument, R"(contract reduction is "tree": it must be)"},
    {"hopper/e4m3/scaled", Errc::invalid_argument, R"(contract reduction is "scaled": it must be)"},
    {"hopper/e4m3/scaled:48", Errc::invalid_argument, R"(contract leaf is 48: .* k_block 32)"},
    {"hopper/bf16/tree:", Errc::invalid_argument, R"(contract reduction is "tree:": it must be)"},
    {"hopper/bf16/tree:x", Errc::invalid_argument, R"(contract reduction is "tree:x": it must)"},
    {"hopper/bf16/tree:16.", Errc::invalid_argument, R"(contract reduction is "tree:16\.": it)"},
    {"hopper/bf16/tree:+16", Errc::invalid_argument, R"(contract reduction is "tree:\+16": it)"},
    {"hopper/bf16/tree: 16", Errc::invalid_argument, R"(contract reduction is "tree: 16": it)"},
    {"hopper/bf16/tree:0x10", Errc::invalid_argument, R"(contract reduction is "tree:0x10": it)"},
    {"hopper/bf16/tree:16:16", Errc::invalid_argument, R"(contract reduction is "tree:16:16")"},
    {"hopper/bf16/chain:16", Errc::invalid_argument, R"(contract reduction is "chain:16": it)"},
    {"hopper/bf16/chain:", Errc::invalid_argument, R"(contract reduction is "chain:": it must)"},
    {"hopper/bf16/chain/", Errc::invalid_argument, R"(contract reduction is "chain/": it must)"},
    {"hopper/bf16/tree:9223372036854775808", Errc::invalid_argument,
     R"(contract reduction is "tree:9223372036854775808": .* LEAF an integer up to 2\^31)"},
    {"hopper/bf16/tree:0", Errc::invalid_argument, R"(contract leaf is 0: it must be a multiple)"},
    {"hopper/bf16/tree:-16", Errc::invalid_argument, R"(contract leaf is -16: it must be a mult)"},
    {"hopper/bf16/fold:24", Errc::invalid_argument, R"(contract leaf is 24: .* k_block 16)"},
    {"hopper/bf16/fold:2147483664", Errc::invalid_argument, R"(contract leaf is 2147483664: .*)"},
    {"snap/bf16/chain", Errc::invalid_argument,
     R"(contract reduction is chain: snap/bf16 rounds operands to a grid per leaf, so it needs)"},
    {"snap/bf16/fold:96", Errc::invalid_argument, R"(contract leaf is 96: .* k_block 64)"},
    {"snap3/bf16/scaled:128", Errc::invalid_argument,
     R"(contract reduction is scaled: snap3/bf16 makes three sums of a leaf, so it needs)"},
    {"snap3/fp32/chain", Errc::invalid_argument,
     R"(contract reduction is chain: snap3/fp32 rounds operands to a grid per leaf, so it needs)"},
    {"snap3/fp32/fold:96", Errc::invalid_argument, R"(contract leaf is 96: .* k_block 64)"},
    {"snap3/tf32/fold:128", Errc::invalid_argument,
     R"(contract input is tf32: snap3 is defined for bf16, fp32)"},
    {"snap/fp16/fold:128", Errc::invalid_argument, R"(contract input is fp16: snap is defined)"},
    {"hopper/bf16/chain->", Errc::not_found, R"(contract output is "": it must be bf16, fp16 or)"},
    {"hopper/bf16/chain->int8", Errc::not_found,
     R"(^contract output is "int8": it must be bf16, fp16 or fp32$)"},
    {"hopper/bf16/chain->bf61", Errc::not_found,
     R"(contract output is "bf61": it must be bf16, fp16 or fp32; did you mean bf16\?$)"},
    {"hoper/bf16/chain", Errc::not_found,
     R"(contract arithmetic is "hoper": it must be one of .*snap3; did you mean hopper\?$)"},
    {"volta/bf16/chain", Errc::not_found,
     R"(contract arithmetic is "volta": it must be one of .*snap3$)"},
    {"hopper/bf61/chain", Errc::not_found,
     R"(contract input is "bf61": it must be one of .*e5m2; did you mean bf16\?$)"},
    {"hopper/bf16/chian", Errc::invalid_argument,
     R"(contract reduction is "chian": .* up to 2\^31; did you mean chain\?$)"},
    {"hopper/bf16/tre:512", Errc::invalid_argument,
     R"(contract reduction is "tre:512": .* up to 2\^31; did you mean tree\?$)"},
    {"hopper/bf16/tree:51x", Errc::invalid_argument, R"(reduction is "tree:51x": .* up to 2\^31$)"},
    {"hopper/bf16/chain->bf16->fp32", Errc::not_found, R"(contract output is "bf16->fp32": it)"},
    {"hopper/bf16/chain->tf32", Errc::invalid_argument, R"(contract output is tf32: it must be)"},
    {"hopper/bf16/chain->e4m3", Errc::invalid_argument, R"(contract output is e4m3: it must be)"},
    {"hopper/bf16/chain@", Errc::invalid_argument,
     R"(contract version is "": this library has version)"},
    {"hopper/bf16/chain@2", Errc::invalid_argument, R"(contract version is "2": this library)"},
    {"hopper/bf16/chain@1x", Errc::invalid_argument, R"(contract version is "1x": this library)"},
    {"hopper/bf16/chain@ 1", Errc::invalid_argument, R"(contract version is " 1": this library)"},
    {"hopper/bf16/chain@1@1", Errc::invalid_argument, R"(contract version is "1@1": this library)"},
    {"hopper/bf16/chain@1->bf16", Errc::invalid_argument, R"(contract version is "1->bf16": this)"},
    {std::string("hopper/bf16/chain\0", 18), Errc::invalid_argument,
     R"(contract reduction is "chain\?": it must be)"},
    {std::string(1 << 20, 'a'), Errc::invalid_argument, R"(contract is "a{80}\.\.\.": it must)"},
    {std::string(1 << 20, '/'), Errc::not_found, R"(contract arithmetic is "": it must be one of)"},
};

TEST(ContractText, RefusesWithASentence) {
  for (const Bad& row : kBad) {
    SCOPED_TRACE(row.typed.substr(0, 60));
    const auto contract = Contract::parse(row.typed);
    ASSERT_FALSE(contract);
    EXPECT_EQ(name(contract.status().code()), name(row.code));
    const std::string message = contract.status().message();
    EXPECT_TRUE(test::finds(message, row.sentence))
        << "said:   " << message << "\nwanted: " << row.sentence;
    EXPECT_LT(message.size(), 400U);
    for (char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << "not plain text: " << message;
  }
}

TEST(ContractText, EveryContractReadsBackFromItsText) {
  int contracts = 0;
  for (const Contract& base : base_contracts()) {
    for (DType output : {DType::bf16, DType::fp16, DType::fp32}) {
      for (const Reduction reduction : {Reduction{}, Reduction{ReductionKind::fold, base.k_block},
                                        Reduction{ReductionKind::tree, 8 * base.k_block},
                                        Reduction{ReductionKind::scaled, 4 * base.k_block},
                                        Reduction{ReductionKind::tree, kMaxLeaf}}) {
        const auto contract = Contract::make(base.arithmetic, base.input, reduction, output);
        ASSERT_TRUE(contract) << contract.status().message();
        for (const std::string& typed : {contract->text(), contract->text() + "@1"}) {
          const auto again = Contract::parse(typed);
          ASSERT_TRUE(again) << typed << ": " << again.status().message();
          EXPECT_EQ(*again, *contract) << typed;
          EXPECT_EQ(again->digest(), contract->digest()) << typed;
        }
        ++contracts;
      }
    }
  }
  EXPECT_GE(contracts, 15 * 18);
}

}  // namespace
}  // namespace detgemm
