/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_DETGEMM_H
#define DETGEMM_DETGEMM_H

/* The C interface: C99, and valid C++. The C++ headers of the same folder (contract.hpp,
 * gemm_spec.hpp, backend.hpp, plan.hpp) say what the terms mean; this one says how C uses them.
 *
 *   detgemm_contract_t contract;
 *   detgemm_contract_init(&contract, sizeof contract);
 *   if (detgemm_contract_parse("hopper/bf16/chain->bf16", &contract) != DETGEMM_OK)
 *     puts(detgemm_last_error());
 *
 * Errors       Functions that return detgemm_status_t return a code; any code but DETGEMM_OK
 *              leaves a sentence in detgemm_last_error and has written nothing through its
 *              arguments, except where a comment says so. Functions that return a pointer return
 *              NULL in that case. No function lets an exception out, prints or aborts.
 * Structs      Each starts with struct_size. Fill one with its _init function, giving sizeof of
 *              your own struct, then set fields. A struct smaller than this library's (an older
 *              caller) gets defaults for the fields it lacks; a larger one (a newer caller) is
 *              accepted while the bytes beyond this library's struct are all zero.
 * Ownership    Structs, arrays and text passed in are borrowed for the call only. Handles
 *              belong to the owner that their comment names. Using a handle after it was
 *              destroyed, or a pointer that is no handle, is undefined.
 * Text out     (buffer, size, needed): writes at most `size` bytes, the final 0 included, and sets
 *              `needed`, which may be NULL, to the bytes that the text needs. A NULL buffer with
 *              size 0 sets `needed` alone. A buffer that is too small is refused and not written;
 *              `needed` is set. A returned const char* lives as long as the process, unless its
 *              comment says otherwise.
 * Threads      Every function may be called from any thread, except that the runtime is started
 *              and stopped on the main thread. A struct or array that is being written belongs to
 *              one call at a time. */

#include <stddef.h>
#include <stdint.h>

#include "detgemm/export.hpp" /* one macro, plain C */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions -------------------------------------------------------------------------- */

/* Changes when a program built with an older header must be rebuilt. */
#define DETGEMM_ABI_VERSION 0

/* The version of the library that is linked, for example "0.1.0". */
DETGEMM_API const char* detgemm_version(void);
/* DETGEMM_ABI_VERSION of the library that is linked. */
DETGEMM_API int32_t detgemm_abi_version(void);

/* ---- Codes and enumerations: fixed-width integers; a value not listed is refused ---------- */

typedef int32_t detgemm_status_t;
enum {
  DETGEMM_OK = 0,
  DETGEMM_INVALID_ARGUMENT = 1, /* an argument breaks a rule that holds for every backend */
  DETGEMM_UNSUPPORTED = 2,      /* valid, but this backend does not compute it */
  DETGEMM_NOT_FOUND = 3,        /* an unknown name */
  DETGEMM_UNAVAILABLE = 4,      /* the backend cannot run here or now */
  DETGEMM_IO = 5,               /* a file could not be read or written */
  DETGEMM_INTERNAL = 6,         /* a defect or an exhausted resource; nothing was promised */
  DETGEMM_PEER = 7              /* another rank failed, disagrees or is late */
};

typedef int32_t detgemm_dtype_t;
enum {
  DETGEMM_NONE = -1, /* no bias; only in detgemm_gemm_spec_t */
  DETGEMM_BF16 = 0,
  DETGEMM_FP16 = 1,
  DETGEMM_FP32 = 2,
  DETGEMM_TF32 = 3, /* contract input only; its arrays are fp32 */
  DETGEMM_E4M3 = 4,
  DETGEMM_E5M2 = 5
};

typedef int32_t detgemm_op_t;
enum { DETGEMM_OP_NONE = 0, DETGEMM_OP_TRANSPOSE = 1 };

typedef int32_t detgemm_activation_t;
enum {
  DETGEMM_ACTIVATION_NONE = 0,
  DETGEMM_RELU = 1,
  DETGEMM_GELU = 2,
  DETGEMM_GELU_TANH = 3,
  DETGEMM_SILU = 4
};

typedef int32_t detgemm_device_kind_t;
enum { DETGEMM_HOST = 0, DETGEMM_CUDA = 1, DETGEMM_HIP = 2 };

