// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Single instructions and short programs, written in this file: one wave stores v1 of every lane.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "core/arithmetic/formats.hpp"
#include "tests/gcn/kernel_file.hpp"

namespace detgemm::gcn {
namespace {

/// The words that a program reads at s[2:3] and writes at s[4:5], one per lane.
struct Memory {
  std::array<u32, 64> in;
  std::array<u32, 64> out;
};

/// Runs `body` with v0 the lane, v1 = 0x01020304 * (lane + 1), v2 = ~lane, s6 = 5 and
/// s[8:9] = 0x00000000f0f0f0f0; returns v1.
std::array<u32, 64> program(const std::string& body, int lanes = 64) {
  static const char* const kHead =
      "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n\t.type k,@function\nk:\n"
      "\ts_load_dwordx4 s[2:5], s[0:1], 0x0\n\tv_lshlrev_b32_e32 v63, 2, v0\n"
      "\tv_not_b32_e32 v2, v0\n\ts_mov_b32 s6, 5\n\ts_mov_b32 s8, 0xf0f0f0f0\n\ts_mov_b32 s9, 0\n"
      "\ts_waitcnt lgkmcnt(0)\n\tglobal_load_dword v1, v63, s[2:3]\n\ts_waitcnt vmcnt(0)\n";
  static const char* const kTail =
      "\tglobal_store_dword v63, v1, s[4:5]\n\ts_endpgm\n.Lfunc_end0:\n"
      "\t.amdhsa_kernel k\n\t\t.amdhsa_group_segment_fixed_size 1024\n\t\t.amdhsa_kernarg_size 16\n"
      "\t\t.amdhsa_user_sgpr_count 2\n\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
      "\t.end_amdhsa_kernel\n";
  std::string text = kHead;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = std::min(body.find('\n', begin), body.size());
    const std::string line = body.substr(begin, end - begin);
    text += (line.back() == ':' ? "" : "\t") + line + "\n";
    begin = end + 1;
  }
  const Kernel kernel(kernel_of(text + kTail, "k"));
  Memory data{};
  for (u32 l = 0; l < 64; ++l) data.in[l] = 0x01020304 * (l + 1);
  MemoryMap memory;
  memory.add(&data, sizeof data);
  Launch launch;
  launch.block = {static_cast<u32>(lanes), 1, 1};
  const u64 pointers[] = {reinterpret_cast<u64>(data.in.data()),
                          reinterpret_cast<u64>(data.out.data())};
  launch.arguments.resize(sizeof pointers);
  std::memcpy(launch.arguments.data(), pointers, sizeof pointers);
  run(kernel, launch, memory);
  return data.out;
}

std::string fault(const std::string& body) {
  try {
    program(body);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

struct Case {
  const char* body;
  std::function<u32(u32 lane, u32 v1)> want;
};

TEST(Instructions, Vector) {
  const Case cases[] = {
      {"v_add_u32_e32 v1, s6, v1", [](u32, u32 x) { return x + 5; }},
      {"v_sub_u32_e32 v1, -3, v1", [](u32, u32 x) { return ~2U - x; }},
      {"v_sub_u32_e64 v1, v0, 9 clamp", [](u32 l, u32) { return l > 9 ? l - 9 : 0; }},
      {"v_ffbh_i32_e32 v1, v2",
       [](u32 l, u32) { return l == 0 ? ~0U : static_cast<u32>(__builtin_clz(l)); }},
      {"v_cvt_f32_u32_e32 v4, v0\nv_ldexp_f32 v1, v4, -3",
       [](u32 l, u32) { return arithmetic::bits_of(static_cast<float>(l) / 8); }},
      {"v_lshl_add_u32 v1, v1, 3, v0", [](u32 l, u32 x) { return (x << 3) + l; }},
      {"v_bfe_u32 v1, v1, 4, 8", [](u32, u32 x) { return x >> 4 & 255; }},
      {"v_alignbit_b32 v1, v0, v1, 12", [](u32 l, u32 x) { return x >> 12 | l << 20; }},
      {"v_perm_b32 v1, v2, v1, 0x07000c01",
       [](u32 l, u32 x) { return (~l & 0xff000000) | (x & 255) << 16 | (x >> 8 & 255); }},
      {"v_mad_u64_u32 v[4:5], s[10:11], v1, v2, 0\nv_mov_b32_e32 v1, v5",
       [](u32 l, u32 x) { return static_cast<u32>(static_cast<u64>(x) * ~l >> 32); }},
      {"v_add_co_u32_e32 v3, vcc, v1, v2\nv_mov_b32_e32 v4, 7\nv_addc_co_u32_e32 v1, vcc, 0, v4, "
       "vcc",
       [](u32 l, u32 x) { return x + ~l < x ? 8U : 7U; }},
      {"v_cmp_gt_u32_e32 vcc, 9, v0\nv_cndmask_b32_e32 v1, v2, v1, vcc",
       [](u32 l, u32 x) { return l < 9 ? x : ~l; }},
      {"v_cndmask_b32_e64 v1, 0, 1.0, s[8:9]",
       [](u32 l, u32) { return l < 32 && (l & 4) != 0 ? 0x3f800000U : 0U; }},
      {"v_and_b32_sdwa v1, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
       "src1_sel:BYTE_0",
       [](u32 l, u32 x) { return x >> 16 & (~l & 255); }},
      {"v_and_b32_sdwa v1, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD "
       "src1_sel:DWORD",
       [](u32 l, u32 x) { return (x & ~l) << 16; }},
      {"v_cvt_f32_u32_e32 v4, v0\nv_fma_f32 v1, -v4, |v4|, 2.0",
       [](u32 l, u32) { return arithmetic::bits_of(2.0F - static_cast<float>(l * l)); }},
      {"v_cvt_f32_u32_e32 v4, v0\nv_mov_b32_e32 v5, 1.0\nv_pk_fma_f32 v[6:7], v[4:5], v[4:5], "
       "v[4:5] "
       "op_sel:[0,0,1] op_sel_hi:[0,1,0] neg_lo:[0,0,1] neg_hi:[0,0,0]\nv_sub_f32_e32 v1, v6, v7",
       [](u32 l, u32) {
         return arithmetic::bits_of(static_cast<float>(l * l) - 1.0F - static_cast<float>(2 * l));
       }},
      {"v_accvgpr_write_b32 a7, v1\nv_accvgpr_mov_b32 a8, a7\nv_accvgpr_read_b32 v1, a8",
       [](u32, u32 x) { return x; }},
      {"v_xad_u32 v1, v0, 5, v1", [](u32 l, u32 x) { return (l ^ 5) + x; }},
      {"v_add_lshl_u32 v1, v1, s6, 2", [](u32, u32 x) { return (x + 5) << 2; }},
      {"v_mov_b32_e32 v3, v2\nv_ashrrev_i64 v[4:5], 33, v[2:3]\nv_mov_b32_e32 v1, v4",
       [](u32 l, u32) { return static_cast<u32>(static_cast<i32>(~l) >> 1); }},
      {"v_cvt_f32_i32_e32 v4, v2\nv_mul_f32_e32 v4, 0.5, v4\nv_cvt_i32_f32_e32 v1, v4",
       [](u32 l, u32) { return static_cast<u32>(-static_cast<i32>((l + 1) / 2)); }},
      // A signalling NaN is preferred to a number, and quieted; a quiet one is not.
      {"v_mov_b32_e32 v4, 0x7f800001\nv_max_f32_e32 v1, 1.0, v4",
       [](u32, u32) { return 0x7fc00001U; }},
      {"v_mov_b32_e32 v4, 0x7fc00001\nv_max3_f32 v1, 1.0, v4, 2.0",
       [](u32, u32) { return arithmetic::bits_of(2.0F); }},
      {"v_cvt_f32_i32_e32 v4, v2\nv_mov_b32_e32 v5, 8\nv_cmp_class_f32_e32 vcc, v4, v5\n"
       "v_cndmask_b32_e64 v1, 0, 1, vcc",
       [](u32, u32) { return 1U; }},
      {"v_mov_b32_e32 v4, 0x7e00bc00\nv_cmp_gt_f16_e32 vcc, 0, v4\nv_cndmask_b32_e64 v1, 0, 1, vcc",
       [](u32, u32) { return 1U; }},
      {"v_mov_b32_e32 v4, 0x7e00\nv_cmp_u_f16_e32 vcc, v4, v4\nv_cndmask_b32_e64 v1, 0, 1, vcc",
       [](u32, u32) { return 1U; }},
      {"v_rsq_f32_e32 v1, 4.0", [](u32, u32) { return arithmetic::bits_of(0.5F); }},
      {"v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
       [](u32 l, u32) { return l ^ 1; }},
      {"v_mov_b32_dpp v1, v0 row_shr:8 row_mask:0xf bank_mask:0xc",
       [](u32 l, u32 x) { return (l & 8) != 0 ? l - 8 : x; }},
      {"v_mov_b32_dpp v1, v0 row_shl:4 row_mask:0xf bank_mask:0xf",
       [](u32 l, u32 x) { return (l & 15) < 12 ? l + 4 : x; }},
      {"v_mov_b32_dpp v1, v0 row_shl:4 row_mask:0xf bank_mask:0xf bound_ctrl:1",
       [](u32 l, u32) { return (l & 15) < 12 ? l + 4 : 0; }},
      {"v_add_u32_dpp v1, v0, v2 row_bcast:15 row_mask:0xa bank_mask:0xf",
       [](u32 l, u32 x) { return (l & 16) != 0 ? (l & 48) - 1 + ~l : x; }},
      {"v_mov_b32_dpp v1, v0 row_bcast:31 row_mask:0xf bank_mask:0xf",
       [](u32 l, u32 x) { return l < 32 ? x : 31; }},
      {"ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,16)\ns_waitcnt lgkmcnt(0)",
       [](u32 l, u32) { return l ^ 16; }},
      {"v_lshlrev_b32_e32 v4, 2, v2\nds_bpermute_b32 v1, v4, v0\ns_waitcnt lgkmcnt(0)",
       [](u32 l, u32) { return 63 - l; }},
      {"v_bitop3_b32 v1, v0, v2, v1 bitop3:0x78", [](u32 l, u32 x) { return l ^ (~l & x); }},
      {"v_bitop3_b32 v1, v0, s6, v1 bitop3:0x6c", [](u32 l, u32 x) { return 5 ^ (l & x); }},
      {"v_cvt_f32_u32_e32 v4, v0\nv_cvt_pk_bf16_f32 v1, -v4, 0x7f800001",
       [](u32 l, u32) { return arithmetic::bits_of(-static_cast<float>(l)) >> 16 | 0x7fc00000; }},
      {"v_cvt_f32_u32_e32 v4, v0\nv_cvt_pk_f16_f32 v1, 1.0, -v4",
       [](u32 l, u32) { return u32{arithmetic::to_fp16(-static_cast<float>(l))} << 16 | 0x3c00; }},
      {"v_lshlrev_b32_e32 v4, 2, v0\nds_write_b32 v4, v0\nds_write_b16_d16_hi v4, v1 offset:2\n"
       "s_waitcnt lgkmcnt(0)\nds_read_b32 v1, v4\ns_waitcnt lgkmcnt(0)",
       [](u32 l, u32 x) { return l | (x >> 16 << 16); }},
      {"v_mov_b32_e32 v1, v2\nv_permlane16_swap_b32_e32 v1, v0",
       [](u32 l, u32) { return (l & 16) != 0 ? l - 16 : ~l; }},
      {"v_mov_b32_e32 v1, v0\nv_permlane32_swap_b32_e32 v2, v1",
       [](u32 l, u32) { return l < 32 ? ~(l + 32) : l; }},
      // Rows of 16 numbers of 2 bytes, of which lane l writes 4 * l and on; it reads column l % 16.
      {"v_lshlrev_b32_e32 v4, 3, v0\nv_lshlrev_b32_e32 v5, 2, v0\nv_add_u32_e32 v6, 1, v5\n"
       "v_lshl_or_b32 v6, v6, 16, v5\nv_add_u32_e32 v7, 0x20002, v6\nds_write_b64 v4, v[6:7]\n"
       "ds_read_b64_tr_b16 v[8:9], v4\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v1, v9",
       [](u32 l, u32) {
         const u32 third = l / 16 * 64 + 32 + l % 16;
         return third | (third + 16) << 16;
       }},
      {"v_writelane_b32 v1, s6, 3", [](u32 l, u32 x) { return l == 3 ? 5 : x; }},
      {"s_mov_b64 s[12:13], s[2:3]\ns_mov_b32 s14, 0x80\ns_mov_b32 s15, 0x27000\n"
       "buffer_load_dword v1, v63, s[12:15], 0 offen\ns_waitcnt vmcnt(0)",
       [](u32 l, u32 x) { return l < 32 ? x : 0; }},
  };
  for (const Case& c : cases) {
    const auto out = program(c.body);
    for (u32 l = 0; l < 64; ++l)
      ASSERT_EQ(out[l], c.want(l, 0x01020304 * (l + 1))) << c.body << ", lane " << l;
  }
}

TEST(Instructions, Scalar) {
  const std::pair<const char*, u32> cases[] = {
      {"s_bfe_i32 s10, s8, 0x40004", 0xffffffff},
      {"s_bfe_u32 s10, s8, 0x50006", 3},
      {"s_mul_hi_u32 s10, s8, s8", 0xe2c4a686},
      {"s_mul_hi_i32 s10, s8, s8", 0xe2c4a6},
      {"s_sub_u32 s10, 3, s6\ns_subb_u32 s10, 0, 0", 0xffffffff},
      {"s_cmp_lt_i32 s8, 0\ns_cselect_b32 s10, 4, 6", 4},
      {"s_cmpk_gt_u32 s6, 0x4\ns_cselect_b32 s10, 4, 6", 4},
      {"s_lshl_b64 s[10:11], s[8:9], 8\ns_mov_b32 s10, s11", 0xf0},
      {"s_nor_b64 s[10:11], s[8:9], 15", 0x0f0f0f00},
      {"s_movk_i32 s10, 0xfffe", 0xfffffffe},
      {"s_mov_b64 s[12:13], 5\ns_not_b64 s[10:11], s[12:13]", ~5U},
      {"s_mov_b32 s10, 7\ns_addk_i32 s10, 0x8000\ns_mulk_i32 s10, 0x3", 3 * (7 - 0x8000U)},
      {"s_mov_b32 s10, 0\n.Lloop:\ns_add_i32 s10, s10, 3\ns_cmp_lt_i32 s10, 20\ns_cbranch_scc1 "
       ".Lloop",
       21},
      // The lanes that leave a loop are collected piece by piece in a pair that nothing has set.
      {"s_or_b64 s[12:13], s[12:13], exec\ns_and_b64 s[12:13], s[12:13], 7\ns_mov_b32 s10, s12", 7},
  };
  for (const auto& [body, want] : cases) {
    EXPECT_EQ(program(std::string(body) + "\nv_mov_b32_e32 v1, s10")[17], want) << body;
  }
}

TEST(Instructions, InactiveLanesAreLeftAlone) {
  const auto out = program(
      "s_and_saveexec_b64 s[10:11], s[8:9]\nv_mov_b32_e32 v1, 1\ns_or_b64 exec, exec, s[10:11]");
  for (u32 l = 0; l < 64; ++l)
    EXPECT_EQ(out[l], (0xf0f0f0f0ULL >> l & 1) != 0 ? 1 : 0x01020304 * (l + 1));
  const auto few = program("v_mov_b32_e32 v1, 9", 10);
  EXPECT_EQ(few[9], 9U);
  EXPECT_EQ(few[10], 0U);
}

TEST(Instructions, FaultsNameWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"v_mov_b32_e32 v1, v9", "reads v1, which was never written"},
      {"v_cmp_eq_u32_e32 vcc, v9, v0", "compares a register that was never written"},
      {"s_add_i32 s10, s20, 1", "reads s20, which was never written"},
      {"s_or_b64 s[12:13], s[12:13], s[8:9]\ns_mov_b64 exec, s[12:13]",
       "reads exec, which was never written"},
      {"global_load_dword v1, v63, s[2:3]\nv_add_u32_e32 v1, v1, v0",
       "v1 is used before s_waitcnt vmcnt"},
      {"s_load_dword s10, s[2:3], 0x0\ns_add_i32 s10, s10, 1",
       "s10 is used before s_waitcnt lgkmcnt"},
      {"global_load_dword v3, v63, s[2:3]\nglobal_load_dword v1, v63, s[2:3]\ns_waitcnt vmcnt(1)\n"
       "v_mov_b32_e32 v4, v3\nv_mov_b32_e32 v4, v1",
       "v1 is used before"},
      {"global_load_dword v1, v63, s[2:3] offset:512",
       "global access out of bounds: reads 4 bytes"},
      {"ds_write_b32 v63, v1 offset:772", "LDS access out of bounds: bytes 1024 to 1028 of 1024"},
      {"ds_write_b32 v63, v1 offset:2", "misaligned LDS access"},
      {"ds_write_b64 v63, v[1:2]", "misaligned LDS access of 8 bytes"},
      {"v_lshlrev_b32_e32 v4, 3, v0\nds_read_b128 v[4:7], v4", "misaligned LDS access of 16 bytes"},
      {"ds_read2_b64 v[4:7], v63 offset1:1", "misaligned LDS access of 8 bytes"},
      {"global_load_dword v1, v63, s[2:3] offset:2", "misaligned global access of 4 bytes"},
      {"global_store_dwordx2 v63, v[0:1], s[4:5] offset:2", "misaligned global access of 8 bytes"},
      {"global_load_ushort v1, v63, s[2:3] offset:1", "misaligned global access of 2 bytes"},
      {"ds_read_b32 v1, v63", "reads unwritten LDS: LDS word at byte 0"},
      {"ds_write_b16 v63, v1\nds_read_b32 v1, v63", "reads unwritten LDS"},
      {"s_mov_b32 m0, 0\nglobal_load_lds_dword v63, s[2:3]\nds_read_b32 v1, v63",
       "before s_waitcnt vmcnt guarantees the load into it"},
      {"v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[6:7], 0", "reads v4, which was never written"},
      {"s_branch .Lnowhere", "unknown operand .Lnowhere"},
      {"v_add_f32_e64 v1, v1, v1 mul:2", "modifier mul is not known here"},
      {"v_mov_b32_dpp v1, v0 row_mirror row_mask:0xf bank_mask:0xf", "v_mov_b32_dpp"},
      {"v_mov_b32_sdwa v1, v0 dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:DWORD",
       "modifier dst_sel is not known"},
      {"v_add_co_u32_sdwa v1, vcc, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
       "src1_sel:DWORD",
       "a part of an operand with carry"},
      {"v_add_f32_e64 v1, v1, v1 clamp", "unknown operand clamp"},
      {"v_cmp_gt_f16_e32 vcc, 1.0, v1", "a decimal constant of fp16 is not known here"},
      {"v_pk_add_f32 v[4:5], v[0:1], 1.0", "the high word of a constant in a packed operation"},
      {"v_add_f32_e64 v1, v1, v1 op_sel:[0,1]", "modifier op_sel is not known here"},
      {"s_add_i32 s10, s6, |s6|", "a sign is not known here"},
      {"v_mov_b64_e32 v[4:5], 0x80000000", "words that are not sure"},
      {"buffer_load_dword v1, v63, s[8:11], 0 offen", "reads s10, which was never written"},
      {"buffer_load_dword v1, off, s[8:11], 0", "a buffer without offen"},
      {"s_mov_b64 s[10:11], 64\nbuffer_load_dword v1, v63, s[8:11], 0 offen",
       "a buffer of another form"},
      {"s_mov_b64 s[12:13], s[2:3]\ns_mov_b32 s14, 0x82\ns_mov_b32 s15, 0x27000\n"
       "buffer_load_dword v1, v63, s[12:15], 0 offen",
       "an access across the end of a buffer"},
      {"s_mov_b64 s[12:13], s[2:3]\ns_mov_b32 s14, 0x1000\ns_mov_b32 s15, 0x27000\n"
       "buffer_load_dword v1, v63, s[12:15], 0 offen offset:1024",
       "global access out of bounds: reads 4 bytes"},
      {"v_mov_b32_dpp v1, v9 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf",
       "reads v1, which was never written"},
      {"ds_bpermute_b32 v1, v63, v0\nv_mov_b32_e32 v4, v1", "before s_waitcnt lgkmcnt"},
      {"ds_swizzle_b32 v1, v9 offset:swizzle(SWAP,16)\ns_waitcnt lgkmcnt(0)",
       "reads v1, which was never written"},
      {"ds_swizzle_b32 v1, v0 offset:0x8055", "a swizzle of quads is not known here"},
      {"v_readlane_b32 s10, v9, 3\ns_add_i32 s10, s10, 1", "reads s10, which was never written"},
      {"v_exp_f32_e32 v1, v1", "v_exp_f32_e32 v1, v1: unknown opcode"},
  };
  for (const auto& [body, want] : cases) {
    const std::string said = fault(body);
    EXPECT_NE(said.find(want), std::string::npos) << body << "\n  said: " << said;
    EXPECT_NE(said.find("gcn: k line "), std::string::npos) << said;
  }
  EXPECT_EQ(fault("s_mov_b32 m0, 0\nglobal_load_lds_dword v63, s[2:3]\ns_waitcnt "
                  "vmcnt(0)\nds_read_b32 v1, v63\n"
                  "s_waitcnt lgkmcnt(0)"),
            "");
}

// Arguments in scalar registers: the chip starts behind the loads of old firmware, which here would
// give other pointers.
TEST(Instructions, ArgumentsInRegisters) {
  const auto text = [](int length) {
    return "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n\t.type k,@function\nk:\n"
           "\ts_load_dwordx2 s[2:3], s[0:1], 0x8\n\ts_waitcnt lgkmcnt(0)\n\ts_branch .Lgo\n"
           "\t.p2align\t8\n.Lgo:\n\tv_mov_b32_e32 v1, 7\n\tv_lshlrev_b32_e32 v63, 2, v0\n"
           "\tglobal_store_dword v63, v1, s[2:3]\n\ts_endpgm\n.Lfunc_end0:\n"
           "\t.amdhsa_kernel k\n\t\t.amdhsa_kernarg_size 16\n\t\t.amdhsa_user_sgpr_count 4\n"
           "\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
           "\t\t.amdhsa_user_sgpr_kernarg_preload_length " +
           std::to_string(length) + "\n\t.end_amdhsa_kernel\n";
  };
  for (const int length : {0, 2}) {
    std::array<std::array<u32, 64>, 2> out{};
    MemoryMap memory;
    memory.add(&out, sizeof out);
    Launch launch;
    const u64 pointers[] = {reinterpret_cast<u64>(&out[0]), reinterpret_cast<u64>(&out[1])};
    launch.arguments.resize(sizeof pointers);
    std::memcpy(launch.arguments.data(), pointers, sizeof pointers);
    const std::string written = text(length);
    run(Kernel(kernel_of(written, "k")), launch, memory);
    EXPECT_EQ(out[0][5], length == 2 ? 7U : 0U);
    EXPECT_EQ(out[1][5], length == 2 ? 0U : 7U);
  }
}

}  // namespace
}  // namespace detgemm::gcn
