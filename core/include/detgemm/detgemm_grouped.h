/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_DETGEMM_GROUPED_H
#define DETGEMM_DETGEMM_GROUPED_H

/* Many products in one call, in C: batched problems, and the experts of a mixture. grouped.hpp says
 * what the terms mean; errors, structs, ownership and threads are as in detgemm.h.
 *
 *   kind        A              B              C, D           distances in use
 *   batched     of group 0     of group 0     of group 0     a, b, c, d, bias
 *   m_masked    of group 0     of group 0     of group 0     a, b, c, d, bias; M is the capacity
 *   m_grouped   all R rows     of group 0     all R rows     b, bias
 *   k_grouped   all R columns  all R rows     of group 0     c, d, bias */

#include "detgemm/detgemm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t detgemm_group_kind_t;
enum {
  DETGEMM_BATCHED = 0,   /* groups at fixed distances */
  DETGEMM_M_GROUPED = 1, /* segments of the rows of A and D: a mixture of experts, forward and dA */
  DETGEMM_M_MASKED = 2,  /* batched, but only so many rows of each group matter */
  DETGEMM_K_GROUPED = 3  /* segments of the products: the gradient of the experts' weights */
};

typedef int32_t detgemm_offset_type_t;
enum { DETGEMM_I32 = 0, DETGEMM_I64 = 1 };

/* The lower-case name, for example "m_grouped"; "unknown" for a value not listed. */
DETGEMM_API const char* detgemm_group_kind_name(detgemm_group_kind_t kind);

/* Many problems under one contract. Default: batched, 1 group. */
typedef struct detgemm_grouped_spec_t {
  uint32_t struct_size;
  detgemm_group_kind_t kind;
  const detgemm_gemm_spec_t* gemm; /* required; k is 0 for k_grouped */
  int64_t groups;                  /* from 1 to 2^20; no bit depends on it */
} detgemm_grouped_spec_t;
DETGEMM_API detgemm_status_t detgemm_grouped_spec_init(detgemm_grouped_spec_t* spec,
                                                       size_t struct_size);
/* DETGEMM_OK, or the rule that the problem breaks on every backend. */
DETGEMM_API detgemm_status_t detgemm_grouped_spec_validate(const detgemm_grouped_spec_t* spec);

/* The arrays of one run, in memory of the stream's device, the offsets included. */
typedef struct detgemm_grouped_operands_t {
  uint32_t struct_size;
  detgemm_offset_type_t offset_type; /* DETGEMM_I32 by default */
  const detgemm_operands_t* arrays;  /* required */
  const void* offsets;  /* where groups end, or counts for m_masked; NULL for batched */
  int64_t offset_count; /* the number of groups; 0 for batched */
  /* From a group's array to that of the next, in elements; 0 (default): all groups share it. */
  int64_t a_group;
  int64_t b_group;
  int64_t d_group;
  int64_t c_group;
  int64_t bias_group;
  int64_t scale_a_group;
  int64_t scale_b_group;
} detgemm_grouped_operands_t;
DETGEMM_API detgemm_status_t detgemm_grouped_operands_init(detgemm_grouped_operands_t* operands,
                                                           size_t struct_size);
/* DETGEMM_OK, or the rule that the arrays break. No element and no offset is read. */
DETGEMM_API detgemm_status_t detgemm_grouped_operands_validate(
    const detgemm_grouped_spec_t* spec, const detgemm_grouped_operands_t* operands);

/* DETGEMM_OK if the backend computes it in one call; otherwise DETGEMM_UNSUPPORTED and why not. */
DETGEMM_API detgemm_status_t detgemm_backend_supports_grouped(const detgemm_backend_t* backend,
                                                              const detgemm_grouped_spec_t* spec);

typedef struct detgemm_grouped_plan_t detgemm_grouped_plan_t;

/* *plan belongs to the caller, who destroys it; it is NULL after a refusal. `options` may be NULL.
 */
DETGEMM_API detgemm_status_t detgemm_grouped_plan_create(const detgemm_backend_t* backend,
                                                         const detgemm_grouped_spec_t* spec,
                                                         const detgemm_plan_options_t* options,
                                                         detgemm_grouped_plan_t** plan);
/* No call may be using the plan, and the work it enqueued must have finished. NULL is accepted. */
DETGEMM_API void detgemm_grouped_plan_destroy(detgemm_grouped_plan_t* plan);

/* Bytes of scratch memory for any number of D's rows up to max_m and, for k_grouped, of all groups'
 * products up to max_k, which is 0 for other kinds. */
DETGEMM_API detgemm_status_t detgemm_grouped_plan_workspace_size(const detgemm_grouped_plan_t* plan,
                                                                 int64_t max_m, int64_t max_k,
                                                                 size_t* bytes);
/* Enqueues the computation of all groups; on the host it is finished at return. Offsets that break
 * their rule are not noticed, and nothing outside of the arrays is touched. A backend without
 * kernels over groups runs a plan per group: except for batched it then waits for the stream, to
 * read the offsets, and refuses one that is being captured; `describe` says so. `info` may be NULL.
 */
DETGEMM_API detgemm_status_t detgemm_grouped_plan_run(const detgemm_grouped_plan_t* plan,
                                                      const detgemm_stream_t* stream,
                                                      const detgemm_grouped_operands_t* operands,
                                                      void* workspace, size_t workspace_bytes,
                                                      detgemm_run_info_t* info);
/* For debugging: waits for the stream, reads the offsets and names the first that breaks its rule.
 */
DETGEMM_API detgemm_status_t detgemm_grouped_plan_check(const detgemm_grouped_plan_t* plan,
                                                        const detgemm_stream_t* stream,
                                                        const detgemm_grouped_operands_t* operands);
/* Contract, digest, problem, backend, kernel and workspace for so many rows of D and products of
 * k_grouped, one per line. */
DETGEMM_API detgemm_status_t detgemm_grouped_plan_describe(const detgemm_grouped_plan_t* plan,
                                                           int64_t m, int64_t k, char* buffer,
                                                           size_t size, size_t* needed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DETGEMM_DETGEMM_GROUPED_H */
