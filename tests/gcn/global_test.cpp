// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Global memory: what several workgroups and waves of a launch may do with the same bytes, and what
// is a race whatever the schedule. Each program runs in two workgroups of two waves.

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/gcn/kernel_file.hpp"

namespace detgemm::gcn {
namespace {

/// Runs `body` with v0 = 4 * (the workgroup's number), v1 = 4 * (the wave's), v2 = 0, v3 some
/// value, memory at s[4:5], s2 the workgroup and s6 the wave; returns the fault, if any. Only lane
/// 0 is active, so that there is one access per instruction and wave.
std::string said(const std::string& body, int threads = 1, u32 workgroups = 2) {
  static const char* const kHead =
      "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n\t.type k,@function\nk:\n"
      "\ts_load_dwordx2 s[4:5], s[0:1], 0x0\n\tv_readfirstlane_b32 s6, v0\n"
      "\ts_lshr_b32 s6, s6, 6\n\ts_mov_b64 exec, 1\n\tv_mov_b32_e32 v0, s2\n"
      "\tv_lshlrev_b32_e32 v0, 2, v0\n\tv_mov_b32_e32 v1, s6\n\tv_lshlrev_b32_e32 v1, 2, v1\n"
      "\tv_mov_b32_e32 v2, 0\n\tv_mov_b32_e32 v3, 7\n\ts_waitcnt lgkmcnt(0)\n";
  static const char* const kTail =
      "\ts_endpgm\n.Lfunc_end0:\n\t.amdhsa_kernel k\n\t\t.amdhsa_kernarg_size 8\n"
      "\t\t.amdhsa_user_sgpr_count 2\n\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
      "\t\t.amdhsa_system_sgpr_workgroup_id_x 1\n\t.end_amdhsa_kernel\n";
  const Kernel kernel(kernel_of(kHead + body + kTail, "k"));
  alignas(4096) std::array<u32, 1024> data{};
  MemoryMap memory;
  memory.add(data.data(), sizeof data);
  Launch launch;
  launch.grid = {workgroups, 1, 1};
  launch.block = {128, 1, 1};
  const u64 pointer = reinterpret_cast<u64>(data.data());
  launch.arguments.resize(sizeof pointer);
  std::memcpy(launch.arguments.data(), &pointer, sizeof pointer);
  try {
    run(kernel, launch, memory, threads);
    run(kernel, launch, memory, threads);  // launches follow each other: never a race between them
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

/// Skips what follows, up to its label, where a comparison like `s_cmp_lg_u32 s2, 0` holds.
std::string unless(const std::string& comparison, const std::string& then) {
  static int labels = 0;
  const std::string label = ".Lend" + std::to_string(++labels);
  return "\t" + comparison + "\n\ts_cbranch_scc1 " + label + "\n" + then + label + ":\n";
}
std::string in_workgroup(int which, const std::string& then) {
  return unless("s_cmp_lg_u32 s2, " + std::to_string(which), then);
}
std::string in_wave(int which, const std::string& then) {
  return unless("s_cmp_lg_u32 s6, " + std::to_string(which), then);
}

const std::string kStore = "\tglobal_store_dword v2, v3, s[4:5]\n";
const std::string kLoad = "\tglobal_load_dword v4, v2, s[4:5]\n";
const std::string kWait = "\ts_waitcnt vmcnt(0)\n";
const std::string kBarrier = "\ts_barrier\n";

TEST(Global, WorkgroupsMayReadTheSameAndWriteTheirOwn) {
  EXPECT_EQ(said(kLoad + kWait), "");
  EXPECT_EQ(said(in_wave(0, "\tglobal_store_dword v0, v3, s[4:5]\n")), "");
  EXPECT_EQ(said(in_wave(0, "\tglobal_load_dword v3, v0, s[4:5]\n" + kWait +
                                "\tglobal_store_dword v0, v3, s[4:5]\n")),
            "");
  EXPECT_EQ(said(in_workgroup(1, in_wave(0, kStore + kLoad + kWait + kStore))), "");
}

TEST(Global, HalvesOfAWordAreApart) {
  // v0 / 2 is 0 or 2: the two workgroups write the two halves of a word.
  const std::string half = "\tv_lshrrev_b32_e32 v0, 1, v0\n";
  EXPECT_EQ(said(half + in_wave(0, "\tglobal_store_short v0, v3, s[4:5]\n")), "");
  const std::string wide = in_wave(0, in_workgroup(1, "\tglobal_store_dword v2, v3, s[4:5]\n") +
                                          in_workgroup(0, "\tglobal_store_short v0, v3, s[4:5]\n"));
  EXPECT_NE(said(half + wide).find("race in global memory"), std::string::npos);
  // Coarse accesses first, and across the border of a page of the bookkeeping.
  EXPECT_EQ(said(in_wave(0, "\tglobal_load_dwordx4 v[4:7], v2, s[4:5] offset:1020\n" + kWait +
                                "\tglobal_store_short v0, v3, s[4:5] offset:2044\n")),
            "");
  const std::string border =
      in_wave(0, in_workgroup(0, "\tglobal_load_dwordx4 v[4:7], v2, s[4:5] offset:1012\n") +
                     in_workgroup(1, "\tglobal_store_short v2, v3, s[4:5] offset:1026\n"));
  EXPECT_NE(said(border).find("workgroup 0 read are overwritten"), std::string::npos);
  EXPECT_EQ(
      said(in_wave(0, in_workgroup(0, "\tglobal_load_dwordx4 v[4:7], v2, s[4:5] offset:1012\n") +
                          in_workgroup(1, "\tglobal_store_short v2, v3, s[4:5] offset:1028\n"))),
      "");
}

TEST(Global, WhatAWorkgroupWritesIsItsOwn) {
  const std::pair<std::string, const char*> cases[] = {
      {in_wave(0, kStore), "bytes that workgroup 0 wrote are overwritten in the same launch"},
      {in_wave(0, in_workgroup(0, kStore) + in_workgroup(1, kLoad)),
       "bytes that workgroup 0 wrote are read in the same launch"},
      {in_wave(0, in_workgroup(0, kLoad) + in_workgroup(1, kStore)),
       "bytes that workgroup 0 read are overwritten in the same launch"},
      {in_workgroup(0, kStore + kWait) + kBarrier + in_workgroup(1, kLoad),
       "race in global memory"},
  };
  for (const auto& [body, want] : cases) {
    EXPECT_NE(said(body).find(want), std::string::npos) << body << said(body);
    EXPECT_NE(said(body, 2).find("race in global memory"), std::string::npos) << body;
  }
  const std::string last =
      in_wave(0, in_workgroup(2, kStore) + unless("s_cmp_eq_u32 s2, 2", kLoad));
  EXPECT_NE(said(last, 1, 3).find("several workgroups read are overwritten"), std::string::npos);
}

TEST(Global, WavesAreOrderedByABarrierAfterTheWait) {
  const std::string write = in_workgroup(0, in_wave(0, kStore));
  const std::string read = in_workgroup(0, in_wave(1, kLoad));
  EXPECT_NE(said(write + read).find("wave 0 wrote are read with no barrier"), std::string::npos);
  EXPECT_NE(said(write + kBarrier + read).find("with no barrier after a completed access"),
            std::string::npos);
  EXPECT_EQ(said(write + kWait + kBarrier + read), "");
  // A read before another wave's write.
  const std::string late = in_workgroup(0, in_wave(1, kStore));
  const std::string early = in_workgroup(0, in_wave(0, kLoad));
  EXPECT_NE(said(early + late).find("wave 0 read are overwritten"), std::string::npos);
  EXPECT_NE(said(early + kBarrier + late).find("wave 0 read are overwritten"), std::string::npos);
  EXPECT_EQ(said(early + kWait + kBarrier + late), "");
}

TEST(Global, ScalarLoadsDoNotSeeWrites) {
  const std::string scalar =
      in_workgroup(0, in_wave(0, kStore + kWait + "\ts_load_dword s8, s[4:5], 0x0\n"));
  EXPECT_NE(said(scalar).find("reads by a scalar load what the same launch wrote"),
            std::string::npos);
}

}  // namespace
}  // namespace detgemm::gcn
