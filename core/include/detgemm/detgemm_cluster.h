/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_DETGEMM_CLUSTER_H
#define DETGEMM_DETGEMM_CLUSTER_H

/* Products spread over ranks, in C (component `cluster`). Errors, structs, ownership and text are
 * those of detgemm.h; cluster.hpp says what the terms mean, docs/cluster.md how to choose. Creating
 * a communicator or a plan is collective, and so is every run: all ranks call, and all succeed or
 * all refuse with the same sentence. A call with a bad handle, struct or cut of K is refused here
 * alone; the other ranks then wait for this one as long as their patience lasts. A run that fails
 * with DETGEMM_PEER may have written D and the workspace. The calls of one communicator follow each
 * other on its rank's streams: two at once take each other's signals, and D may be wrong. */

#include "detgemm/detgemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Transports: what moves bytes between ranks -------------------------------------------- */

typedef struct detgemm_transport_t detgemm_transport_t;

/* Bytes for one rank. */
typedef struct detgemm_send_t {
  int32_t to;
  uint32_t reserved;
  const void* data;
  size_t bytes;
} detgemm_send_t;
/* Room for the bytes of one rank. */
typedef struct detgemm_receive_t {
  int32_t from;
  uint32_t reserved;
  void* data;
  size_t bytes;
} detgemm_receive_t;

/* A transport of the caller's own. Callbacks return 0, or another number and a sentence that ends
 * in 0; no exception or longjmp may leave them. `patience_ms` 0 means for ever. */
typedef struct detgemm_transport_callbacks_t {
  uint32_t struct_size;
  int32_t rank; /* in [0, size) */
  int32_t size;
  uint32_t reserved; /* 0 */
  void* context;     /* handed to every callback; lives as long as the transport */
  /* Gives every rank the `bytes` bytes of all ranks, in rank order. Host memory. Required. */
  int (*agree)(void* context, const void* mine, size_t bytes, void* all, int64_t patience_ms,
               char* sentence, size_t sentence_size);
  /* Moves all messages of one step, in memory of the stream's device. Required. */
  int (*exchange)(void* context, const detgemm_stream_t* stream, const detgemm_send_t* sends,
                  size_t send_count, const detgemm_receive_t* receives, size_t receive_count,
                  int64_t patience_ms, char* sentence, size_t sentence_size);
  /* Lets go of every wait. May be NULL. */
  void (*abort)(void* context);
} detgemm_transport_callbacks_t;
DETGEMM_API detgemm_status_t
detgemm_transport_callbacks_init(detgemm_transport_callbacks_t* callbacks, size_t struct_size);

/* *transport belongs to the caller, as all handles here do; what was made from it keeps what it
 * needs, so it may be destroyed at once. */
DETGEMM_API detgemm_status_t detgemm_transport_create(
    const detgemm_transport_callbacks_t* callbacks, detgemm_transport_t** transport);
/* One for each of `ranks` threads of this process (1 to 1024), into an array of that length. */
DETGEMM_API detgemm_status_t detgemm_transport_threads(int32_t ranks,
                                                       detgemm_transport_t** transports);
/* The ranks of an NCCL communicator (`kind` DETGEMM_CUDA) or an RCCL communicator (DETGEMM_HIP):
 * `comm` is the program's own ncclComm_t, on the calling thread's current device, and outlives the
 * transport. The functions are those of the library that the process has loaded: NCCL 2.10 and
 * later or RCCL (nccl.hpp says how they are found, what is refused, and what an abort frees). */
DETGEMM_API detgemm_status_t detgemm_transport_nccl(void* comm, detgemm_device_kind_t kind,
                                                    detgemm_transport_t** transport);
DETGEMM_API void detgemm_transport_destroy(detgemm_transport_t* transport);

/* ---- Communicators --------------------------------------------------------------------------- */

typedef struct detgemm_communicator_t detgemm_communicator_t;

