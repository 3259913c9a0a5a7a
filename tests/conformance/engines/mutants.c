/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* A stranger's engine, written without detgemm's code, with one of many faults: the environment
   variable DETGEMM_MUTANT names it, and 0 is the engine as it should be. ieee_fma on bf16 and
   fp32, chain, with the linear part of the epilogue, relu and continue; a fold is what a wrong
   order uses. mutants.py says which property must catch which fault. */

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detgemm/engine.h"

enum { kBf16 = 0, kFp32 = 2 };
enum { kSlice = 32 }; /* products per slice of the wrong order */

static int mutant;

static int supports(const detgemm_engine_spec* s, char* sentence, size_t size) {
  if (strcmp(s->arithmetic, "ieee_fma") == 0 && s->reduction == 0 &&
      (s->input == kBf16 || s->input == kFp32) && (s->output == kBf16 || s->output == kFp32) &&
      (s->bias < 0 || s->bias == kBf16 || s->bias == kFp32) && s->activation <= 1) {
    return 0;
  }
  snprintf(sentence, size, "%s: not here", s->contract);
  return 1;
}

static float load(const void* data, int64_t at, int32_t dtype) {
  float value;
  if (dtype == kFp32) {
    memcpy(&value, (const char*)data + 4 * at, 4);
  } else {
    uint16_t half;
    memcpy(&half, (const char*)data + 2 * at, 2);
    const uint32_t bits = (uint32_t)half << 16;
    memcpy(&value, &bits, 4);
  }
  return value;
}