/* The operand, if any, that the caller promises to leave unwritten while earlier work on the stream
 * still runs: the weights of a layer, as a rule. A CUDA backend then reads it before the earlier
 * kernels of the stream have ended (programmatic dependent launch). The promise is part of a plan
 * and holds for each of its runs, and for every replay of a graph captured from them. It reaches to
 * all earlier work of the stream that may still run, not to the one before alone. A broken
 * promise is a data race: the operand's old elements, its new ones or some of each enter D. The
 * exact wording is at detgemm::Stable in backend.hpp. */
typedef int32_t detgemm_stable_t;
enum { DETGEMM_STABLE_NONE = 0, DETGEMM_STABLE_A = 1, DETGEMM_STABLE_B = 2 };

typedef int32_t detgemm_arithmetic_t;
enum {
  DETGEMM_IEEE_FMA = 0,
  DETGEMM_HOPPER = 1,
  DETGEMM_AMPERE = 2,
  DETGEMM_BLACKWELL = 3,
  DETGEMM_CDNA3 = 4,
  DETGEMM_CDNA2 = 5,
  DETGEMM_SNAP = 6,
  DETGEMM_SNAP3 = 7
};

typedef int32_t detgemm_reduction_t;
enum { DETGEMM_CHAIN = 0, DETGEMM_FOLD = 1, DETGEMM_TREE = 2, DETGEMM_SCALED = 3 };

/* The lower-case name, for example "bf16"; "unknown" for a value not listed. */
DETGEMM_API const char* detgemm_status_name(detgemm_status_t status);
DETGEMM_API const char* detgemm_dtype_name(detgemm_dtype_t dtype);
DETGEMM_API const char* detgemm_op_name(detgemm_op_t op);
DETGEMM_API const char* detgemm_activation_name(detgemm_activation_t activation);
DETGEMM_API const char* detgemm_device_kind_name(detgemm_device_kind_t kind);
DETGEMM_API const char* detgemm_arithmetic_name(detgemm_arithmetic_t arithmetic);
DETGEMM_API const char* detgemm_reduction_name(detgemm_reduction_t reduction);
DETGEMM_API const char* detgemm_stable_name(detgemm_stable_t stable);
/* What is known about an arithmetic, in one sentence (measured, or a published model). */
DETGEMM_API const char* detgemm_evidence(detgemm_arithmetic_t arithmetic);

/* The value of a name. The sentence of DETGEMM_NOT_FOUND lists the names there are. */
DETGEMM_API detgemm_status_t detgemm_dtype_parse(const char* text, detgemm_dtype_t* dtype);
DETGEMM_API detgemm_status_t detgemm_activation_parse(const char* text,
                                                      detgemm_activation_t* activation);
/* Bytes of one element in memory; 0 for a value not listed. */
DETGEMM_API size_t detgemm_dtype_size(detgemm_dtype_t dtype);

/* The sentence of the latest refusal on the calling thread: argument, value and rule. Empty
 * before the first refusal; a success does not change it. It lives until the next refusal on this
 * thread or until the thread ends. */
DETGEMM_API const char* detgemm_last_error(void);

/* ---- Runtime ------------------------------------------------------------------------------ */

typedef struct detgemm_runtime_options_t {
  uint32_t struct_size;
  int32_t threads; /* host threads of the reference; 0 (default) for all */
} detgemm_runtime_options_t;
DETGEMM_API detgemm_status_t detgemm_runtime_options_init(detgemm_runtime_options_t* options,
                                                          size_t struct_size);

/* Starts what the built-in backends need (Kokkos, for the reference) unless the application has
 * done so; before that, calls that need the reference return DETGEMM_UNAVAILABLE. Calls are
 * counted: the first start sets the options, and the stop that brings the count to 0 ends what was
 * started. `options` may be NULL. Start and stop on the main thread. */
DETGEMM_API detgemm_status_t detgemm_runtime_start(const detgemm_runtime_options_t* options);
/* DETGEMM_INVALID_ARGUMENT without a start that it matches. */
DETGEMM_API detgemm_status_t detgemm_runtime_stop(void);

/* ---- Contracts ---------------------------------------------------------------------------- */

