/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The quick start in C99: row 0 of D = A*B, alone and in a batch of 257, has the same bits. */

#include <detgemm/detgemm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 257, N = 192, K = 1000 };
static float a[M * K], b[K * N], batch[M * N], alone[N];

static void check(detgemm_status_t status) {
  if (status == DETGEMM_OK) return;
  fprintf(stderr, "%s: %s\n", detgemm_status_name(status), detgemm_last_error());
  exit(1);
}

static void fill(float* values, size_t count, uint32_t seed) {
  size_t i;
  for (i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
}

static detgemm_const_matrix_t input(const float* data, int64_t rows, int64_t cols) {
  detgemm_const_matrix_t view;
  check(detgemm_const_matrix_init(&view, sizeof view));
  view.dtype = DETGEMM_FP32;
  view.data = data;
  view.rows = rows;
  view.cols = cols;
  view.row_stride = cols;
  return view;
}

/* The first `rows` rows of A times B. */
static void multiply(const detgemm_contract_t* contract, int64_t rows, float* d) {
  const detgemm_const_matrix_t left = input(a, rows, K);
  const detgemm_const_matrix_t right = input(b, K, N);
  detgemm_matrix_t out;
  check(detgemm_matrix_init(&out, sizeof out));
  out.dtype = DETGEMM_FP32;
  out.data = d;
  out.rows = rows;
  out.cols = N;
  out.row_stride = N;
  check(detgemm_gemm(NULL, &left, &right, &out, contract, NULL));
}

int main(void) {
  detgemm_contract_t contract;
  int same;

  check(detgemm_runtime_start(NULL));
  check(detgemm_contract_init(&contract, sizeof contract));
  check(detgemm_contract_parse("ieee_fma/fp32/tree:256->fp32", &contract));

  fill(a, sizeof a / sizeof *a, 1);
  fill(b, sizeof b / sizeof *b, 2);
  multiply(&contract, M, batch);
  multiply(&contract, 1, alone);

  same = memcmp(batch, alone, sizeof alone) == 0;
  printf("row 0 %s in a batch of 1 and of 257\n", same ? "has the same bits" : "differs");
  check(detgemm_runtime_stop());
  return same ? 0 : 1;
}
