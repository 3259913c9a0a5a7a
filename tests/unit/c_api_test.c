/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Calls every function of the C interface from C99, on the tensor
 *
 *   1 2      1 0 2      1 2 2
 *   3 4  x   0 1 0  =   3 4 6      under ieee_fma/fp32/chain->fp32
 *
 * and checks what each returns. check_c_symbols.sh compares the functions named here with those
 * the header declares and the library exports. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detgemm/detgemm.h"
#include "detgemm/detgemm_tuning.h"
#include "tests/support/c_backend.h"
#include "tests/support/c_expect.h"

static const float kA[4] = {1, 2, 3, 4};
static const float kB[6] = {1, 0, 2, 0, 1, 0};
static const float kD[6] = {1, 2, 2, 3, 4, 6};
static char text[1024];
static size_t needed;

static detgemm_const_matrix_t input(const float* data, int64_t rows, int64_t cols) {
  detgemm_const_matrix_t matrix;
  OK(detgemm_const_matrix_init(&matrix, sizeof matrix));
  matrix.data = data;
  matrix.dtype = DETGEMM_FP32;
  matrix.rows = rows;
  matrix.cols = matrix.row_stride = cols;
  return matrix;
}

static detgemm_matrix_t output(float* data, int64_t rows, int64_t cols) {
  detgemm_matrix_t matrix;
  OK(detgemm_matrix_init(&matrix, sizeof matrix));
  matrix.data = data;
  matrix.dtype = DETGEMM_FP32;
  matrix.rows = rows;
  matrix.cols = matrix.row_stride = cols;
  return matrix;
}

static detgemm_contract_t contract_named(const char* name) {
  detgemm_contract_t contract;
  OK(detgemm_contract_init(&contract, sizeof contract));
  OK(detgemm_contract_parse(name, &contract));
  return contract;
}

static void names(void) {
  detgemm_dtype_t dtype = -7;
  detgemm_activation_t activation = -7;
  EXPECT(strcmp(detgemm_version(), "0.1.0") == 0);
  EXPECT(detgemm_abi_version() == DETGEMM_ABI_VERSION);
  EXPECT(strcmp(detgemm_last_error(), "") == 0);
  EXPECT(strcmp(detgemm_status_name(DETGEMM_NOT_FOUND), "not_found") == 0);
  EXPECT(strcmp(detgemm_dtype_name(DETGEMM_E5M2), "e5m2") == 0);
  EXPECT(strcmp(detgemm_dtype_name(-1), "unknown") == 0);
  EXPECT(strcmp(detgemm_op_name(DETGEMM_OP_TRANSPOSE), "transpose") == 0);
  EXPECT(strcmp(detgemm_activation_name(DETGEMM_SILU), "silu") == 0);
  EXPECT(strcmp(detgemm_device_kind_name(DETGEMM_HIP), "hip") == 0);
  EXPECT(strcmp(detgemm_arithmetic_name(DETGEMM_CDNA2), "cdna2") == 0);
  EXPECT(strcmp(detgemm_reduction_name(DETGEMM_TREE), "tree") == 0);
  EXPECT(strcmp(detgemm_stable_name(DETGEMM_STABLE_B), "b") == 0);
  EXPECT(strstr(detgemm_evidence(DETGEMM_CDNA3), "published model") != NULL);
  OK(detgemm_dtype_parse("fp16", &dtype));
  EXPECT(dtype == DETGEMM_FP16);
  REFUSED(detgemm_dtype_parse("int8", &dtype), DETGEMM_NOT_FOUND, "int8");
  EXPECT(dtype == DETGEMM_FP16);
  OK(detgemm_activation_parse("gelu_tanh", &activation));
  EXPECT(activation == DETGEMM_GELU_TANH);
  EXPECT(detgemm_dtype_size(DETGEMM_FP32) == 4);
  EXPECT(detgemm_dtype_size(77) == 0);
}