/* Everything that decides the bits of C = A.B. Defaults: ieee_fma/bf16/chain->bf16. */
typedef struct detgemm_contract_t {
  uint32_t struct_size;
  int32_t version; /* 1 */
  detgemm_arithmetic_t arithmetic;
  detgemm_dtype_t input;
  int32_t k_block; /* products fused in one step; see detgemm_k_block */
  int32_t k_order; /* 0: ascending */
  detgemm_reduction_t reduction;
  int32_t rounding; /* 0: to nearest even */
  int64_t leaf_k;   /* products per leaf, a multiple of k_block; 0 for chain */
  detgemm_dtype_t output;
  uint32_t reserved; /* 0 */
} detgemm_contract_t;
DETGEMM_API detgemm_status_t detgemm_contract_init(detgemm_contract_t* contract,
                                                   size_t struct_size);

/* An `out` contract must be initialised; the function then fills all of its fields. */

/* From text such as "hopper/bf16/tree:512->bf16"; contract.hpp has the grammar. */
DETGEMM_API detgemm_status_t detgemm_contract_parse(const char* text, detgemm_contract_t* out);
/* From its parts; fills in k_block. */
DETGEMM_API detgemm_status_t detgemm_contract_make(detgemm_arithmetic_t arithmetic,
                                                   detgemm_dtype_t input,
                                                   detgemm_reduction_t reduction, int64_t leaf_k,
                                                   detgemm_dtype_t output, detgemm_contract_t* out);
/* DETGEMM_OK, or the rule that this combination breaks. Every function below checks it too. */
DETGEMM_API detgemm_status_t detgemm_contract_validate(const detgemm_contract_t* contract);
/* The short text, which detgemm_contract_parse reads back. */
DETGEMM_API detgemm_status_t detgemm_contract_text(const detgemm_contract_t* contract, char* buffer,
                                                   size_t size, size_t* needed);
/* Every field spelled out in one line; the digest is computed from it. */
DETGEMM_API detgemm_status_t detgemm_contract_canonical(const detgemm_contract_t* contract,
                                                        char* buffer, size_t size, size_t* needed);
/* The same number on every platform. */
DETGEMM_API detgemm_status_t detgemm_contract_digest(const detgemm_contract_t* contract,
                                                     uint64_t* digest);
/* Sets *equal to 1 if all fields are the same, and to 0 otherwise. */
DETGEMM_API detgemm_status_t detgemm_contract_equal(const detgemm_contract_t* x,
                                                    const detgemm_contract_t* y, int32_t* equal);
/* The number of leaves for k >= 0 products: 1 for chain; 0 for k = 0. */
DETGEMM_API detgemm_status_t detgemm_contract_leaves(const detgemm_contract_t* contract, int64_t k,
                                                     int64_t* leaves);
/* The share [begin, end) of K that tensor-parallel rank `rank` (from 0) of `ranks` must take. Only
 * under `tree`, and where `ranks` is a power of two that divides the number of leaves. */
DETGEMM_API detgemm_status_t detgemm_contract_rank_share(const detgemm_contract_t* contract,
                                                         int64_t k, int64_t rank, int64_t ranks,
                                                         int64_t* begin, int64_t* end);
/* DETGEMM_OK where a K that is cut into `count` pieces of these lengths, in products and in order,
 * has the bits of the uncut one, if each piece but the first continues from the sums of the one
 * before (continue_from_c). Every length but the last must then be a multiple of leaf_k (fold,
 * scaled) or k_block (chain); a tree is not cut. `lengths` may be NULL where count is 0. */
DETGEMM_API detgemm_status_t detgemm_contract_check_cuts(const detgemm_contract_t* contract,
                                                         const int64_t* lengths, size_t count);
/* The products that one step fuses, or why there is no such step. */
DETGEMM_API detgemm_status_t detgemm_k_block(detgemm_arithmetic_t arithmetic, detgemm_dtype_t input,
                                             int32_t* k_block);

/* The pairs of arithmetic and input that have a step, as chain contracts with fp32 output; but
 * snap and snap3, which have no chain. */
DETGEMM_API size_t detgemm_contract_count(void);
DETGEMM_API detgemm_status_t detgemm_contract_at(size_t index, detgemm_contract_t* out);

/* ---- Views of the caller's memory --------------------------------------------------------- */

