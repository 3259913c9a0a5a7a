/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_DETGEMM_LOG_PROB_H
#define DETGEMM_DETGEMM_LOG_PROB_H

/* Log-probabilities of tokens, in C: a product under any contract, then one written reduction over
 * the vocabulary. log_prob.hpp says what the terms mean; errors, structs, ownership and threads are
 * as in detgemm.h. T is the number of rows. Arrays of results are fp32 and contiguous. */

#include "detgemm/detgemm.h"
#include "detgemm/detgemm_grouped.h" /* detgemm_offset_type_t */

#ifdef __cplusplus
extern "C" {
#endif

/* A linear layer and the reduction over its columns, without T. */
typedef struct detgemm_log_prob_spec_t {
  uint32_t struct_size;
  detgemm_dtype_t bias;               /* DETGEMM_NONE by default */
  const detgemm_contract_t* contract; /* required: of the logits, output bf16 or fp32 */
  int64_t n;                          /* rows of W: the vocabulary, or a shard of it */
  int64_t k;                          /* the hidden size */
  float alpha;                        /* 1 by default */
  int32_t entropy;                    /* 1: runs may give entropies */
  int64_t begin;                      /* the shard's first column, a multiple of 16 */
  int64_t vocabulary;                 /* columns from here on do not exist; 0: begin + n */
  const detgemm_contract_t* dgrad;    /* of dX, bf16 input; NULL: no dX */
  const detgemm_contract_t* wgrad;    /* of dW, bf16 input; NULL: no dW */
  int32_t continue_dw;                /* 1: dW starts from what it holds */
  int32_t reserved;                   /* 0 */
  int64_t chunk;                      /* columns of logits at a time; 0: chosen. Bit-neutral */
} detgemm_log_prob_spec_t;
DETGEMM_API detgemm_status_t detgemm_log_prob_spec_init(detgemm_log_prob_spec_t* spec,
                                                        size_t struct_size);
/* DETGEMM_OK, or the rule that the problem breaks on every backend. */
DETGEMM_API detgemm_status_t detgemm_log_prob_spec_validate(const detgemm_log_prob_spec_t* spec);

/* Reads CONTRACT+logsum16 and gives the logits' contract. */
DETGEMM_API detgemm_status_t detgemm_log_prob_contract_parse(const char* text,
                                                             detgemm_contract_t* contract);
/* The text of the whole contract, and its digest. */
DETGEMM_API detgemm_status_t detgemm_log_prob_contract_text(const detgemm_contract_t* contract,
                                                            char* buffer, size_t size,
                                                            size_t* needed);
DETGEMM_API detgemm_status_t detgemm_log_prob_contract_digest(const detgemm_contract_t* contract,
                                                              uint64_t* digest);

/* What rows bring besides logits. A negative target is ignored: its log-probability is +0, and its
 * row has no gradient. */
typedef struct detgemm_log_prob_rows_t {
  uint32_t struct_size;
  detgemm_offset_type_t target_type; /* DETGEMM_I64 by default */
  const void* targets;               /* id j of row t at t * target_stride + j; NULL: none */
  int64_t per_row;                   /* ids of each row, 1 by default */
  int64_t target_stride;             /* in ids; 1 by default */
  const float* scale;                /* T, finite and positive; NULL: 1 */
} detgemm_log_prob_rows_t;
DETGEMM_API detgemm_status_t detgemm_log_prob_rows_init(detgemm_log_prob_rows_t* rows,
                                                        size_t struct_size);

/* Where results go; what is NULL is not written. */
typedef struct detgemm_log_prob_outputs_t {
  uint32_t struct_size;
  uint32_t reserved;   /* 0 */
  float* logp;         /* T x per_row */
  float* target_logit; /* T x per_row: the logit times the scale */
  float* lse;          /* T */
  float* entropy;      /* T */
  int32_t* saved_k;    /* T: with saved_r what the gradient needs */
  float* saved_r;      /* T */
  /* Of detgemm_linear_log_prob alone: the logits are kept, T x the columns that exist, of the
   * contract's output type; or NULL. */
  const detgemm_matrix_t* logits;
} detgemm_log_prob_outputs_t;
DETGEMM_API detgemm_status_t detgemm_log_prob_outputs_init(detgemm_log_prob_outputs_t* outputs,
                                                           size_t struct_size);

/* The nodes of columns begin .. end - 1: words of 32 bits, planes K, S and, with entropy, A, each
 * of slots x T. */
typedef struct detgemm_log_prob_shard_t {
  uint32_t struct_size;
  int32_t entropy; /* 1: there is a plane A */
  int64_t begin;   /* a multiple of 16 */
  int64_t end;     /* a multiple of 16, or the end of the vocabulary */
  void* nodes;
  float* target_logit; /* T x per_row: ids of other shards are left alone; or NULL */
} detgemm_log_prob_shard_t;
DETGEMM_API detgemm_status_t detgemm_log_prob_shard_init(detgemm_log_prob_shard_t* shard,
                                                         size_t struct_size);
/* How many slots such a shard has. */
DETGEMM_API detgemm_status_t detgemm_log_prob_slots(int64_t begin, int64_t end, int64_t* slots);

/* What a gradient reads per row, one target each. */
typedef struct detgemm_log_prob_upstream_t {
  uint32_t struct_size;
  uint32_t reserved;      /* 0 */
  const int32_t* saved_k; /* of the forward pass; required, as saved_r is */
  const float* saved_r;
  const float* lse; /* of the forward pass; required with d_entropy, as entropy is */
  const float* entropy;
  const float* d_logp; /* upstream gradients; NULL: none */
  const float* d_lse;
  const float* d_entropy;
  float alpha;         /* of detgemm_log_prob_gradient alone: the product's factor, 1 by default */
  uint32_t reserved_2; /* 0 */
  /* Of detgemm_linear_log_prob_backward alone: kept logits; NULL: they are computed again. */
  const detgemm_const_matrix_t* logits;
} detgemm_log_prob_upstream_t;
DETGEMM_API detgemm_status_t detgemm_log_prob_upstream_init(detgemm_log_prob_upstream_t* upstream,
                                                            size_t struct_size);

typedef struct detgemm_log_prob_plan_t detgemm_log_prob_plan_t;

/* *plan belongs to the caller, who destroys it; it is NULL after a refusal. `options` may be NULL.
 */
DETGEMM_API detgemm_status_t detgemm_log_prob_plan_create(const detgemm_backend_t* backend,
                                                          const detgemm_log_prob_spec_t* spec,
                                                          const detgemm_plan_options_t* options,
                                                          detgemm_log_prob_plan_t** plan);
/* No call may be using the plan, and the work it enqueued must have finished. NULL is accepted. */
DETGEMM_API void detgemm_log_prob_plan_destroy(detgemm_log_prob_plan_t* plan);

/* Bytes of scratch memory for any T up to max_t: of detgemm_linear_log_prob and _nodes, and of
 * _backward. */
DETGEMM_API detgemm_status_t detgemm_log_prob_plan_workspace_size(
    const detgemm_log_prob_plan_t* plan, int64_t max_t, size_t* bytes);
DETGEMM_API detgemm_status_t detgemm_log_prob_plan_backward_workspace_size(
    const detgemm_log_prob_plan_t* plan, int64_t max_t, size_t* bytes);

/* x is T x k, w is n x k, bias n numbers (NULL where the plan adds none). On the host the work is
 * finished at return. */
DETGEMM_API detgemm_status_t detgemm_linear_log_prob(
    const detgemm_log_prob_plan_t* plan, const detgemm_stream_t* stream,
    const detgemm_const_matrix_t* x, const detgemm_const_matrix_t* w, const detgemm_vector_t* bias,
    const detgemm_log_prob_rows_t* rows, const detgemm_log_prob_outputs_t* outputs, void* workspace,
    size_t workspace_bytes);
/* The nodes of the plan's columns that exist. */
DETGEMM_API detgemm_status_t detgemm_linear_log_prob_nodes(
    const detgemm_log_prob_plan_t* plan, const detgemm_stream_t* stream,
    const detgemm_const_matrix_t* x, const detgemm_const_matrix_t* w, const detgemm_vector_t* bias,
    const detgemm_log_prob_rows_t* rows, const detgemm_log_prob_shard_t* shard, void* workspace,
    size_t workspace_bytes);
/* dX (T x k) and dW (n x k); one of them may be NULL. */
DETGEMM_API detgemm_status_t detgemm_linear_log_prob_backward(
    const detgemm_log_prob_plan_t* plan, const detgemm_stream_t* stream,
    const detgemm_const_matrix_t* x, const detgemm_const_matrix_t* w, const detgemm_vector_t* bias,
    const detgemm_log_prob_rows_t* rows, const detgemm_log_prob_upstream_t* upstream,
    const detgemm_matrix_t* dx, const detgemm_matrix_t* dw, void* workspace,
    size_t workspace_bytes);

/* Bytes of scratch memory of detgemm_log_prob_of_logits. */
DETGEMM_API detgemm_status_t detgemm_log_prob_workspace_size(int64_t t, int64_t vocabulary,
                                                             size_t* bytes);
/* The same results from stored logits, T x at least `vocabulary`, bf16 or fp32. */
DETGEMM_API detgemm_status_t detgemm_log_prob_of_logits(
    const detgemm_backend_t* backend, const detgemm_stream_t* stream,
    const detgemm_const_matrix_t* logits, int64_t vocabulary, const detgemm_log_prob_rows_t* rows,
    const detgemm_log_prob_outputs_t* outputs, void* workspace, size_t workspace_bytes);
/* The nodes of a shard of stored logits, whose column 0 is column shard->begin. */
DETGEMM_API detgemm_status_t detgemm_log_prob_nodes(const detgemm_backend_t* backend,
                                                    const detgemm_stream_t* stream,
                                                    const detgemm_const_matrix_t* logits,
                                                    int64_t vocabulary,
                                                    const detgemm_log_prob_rows_t* rows,
                                                    const detgemm_log_prob_shard_t* shard);
/* Results from the nodes of `count` shards, in ascending order, which hold the whole vocabulary.
 * The structs are adjacent: each begins struct_size bytes after the one before. */
DETGEMM_API detgemm_status_t detgemm_log_prob_join(const detgemm_backend_t* backend,
                                                   const detgemm_stream_t* stream, int64_t t,
                                                   const detgemm_log_prob_shard_t* shards,
                                                   size_t count, int64_t vocabulary,
                                                   const detgemm_log_prob_rows_t* rows,
                                                   const detgemm_log_prob_outputs_t* outputs);
/* The bf16 gradient of stored logits, whose column 0 is column `begin`; g has their shape, and may
 * be the bf16 logits themselves. */
DETGEMM_API detgemm_status_t detgemm_log_prob_gradient(const detgemm_backend_t* backend,
                                                       const detgemm_stream_t* stream,
                                                       const detgemm_const_matrix_t* logits,
                                                       int64_t begin, int64_t vocabulary,
                                                       const detgemm_log_prob_rows_t* rows,
                                                       const detgemm_log_prob_upstream_t* upstream,
                                                       const detgemm_matrix_t* g);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DETGEMM_DETGEMM_LOG_PROB_H */
