/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* How to test your own GEMM with the conformance harness:
 *
 *   cc -shared -fPIC -o libmine.so mine.c
 *   detgemm conform --engine ./libmine.so --contract 'ieee_fma/bf16/chain->bf16'
 *
 * The shared object exports one function, detgemm_engine_query, which returns your table of
 * callbacks. Nothing of detgemm is linked. See examples/engine_openblas for a complete engine.
 *
 * Enumerations are those of detgemm/types.hpp and detgemm/contract.hpp, by value:
 *   dtype       0 bf16, 1 fp16, 2 fp32, 3 tf32 (input only; fp32 in memory), 4 e4m3, 5 e5m2
 *   op          0 none, 1 transpose
 *   activation  0 none, 1 relu, 2 gelu, 3 gelu_tanh, 4 silu
 *   reduction   0 chain, 1 fold, 2 tree
 *   device      0 host, 1 cuda, 2 hip
 *
 * A callback that returns an int returns 0 for yes or done. Otherwise it writes a sentence (what
 * was asked, and which rule forbids it) into the buffer that it is given. Callbacks may be called
 * from several threads at once, and must return. The harness calls them in a process of its own:
 * one that ends, or a call that takes too long, is a failed case. */

#ifndef DETGEMM_ENGINE_H
#define DETGEMM_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DETGEMM_ENGINE_ABI_VERSION 1u

/* A strided view: element (i, j) lies at data + i * row_stride + j * col_stride, counted in
 * elements. */
typedef struct detgemm_engine_matrix {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  int32_t dtype;
  int32_t reserved;
} detgemm_engine_matrix;

/* The problem without its M: D = activation(alpha * A*B + beta * C + bias). */
typedef struct detgemm_engine_spec {
  size_t struct_size;
  int64_t n;
  int64_t k;
  const char* contract;   /* for example "hopper/bf16/tree:512->bf16" */
  const char* arithmetic; /* "ieee_fma", "hopper", ... */
  int32_t input;
  int32_t output;
  int32_t k_block;
  int32_t reduction;
  int64_t leaf_k; /* 0 for chain */
  int32_t op_a;
  int32_t op_b;
  float alpha;
  float beta;   /* 0: C may not be read */
  int32_t bias; /* dtype, or -1 for none */
  int32_t activation;
  int32_t continue_from_c; /* 1: the accumulator starts from fp32 C */
  int32_t max_workers;     /* 0: any number */
  const char* variant;     /* "" or one that the engine listed */
} detgemm_engine_spec;

/* The arrays of one run, and buffers for the text that the callback writes. */
typedef struct detgemm_engine_call {
  size_t struct_size;
  detgemm_engine_matrix a; /* as stored: m x k, or k x m with op_a transpose */
  detgemm_engine_matrix b; /* k x n, or n x k */
  detgemm_engine_matrix c; /* m x n; data is NULL if there is none */
  detgemm_engine_matrix d; /* m x n; may be C itself */
  const void* bias;        /* n elements, or NULL */
  void* stream;            /* what create_stream returned */
  void* workspace;         /* aligned to 256 bytes */
  size_t workspace_bytes;
  char* kernel;       /* write the name of the kernel that runs here; if spec->variant */
  size_t kernel_size; /* forces one, its name must appear in it */
  char* sentence;     /* the reason, if the callback does not return 0 */
  size_t sentence_size;
} detgemm_engine_call;

/* What detgemm_engine_query gives: who the engine is, and the functions through which it is run. */
typedef struct detgemm_engine {
  size_t struct_size; /* sizeof(detgemm_engine) */
  uint32_t abi_version;
  int32_t device; /* where the arrays of a call lie */
  const char* name;
  const char* description;
  int (*supports)(const detgemm_engine_spec* spec, char* sentence, size_t sentence_size);
  int (*run)(const detgemm_engine_spec* spec, const detgemm_engine_call* call);

  /* From here on everything may be NULL or left out (smaller struct_size). */

  /* The name of kernel number `index` of those that may be forced; NULL after the last one. */
  const char* (*variant)(const detgemm_engine_spec* spec, size_t index);
  /* Bytes of workspace that a run needs for any M up to max_m. */
  size_t (*workspace_bytes)(const detgemm_engine_spec* spec, int64_t max_m);
  /* Under `tree`: adds fp32 roots (m x n each) in tree order, then applies the epilogue; call->a
   * and call->b are not used. */
  int (*combine)(const detgemm_engine_spec* spec, const detgemm_engine_matrix* roots, size_t count,
                 const detgemm_engine_call* call);

  /* Memory and streams: all seven are needed unless `device` is 0 (host). */
  void* (*allocate)(size_t bytes); /* aligned to 256 bytes; NULL on failure */
  void (*release)(void* memory);
  int (*to_device)(void* device, const void* host, size_t bytes); /* blocking */
  int (*to_host)(void* host, const void* device, size_t bytes);   /* blocking */
  int (*create_stream)(void** stream);
  void (*destroy_stream)(void* stream);
  int (*synchronize)(void* stream);
} detgemm_engine;

/* The one exported symbol. Returns NULL if the engine does not implement this ABI version; the
 * table must stay valid until the process ends. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const detgemm_engine*
detgemm_engine_query(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif /* DETGEMM_ENGINE_H */