static void store(const detgemm_engine_matrix* d, int64_t i, int64_t j, float value) {
  const int64_t at = i * d->row_stride + j * d->col_stride;
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if (value != value) bits = 0x7fffffffU;
  if (d->dtype == kFp32) {
    memcpy((char*)d->data + 4 * at, &bits, 4);
  } else {
    const uint16_t half =
        value != value ? 0x7fffU : (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
    memcpy((char*)d->data + 2 * at, &half, 2);
  }
}

static int by_columns(const detgemm_engine_matrix* m) {
  return m->row_stride == 1 && m->col_stride != 1 && m->rows > 1 && m->cols > 1;
}
static int padded(const detgemm_engine_matrix* m) {
  return by_columns(m) ? m->col_stride > m->rows : m->rows > 1 && m->row_stride > m->cols;
}
static unsigned residue(const void* data, unsigned modulus) {
  return (unsigned)((uintptr_t)data % modulus);
}

/* Whether this mutant adds all outputs of this call in another order. */
static int other_order(const detgemm_engine_spec* s, const detgemm_engine_call* c, int calls) {
  const int64_t m = c->d.rows;
  const int64_t outputs = m * s->n;
  const int beta = s->beta != 0.0F;
  const int bias = s->bias >= 0;
  switch (mutant) {
    case 60:
      return s->op_b && padded(&c->b);
    case 61:
      return by_columns(&c->a) && padded(&c->a);
    case 62:
      return by_columns(&c->d) && padded(&c->d);
    case 63:
      return beta && padded(&c->c);
    case 64:
      return beta && by_columns(&c->c);
    case 72:
      return beta && residue(c->c.data, 64) == 32;
    case 149:
      return outputs > 65536;
    case 65:
      return outputs >= 32768;
    case 12:
      return s->k > 8192;
    case 105:
      return calls >= 3;
    case 205:
      return calls >= 5;
    case 305:
      return calls >= 9;
    case 70:
      return bias && s->n > 600;
    case 66:
      return bias && s->op_a;
    case 67:
      return beta && s->op_b && s->k > 16;
    case 69:
      return s->continue_from_c && s->alpha != 1.0F;
    case 313:
      return residue(c->a.data, 256) == 128;
    case 71:
      return bias && residue(c->bias, 16) != 0;
    case 47:
      return c->a.data == c->b.data;
    case 401:
      return m == 1 && s->n % 8 == 0 && s->k % 4 == 0 && c->b.col_stride == 1;
    case 402:
      return s->activation == 1 && s->n > 256;
    /* Some of those that were always caught. */
    case 1:
      return m > 128;
    case 2:
      return s->n > 100;
    case 7:
      return c->a.row_stride % 2 == 1 && c->a.col_stride == 1;
    case 13:
      return residue(c->b.data, 64) == 32;
    case 45:
      return s->op_a && s->op_b;
    case 307:
      return c->a.row_stride >= 4096;
    default:
      return 0;
  }
}

/* The same for one output. */
static int other_element(const detgemm_engine_spec* s, const detgemm_engine_call* c, int64_t i,
                         int64_t j) {
  switch (mutant) {
    case 24:
      return c->c.data == c->d.data && i >= 64;
    case 117:
      return s->bias >= 0 && j >= 1000;
    case 234:
      return i == 511 && j == 511;
    case 134:
      return j == 200;
    default:
      return 0;
  }
}

/* One element past the end of a padded row, times zero. */
static float stray(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  const detgemm_engine_matrix* from = NULL;
  if (mutant == 306 && s->op_a) from = &c->a;
  if (mutant == 606 && s->beta != 0.0F) from = &c->c;
  if (from == NULL || !padded(from) || from->col_stride != 1) return 0.0F;
  return 0.0F * load(from->data, from->cols, from->dtype);
}

static float product(const detgemm_engine_spec* s, const detgemm_engine_call* c, int64_t i,
                     int64_t j, int other) {
  const int64_t ai = s->op_a ? c->a.col_stride : c->a.row_stride;
  const int64_t ak = s->op_a ? c->a.row_stride : c->a.col_stride;
  const int64_t bk = s->op_b ? c->b.col_stride : c->b.row_stride;
  const int64_t bj = s->op_b ? c->b.row_stride : c->b.col_stride;
  const int64_t depth = mutant == 22 && s->k > 65536 ? 65536 : s->k;
  const int32_t type = c->a.dtype;
  float acc = 0.0F;
  if (s->continue_from_c) {
    acc = load(c->c.data, i * c->c.row_stride + j * c->c.col_stride, kFp32);
    if (mutant == 30) acc += 0.0F;
  }
  if (!other) {
    for (int64_t k = 0; k < depth; ++k) {
      acc =
          fmaf(load(c->a.data, i * ai + k * ak, type), load(c->b.data, k * bk + j * bj, type), acc);
    }
    return acc;
  }
  for (int64_t begin = 0; begin < depth; begin += kSlice) {
    float slice = 0.0F;
    for (int64_t k = begin; k < depth && k < begin + kSlice; ++k) {
      slice = fmaf(load(c->a.data, i * ai + k * ak, type), load(c->b.data, k * bk + j * bj, type),
                   slice);
    }
    acc += slice;
  }
  return acc;
}

static float finished(const detgemm_engine_spec* s, const detgemm_engine_call* c, int64_t i,
                      int64_t j, float acc) {
  if (mutant == 18 && s->alpha == 0.0F) acc = 0.0F;
  float v = s->alpha * acc;
  if (s->beta != 0.0F) {
    const float scaled =
        s->beta * load(c->c.data, i * c->c.row_stride + j * c->c.col_stride, c->c.dtype);
    v = v + scaled;
  }
  if (s->bias >= 0) v = v + load(c->bias, j, s->bias);
  if (s->activation == 1) v = v != v || v > 0.0F || (mutant == 19 && v == 0.0F) ? v : 0.0F;
  const int epilogue = s->alpha != 1.0F || s->beta != 0.0F || s->bias >= 0 || s->activation != 0;
  if (mutant == 73 && epilogue) v = v + 0.0F;
  return v;
}

static atomic_int running;
static atomic_long made; /* calls so far */

static int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  const int calls = atomic_fetch_add(&running, 1) + 1;
  const int late = mutant == 50 && atomic_fetch_add(&made, 1) >= 20000;
  const int other = late || other_order(s, c, calls);
  const float extra = stray(s, c);
  for (int64_t i = 0; i < c->d.rows; ++i) {
    for (int64_t j = 0; j < s->n; ++j) {
      float acc = product(s, c, i, j, other || other_element(s, c, i, j));
      if (extra != 0.0F) acc += extra; /* a NaN: not equal to 0 either */
      store(&c->d, i, j, finished(s, c, i, j, acc));
    }
  }
  atomic_fetch_sub(&running, 1);
  snprintf(c->kernel, c->kernel_size, "three loops");
  return 0;
}

static const detgemm_engine engine = {
    .struct_size = sizeof(detgemm_engine),
    .abi_version = DETGEMM_ENGINE_ABI_VERSION,
    .name = "stranger",
    .description = "fmaf in three loops, and one fault",
    .supports = supports,
    .run = run,
};

const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  const char* text = getenv("DETGEMM_MUTANT");
  mutant = text == NULL ? 0 : atoi(text);
  return abi_version == DETGEMM_ENGINE_ABI_VERSION ? &engine : NULL;
}