static void contracts(void) {
  static const int64_t lengths[4] = {1024, 2048, 1000, 1024};
  detgemm_contract_t tree = contract_named("hopper/bf16/tree:512");
  detgemm_contract_t made;
  uint64_t digest = 0;
  int64_t leaves = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int32_t k_block = 0;
  int32_t equal = -1;
  size_t i;
  OK(detgemm_contract_init(&made, sizeof made));
  OK(detgemm_contract_make(DETGEMM_HOPPER, DETGEMM_BF16, DETGEMM_TREE, 512, DETGEMM_BF16, &made));
  OK(detgemm_contract_equal(&tree, &made, &equal));
  EXPECT(equal == 1);
  OK(detgemm_contract_validate(&made));
  OK(detgemm_contract_text(&made, text, sizeof text, &needed));
  EXPECT(strcmp(text, "hopper/bf16/tree:512->bf16") == 0 && needed == strlen(text) + 1);
  OK(detgemm_contract_canonical(&made, text, sizeof text, NULL));
  EXPECT(strstr(text, "leaf_k=512") != NULL);
  OK(detgemm_contract_digest(&made, &digest));
  OK(detgemm_digest_text(digest, text, sizeof text, &needed));
  EXPECT(strcmp(text, "762d74aba7f49e72") == 0 && needed == 17);
  OK(detgemm_contract_leaves(&made, 1500, &leaves));
  EXPECT(leaves == 3);
  OK(detgemm_contract_rank_share(&made, 2000, 3, 4, &begin, &end));
  EXPECT(begin == 1536 && end == 2000);
  OK(detgemm_contract_check_cuts(&made, lengths, 1));
  REFUSED(detgemm_contract_check_cuts(&made, lengths, 2), DETGEMM_UNSUPPORTED,
          "lengths has 2 pieces and the contract is hopper/bf16/tree:512->bf16: a tree's shape");
  tree = contract_named("hopper/bf16/fold:1024->fp32");
  OK(detgemm_contract_check_cuts(&tree, NULL, 0));
  OK(detgemm_contract_check_cuts(&tree, lengths, 3));
  REFUSED(detgemm_contract_check_cuts(&tree, lengths, 4), DETGEMM_INVALID_ARGUMENT,
          "lengths[2] is 1000: under hopper/bf16/fold:1024->fp32 every length but the last must be "
          "a multiple of 1024");
  OK(detgemm_k_block(DETGEMM_HOPPER, DETGEMM_E4M3, &k_block));
  EXPECT(k_block == 32);
  EXPECT(detgemm_contract_count() > 0);
  for (i = 0; i < detgemm_contract_count(); ++i) {
    OK(detgemm_contract_at(i, &made));
    OK(detgemm_contract_validate(&made));
  }
  REFUSED(detgemm_contract_at(i, &made), DETGEMM_INVALID_ARGUMENT, "index is");
}

static detgemm_gemm_spec_t spec_for(const detgemm_contract_t* contract) {
  detgemm_gemm_spec_t spec;
  OK(detgemm_gemm_spec_init(&spec, sizeof spec));
  spec.n = 3;
  spec.k = 2;
  spec.contract = contract;
  OK(detgemm_gemm_spec_validate(&spec));
  return spec;
}

static void backends(const detgemm_backend_t* backend) {
  const detgemm_contract_t contract = contract_named("ieee_fma/fp32/chain->fp32");
  const detgemm_gemm_spec_t spec = spec_for(&contract);
  const detgemm_backend_t* found = NULL;
  detgemm_device_kind_t kind = -7;
  uint32_t guarantees = 0;
  size_t count = 0;
  size_t i;
  for (i = 0; i < detgemm_backend_count(); ++i) {
    OK(detgemm_backend_find(detgemm_backend_name(detgemm_backend_at(i)), &found));
    EXPECT(found == detgemm_backend_at(i));
  }
  EXPECT(detgemm_backend_at(i) == NULL && strstr(detgemm_last_error(), "index is") != NULL);
  REFUSED(detgemm_backend_find("none such", &found), DETGEMM_NOT_FOUND, "none such");
  found = NULL; /* a build without the reference has none on the host */
  if (detgemm_backend_first(&spec, DETGEMM_HOST, &found) == DETGEMM_OK) {
    OK(detgemm_backend_supports(found, &spec));
    OK(detgemm_backend_device_kind(found, &kind));
    EXPECT(kind == DETGEMM_HOST);
  } else {
    EXPECT(found == NULL);
    EXPECT(strstr(detgemm_last_error(), "no backend on host is available to compute") != NULL);
  }
  REFUSED(detgemm_backend_first(&spec, 77, &found), DETGEMM_INVALID_ARGUMENT, "kind is unknown");
  EXPECT(strlen(detgemm_backend_name(backend)) > 0);
  EXPECT(strlen(detgemm_backend_description(backend)) > 0);
  EXPECT(detgemm_backend_name(NULL) == NULL && detgemm_backend_description(NULL) == NULL);
  OK(detgemm_backend_available(backend));
  OK(detgemm_backend_supports(backend, &spec));
  OK(detgemm_backend_guarantees(backend, &contract, &guarantees));
  EXPECT((guarantees & DETGEMM_BATCH_INVARIANT) != 0);
  OK(detgemm_backend_variant_count(backend, &spec, &count));
  EXPECT(count > 0);
  OK(detgemm_backend_variant_at(backend, &spec, 0, text, sizeof text, &needed));
  OK(detgemm_backend_device_kind(backend, &kind));
  EXPECT(kind == DETGEMM_HOST);
  OK(detgemm_backend_device_description(backend, text, sizeof text, NULL));
}

