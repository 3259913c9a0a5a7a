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
 *   reduction   0 chain, 1 fold, 2 tree, 3 scaled
 *   device      0 host, 1 cuda, 2 hip
 *   groups      0 batched, 1 m_grouped, 2 m_masked, 3 k_grouped
 *   offsets     0 int32, 1 int64
 *   scales      0 fp32, 1 e8m0: one byte x for 2^(x - 127), 255 is NaN
 *
 * Tables and structures have grown at their ends, and will again, without a new ABI version: an
 * engine gives the length of its table in struct_size. What a table lacks, or leaves 0 or NULL, is
 * never called; the harness then reports "unsupported" and names what is missing.
 *
 * A callback that returns an int returns 0 for yes or done. Otherwise it writes a sentence (what
 * was requested, and which rule forbids it) into the buffer that it is given. Callbacks may be
 * called from several threads at once, and must return. The harness calls them in a process of its
 * own: one that ends, or a call that takes too long, is a failed case. */

#ifndef DETGEMM_ENGINE_H
#define DETGEMM_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DETGEMM_ENGINE_ABI_VERSION 1u

/* A strided view: element (i, j) is at data + i * row_stride + j * col_stride, counted in
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

  /* Each of these is 1 only if the table's `takes` has the bit of the same name. */

  /* Under chain and fold, each row of op(A) and column of op(B) has one scale: alpha multiplies
   * scale_a[m] * (scale_b[n] * acc) in place of acc, each product rounded to fp32. */
  int32_t line_scales;
  int32_t a_snapped; /* snap: A is snapped already, for leaves from its first product on */
  int32_t b_snapped; /* the same of B */
  int32_t reserved;  /* 0 */
} detgemm_engine_spec;

/* The scales of one operand: one for `per` rows of op(A), or columns of op(B), and one leaf of K.
 * Row (or column) i and leaf l have the scale at
 *
 *   data + (i / per) * stride + l * leaf_stride       counted in scales
 *
 * Under the reduction scaled (number 3) the sum over leaves is, in the order of l,
 *
 *   acc = fma(scale_a(m, l) * scale_b(n, l), leaf(l), acc)        in fp32, each rounded once
 *
 * With line_scales there is one leaf. Strides may be 0: the scale is then shared. */
typedef struct detgemm_engine_scales {
  const void* data; /* NULL where the call has no scales */
  int32_t type;     /* scales, see above */
  int32_t per;      /* 1 or 128 */
  int64_t blocks;   /* ceil(M / per), or ceil(N / per) for B */
  int64_t leaves;   /* ceil(K / leaf_k), or 1 with line_scales */
  int64_t stride;   /* from a block of rows (or columns) to the next */
  int64_t leaf_stride;
} detgemm_engine_scales;

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
  detgemm_engine_scales scale_a; /* under scaled, and with spec->line_scales */
  detgemm_engine_scales scale_b;
} detgemm_engine_call;

/* Many products in one call. R is the number of rows (m_grouped) or products (k_grouped) that all
 * groups share, o the offsets, with o[-1] = 0:
 *
 *   kind         A               B               C and D         group g computes
 *   0 batched    m x k, group 0  k x n, group 0  m x n, group 0  D[g] = A[g] B[g]
 *   1 m_grouped  R x k           k x n, group 0  R x n           rows o[g-1] .. o[g], by B[g]
 *   2 m_masked   m x k, group 0  k x n, group 0  m x n, group 0  the first o[g] rows of D[g]
 *   3 k_grouped  m x R           R x n           m x n, group 0  products o[g-1] .. o[g]
 *
 * (as stored: op_a and op_b swap rows and columns.) Group g of an array begins `group.x` elements
 * after group g - 1; 0 means that all groups share it. The bias has n elements for each group.
 * Scales go with their operand: scale_a of m_grouped is that of all R rows with per 1.
 *
 * Groups of D may interleave: the rows (or columns) of all groups are then between two lines of
 * group 0. A segment may be empty and begins at any row. Rows of D in no group keep their bytes. A
 * group of k_grouped without products gives what K = 0 gives. Offsets are in the device's memory;
 * those of the harness keep their rule (they ascend, and end at R or before). */
typedef struct detgemm_engine_groups {
  size_t struct_size;
  int32_t kind;
  int32_t offset_type;
  int64_t count;       /* of groups */
  const void* offsets; /* count of them; NULL for batched */
  int64_t a;           /* elements from a group's array to the next one's */
  int64_t b;
  int64_t c;
  int64_t d;
  int64_t bias;
  int64_t scale_a;
  int64_t scale_b;
} detgemm_engine_groups;

