/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* What small engines share: ieee_fma on fp32 in three loops, without epilogue. */

#pragma once

#include <math.h>
#include <stdio.h>

#include "detgemm/engine.h"

static int supports(const detgemm_engine_spec* s, char* sentence, size_t size) {
  if (s->input == 2 && s->output == 2 && s->reduction == 0 && s->arithmetic[0] == 'i' &&
      s->alpha == 1.0F && s->beta == 0.0F && s->bias < 0 && s->activation == 0 &&
      !s->continue_from_c) {
    return 0;
  }
  snprintf(sentence, size, "%s is asked: this engine has ieee_fma/fp32/chain->fp32 only",
           s->contract);
  return 1;
}

/* acc <- fma(a[i][0], b[0][j], acc), then k = 1, 2, ...; a NaN is 0x7fffffff. */
static void multiply(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  const int at = s->op_a == 1;
  const int bt = s->op_b == 1;
  for (int64_t i = 0; i < c->d.rows; ++i) {
    for (int64_t j = 0; j < s->n; ++j) {
      float acc = 0.0F;
      for (int64_t k = 0; k < s->k; ++k) {
        const int64_t ai = at ? k : i, aj = at ? i : k, bi = bt ? j : k, bj = bt ? k : j;
        acc = fmaf(((const float*)c->a.data)[ai * c->a.row_stride + aj * c->a.col_stride],
                   ((const float*)c->b.data)[bi * c->b.row_stride + bj * c->b.col_stride], acc);
      }
      union {
        float value;
        uint32_t bits;
      } out = {acc};
      if (acc != acc) out.bits = 0x7fffffffU;
      ((float*)c->d.data)[i * c->d.row_stride + j * c->d.col_stride] = out.value;
    }
  }
  snprintf(c->kernel, c->kernel_size, "triple loop");
}
