/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Scales and the quantiser from C99: two rows are quantised, multiplied by two columns under
 * hopper/e4m3/scaled:32->fp32, and refused in every other way. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "detgemm/detgemm.h"
#include "tests/support/c_backend.h"
#include "tests/support/c_expect.h"

enum { M = 2, N = 2, K = 64, LEAVES = 2 };

static void view(detgemm_const_matrix_t* matrix, const void* data, int64_t rows, int64_t cols,
                 detgemm_dtype_t dtype) {
  OK(detgemm_const_matrix_init(matrix, sizeof *matrix));
  matrix->data = data;
  matrix->rows = rows;
  matrix->cols = cols;
  matrix->row_stride = cols;
  matrix->dtype = dtype;
}

int main(void) {
  const detgemm_backend_t* backend = skeleton_for_c();
  float wide[M * K], d[M * N] = {0}, scales[M * LEAVES] = {0};
  unsigned char narrow[M * K] = {0}, ones[K * N];
  const unsigned char half[N * LEAVES] = {126, 126, 126, 126}; /* e8m0 of 0.5 */
  detgemm_quantize_spec_t rule;
  detgemm_scales_out_t made;
  detgemm_const_matrix_t from, a, b;
  detgemm_matrix_t to, out;
  detgemm_block_scales_t scale_a, scale_b;
  detgemm_contract_t contract;
  detgemm_gemm_spec_t spec;
  detgemm_operands_t operands;
  detgemm_plan_t* plan = NULL;
  int i;

  for (i = 0; i < M * K; ++i) wide[i] = i < K ? 448.0F : -2.0F;
  memset(ones, 0x38, sizeof ones); /* 1 */
  OK(detgemm_quantize_spec_init(&rule, sizeof rule));
  EXPECT(rule.leaf_k == 128 && rule.per == 1 && rule.k == DETGEMM_K_COLS);
  rule.leaf_k = 32;
  OK(detgemm_scales_out_init(&made, sizeof made));
  EXPECT(made.data == NULL && made.leaf_stride == 1 && made.type == DETGEMM_SCALE_FP32);
  made.data = scales;
  made.blocks = M;
  made.leaves = made.stride = LEAVES;
  view(&from, wide, M, K, DETGEMM_FP32);
  OK(detgemm_matrix_init(&to, sizeof to));
  to.data = narrow;
  to.rows = M;
  to.cols = to.row_stride = K;
  to.dtype = DETGEMM_E4M3;
  OK(detgemm_quantize(backend, NULL, &rule, &from, &to, &made));
  EXPECT(scales[0] == 1.0F && scales[1] == 1.0F && scales[2] == 2.0F / 448.0F);
  EXPECT(narrow[0] == 0x7e && narrow[K] == 0xfe);
  rule.per = 3;
  REFUSED(detgemm_quantize(backend, NULL, &rule, &from, &to, &made), DETGEMM_INVALID_ARGUMENT,
          "per is 3");
  REFUSED(detgemm_quantize(backend, NULL, NULL, &from, &to, &made), DETGEMM_INVALID_ARGUMENT,
          "spec");
  REFUSED(detgemm_quantize(backend, NULL, &rule, &from, &to, NULL), DETGEMM_INVALID_ARGUMENT,
          "scales");

  OK(detgemm_block_scales_init(&scale_a, sizeof scale_a));
  EXPECT(scale_a.per == 1 && scale_a.leaf_stride == 1 && scale_a.data == NULL);
  scale_a.data = scales;
  scale_a.blocks = M;
  scale_a.leaves = scale_a.stride = LEAVES;
  OK(detgemm_block_scales_init(&scale_b, sizeof scale_b));
  scale_b.type = DETGEMM_SCALE_E8M0;
  scale_b.data = half;
  scale_b.blocks = N;
  scale_b.leaves = scale_b.stride = LEAVES;

  OK(detgemm_contract_init(&contract, sizeof contract));
  OK(detgemm_contract_parse("hopper/e4m3/scaled:32->fp32", &contract));
  EXPECT(contract.reduction == DETGEMM_SCALED && contract.leaf_k == 32);
  EXPECT(strcmp(detgemm_reduction_name(DETGEMM_SCALED), "scaled") == 0);
  OK(detgemm_gemm_spec_init(&spec, sizeof spec));
  spec.contract = &contract;
  spec.n = N;
  spec.k = K;
  view(&a, narrow, M, K, DETGEMM_E4M3);
  view(&b, ones, K, N, DETGEMM_E4M3);
  OK(detgemm_matrix_init(&out, sizeof out));
  out.data = d;
  out.rows = M;
  out.cols = out.row_stride = N;
  out.dtype = DETGEMM_FP32;
  OK(detgemm_operands_init(&operands, sizeof operands));
  operands.a = &a;
  operands.b = &b;
  operands.d = &out;
  REFUSED(detgemm_operands_validate(&spec, &operands), DETGEMM_INVALID_ARGUMENT,
          "scale_a has no scales");
  operands.scale_a = &scale_a;
  operands.scale_b = &scale_b;
  OK(detgemm_operands_validate(&spec, &operands));
  OK(detgemm_plan_create(backend, &spec, NULL, &plan));
  OK(detgemm_plan_run(plan, NULL, &operands, NULL, 0, NULL));
  EXPECT(d[0] == 448.0F * K / 2 && d[1] == d[0]);
  EXPECT(d[2] == d[3] && d[2] < -63.9F && d[2] > -64.1F);
  /* A caller whose struct ends before the scales brings none. */
  operands.struct_size = (uint32_t)offsetof(detgemm_operands_t, scale_a);
  REFUSED(detgemm_plan_run(plan, NULL, &operands, NULL, 0, NULL), DETGEMM_INVALID_ARGUMENT,
          "scale_a has no scales");
  scale_a.struct_size = 5;
  operands.struct_size = sizeof operands;
  REFUSED(detgemm_plan_run(plan, NULL, &operands, NULL, 0, NULL), DETGEMM_INVALID_ARGUMENT,
          "operands.scale_a.struct_size is 5");
  detgemm_plan_destroy(plan);

  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