static void check_product(const float* d) { EXPECT(memcmp(d, kD, sizeof kD) == 0); }

static void plans(const detgemm_backend_t* backend) {
  const detgemm_contract_t contract = contract_named("ieee_fma/fp32/chain->fp32");
  const detgemm_gemm_spec_t spec = spec_for(&contract);
  float out[6] = {0};
  const detgemm_const_matrix_t a = input(kA, 2, 2);
  const detgemm_const_matrix_t b = input(kB, 2, 3);
  const detgemm_matrix_t d = output(out, 2, 3);
  detgemm_gemm_spec_t spec_again;
  detgemm_plan_options_t options;
  detgemm_operands_t operands;
  detgemm_run_info_t info;
  detgemm_stream_t stream;
  detgemm_plan_t* plan = NULL;
  char* memory = NULL;
  char* scratch = NULL;
  size_t bytes = 0;
  uint64_t digest = 0;
  uint64_t again = 1;
  OK(detgemm_plan_options_init(&options, sizeof options));
  OK(detgemm_operands_init(&operands, sizeof operands));
  OK(detgemm_run_info_init(&info, sizeof info));
  OK(detgemm_stream_init(&stream, sizeof stream));
  OK(detgemm_gemm_spec_init(&spec_again, sizeof spec_again));
  EXPECT(options.stable == DETGEMM_STABLE_NONE);
  options.stable = DETGEMM_STABLE_B;
  options.serial_launch = 1;
  operands.a = &a;
  operands.b = &b;
  operands.d = &d;
  OK(detgemm_operands_validate(&spec, &operands));
  OK(detgemm_plan_create(backend, &spec, &options, &plan));
  OK(detgemm_plan_workspace_size(plan, 2, &bytes));
  OK(detgemm_plan_fast_workspace_size(plan, &operands, &needed));
  EXPECT(needed >= bytes);
  OK(detgemm_plan_fast_workspace_bound(plan, 2, &needed));
  EXPECT(needed >= bytes);
  memory = malloc(bytes + DETGEMM_WORKSPACE_ALIGNMENT);
  scratch = memory + DETGEMM_WORKSPACE_ALIGNMENT - (uintptr_t)memory % DETGEMM_WORKSPACE_ALIGNMENT;
  OK(detgemm_plan_run(plan, &stream, &operands, scratch, bytes, &info));
  check_product(out);
  EXPECT(strlen(info.kernel) > 0);
  OK(detgemm_plan_describe(plan, 2, text, sizeof text, &needed));
  EXPECT(strstr(text, "ieee_fma/fp32/chain->fp32") != NULL);
  OK(detgemm_plan_kernel(plan, 2, text, sizeof text, NULL));
  EXPECT(strcmp(text, info.kernel) == 0);
  OK(detgemm_plan_digest(plan, &digest));
  OK(detgemm_plan_spec(plan, &spec_again));
  OK(detgemm_contract_digest(spec_again.contract, &again));
  EXPECT(digest == again && spec_again.n == 3 && spec_again.bias == DETGEMM_NONE);
  OK(detgemm_plan_options(plan, &options));
  EXPECT(options.max_workers == 0 && strcmp(options.variant, "") == 0);
  EXPECT(options.stable == DETGEMM_STABLE_B && options.serial_launch == 1);
  EXPECT(detgemm_plan_backend(plan) == backend);
  EXPECT(detgemm_plan_backend(NULL) == NULL);
  detgemm_plan_destroy(plan);
  detgemm_plan_destroy(NULL);
  free(memory);
}