/* Element (i, j) is at data + i * row_stride + j * col_stride, counted in elements. One stride is
 * 1 and the other at least the extent along the unit stride. Defaults: an empty bf16 matrix with
 * col_stride 1. */
typedef struct detgemm_matrix_t {
  uint32_t struct_size;
  detgemm_dtype_t dtype;
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
} detgemm_matrix_t;
DETGEMM_API detgemm_status_t detgemm_matrix_init(detgemm_matrix_t* matrix, size_t struct_size);

/* The same, read-only. */
typedef struct detgemm_const_matrix_t {
  uint32_t struct_size;
  detgemm_dtype_t dtype;
  const void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
} detgemm_const_matrix_t;
DETGEMM_API detgemm_status_t detgemm_const_matrix_init(detgemm_const_matrix_t* matrix,
                                                       size_t struct_size);

/* A contiguous vector. Default: an empty fp32 one. */
typedef struct detgemm_vector_t {
  uint32_t struct_size;
  detgemm_dtype_t dtype;
  const void* data;
  int64_t size; /* elements */
} detgemm_vector_t;
DETGEMM_API detgemm_status_t detgemm_vector_init(detgemm_vector_t* vector, size_t struct_size);

/* How a scale is stored: fp32, or one byte x for 2^(x - 127), of which 255 is NaN. */
typedef int32_t detgemm_scale_type_t;
enum { DETGEMM_SCALE_FP32 = 0, DETGEMM_SCALE_E8M0 = 1 };

/* The scales of one operand under `scaled:LEAF`: that of row m of A (column of B) and leaf i is
 * at data + (m / per) * stride + i * leaf_stride, counted in elements. Strides of 0 share scales.
 * With line_scales there is one leaf, and the scale is that of the whole sum.
 * Defaults: no scales, fp32, per 1, leaf_stride 1. scales.hpp says more. */
typedef struct detgemm_block_scales_t {
  uint32_t struct_size;
  detgemm_scale_type_t type;
  const void* data;
  int64_t per;    /* rows of A, or columns of B, that share a scale: 1 or 128 */
  int64_t blocks; /* ceil(M / per), or ceil(N / per) for B */
  int64_t leaves; /* ceil(K / LEAF), or 1 with line_scales */
  int64_t stride;
  int64_t leaf_stride;
} detgemm_block_scales_t;
DETGEMM_API detgemm_status_t detgemm_block_scales_init(detgemm_block_scales_t* scales,
                                                       size_t struct_size);

/* A stream, not owned. Every function that takes one accepts NULL for the host. */
typedef struct detgemm_stream_t {
  uint32_t struct_size;
  detgemm_device_kind_t kind;
  void* handle; /* a cudaStream_t or hipStream_t; unused on the host */
} detgemm_stream_t;
DETGEMM_API detgemm_status_t detgemm_stream_init(detgemm_stream_t* stream, size_t struct_size);

/* The alignment, in bytes, of the scratch memory that is passed to a run: on the host, of what
 * aligned_alloc(DETGEMM_WORKSPACE_ALIGNMENT, bytes rounded up to a multiple of it) returns. Only
 * detgemm_gemm allocates some by itself, and only on the host. */
#define DETGEMM_WORKSPACE_ALIGNMENT 256

/* ---- The problem: D = act(alpha * A.B + beta * C + bias) ---------------------------------- */

/* The problem without its M: what a plan cannot see cannot change the arithmetic. As stored, A is
 * M x K (op none) or K x M (transpose), B is K x N or N x K, C and D are M x N, the bias has N. */
typedef struct detgemm_gemm_spec_t {
  uint32_t struct_size;
  detgemm_op_t op_a;
  int64_t n;
  int64_t k;
  const detgemm_contract_t* contract; /* required: there is no default contract */
  detgemm_op_t op_b;
  detgemm_activation_t activation;
  float alpha;             /* 1 */
  float beta;              /* 0: C is not read */
  detgemm_dtype_t bias;    /* DETGEMM_NONE (default), bf16, fp16 or fp32 */
  int32_t continue_from_c; /* 0 (default) or 1: start the accumulator from fp32 C */
  int32_t a_snapped;       /* 0 (default) or 1: a promise, for contracts of snap alone, that */
  int32_t b_snapped;       /* detgemm_is_snapped finds this operand snapped; see gemm_spec.hpp */
  int32_t line_scales;     /* 0 (default) or 1: a scale for each row of A and column of B */
} detgemm_gemm_spec_t;
DETGEMM_API detgemm_status_t detgemm_gemm_spec_init(detgemm_gemm_spec_t* spec, size_t struct_size);
/* DETGEMM_OK, or the rule that the problem breaks on every backend. */
DETGEMM_API detgemm_status_t detgemm_gemm_spec_validate(const detgemm_gemm_spec_t* spec);

