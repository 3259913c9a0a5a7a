/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Calls every function of detgemm_grouped.h from C99: two experts, of 2 rows and of 1, each with a
 * 2 x 2 matrix, under ieee_fma/fp32/chain->fp32. */

#define _POSIX_C_SOURCE 200809L /* posix_memalign */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detgemm/detgemm_grouped.h"
#include "tests/support/c_expect.h"

static const float kA[6] = {1, 2, 3, 4, 5, 6};       /* 3 rows */
static const float kB[8] = {1, 0, 0, 1, 2, 0, 0, 3}; /* the identity, and diag(2, 3) */
static const float kD[6] = {1, 2, 3, 4, 10, 18};
static const int32_t kEnds[2] = {2, 3};
static const int32_t kWrong[2] = {3, 2};

int main(void) {
  detgemm_contract_t contract;
  detgemm_gemm_spec_t gemm;
  detgemm_grouped_spec_t spec, other;
  detgemm_const_matrix_t a, b;
  detgemm_matrix_t d;
  detgemm_operands_t arrays;
  detgemm_grouped_operands_t operands;
  detgemm_run_info_t info;
  const detgemm_backend_t* backend = NULL;
  detgemm_grouped_plan_t* plan = NULL;
  float out[6] = {0};
  char text[1024];
  size_t bytes = 0, needed = 0;
  void* scratch = NULL;

  EXPECT(strcmp(detgemm_group_kind_name(DETGEMM_K_GROUPED), "k_grouped") == 0);
  EXPECT(strcmp(detgemm_group_kind_name(9), "unknown") == 0);
  OK(detgemm_contract_init(&contract, sizeof contract));
  OK(detgemm_contract_parse("ieee_fma/fp32/chain->fp32", &contract));
  OK(detgemm_gemm_spec_init(&gemm, sizeof gemm));
  gemm.n = gemm.k = 2;
  gemm.contract = &contract;
  OK(detgemm_grouped_spec_init(&spec, sizeof spec));
  EXPECT(spec.groups == 1 && spec.kind == DETGEMM_BATCHED);
  REFUSED(detgemm_grouped_spec_validate(&spec), DETGEMM_INVALID_ARGUMENT, "spec.gemm");
  REFUSED(detgemm_grouped_spec_validate(NULL), DETGEMM_INVALID_ARGUMENT, "spec");
  spec.gemm = &gemm;
  spec.kind = DETGEMM_M_GROUPED;
  spec.groups = 2;
  OK(detgemm_grouped_spec_validate(&spec));
  other = spec;
  other.kind = 4;
  REFUSED(detgemm_grouped_spec_validate(&other), DETGEMM_INVALID_ARGUMENT, "kind is unknown (4)");

  OK(detgemm_const_matrix_init(&a, sizeof a));
  a.dtype = DETGEMM_FP32;
  b = a;
  a.data = kA;
  a.rows = 3;
  b.data = kB;
  b.rows = 2;
  a.cols = b.cols = a.row_stride = b.row_stride = 2;
  OK(detgemm_matrix_init(&d, sizeof d));
  d.dtype = DETGEMM_FP32;
  d.data = out;
  d.rows = 3;
  d.cols = d.row_stride = 2;
  OK(detgemm_operands_init(&arrays, sizeof arrays));
  arrays.a = &a;
  arrays.b = &b;
  arrays.d = &d;
  OK(detgemm_grouped_operands_init(&operands, sizeof operands));
  REFUSED(detgemm_grouped_operands_validate(&spec, &operands), DETGEMM_INVALID_ARGUMENT,
          "operands");
  operands.arrays = &arrays;
  operands.offsets = kEnds;
  operands.offset_count = 2;
  operands.b_group = 4;
  OK(detgemm_grouped_operands_validate(&spec, &operands));
  operands.a_group = 6;
  REFUSED(detgemm_grouped_operands_validate(&spec, &operands), DETGEMM_INVALID_ARGUMENT,
          "group.a is 6");
  operands.a_group = 0;

  OK(detgemm_runtime_start(NULL));
  OK(detgemm_backend_find("reference", &backend));
  OK(detgemm_backend_supports_grouped(backend, &spec));
  REFUSED(detgemm_backend_supports_grouped(NULL, &spec), DETGEMM_INVALID_ARGUMENT, "backend");
  REFUSED(detgemm_grouped_plan_create(backend, &other, NULL, &plan), DETGEMM_INVALID_ARGUMENT,
          "kind");
  EXPECT(plan == NULL);
  OK(detgemm_grouped_plan_create(backend, &spec, NULL, &plan));
  REFUSED(detgemm_grouped_plan_workspace_size(plan, 3, 1, &bytes), DETGEMM_INVALID_ARGUMENT,
          "max_k is 1");
  OK(detgemm_grouped_plan_workspace_size(plan, 3, 0, &bytes));
  if (bytes > 0 && posix_memalign(&scratch, DETGEMM_WORKSPACE_ALIGNMENT, bytes) != 0) return 2;
  OK(detgemm_grouped_plan_check(plan, NULL, &operands));
  OK(detgemm_run_info_init(&info, sizeof info));
  OK(detgemm_grouped_plan_run(plan, NULL, &operands, scratch, bytes, &info));
  EXPECT(memcmp(out, kD, sizeof kD) == 0);
  EXPECT(info.kernel[0] != 0);
  OK(detgemm_grouped_plan_run(plan, NULL, &operands, scratch, bytes, NULL));
  operands.offsets = kWrong;
  REFUSED(detgemm_grouped_plan_check(plan, NULL, &operands), DETGEMM_INVALID_ARGUMENT,
          "offsets[1] is 2");
  OK(detgemm_grouped_plan_describe(plan, 3, 0, text, sizeof text, &needed));
  EXPECT(strstr(text, "m_grouped, 2 groups") != NULL && needed == strlen(text) + 1);
  REFUSED(detgemm_grouped_plan_describe(plan, -1, 0, text, sizeof text, NULL),
          DETGEMM_INVALID_ARGUMENT, "max_m is -1");
  detgemm_grouped_plan_destroy(plan);
  detgemm_grouped_plan_destroy(NULL);
  REFUSED(detgemm_grouped_plan_run(NULL, NULL, &operands, NULL, 0, NULL), DETGEMM_INVALID_ARGUMENT,
          "plan");
  OK(detgemm_runtime_stop());
  free(scratch);
  if (failures == 0) puts("all calls behave as documented");
  return failures == 0 ? 0 : 1;
}