/* Two ranks of a tree with leaves of one product: rank r multiplies column r of A, row r of B. */
static void ranks(const detgemm_backend_t* backend) {
  const detgemm_contract_t contract = contract_named("ieee_fma/fp32/tree:1->fp32");
  const detgemm_gemm_spec_t whole = spec_for(&contract);
  const float first[6] = {1, 0, 2, 3, 0, 6};
  const float second[6] = {0, 2, 0, 0, 4, 0};
  float out[6] = {0};
  const detgemm_const_matrix_t root0 = input(first, 2, 3);
  const detgemm_const_matrix_t root1 = input(second, 2, 3);
  const detgemm_const_matrix_t* roots[2];
  const detgemm_matrix_t d = output(out, 2, 3);
  detgemm_operands_t operands;
  detgemm_plan_t* plan = NULL;
  OK(detgemm_operands_init(&operands, sizeof operands));
  operands.d = &d;
  roots[0] = &root0;
  roots[1] = &root1;
  OK(detgemm_plan_create(backend, &whole, NULL, &plan));
  OK(detgemm_plan_combine(plan, NULL, roots, 2, &operands, NULL, 0, NULL));
  check_product(out);
  detgemm_plan_destroy(plan);
}

/* A leaf of one row in which 1/256 is lost beside 4096, and a product of snapped operands. */
static void snapping(const detgemm_backend_t* backend) {
  const detgemm_contract_t contract = contract_named("snap/bf16/fold:64->fp32");
  const uint16_t row[4] = {0x4580, 0x3b80, 0x3f80, 0xbf80};  /* 4096, 1/256, 1, -1 */
  const uint16_t want[4] = {0x4580, 0x0000, 0x0000, 0x0000}; /* on the grid 2 */
  const float square = 16777216.0f;
  uint16_t made[4] = {7, 7, 7, 7};
  float out = 0;
  detgemm_snap_spec_t leaves;
  detgemm_const_matrix_t from;
  detgemm_matrix_t to;
  detgemm_const_matrix_t a;
  detgemm_const_matrix_t b;
  const detgemm_matrix_t d = output(&out, 1, 1);
  detgemm_gemm_spec_t spec;
  detgemm_gemm_spec_t again;
  detgemm_operands_t operands;
  detgemm_plan_t* plan = NULL;
  char* memory = NULL;
  char* scratch = NULL;
  size_t bytes = 0;
  int32_t snapped = -1;
  OK(detgemm_snap_spec_init(&leaves, sizeof leaves));
  EXPECT(leaves.leaf_k == 128 && leaves.k == DETGEMM_K_COLS);
  leaves.leaf_k = 64;
  OK(detgemm_const_matrix_init(&from, sizeof from));
  OK(detgemm_matrix_init(&to, sizeof to));
  from.data = row;
  to.data = made;
  from.rows = to.rows = 1;
  from.cols = to.cols = from.row_stride = to.row_stride = 4;
  OK(detgemm_is_snapped(backend, NULL, &leaves, &from, &snapped));
  EXPECT(snapped == 0);
  OK(detgemm_snap(backend, NULL, &leaves, &from, &to));
  EXPECT(memcmp(made, want, sizeof want) == 0);
  leaves.leaf_k = 65;
  REFUSED(detgemm_snap(backend, NULL, &leaves, &from, &to), DETGEMM_INVALID_ARGUMENT,
          "leaf_k is 65");
  leaves.leaf_k = 64;
  REFUSED(detgemm_snap(backend, NULL, NULL, &from, &to), DETGEMM_INVALID_ARGUMENT, "spec is null");
  REFUSED(detgemm_is_snapped(backend, NULL, &leaves, &from, NULL), DETGEMM_INVALID_ARGUMENT,
          "snapped is null");
  a = from;
  a.data = made;
  OK(detgemm_is_snapped(backend, NULL, &leaves, &a, &snapped));
  EXPECT(snapped == 1);
  b = a; /* the same numbers as a column */
  b.rows = 4;
  b.cols = b.row_stride = 1;
  b.col_stride = 4;
  OK(detgemm_gemm_spec_init(&spec, sizeof spec));
  EXPECT(spec.a_snapped == 0 && spec.b_snapped == 0);
  spec.n = 1;
  spec.k = 4;
  spec.contract = &contract;
  spec.a_snapped = 1;
  spec.b_snapped = 2;
  REFUSED(detgemm_gemm_spec_validate(&spec), DETGEMM_INVALID_ARGUMENT, "spec.b_snapped is 2");
  spec.b_snapped = 1;
  OK(detgemm_operands_init(&operands, sizeof operands));
  operands.a = &a;
  operands.b = &b;
  operands.d = &d;
  OK(detgemm_plan_create(backend, &spec, NULL, &plan));
  OK(detgemm_gemm_spec_init(&again, sizeof again));
  OK(detgemm_plan_spec(plan, &again));
  EXPECT(again.a_snapped == 1 && again.b_snapped == 1);
  OK(detgemm_plan_workspace_size(plan, 1, &bytes));
  memory = malloc(bytes + DETGEMM_WORKSPACE_ALIGNMENT);
  scratch = memory + DETGEMM_WORKSPACE_ALIGNMENT - (uintptr_t)memory % DETGEMM_WORKSPACE_ALIGNMENT;
  OK(detgemm_plan_run(plan, NULL, &operands, scratch, bytes, NULL));
  EXPECT(memcmp(&out, &square, sizeof out) == 0);
  detgemm_plan_destroy(plan);
  free(memory);
}

