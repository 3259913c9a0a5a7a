/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* OpenBLAS as an engine for `detgemm conform --engine`: operands are widened to fp32, sgemm
   multiplies them, and the result is rounded to the output. Nothing of detgemm is linked. */

#include "detgemm/engine.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBf16 = 0, kFp32 = 2 };

/* What sgemm comes closest to: fp32 multiply-adds, k ascending, rounded once at the end. */
static int supports(const detgemm_engine_spec* s, char* sentence, size_t size) {
  const int known_types =
      (s->input == kBf16 || s->input == kFp32) && (s->output == kBf16 || s->output == kFp32);
  if (strcmp(s->arithmetic, "ieee_fma") != 0 || s->reduction != 0 || !known_types) {
    snprintf(sentence, size,
             "contract is %s: sgemm is held against ieee_fma chain on bf16 or "
             "fp32 only",
             s->contract);
    return 1;
  }
  if (s->alpha != 1.0F || s->beta != 0.0F || s->bias >= 0 || s->activation != 0 ||
      s->continue_from_c) {
    snprintf(sentence, size, "an epilogue is asked: this example computes plain products");
    return 1;
  }
  return 0;
}

static float element_as_float(const detgemm_engine_matrix* m, int64_t i, int64_t j) {
  const int64_t at = i * m->row_stride + j * m->col_stride;
  float value;
  if (m->dtype == kFp32) {
    memcpy(&value, (const char*)m->data + 4 * at, sizeof value);
  } else {
    uint16_t half;
    memcpy(&half, (const char*)m->data + 2 * at, sizeof half);
    const uint32_t bits = (uint32_t)half << 16;
    memcpy(&value, &bits, sizeof value);
  }
  return value;
}

/* A packed row-major fp32 copy; NULL where memory has run out. */
static float* widened(const detgemm_engine_matrix* m) {
  float* copy = malloc(sizeof(float) * (size_t)(m->rows * m->cols) + 1);
  for (int64_t i = 0; copy != NULL && i < m->rows; ++i) {
    for (int64_t j = 0; j < m->cols; ++j) copy[i * m->cols + j] = element_as_float(m, i, j);
  }
  return copy;
}

/* To nearest even; NaN becomes the one that contracts ask for. */
static void store(const detgemm_engine_matrix* d, int64_t i, int64_t j, float value) {
  const int64_t at = i * d->row_stride + j * d->col_stride;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) bits = 0x7fffffffU;
  if (d->dtype == kFp32) {
    memcpy((char*)d->data + 4 * at, &bits, sizeof bits);
  } else {
    const uint16_t half =
        value != value ? 0x7fffU : (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
    memcpy((char*)d->data + 2 * at, &half, sizeof half);
  }
}

static int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  const int64_t m = c->d.rows;
  float* a = widened(&c->a);
  float* b = widened(&c->b);
  float* d = calloc((size_t)(m * s->n) + 1, sizeof(float));
  const int ready = a != NULL && b != NULL && d != NULL;
  if (ready && s->k > 0) {
    cblas_sgemm(CblasRowMajor, s->op_a ? CblasTrans : CblasNoTrans,
                s->op_b ? CblasTrans : CblasNoTrans, (int)m, (int)s->n, (int)s->k, 1.0F, a,
                (int)c->a.cols, b, (int)c->b.cols, 0.0F, d, (int)s->n);
  }
  for (int64_t i = 0; ready && i < m; ++i) {
    for (int64_t j = 0; j < s->n; ++j) store(&c->d, i, j, d[i * s->n + j]);
  }
  free(a);
  free(b);
  free(d);
  if (!ready) {
    snprintf(c->sentence, c->sentence_size, "host memory is exhausted");
    return 1;
  }
  snprintf(c->kernel, c->kernel_size, "cblas_sgemm");
  return 0;
}

static const detgemm_engine engine = {
    .struct_size = sizeof(detgemm_engine),
    .abi_version = DETGEMM_ENGINE_ABI_VERSION,
    .device = 0,
    .name = "openblas",
    .description = "OpenBLAS sgemm on operands widened to fp32",
    .supports = supports,
    .run = run,
};

const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  return abi_version == DETGEMM_ENGINE_ABI_VERSION ? &engine : NULL;
}