/* How ranks work together. The same on all of them. */
typedef struct detgemm_communicator_options_t {
  uint32_t struct_size;
  int32_t check_calls; /* 0 (default) or 1: compare every call between the ranks */
  /* 30000; how long ranks are waited for; 0: for ever; more than a hundred years is a hundred. */
  int64_t patience_ms;
  /* Of the memory that a rank lets the others of its host read and write, for the algorithms of
   * windows; 0 (default): none. */
  uint64_t window_bytes;
  /* Whose device has the windows: the one that is current while the communicator is made, and
   * patience_ms must then be above 0. NULL (default): the host. */
  const detgemm_backend_t* window_backend;
} detgemm_communicator_options_t;
DETGEMM_API detgemm_status_t
detgemm_communicator_options_init(detgemm_communicator_options_t* options, size_t struct_size);

/* `options` may be NULL. Windows that cannot be made are not a failure: plans that require them are
 * refused with the reason, and others send messages. Communicators with windows of one device are
 * made one after the other, never at the same time: they divide its multiprocessors by that order.
 */
DETGEMM_API detgemm_status_t detgemm_communicator_create(
    const detgemm_transport_t* transport, const detgemm_communicator_options_t* options,
    detgemm_communicator_t** communicator);
/* Plans keep what they need of it. With windows of devices the last of both to go waits until this
 * rank's last call has ended on its stream; graphs that hold calls must have ended before, and must
 * not be launched after. */
DETGEMM_API void detgemm_communicator_destroy(detgemm_communicator_t* communicator);
DETGEMM_API detgemm_status_t detgemm_communicator_rank(const detgemm_communicator_t* communicator,
                                                       int32_t* rank, int32_t* size);
/* DETGEMM_OK, or which rank failed, disagrees or is late; then it remains so. */
DETGEMM_API detgemm_status_t
detgemm_communicator_health(const detgemm_communicator_t* communicator);
DETGEMM_API detgemm_status_t detgemm_communicator_abort(const detgemm_communicator_t* communicator);
/* *yes is 1 where there are windows, on the host or on devices, and 0 elsewhere;
 * detgemm_communicator_describe has the reason if they were requested. */
DETGEMM_API detgemm_status_t
detgemm_communicator_has_windows(const detgemm_communicator_t* communicator, int32_t* yes);
DETGEMM_API detgemm_status_t detgemm_communicator_describe(
    const detgemm_communicator_t* communicator, char* buffer, size_t size, size_t* needed);

/* ---- Plans ----------------------------------------------------------------------------------- */

typedef int32_t detgemm_placement_t;
enum { DETGEMM_REPLICATED = 0, DETGEMM_ROWS = 1, DETGEMM_COLUMNS = 2 };

typedef int32_t detgemm_algorithm_t;
enum {
  DETGEMM_AUTOMATIC = 0,
  DETGEMM_GATHER = 1,
  DETGEMM_SCATTER = 2,
  /* Through windows: one step; two steps; and two steps that push, for many rows. */
  DETGEMM_ONE_SHOT = 3,
  DETGEMM_TWO_SHOT = 4,
  DETGEMM_PUSH = 5
};

/* The rows or columns [begin, end) of a rank, where `extent` of them are spread. */
DETGEMM_API detgemm_status_t detgemm_rows_of(int64_t extent, int32_t rank, int32_t ranks,
                                             int64_t* begin, int64_t* end);

/* Choices of a plan. The bits do not depend on them. */
typedef struct detgemm_cluster_options_t {
  uint32_t struct_size;
  detgemm_placement_t input;     /* of A: replicated (default), rows or columns; columns' plans */
  detgemm_placement_t output;    /* of D: replicated (default), rows, or columns */
  detgemm_algorithm_t algorithm; /* DETGEMM_AUTOMATIC (default); K's plans alone */
  const int64_t* k_cuts; /* ranks + 1 rising numbers, 0 first and k last, at leaves; NULL: even */
  const detgemm_plan_options_t* plan; /* of this rank's products; NULL: defaults */
  int32_t chunks;    /* of rows, which travel while others are multiplied; 0 (default): automatic */
  uint32_t reserved; /* 0 */
} detgemm_cluster_options_t;
DETGEMM_API detgemm_status_t detgemm_cluster_options_init(detgemm_cluster_options_t* options,
                                                          size_t struct_size);

