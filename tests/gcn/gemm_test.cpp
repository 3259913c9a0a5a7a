// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Compiled GEMM kernels give the right result, and every kind of planted fault is found.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gcn/gemm_case.hpp"

namespace detgemm::gcn {
namespace {

class Gemm : public ::testing::TestWithParam<const char*> {
 protected:
  bool cdna3() const { return std::string(GetParam()) == "gfx942"; }
  std::string text() const {
    return read_text(std::string(GCN_KERNELS) + "/gemm." + GetParam() + ".s");
  }
  Kernel kernel(const std::string& name) const { return Kernel(kernel_of(text(), name)); }

  /// The message of a run; empty where nothing is found.
  std::string said(const std::string& name, const std::string& edited, int n = 80) const {
    try {
      const Kernel kernel(kernel_of(edited, name));
      for (const int k :
           {64, 0}) {  // with and without a loop: some waits only matter in one of them
        GemmCase g(112, n, k, false, false, 3);
        const int tile = name == "gemm16_bf16" ? 16 : 64;
        g.launch(kernel, tile, tile == 16 ? 64 : 256);
      }
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
};

TEST_P(Gemm, BitsAreTheContracts) {
  const Kernel bf16 = kernel("gemm_bf16");
  const Kernel fp16 = kernel("gemm_fp16");
  const Kernel small = kernel("gemm16_bf16");
  std::uint64_t seed = 1;
  for (const bool random : {false, true}) {
    for (const int m : {64, 100, 1}) {
      GemmCase x(m, 200, 160, false, random, ++seed);
      x.launch(bf16, 64, 256);
      EXPECT_EQ(x.mismatches<DType::bf16>(cdna3()), 0) << m;
      GemmCase y(m, 200, 160, true, random, ++seed);
      y.launch(fp16, 64, 256);
      EXPECT_EQ(y.mismatches<DType::fp16>(cdna3()), 0) << m;
    }
    GemmCase z(64, 48, 96, false, random, ++seed);
    z.launch(small, 16, 64);
    EXPECT_EQ(z.mismatches<DType::bf16>(cdna3()), 0);
  }
}

TEST_P(Gemm, HostThreadsDoNotMatter) {
  const Kernel bf16 = kernel("gemm_bf16");
  GemmCase one(200, 200, 64, false, false, 5);
  GemmCase two(200, 200, 64, false, false, 5);
  const Totals a = one.launch(bf16, 64, 256, 1);
  const Totals b = two.launch(bf16, 64, 256, 2);
  EXPECT_EQ(one.d, two.d);
  EXPECT_EQ(a.instructions, b.instructions);
  EXPECT_EQ(a.workgroups, 16U);
}

TEST_P(Gemm, AdverseZerosAndNansDifferAndNothingElse) {
  const Kernel bf16 = kernel("gemm_bf16");
  GemmCase model(64, 64, 64, false, false, 5);
  std::fill_n(model.a.begin(), 64, u16{0});            // a row of zeros
  std::fill_n(model.a.begin() + 64, 64, u16{0x7fc0});  // and one of NaNs
  GemmCase adverse = model;
  adverse.memory = {};
  adverse.memory.add(adverse.a.data(), adverse.a.size() * 2);
  adverse.memory.add(adverse.b.data(), adverse.b.size() * 2);
  adverse.memory.add(adverse.d.data(), adverse.d.size() * 4);
  model.launch(bf16, 64, 256);
  adverse.launch(bf16, 64, 256, 1, true);
  for (std::size_t i = 0; i < model.d.size(); ++i) {
    const u32 bits = arithmetic::bits_of(adverse.d[i]);
    const u32 want = i < 64 ? 0x80000000 : i < 128 ? 0xffc12345 : arithmetic::bits_of(model.d[i]);
    ASSERT_EQ(bits, want) << i;
  }
}

TEST_P(Gemm, WrongLanesAndOrderGiveWrongBits) {
  for (const char* name : {"gemm_wrong_lanes", "gemm_wrong_order"}) {
    GemmCase g(64, 64, 64, false, false, 7);
    g.launch(kernel(name), 64, 256);
    EXPECT_GT(g.mismatches<DType::bf16>(cdna3()), 100) << name;
  }
}

TEST_P(Gemm, FaultsInTheSourceAreFound) {
  EXPECT_EQ(said("gemm_bf16", text()), "");
  const std::string outside = said("gemm_out_of_bounds", text(), 64);
  EXPECT_NE(outside.find("global access out of bounds: writes"), std::string::npos) << outside;
  EXPECT_NE(outside.find("[workgroup 0,1,0 wave 2 lane "), std::string::npos) << outside;
  // With a column too many it writes into the next row, which belongs to another workgroup.
  const std::string race = said("gemm_out_of_bounds", text());
  EXPECT_NE(race.find("race in global memory"), std::string::npos) << race;
  const std::string unwritten = said("gemm_unwritten_lds", text());
  EXPECT_NE(unwritten.find("reads unwritten LDS"), std::string::npos) << unwritten;
}

TEST_P(Gemm, EveryMissingBarrierAndWaitIsFound) {
  int barriers = 0;
  int waits = 0;
  for (const auto& s : kernel_of(text(), "gemm_bf16").code) {
    if (s.mnemonic == "s_barrier") {
      const std::string what =
          said("gemm_bf16", without_line(text(), "gemm_bf16", "s_barrier", barriers++));
      EXPECT_NE(what.find("LDS"), std::string::npos) << "barrier " << barriers << ": " << what;
    }
    if (s.mnemonic == "s_waitcnt") {
      const std::string what =
          said("gemm_bf16", without_line(text(), "gemm_bf16", "s_waitcnt", waits++));
      EXPECT_FALSE(what.empty()) << "wait " << waits << ", line " << s.line << ": " << s.text;
    }
  }
  EXPECT_GE(barriers, 2);
  EXPECT_GE(waits, 5);
}

TEST_P(Gemm, AMissingWriteIsAnUnwrittenRegister) {
  const std::string what =
      said("gemm16_bf16", without_line(text(), "gemm16_bf16", "v_accvgpr_write", 0));
  EXPECT_NE(what.find("never written"), std::string::npos) << what;
  const std::string scalar = said("gemm_bf16", without_line(text(), "gemm_bf16", "s_load", 0));
  EXPECT_NE(scalar.find("never written"), std::string::npos) << scalar;
}

TEST_P(Gemm, AnUnknownOpcodeNamesItsLine) {
  std::string edited = text();
  edited.replace(edited.find("s_barrier"), 9, "s_bARRIER");
  try {
    for (KernelText& k : parse_assembly(edited)) Kernel decoded(std::move(k));
    FAIL() << "it was accepted";
  } catch (const std::runtime_error& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("s_bARRIER: unknown opcode"), std::string::npos) << what;
    EXPECT_NE(what.find(" line "), std::string::npos) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Gemm, ::testing::Values("gfx942", "gfx90a"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace detgemm::gcn