static void one_call(int on_host) {
  const detgemm_contract_t contract = contract_named("ieee_fma/fp32/chain->fp32");
  float out[6] = {0};
  const float zero[3] = {0, 0, 0};
  const detgemm_const_matrix_t a = input(kA, 2, 2);
  const detgemm_const_matrix_t b = input(kB, 2, 3);
  const detgemm_matrix_t d = output(out, 2, 3);
  detgemm_gemm_options_t options;
  detgemm_vector_t bias;
  OK(detgemm_gemm_options_init(&options, sizeof options));
  OK(detgemm_vector_init(&bias, sizeof bias));
  bias.data = zero;
  bias.size = 3;
  options.bias = &bias;
  if (on_host == 0) { /* a build without a host backend says so */
    REFUSED(detgemm_gemm(NULL, &a, &b, &d, &contract, &options), DETGEMM_UNAVAILABLE, "no backend");
    return;
  }
  OK(detgemm_gemm(NULL, &a, &b, &d, &contract, &options));
  check_product(out);
}

static void digests(void) {
  const detgemm_const_matrix_t a = input(kA, 2, 2);
  uint64_t digest = 0;
  OK(detgemm_digest_bytes("a", 1, DETGEMM_DIGEST_SEED, &digest));
  EXPECT(digest == UINT64_C(0xaf63dc4c8601ec8c)); /* published FNV-1a test vector */
  OK(detgemm_digest_matrix(&a, &digest));
}

/* Files for kernels that are chosen by time, which backends of the host do not have. */
static void tuning(const detgemm_backend_t* backend) {
  detgemm_tuning_t* made = NULL;
  char text[8];
  REFUSED(detgemm_tuning_parse(backend, "detgemm-tuning 1\n", &made), DETGEMM_INVALID_ARGUMENT,
          "the last line is not");
  REFUSED(detgemm_tuning_load(backend, "/nowhere/at/all", &made), DETGEMM_IO,
          "path is \"/nowhere/at/all\"");
  EXPECT(made == NULL);
  REFUSED(detgemm_tuning_text(NULL, text, sizeof text, NULL), DETGEMM_INVALID_ARGUMENT,
          "tuning is null");
  OK(detgemm_tuning_use(NULL));
  detgemm_tuning_destroy(NULL);
}

int main(void) {
  detgemm_runtime_options_t options;
  detgemm_device_kind_t kind = -7;
  int on_host = 0;
  size_t i;
  names();
  OK(detgemm_runtime_options_init(&options, sizeof options));
  options.threads = 1;
  OK(detgemm_runtime_start(&options));
  OK(detgemm_runtime_start(NULL));
  OK(detgemm_runtime_stop());
  contracts();
  backends(skeleton_for_c());
  plans(skeleton_for_c());
  ranks(skeleton_for_c());
  snapping(skeleton_for_c());
  for (i = 0; i < detgemm_backend_count(); ++i) {
    const detgemm_backend_t* backend = detgemm_backend_at(i);
    OK(detgemm_backend_device_kind(backend, &kind));
    if (kind == DETGEMM_HOST && detgemm_backend_available(backend) == DETGEMM_OK) {
      backends(backend);
      plans(backend);
      snapping(backend);
      tuning(backend);
      ++on_host;
    }
  }
  one_call(on_host);
  digests();
  OK(detgemm_runtime_stop());
  REFUSED(detgemm_runtime_stop(), DETGEMM_INVALID_ARGUMENT, "count of starts is 0");
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