/* One token of each of T rows, behind logits of which `vocabulary` columns exist: the reduction
 * logsum16 of core/contract/CONTRACT.md, section 8, whose letters these are. x is a logit times its
 * row's scale. A negative target is ignored. Results are T numbers each, one after the other; those
 * that are NULL are not requested. */
typedef struct detgemm_engine_tokens {
  size_t struct_size;
  int64_t rows; /* T */
  int64_t vocabulary;
  const void* targets; /* numbers of columns of the whole vocabulary */
  int64_t target_stride;
  int32_t target_type; /* offsets, see above */
  int32_t reserved;
  const float* scale; /* T of them, finite and positive; NULL: 1 */
  float* logp;
  float* target_logit; /* x of the target */
  float* lse;
  float* entropy;   /* H */
  int32_t* saved_k; /* K */
  float* saved_r;   /* R */
  void* stream;
  void* workspace; /* aligned to 256 bytes */
  size_t workspace_bytes;
  char* sentence; /* the reason, if the callback does not return 0 */
  size_t sentence_size;
} detgemm_engine_tokens;

/* Columns begin .. end - 1 of a vocabulary. Their maximal aligned nodes, ascending, are words of 32
 * bits in three planes K, S and A of slots x T: word `slot * T + row` of each. */
typedef struct detgemm_engine_shard {
  int64_t begin; /* a multiple of 16 */
  int64_t end;   /* a multiple of 16, or the vocabulary's end */
  int64_t slots;
  void* nodes;
  /* T: x of the targets that are in the shard, and the others are left alone. Chunks of a layer
   * share tokens->target_logit. NULL: not requested. */
  float* target_logit;
  int32_t planes; /* 3; 2: there is no plane A */
  int32_t reserved;
} detgemm_engine_shard;

/* Bits of detgemm_engine.takes: what `supports` and `run` can do beyond the first version of this
 * header. A bit promises nothing: `supports` may still refuse. */
#define DETGEMM_ENGINE_SCALES 1u /* contracts of scaled, which read call->scale_a and scale_b */
#define DETGEMM_ENGINE_LINE_SCALES 2u /* spec->line_scales */
#define DETGEMM_ENGINE_SNAPPED 4u     /* spec->a_snapped and b_snapped */

/* What detgemm_engine_query gives: who the engine is, and the functions through which it is run. */
typedef struct detgemm_engine {
  size_t struct_size; /* sizeof(detgemm_engine) */
  uint32_t abi_version;
  int32_t device; /* where the arrays of a call are */
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

  uint64_t takes; /* bits DETGEMM_ENGINE_... */

  /* Many products in one call: without the first two the engine is given none. spec->k is 0 for
   * k_grouped. `groups` has the kind and the count; its other members are 0 except in run_groups.
   */
  int (*supports_groups)(const detgemm_engine_spec* spec, const detgemm_engine_groups* groups,
                         char* sentence, size_t sentence_size);
  int (*run_groups)(const detgemm_engine_spec* spec, const detgemm_engine_groups* groups,
                    const detgemm_engine_call* call);
  /* Bytes of workspace for up to max_m rows of D's view and, for k_grouped, max_k products. */
  size_t (*groups_workspace_bytes)(const detgemm_engine_spec* spec,
                                   const detgemm_engine_groups* groups, int64_t max_m,
                                   int64_t max_k);

  /* All bytes of the device's memory, free or not. With it, arrays whose lines are more than 2^30
   * elements apart are drawn, each in up to half of it; without it they are not. */
  size_t (*memory_bytes)(void);

  /* Log-probabilities of tokens: without the first the engine is given none. The results of stored
   * logits, T x vocabulary, bf16 or fp32. tokens->workspace has room for the nodes of the
   * vocabulary as one shard. */
  int (*log_probs)(const detgemm_engine_matrix* logits, const detgemm_engine_tokens* tokens);
  /* The nodes of a shard of stored logits, whose first column is column shard->begin; and results
   * from those of all shards, in ascending order. A shard may be empty. In the first, results
   * are NULL and tokens->vocabulary is shard->end; the second is given no scale. */
  int (*log_prob_nodes)(const detgemm_engine_matrix* logits, const detgemm_engine_shard* shard,
                        const detgemm_engine_tokens* tokens);
  int (*log_prob_join)(const detgemm_engine_shard* shards, size_t count,
                       const detgemm_engine_tokens* tokens);
  /* A layer whose logits are not stored: they would be alpha * X W^T + bias under spec->contract,
   * where X is T x k and W, op(B) transposed, is n x k. And the bytes of workspace for it. */
  int (*log_prob_layer)(const detgemm_engine_spec* spec, const detgemm_engine_matrix* x,
                        const detgemm_engine_matrix* w, const void* bias,
                        const detgemm_engine_tokens* tokens);
  size_t (*log_prob_layer_bytes)(const detgemm_engine_spec* spec, int64_t max_rows);
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
