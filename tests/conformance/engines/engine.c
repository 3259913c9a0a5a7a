/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* The smallest engine: ieee_fma on fp32, without epilogue. Built several times, once as it should
   be and once with each mistake that the loader must put into a sentence. */

#include "detgemm/engine.h"

#include <math.h>
#include <stdio.h>

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

static int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  const int at = s->op_a == 1;
  const int bt = s->op_b == 1;
#ifdef ENGINE_REFUSES_TO_RUN
  snprintf(c->sentence, c->sentence_size, "out of order today");
  return 7;
#endif
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
  return 0;
}

static const detgemm_engine engine = {
#ifdef ENGINE_TRUNCATED
    .struct_size = 16,
#else
    .struct_size = sizeof(detgemm_engine),
#endif
#ifdef ENGINE_WRONG_ABI
    .abi_version = 99,
#else
    .abi_version = DETGEMM_ENGINE_ABI_VERSION,
#endif
#ifdef ENGINE_ON_A_DEVICE
    .device = 1,
#endif
#ifndef ENGINE_WITHOUT_NAME
    .name = "tiny",
#endif
    .description = "fmaf in three loops",
#ifndef ENGINE_WITHOUT_SUPPORTS
    .supports = supports,
#endif
#ifndef ENGINE_WITHOUT_RUN
    .run = run,
#endif
};

#ifdef ENGINE_WITHOUT_SYMBOL
const detgemm_engine* another_symbol(void) { return &engine; }
#elif defined(ENGINE_SAYS_NULL)
const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  (void)abi_version;
  return 0;
}
#else
const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  (void)abi_version;
  return &engine;
}
#endif
