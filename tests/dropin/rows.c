/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* A program that knows cuBLAS alone: rows [TOKENS | signal | fork | dlopen PATH]
 *
 * It multiplies 64 tokens by a matrix of weights, in one call and token by token, and prints
 * whether the last token got the same bytes. Exit code 0 if it did, 1 if not. It is linked with
 * the fake cuBLAS and nothing of detgemm. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dropin/fake_cublas/cublas.h"

enum { N = 24, K = 192, TOKENS = 64 };

typedef int (*gemm_function)(cublasHandle_t, int, int, int, int, int, fake_in, fake_in, int, int,
                             fake_in, int, int, fake_in, void*, int, int, int, int);

static float w[N * K], x[TOKENS * K], many[TOKENS * N], single[N];

static int multiply(gemm_function gemm, cublasHandle_t blas, int tokens, const float* in,
                    float* out) {
  const float one = 1.0F, zero = 0.0F;
  return gemm(blas, FAKE_T, FAKE_N, N, tokens, K, &one, w, FAKE_32F, K, in, FAKE_32F, K, &zero, out,
              FAKE_32F, N, FAKE_COMPUTE_32F, -1);
}

static void fill(float* to, int count, unsigned seed) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    to[i] = (float)(int)(seed >> 8) / 8388608.0F - 1.0F;
  }
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  gemm_function gemm = cublasGemmEx;
  if (strcmp(mode, "dlopen") == 0) {
    /* As a framework that asks for symbols by the library's own handle. */
    void* library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    gemm = library == NULL ? NULL : (gemm_function)(uintptr_t)dlsym(library, "cublasGemmEx");
    if (gemm == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
  }
  cublasHandle_t blas = NULL;
  if (cublasCreate_v2(&blas) != 0) return 2;
  fill(w, N * K, 1);
  fill(x, TOKENS * K, 2);
  if (strcmp(mode, "fork") == 0) {
    const pid_t child = fork();
    if (child != 0) {
      int status = 0;
      waitpid(child, &status, 0);
      cublasDestroy_v2(blas);
      return WEXITSTATUS(status);
    }
  }
  if (strcmp(mode, "double") == 0) {
    double a = 2, b = 3, c = 0, one = 1, zero = 0;
    const int status = cublasDgemm_v2(blas, 0, 0, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1);
    printf("status %d, 2 * 3 = %g\n", status, c);
    cublasDestroy_v2(blas);
    return status == 0 ? 0 : 1;
  }
  const float* last = x + (TOKENS - 1) * K;
  if (multiply(gemm, blas, TOKENS, x, many) != 0 || multiply(gemm, blas, 1, last, single) != 0) {
    return 2;
  }
  if (strcmp(mode, "signal") == 0) raise(SIGUSR1);
  const int same = memcmp(many + (TOKENS - 1) * N, single, sizeof single) == 0;
  printf("the last token of %d: %s\n", TOKENS, same ? "the same bytes" : "other bytes");
  cublasDestroy_v2(blas);
  return same ? 0 : 1;
}