/* One of three: K spread over ranks, N spread over ranks, or a sum of roots. */
typedef struct detgemm_cluster_plan_t detgemm_cluster_plan_t;

/* `spec` is the problem of one rank. `options` may be NULL. */
DETGEMM_API detgemm_status_t detgemm_row_parallel_create(const detgemm_communicator_t* communicator,
                                                         const detgemm_backend_t* backend,
                                                         const detgemm_gemm_spec_t* spec,
                                                         const detgemm_cluster_options_t* options,
                                                         detgemm_cluster_plan_t** plan);
DETGEMM_API detgemm_status_t detgemm_column_parallel_create(
    const detgemm_communicator_t* communicator, const detgemm_backend_t* backend,
    const detgemm_gemm_spec_t* spec, const detgemm_cluster_options_t* options,
    detgemm_cluster_plan_t** plan);
DETGEMM_API detgemm_status_t detgemm_tree_sum_create(const detgemm_communicator_t* communicator,
                                                     const detgemm_backend_t* backend,
                                                     const detgemm_gemm_spec_t* spec,
                                                     const detgemm_cluster_options_t* options,
                                                     detgemm_cluster_plan_t** plan);
DETGEMM_API void detgemm_cluster_plan_destroy(detgemm_cluster_plan_t* plan);

/* This rank's part [begin, end): products of K, or columns of N. */
DETGEMM_API detgemm_status_t detgemm_cluster_plan_share(const detgemm_cluster_plan_t* plan,
                                                        int64_t* begin, int64_t* end);
/* How many nodes of the tree this rank's products are, and the products of one of them. Not of a
 * plan that spreads N. */
DETGEMM_API detgemm_status_t detgemm_cluster_plan_node_count(const detgemm_cluster_plan_t* plan,
                                                             size_t* count);
DETGEMM_API detgemm_status_t detgemm_cluster_plan_node(const detgemm_cluster_plan_t* plan,
                                                       size_t index, int64_t* begin, int64_t* end);
DETGEMM_API detgemm_status_t detgemm_cluster_plan_workspace_size(const detgemm_cluster_plan_t* plan,
                                                                 int64_t max_m, size_t* bytes);
/* `m` is all of M, the same on all ranks; operands are this rank's. `info` may be NULL. Not of a
 * sum of roots. */
DETGEMM_API detgemm_status_t detgemm_cluster_plan_run(const detgemm_cluster_plan_t* plan,
                                                      const detgemm_stream_t* stream, int64_t m,
                                                      const detgemm_operands_t* operands,
                                                      void* workspace, size_t workspace_bytes,
                                                      detgemm_run_info_t* info);
/* A sum of roots: one m x N fp32 matrix for each node of this rank, packed by rows. operands->a and
 * ->b are ignored and may be NULL. */
DETGEMM_API detgemm_status_t detgemm_tree_sum_run(const detgemm_cluster_plan_t* plan,
                                                  const detgemm_stream_t* stream, int64_t m,
                                                  const detgemm_const_matrix_t* const* roots,
                                                  size_t count, const detgemm_operands_t* operands,
                                                  void* workspace, size_t workspace_bytes,
                                                  detgemm_run_info_t* info);
/* Where root `node` of a sum of m rows may be, so that it is not copied: m x N fp32 in this rank's
 * window. NULL in `*place`: nowhere. No other call of the communicator may run between the first
 * write and the sum. */
DETGEMM_API detgemm_status_t detgemm_tree_sum_place(const detgemm_cluster_plan_t* plan, int64_t m,
                                                    size_t node, void** place);
DETGEMM_API detgemm_status_t detgemm_cluster_plan_describe(const detgemm_cluster_plan_t* plan,
                                                           int64_t m, char* buffer, size_t size,
                                                           size_t* needed);

#ifdef __cplusplus
}
#endif

#endif