/* The arrays of one run. D may be C itself; no other overlap with D is allowed. */
typedef struct detgemm_operands_t {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  const detgemm_const_matrix_t* a;
  const detgemm_const_matrix_t* b;
  const detgemm_matrix_t* d;
  const detgemm_const_matrix_t* c;       /* may be NULL where the problem does not read C */
  const detgemm_vector_t* bias;          /* may be NULL where the problem has none */
  const detgemm_block_scales_t* scale_a; /* `scaled` and line_scales need both, others neither */
  const detgemm_block_scales_t* scale_b;
} detgemm_operands_t;
DETGEMM_API detgemm_status_t detgemm_operands_init(detgemm_operands_t* operands,
                                                   size_t struct_size);
/* DETGEMM_OK, or the rule that the arrays break for this problem. No element is read. */
DETGEMM_API detgemm_status_t detgemm_operands_validate(const detgemm_gemm_spec_t* spec,
                                                       const detgemm_operands_t* operands);

/* ---- Backends: owned by the library, alive as long as the process -------------------------- */

typedef struct detgemm_backend_t detgemm_backend_t;

DETGEMM_API size_t detgemm_backend_count(void);
/* The backends in order of preference; NULL past the end. */
DETGEMM_API const detgemm_backend_t* detgemm_backend_at(size_t index);
DETGEMM_API detgemm_status_t detgemm_backend_find(const char* name,
                                                  const detgemm_backend_t** backend);
/* The backend that detgemm_gemm takes for this problem where none is named: the first that works on
 * this kind of memory, can run here and now, and computes the problem. The sentence of
 * DETGEMM_UNAVAILABLE (none can run) and DETGEMM_UNSUPPORTED lists why each was passed over. */
DETGEMM_API detgemm_status_t detgemm_backend_first(const detgemm_gemm_spec_t* spec,
                                                   detgemm_device_kind_t kind,
                                                   const detgemm_backend_t** backend);
DETGEMM_API const char* detgemm_backend_name(const detgemm_backend_t* backend);
DETGEMM_API const char* detgemm_backend_description(const detgemm_backend_t* backend);
/* DETGEMM_OK if it can run here and now; otherwise DETGEMM_UNAVAILABLE and what is missing. */
DETGEMM_API detgemm_status_t detgemm_backend_available(const detgemm_backend_t* backend);
/* DETGEMM_OK if it computes this problem; otherwise DETGEMM_UNSUPPORTED and why not. */
DETGEMM_API detgemm_status_t detgemm_backend_supports(const detgemm_backend_t* backend,
                                                      const detgemm_gemm_spec_t* spec);

/* Promises, as bits of one number; see detgemm::Guarantees in backend.hpp. 0: not computed. */
#define DETGEMM_RUN_TO_RUN 1u
#define DETGEMM_BATCH_INVARIANT 2u
#define DETGEMM_LAUNCH_INVARIANT 4u
#define DETGEMM_GPU_TO_GPU 8u
#define DETGEMM_BACKEND_TO_BACKEND 16u
DETGEMM_API detgemm_status_t detgemm_backend_guarantees(const detgemm_backend_t* backend,
                                                        const detgemm_contract_t* contract,
                                                        uint32_t* guarantees);
/* The names of the kernels that may be forced for this problem; all give the same bits. */
DETGEMM_API detgemm_status_t detgemm_backend_variant_count(const detgemm_backend_t* backend,
                                                           const detgemm_gemm_spec_t* spec,
                                                           size_t* count);
DETGEMM_API detgemm_status_t detgemm_backend_variant_at(const detgemm_backend_t* backend,
                                                        const detgemm_gemm_spec_t* spec,
                                                        size_t index, char* buffer, size_t size,
                                                        size_t* needed);
