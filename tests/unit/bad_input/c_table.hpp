// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "detgemm/detgemm.h"
#include "tests/support/c_backend.h"

namespace detgemm {

/// A valid call: 2 x 2 fp32 under ieee_fma/fp32/tree:1->fp32 with C and bias, and D of sevens.
struct CFixture {
  std::array<float, 4> numbers{1, 2, 3, 4};
  std::array<float, 4> out{7, 7, 7, 7};
  detgemm_contract_t contract{};
  detgemm_const_matrix_t view{};
  detgemm_matrix_t d{};
  detgemm_vector_t bias{};
  detgemm_stream_t stream{};
  detgemm_gemm_spec_t spec{};
  detgemm_operands_t operands{};
  detgemm_plan_options_t plan_options{};
  detgemm_gemm_options_t gemm_options{};
  detgemm_runtime_options_t runtime_options{};
  detgemm_run_info_t info{};
  detgemm_plan_t* plan = nullptr;
  const detgemm_backend_t* backend = skeleton_for_c();
  std::array<char, 64> text{};
  std::size_t needed = 0;

  CFixture() {
    bool ok = detgemm_contract_init(&contract, sizeof contract) == DETGEMM_OK;
    ok = ok && detgemm_contract_parse("ieee_fma/fp32/tree:1->fp32", &contract) == DETGEMM_OK;
    ok = ok && detgemm_const_matrix_init(&view, sizeof view) == DETGEMM_OK;
    ok = ok && detgemm_matrix_init(&d, sizeof d) == DETGEMM_OK;
    ok = ok && detgemm_vector_init(&bias, sizeof bias) == DETGEMM_OK;
    ok = ok && detgemm_stream_init(&stream, sizeof stream) == DETGEMM_OK;
    ok = ok && detgemm_gemm_spec_init(&spec, sizeof spec) == DETGEMM_OK;
    ok = ok && detgemm_operands_init(&operands, sizeof operands) == DETGEMM_OK;
    ok = ok && detgemm_plan_options_init(&plan_options, sizeof plan_options) == DETGEMM_OK;
    ok = ok && detgemm_gemm_options_init(&gemm_options, sizeof gemm_options) == DETGEMM_OK;
    ok = ok && detgemm_runtime_options_init(&runtime_options, sizeof runtime_options) == DETGEMM_OK;
    ok = ok && detgemm_run_info_init(&info, sizeof info) == DETGEMM_OK;
    view.data = numbers.data();
    d.data = out.data();
    view.dtype = d.dtype = DETGEMM_FP32;
    view.rows = view.cols = view.row_stride = d.rows = d.cols = d.row_stride = 2;
    bias.data = numbers.data();
    bias.size = spec.n = spec.k = 2;
    spec.contract = &contract;
    spec.beta = 1.0F;
    spec.bias = DETGEMM_FP32;
    operands.a = operands.b = operands.c = &view;
    operands.d = &d;
    operands.bias = &bias;
    ok = ok && detgemm_plan_create(backend, &spec, nullptr, &plan) == DETGEMM_OK;
    EXPECT_TRUE(ok) << detgemm_last_error();
  }
  ~CFixture() { detgemm_plan_destroy(plan); }
  CFixture(const CFixture&) = delete;
  CFixture& operator=(const CFixture&) = delete;

  detgemm_status_t run() { return detgemm_plan_run(plan, &stream, &operands, nullptr, 0, &info); }
  detgemm_status_t combine() {
    const std::array<const detgemm_const_matrix_t*, 2> roots{&view, &view};
    return detgemm_plan_combine(plan, &stream, roots.data(), 2, &operands, nullptr, 0, &info);
  }
  detgemm_status_t gemm() {
    return detgemm_gemm(&stream, &view, &view, &d, &contract, &gemm_options);
  }
  detgemm_status_t create() {
    detgemm_plan_t* made = nullptr;
    const auto status = detgemm_plan_create(backend, &spec, &plan_options, &made);
    detgemm_plan_destroy(made);
    return status;
  }
};

/// A call that C alone can get wrong, refused as an invalid argument with this sentence (a regular
/// expression).
struct CRow {
  const char* name;
  const char* sentence;
  detgemm_status_t (*call)(CFixture&);
};
#define CALL []([[maybe_unused]] CFixture & f) -> detgemm_status_t

std::span<const CRow> c_nulls();
std::span<const CRow> c_rules();

}  // namespace detgemm
