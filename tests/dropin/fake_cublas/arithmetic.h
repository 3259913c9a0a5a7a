/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* What the fakes compute with: sums in fp32 whose order depends on the number of columns, as a real
 * library's choice of kernel does. Nothing here is detgemm's. */

#ifndef DETGEMM_FAKE_ARITHMETIC_H
#define DETGEMM_FAKE_ARITHMETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/dropin/fake_cublas/cublas.h"

static inline float fake_load(const void* data, int type, int64_t at) {
  uint16_t half;
  float value;
  _Float16 fp16;
  if (type == FAKE_32F) return ((const float*)data)[at];
  if (type == FAKE_64F) return (float)((const double*)data)[at];
  memcpy(&half, (const char*)data + 2 * at, 2);
  if (type == FAKE_16BF) {
    const uint32_t bits = (uint32_t)half << 16;
    memcpy(&value, &bits, 4);
    return value;
  }
  memcpy(&fp16, &half, 2);
  return (float)fp16;
}

static inline void fake_store(void* data, int type, int64_t at, float value) {
  uint32_t bits;
  uint16_t half;
  if (type == FAKE_32F) {
    ((float*)data)[at] = value;
  } else if (type == FAKE_64F) {
    ((double*)data)[at] = value;
  } else {
    memcpy(&bits, &value, 4);
    half = (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
    if (type == FAKE_16F) {
      const _Float16 fp16 = (_Float16)value;
      memcpy(&half, &fp16, 2);
    }
    memcpy((char*)data + 2 * at, &half, 2);
  }
}

/* A matrix: element (i, j) lies at i * row + j * col. */
typedef struct {
  void* data;
  int type;
  int64_t row, col;
} fake_matrix;

/* epilogue 0 none, 1 relu, 2 gelu; `bias` has an element per row, or is NULL. Many columns are
 * summed from the end of k, one column from its start. */
static inline void fake_product(int64_t m, int64_t n, int64_t k, float alpha, fake_matrix a,
                                fake_matrix b, float beta, fake_matrix c, fake_matrix d,
                                int epilogue, const void* bias, int bias_type) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0.0F;
      for (int64_t step = 0; step < k; ++step) {
        const int64_t p = n == 1 ? step : k - 1 - step;
        sum += fake_load(a.data, a.type, i * a.row + p * a.col) *
               fake_load(b.data, b.type, p * b.row + j * b.col);
      }
      float value = alpha * sum;
      if (beta != 0.0F) value += beta * fake_load(c.data, c.type, i * c.row + j * c.col);
      if (bias != NULL) value += fake_load(bias, bias_type, i);
      if (epilogue == 1 && value < 0.0F) value = 0.0F;
      if (epilogue == 2) value = 0.5F * value * (1.0F + erff(value * 0.70710678F));
      fake_store(d.data, d.type, i * d.row + j * d.col, value);
    }
  }
}

static inline void* fake_at(const void* data, int type, int64_t elements) {
  const int64_t bytes = type == FAKE_64F ? 8 : type == FAKE_32F ? 4 : 2;
  return (char*)(uintptr_t)data + bytes * elements;
}

/* A column-major operand under an operation. */
static inline fake_matrix fake_operand(const void* data, int type, int op, int64_t ld) {
  const fake_matrix plain = {(void*)(uintptr_t)data, type, 1, ld};
  const fake_matrix transposed = {(void*)(uintptr_t)data, type, ld, 1};
  return op == FAKE_N ? plain : transposed;
}

#endif /* DETGEMM_FAKE_ARITHMETIC_H */