/* The kind of device whose memory and streams it works with. */
DETGEMM_API detgemm_status_t detgemm_backend_device_kind(const detgemm_backend_t* backend,
                                                         detgemm_device_kind_t* kind);
DETGEMM_API detgemm_status_t detgemm_backend_device_description(const detgemm_backend_t* backend,
                                                                char* buffer, size_t size,
                                                                size_t* needed);

/* ---- Plans: create once, run for any M, from any thread ------------------------------------ */

/* Measured choices of kernels: detgemm_tuning.h. */
typedef struct detgemm_tuning_t detgemm_tuning_t;

/* Choices of how to compute. None changes a bit while the promise in `stable` is kept. */
typedef struct detgemm_plan_options_t {
  uint32_t struct_size;
  int32_t max_workers;     /* threads on the host, multiprocessors on a GPU; 0 (default) for all */
  const char* variant;     /* the kernel to force; NULL (default) or "": the backend chooses */
  detgemm_stable_t stable; /* a promise, see detgemm_stable_t; none (default) is always right */
  int32_t serial_launch;   /* 1: kernels start when all earlier work on the stream has ended;
                            * 0 (default): CUDA kernels use programmatic dependent launch */
  const detgemm_tuning_t* tuning; /* where no variant is named; NULL (default): that of
                                   * detgemm_tuning_use, if any */
} detgemm_plan_options_t;
DETGEMM_API detgemm_status_t detgemm_plan_options_init(detgemm_plan_options_t* options,
                                                       size_t struct_size);

/* The name of the kernel that ran; a longer name is cut to fit. */
typedef struct detgemm_run_info_t {
  uint32_t struct_size;
  uint32_t reserved;
  char kernel[248];
} detgemm_run_info_t;
DETGEMM_API detgemm_status_t detgemm_run_info_init(detgemm_run_info_t* info, size_t struct_size);

typedef struct detgemm_plan_t detgemm_plan_t;

/* *plan belongs to the caller, who destroys it; it is NULL after a refusal. `options` may be NULL.
 * Another backend is never tried. */
DETGEMM_API detgemm_status_t detgemm_plan_create(const detgemm_backend_t* backend,
                                                 const detgemm_gemm_spec_t* spec,
                                                 const detgemm_plan_options_t* options,
                                                 detgemm_plan_t** plan);
/* No call may be using the plan, and the work it enqueued must have finished. NULL is accepted. */
DETGEMM_API void detgemm_plan_destroy(detgemm_plan_t* plan);

/* Bytes of scratch memory that a run or a combine needs for any M from 0 to max_m. */
DETGEMM_API detgemm_status_t detgemm_plan_workspace_size(const detgemm_plan_t* plan, int64_t max_m,
                                                         size_t* bytes);
/* Bytes, at least those of detgemm_plan_workspace_size, with which a run of these operands is
 * fastest: a backend may have a faster way for them that needs more scratch memory. The bits are
 * the same with less. No element is read. */
DETGEMM_API detgemm_status_t detgemm_plan_fast_workspace_size(const detgemm_plan_t* plan,
                                                              const detgemm_operands_t* operands,
                                                              size_t* bytes);
/* Enough of it for all operands of any M from 0 to max_m, with any strides and alignment. */
DETGEMM_API detgemm_status_t detgemm_plan_fast_workspace_bound(const detgemm_plan_t* plan,
                                                               int64_t max_m, size_t* bytes);
/* Enqueues the computation of D; on the host it is finished at return. `workspace` is memory of the
 * stream's device that nothing else uses until the work has finished; NULL with 0 bytes where none
 * is needed. It has any size from detgemm_plan_workspace_size on; from
 * detgemm_plan_fast_workspace_size on the run is fastest. Executable graphs made from one capture
 * share its workspace and may not run at the same time. M is the number of D's rows. `info` may be
 * NULL. */
DETGEMM_API detgemm_status_t detgemm_plan_run(const detgemm_plan_t* plan,
                                              const detgemm_stream_t* stream,
                                              const detgemm_operands_t* operands, void* workspace,
                                              size_t workspace_bytes, detgemm_run_info_t* info);
/* Under `tree`, adds `count` M x N fp32 roots, given in rank order, and applies the plan's
 * epilogue: D has the bits of one rank that computes all of K. operands->a and ->b are ignored and
 * may be NULL. */
