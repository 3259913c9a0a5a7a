// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What only C callers can get wrong: NULLs, struct sizes, reserved fields, flags, text buffers.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/finds.hpp"
#include "tests/unit/bad_input/c_table.hpp"

namespace detgemm {
namespace {

void refuse(std::span<const CRow> rows) {
  for (const CRow& row : rows) {
    SCOPED_TRACE(row.name);
    CFixture f;
    EXPECT_EQ(row.call(f), DETGEMM_INVALID_ARGUMENT);
    const std::string said = detgemm_last_error();
    EXPECT_TRUE(test::finds(said, row.sentence))
        << "said:   " << said << "\nwanted: " << row.sentence;
    for (float x : f.out) EXPECT_EQ(x, 7.0F);
    for (char c : f.text) EXPECT_EQ(c, 0);
    EXPECT_EQ(f.info.kernel[0], 0);
  }
}

TEST(CBadInput, Nulls) { refuse(c_nulls()); }
TEST(CBadInput, Rules) { refuse(c_rules()); }

TEST(CBadInput, TheFixtureItselfIsAccepted) {
  CFixture f;
  EXPECT_EQ(f.run(), DETGEMM_OK) << detgemm_last_error();
  EXPECT_STREQ(f.info.kernel, "scalar");
  EXPECT_EQ(f.combine(), DETGEMM_OK) << detgemm_last_error();
  EXPECT_EQ(f.create(), DETGEMM_OK) << detgemm_last_error();
}

TEST(CStructs, OlderCallersGetDefaults) {
  CFixture f;
  f.spec.struct_size = offsetof(detgemm_gemm_spec_t, alpha);  // neither alpha nor beta nor bias
  detgemm_plan_t* plan = nullptr;
  ASSERT_EQ(detgemm_plan_create(f.backend, &f.spec, nullptr, &plan), DETGEMM_OK)
      << detgemm_last_error();
  detgemm_gemm_spec_t seen{};
  ASSERT_EQ(detgemm_gemm_spec_init(&seen, sizeof seen), DETGEMM_OK);
  ASSERT_EQ(detgemm_plan_spec(plan, &seen), DETGEMM_OK);
  EXPECT_EQ(seen.alpha, 1.0F);
  EXPECT_EQ(seen.beta, 0.0F);
  EXPECT_EQ(seen.bias, DETGEMM_NONE);
  seen.struct_size = offsetof(detgemm_gemm_spec_t, alpha);  // an older caller's struct is shorter:
  seen.alpha = 7.0F;                                        // what lies behind it is not written
  ASSERT_EQ(detgemm_plan_spec(plan, &seen), DETGEMM_OK);
  EXPECT_EQ(seen.alpha, 7.0F);
  detgemm_plan_destroy(plan);
}

TEST(CStructs, OlderPlanOptionsEndBeforeStable) {
  CFixture f;
  f.plan_options.stable = 77;  // memory of the caller's that is no field to it
  f.plan_options.struct_size = offsetof(detgemm_plan_options_t, stable);
  detgemm_plan_t* plan = nullptr;
  ASSERT_EQ(detgemm_plan_create(f.backend, &f.spec, &f.plan_options, &plan), DETGEMM_OK)
      << detgemm_last_error();
  detgemm_plan_options_t seen{};
  ASSERT_EQ(detgemm_plan_options_init(&seen, sizeof seen), DETGEMM_OK);
  ASSERT_EQ(detgemm_plan_options(plan, &seen), DETGEMM_OK);
  EXPECT_EQ(seen.stable, DETGEMM_STABLE_NONE);
  detgemm_plan_destroy(plan);
}

TEST(CStructs, NewerCallersAreAcceptedWhileTheirTailIsZero) {
  CFixture f;
  struct Newer {
    detgemm_operands_t known;
    std::uint64_t unknown;
  } newer{f.operands, 0};
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(detgemm_plan_run(f.plan, nullptr, &newer.known, nullptr, 0, nullptr), DETGEMM_OK)
      << detgemm_last_error();
  f.out.fill(7.0F);
  newer.unknown = 1;
  EXPECT_EQ(detgemm_plan_run(f.plan, nullptr, &newer.known, nullptr, 0, nullptr),
            DETGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(
      detgemm_last_error(),
      "operands.struct_size is 72: this library's struct has 64 bytes, and byte 64 beyond them "
      "is not 0");
  EXPECT_EQ(f.out[0], 7.0F);
}

TEST(CStructs, InitFillsWhatTheCallerHasAndNoMore) {
  std::array<unsigned char, sizeof(detgemm_gemm_spec_t) + 16> memory{};
  auto* spec = reinterpret_cast<detgemm_gemm_spec_t*>(memory.data());
  for (const std::size_t size :
       {offsetof(detgemm_gemm_spec_t, op_b), sizeof *spec, sizeof *spec + 8}) {
    memory.fill(0xee);
    ASSERT_EQ(detgemm_gemm_spec_init(spec, size), DETGEMM_OK) << detgemm_last_error();
    EXPECT_EQ(spec->struct_size, size);
    EXPECT_EQ(memory[size], 0xee);
    EXPECT_NE(memory[size - 1], 0xee);
  }
}

TEST(CHandles, GarbageIsRefusedInASentence) {
  CFixture f;
  std::array<std::uint64_t, 64> garbage{};
  garbage.fill(0x4141414141414141);
  auto* plan = reinterpret_cast<detgemm_plan_t*>(garbage.data());
  std::size_t bytes = 0;
  EXPECT_EQ(detgemm_plan_workspace_size(plan, 1, &bytes), DETGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(detgemm_plan_run(plan, nullptr, &f.operands, nullptr, 0, nullptr),
            DETGEMM_INVALID_ARGUMENT);
  const std::string refusal =
      "plan is not a plan's handle: it must be a result of detgemm_plan_create that "
      "detgemm_plan_destroy has not destroyed";
  EXPECT_EQ(detgemm_last_error(), refusal);
  EXPECT_EQ(detgemm_plan_backend(plan), nullptr);
  EXPECT_EQ(detgemm_contract_validate(nullptr), DETGEMM_INVALID_ARGUMENT);
  detgemm_plan_destroy(plan);
  EXPECT_EQ(detgemm_last_error(), refusal);
  EXPECT_EQ(garbage[0], 0x4141414141414141U);

  const auto* backend = reinterpret_cast<const detgemm_backend_t*>(garbage.data());
  EXPECT_EQ(detgemm_backend_available(backend), DETGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(detgemm_backend_name(backend), nullptr);
  detgemm_plan_t* none = nullptr;
  EXPECT_EQ(detgemm_plan_create(backend, &f.spec, nullptr, &none), DETGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(detgemm_last_error(),
               "backend is not a backend's handle: it must be a result of detgemm_backend_at, "
               "detgemm_backend_find or detgemm_plan_backend");
}

TEST(CText, AsksAndGives) {
  CFixture f;
  std::size_t needed = 0;
  ASSERT_EQ(detgemm_contract_text(&f.contract, nullptr, 0, &needed), DETGEMM_OK);
  std::vector<char> exact(needed, 'x');
  ASSERT_EQ(detgemm_contract_text(&f.contract, exact.data(), exact.size(), nullptr), DETGEMM_OK);
  EXPECT_STREQ(exact.data(), "ieee_fma/fp32/tree:1->fp32");
  EXPECT_EQ(needed, std::strlen(exact.data()) + 1);
  needed = 0;
  EXPECT_EQ(detgemm_contract_text(&f.contract, exact.data(), exact.size() - 1, &needed),
            DETGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(needed, exact.size());
}

TEST(CErrors, ASuccessLeavesTheSentenceAlone) {
  CFixture f;
  EXPECT_EQ(detgemm_contract_validate(nullptr), DETGEMM_INVALID_ARGUMENT);
  const std::string said = detgemm_last_error();
  EXPECT_EQ(detgemm_contract_validate(&f.contract), DETGEMM_OK);
  EXPECT_EQ(detgemm_last_error(), said);
}

TEST(CErrors, ARefusedPlanIsNull) {
  CFixture f;
  auto* plan = reinterpret_cast<detgemm_plan_t*>(&f);
  f.spec.n = -1;
  EXPECT_EQ(detgemm_plan_create(f.backend, &f.spec, nullptr, &plan), DETGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(plan, nullptr);
}

}  // namespace
}  // namespace detgemm
