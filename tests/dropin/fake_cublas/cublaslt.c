/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* A cuBLASLt for machines without one; descriptions are tables of attributes. */

#include <pthread.h>
#include <stdlib.h>

#include "tests/dropin/fake_cublas/arithmetic.h"
#include "tests/dropin/fake_cublas/calls.h"
#include "tests/dropin/fake_cublas/cublas.h"

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char name[64];
  long calls;
} counted[64];

static long* row_of(const char* name) {
  for (int i = 0; i < 64; ++i) {
    if (counted[i].name[0] == '\0') strncpy(counted[i].name, name, 63);
    if (strcmp(counted[i].name, name) == 0) return &counted[i].calls;
  }
  abort();
}

void fake_count(const char* name) {
  pthread_mutex_lock(&counting);
  ++*row_of(name);
  pthread_mutex_unlock(&counting);
}
long fake_calls(const char* name) {
  pthread_mutex_lock(&counting);
  const long calls = *row_of(name);
  pthread_mutex_unlock(&counting);
  return calls;
}
void fake_forget(void) {
  pthread_mutex_lock(&counting);
  for (int i = 0; i < 64; ++i) counted[i].calls = 0;
  pthread_mutex_unlock(&counting);
}

enum { MAGIC = 0x4c74, ATTRIBUTES = 40 };
struct table {
  int magic;
  int64_t value[ATTRIBUTES];
};

static struct table* table_of(void* at) {
  struct table* t = at;
  return t != NULL && t->magic == MAGIC ? t : NULL;
}
static int create(void** out) {
  struct table* t = calloc(1, sizeof *t);
  if (t == NULL) return 3;
  t->magic = MAGIC;
  *out = t;
  return 0;
}
static int destroy(void* at) {
  free(at);
  return 0;
}
static int set(void* at, int attribute, const void* value, size_t bytes) {
  struct table* t = table_of(at);
  if (t == NULL || attribute < 0 || attribute >= ATTRIBUTES || bytes > 8) return 7;
  t->value[attribute] = 0;
  memcpy(&t->value[attribute], value, bytes);
  return 0;
}
static int get(void* at, int attribute, void* value, size_t bytes, size_t* written) {
  struct table* t = table_of(at);
  if (t == NULL || attribute < 0 || attribute >= ATTRIBUTES || bytes > 8) return 7;
  memcpy(value, &t->value[attribute], bytes);
  if (written != NULL) *written = bytes;
  return 0;
}

int cublasLtCreate(void** handle) { return create(handle); }
int cublasLtDestroy(void* handle) { return destroy(handle); }
int cublasLtMatmulDescCreate(void** desc, int compute, int scale) {
  if (create(desc) != 0) return 3;
  struct table* t = *desc;
  t->value[0] = compute;
  t->value[1] = scale;
  t->value[6] = 2;
  t->value[7] = 1;
  t->value[26] = -1;
  return 0;
}
int cublasLtMatmulDescDestroy(void* desc) { return destroy(desc); }
int cublasLtMatmulDescSetAttribute(void* desc, int attribute, const void* value, size_t bytes) {
  return set(desc, attribute, value, bytes);
}
int cublasLtMatmulDescGetAttribute(void* desc, int attribute, void* value, size_t bytes,
                                   size_t* written) {
  return get(desc, attribute, value, bytes, written);
}
int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  if (create(layout) != 0) return 3;
  struct table* t = *layout;
  t->value[0] = type;
  t->value[2] = (int64_t)rows;
  t->value[3] = (int64_t)cols;
  t->value[4] = ld;
  t->value[5] = 1;
  return 0;
}
int cublasLtMatrixLayoutDestroy(void* layout) { return destroy(layout); }
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes) {
  return set(layout, attribute, value, bytes);
}
int cublasLtMatrixLayoutGetAttribute(void* layout, int attribute, void* value, size_t bytes,
                                     size_t* written) {
  return get(layout, attribute, value, bytes, written);
}
int cublasLtMatmulPreferenceCreate(void** preference) { return create(preference); }
int cublasLtMatmulPreferenceDestroy(void* preference) { return destroy(preference); }
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                         size_t bytes) {
  return set(preference, attribute, value, bytes);
}
int cublasLtMatmulPreferenceGetAttribute(void* preference, int attribute, void* value, size_t bytes,
                                         size_t* written) {
  return get(preference, attribute, value, bytes, written);
}

int cublasLtMatmulAlgoGetHeuristic(void* handle, void* desc, void* a, void* b, void* c, void* d,
                                   void* preference, int asked,
                                   cublasLtMatmulHeuristicResult_t* results, int* found) {
  fake_count("cublasLtMatmulAlgoGetHeuristic");
  if (handle == NULL) return 1;
  if (table_of(desc) == NULL || a == NULL || b == NULL || c == NULL || d == NULL ||
      preference == NULL || asked < 1) {
    return 7;
  }
  memset(results, 0, sizeof *results);
  results->algo.data[0] = 42;
  *found = 1;
  return 0;
}

static fake_matrix matrix(const struct table* layout, const void* data, int op, int64_t entry) {
  const int type = (int)layout->value[0];
  const int swapped = (layout->value[1] == 1) != (op != FAKE_N);
  return fake_operand(fake_at(data, type, entry * layout->value[6]), type,
                      swapped ? FAKE_T : FAKE_N, layout->value[4]);
}

int cublasLtMatmul(void* handle, void* desc, const void* alpha, const void* a, void* layout_a,
                   const void* b, void* layout_b, const void* beta, const void* c, void* layout_c,
                   void* d, void* layout_d, const cublasLtMatmulAlgo_t* algo, void* workspace,
                   size_t bytes, void* stream) {
  (void)workspace, (void)bytes, (void)stream;
  fake_count("cublasLtMatmul");
  if (algo != NULL) fake_count("cublasLtMatmul with an algorithm");
  if (handle == NULL) return 1;
  const struct table* t = table_of(desc);
  const struct table *la = table_of(layout_a), *lb = table_of(layout_b), *lc = table_of(layout_c),
                     *ld = table_of(layout_d);
  if (t == NULL || la == NULL || lb == NULL || lc == NULL || ld == NULL) return 7;
  if (alpha == NULL || beta == NULL) return 7;
  const int64_t epilogue = t->value[7];
  const int64_t k = t->value[3] == FAKE_N ? la->value[3] : la->value[2];
  const int scale = (int)t->value[1];
  for (int64_t i = 0; i < ld->value[5]; ++i) {
    fake_product(ld->value[2], ld->value[3], k, fake_load(alpha, scale, 0),
                 matrix(la, a, (int)t->value[3], i), matrix(lb, b, (int)t->value[4], i),
                 fake_load(beta, scale, 0), matrix(lc, c, FAKE_N, i), matrix(ld, d, FAKE_N, i),
                 (epilogue & 2) != 0    ? 1
                 : (epilogue & 32) != 0 ? 2
                                        : 0,
                 (epilogue & 4) != 0 ? (const void*)(uintptr_t)t->value[8] : NULL,
                 (int)ld->value[0]);
  }
  return 0;
}