DETGEMM_API detgemm_status_t detgemm_plan_combine(const detgemm_plan_t* plan,
                                                  const detgemm_stream_t* stream,
                                                  const detgemm_const_matrix_t* const* roots,
                                                  size_t count, const detgemm_operands_t* operands,
                                                  void* workspace, size_t workspace_bytes,
                                                  detgemm_run_info_t* info);

/* Contract, digest, backend, kernel and workspace for this m, one per line. */
DETGEMM_API detgemm_status_t detgemm_plan_describe(const detgemm_plan_t* plan, int64_t m,
                                                   char* buffer, size_t size, size_t* needed);
/* The name of the kernel that would run for this m. */
DETGEMM_API detgemm_status_t detgemm_plan_kernel(const detgemm_plan_t* plan, int64_t m,
                                                 char* buffer, size_t size, size_t* needed);
/* The contract's digest. */
DETGEMM_API detgemm_status_t detgemm_plan_digest(const detgemm_plan_t* plan, uint64_t* digest);
/* What the plan was created from; `out` is an initialised struct. The pointers in it
 * (spec.contract, options.variant, options.tuning) belong to the plan and die with it; the backend
 * belongs to the library. */
DETGEMM_API detgemm_status_t detgemm_plan_spec(const detgemm_plan_t* plan,
                                               detgemm_gemm_spec_t* out);
DETGEMM_API detgemm_status_t detgemm_plan_options(const detgemm_plan_t* plan,
                                                  detgemm_plan_options_t* out);
DETGEMM_API const detgemm_backend_t* detgemm_plan_backend(const detgemm_plan_t* plan);

/* ---- One call ------------------------------------------------------------------------------ */

/* The fields mean what they mean in detgemm_gemm_spec_t, detgemm_operands_t and
 * detgemm_plan_options_t. */
typedef struct detgemm_gemm_options_t {
  uint32_t struct_size;
  detgemm_op_t op_a;
  detgemm_op_t op_b;
  detgemm_activation_t activation;
  float alpha; /* 1 */
  float beta;  /* 0 */
  int32_t continue_from_c;
  int32_t serial_launch; /* 0 (default) or 1, as in detgemm_plan_options_t */
  const detgemm_const_matrix_t* c;
  const detgemm_vector_t* bias;
  const char* backend; /* a name; NULL (default) or "": the first that computes the problem */
  const char* variant; /* the kernel to force; NULL (default) or "": the backend chooses */
  void* workspace;     /* NULL with 0 bytes on the host: scratch is allocated for the call */
  size_t workspace_bytes;
  int32_t max_workers;     /* 0 (default) for all */
  detgemm_stable_t stable; /* DETGEMM_STABLE_NONE (default) is always right */
  int32_t a_snapped;       /* 0 (default) or 1, as in detgemm_gemm_spec_t */
  int32_t b_snapped;
  const detgemm_block_scales_t* scale_a; /* under others than `scaled` these are line_scales */
  const detgemm_block_scales_t* scale_b;
} detgemm_gemm_options_t;
DETGEMM_API detgemm_status_t detgemm_gemm_options_init(detgemm_gemm_options_t* options,
                                                       size_t struct_size);

/* Plans, checks and runs in one call. `options` may be NULL. DETGEMM_UNAVAILABLE where no backend
 * for the stream's kind of memory can run here or now (before detgemm_runtime_start, for example),
 * DETGEMM_UNSUPPORTED where those that can run do not compute the problem. */
DETGEMM_API detgemm_status_t detgemm_gemm(const detgemm_stream_t* stream,
                                          const detgemm_const_matrix_t* a,
                                          const detgemm_const_matrix_t* b,
                                          const detgemm_matrix_t* d,
                                          const detgemm_contract_t* contract,
                                          const detgemm_gemm_options_t* options);

/* ---- Snapped operands, for contracts of snap --------------------------------------------------
 */

/* Which dimension of a stored matrix is K: its columns (A with op none, B with transpose) or its
 * rows (A with transpose, B with op none). */
typedef int32_t detgemm_k_dimension_t;
enum { DETGEMM_K_COLS = 0, DETGEMM_K_ROWS = 1 };

/* How a matrix is cut into leaves, each of which is snapped by itself. Defaults: 128, columns. */
typedef struct detgemm_snap_spec_t {
  uint32_t struct_size;
  detgemm_k_dimension_t k;
  int64_t leaf_k; /* LEAF of the contract: a multiple of 64 */
} detgemm_snap_spec_t;
DETGEMM_API detgemm_status_t detgemm_snap_spec_init(detgemm_snap_spec_t* spec, size_t struct_size);

/* Rounds every leaf to its grid, as a contract of snap does with its operands: `to` is then an
 * ordinary bf16 matrix that such a contract takes unchanged (a_snapped, b_snapped). Both are bf16
 * and of the same shape; `to` may be `from` itself, else they share no memory. The work is enqueued
 * on the stream; on the host it is finished at return. snap.hpp says more. */
DETGEMM_API detgemm_status_t detgemm_snap(const detgemm_backend_t* backend,
                                          const detgemm_stream_t* stream,
                                          const detgemm_snap_spec_t* spec,
                                          const detgemm_const_matrix_t* from,
                                          const detgemm_matrix_t* to);
/* Sets *snapped to 1 if snapping would change no value, and to 0 otherwise. It waits for the stream
 * and cannot be captured: a check for tools and tests. */
DETGEMM_API detgemm_status_t detgemm_is_snapped(const detgemm_backend_t* backend,
                                                const detgemm_stream_t* stream,
                                                const detgemm_snap_spec_t* spec,
                                                const detgemm_const_matrix_t* matrix,
                                                int32_t* snapped);

/* ---- Quantised operands, for contracts of scaled ------------------------------------------- */

/* How a matrix is cut into blocks of `per` lines by leaf_k numbers along K, each with a scale.
 * Defaults: 128, 1, columns. */
typedef struct detgemm_quantize_spec_t {
  uint32_t struct_size;
  detgemm_k_dimension_t k;
  int64_t leaf_k; /* LEAF of the contract */
  int64_t per;    /* 1 for activations, 128 for weights */
} detgemm_quantize_spec_t;
DETGEMM_API detgemm_status_t detgemm_quantize_spec_init(detgemm_quantize_spec_t* spec,
                                                        size_t struct_size);

/* Where the scales go; the fields mean what they mean in detgemm_block_scales_t, but no two scales
 * may overlap. Defaults: none, fp32, leaf_stride 1. */
typedef struct detgemm_scales_out_t {
  uint32_t struct_size;
  detgemm_scale_type_t type;
  void* data;
  int64_t blocks; /* ceil(lines / per) */
  int64_t leaves; /* ceil(K / leaf_k) */
  int64_t stride;
  int64_t leaf_stride;
} detgemm_scales_out_t;
DETGEMM_API detgemm_status_t detgemm_scales_out_init(detgemm_scales_out_t* scales,
                                                     size_t struct_size);

/* Quantises a bf16, fp16 or fp32 matrix to e4m3, a scale per block; quantize.hpp has the rule. None
 * of the three arrays overlaps another. On the host it is finished at return. */
DETGEMM_API detgemm_status_t detgemm_quantize(const detgemm_backend_t* backend,
                                              const detgemm_stream_t* stream,
                                              const detgemm_quantize_spec_t* spec,
                                              const detgemm_const_matrix_t* from,
                                              const detgemm_matrix_t* to,
                                              const detgemm_scales_out_t* scales);

/* ---- Digests: FNV-1a, 64 bit ---------------------------------------------------------------- */

#define DETGEMM_DIGEST_SEED UINT64_C(0xcbf29ce484222325)

/* To continue a digest, pass it as the seed of the next call. */
DETGEMM_API detgemm_status_t detgemm_digest_bytes(const void* data, size_t bytes, uint64_t seed,
                                                  uint64_t* digest);
/* The digest of a matrix in host memory: its type, shape and elements; strides and address do not
 * enter. */
DETGEMM_API detgemm_status_t detgemm_digest_matrix(const detgemm_const_matrix_t* matrix,
                                                   uint64_t* digest);
/* The digest as 16 lower-case hexadecimal digits. */
DETGEMM_API detgemm_status_t detgemm_digest_text(uint64_t digest, char* buffer, size_t size,
                                                 size_t* needed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DETGEMM_DETGEMM_H */
