/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The transport over MPI from plain C: the processes of a job have the bits of one plan, in one and
 * in two chunks, and a missing place for the answer is refused. A control: without the last rank's
 * products the bits are others. */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detgemm/detgemm_mpi.h"
#include "tests/support/c_backend.h"

#define M 30
#define N 20
#define K 320

static int failures = 0;

static void fail(int line, const char* what) {
  ++failures;
  printf("line %d: %s: %s\n", line, what, detgemm_last_error());
}
#define OK(call) ((call) == DETGEMM_OK ? (void)0 : fail(__LINE__, #call))
#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

static float a[M * K], b[K * N], one[M * N];

static detgemm_const_matrix_t view(const float* data, int64_t rows, int64_t cols, int64_t ld) {
  detgemm_const_matrix_t m;
  OK(detgemm_const_matrix_init(&m, sizeof m));
  m.dtype = DETGEMM_FP32;
  m.data = data;
  m.rows = rows;
  m.cols = cols;
  m.row_stride = ld;
  return m;
}

static void* aligned(size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, DETGEMM_WORKSPACE_ALIGNMENT, bytes + 1) != 0) return NULL;
  return memory;
}

/* D of products [begin, end) into d, by a plan of one rank or of the job. */
static void multiply(const detgemm_plan_t* alone, const detgemm_cluster_plan_t* job, int64_t begin,
                     int64_t end, float* d) {
  const detgemm_const_matrix_t of_a = view(a + begin, M, end - begin, K);
  const detgemm_const_matrix_t of_b = view(b + begin * N, end - begin, N, N);
  detgemm_matrix_t to;
  detgemm_operands_t operands;
  size_t bytes = 0;
  void* scratch;
  OK(detgemm_matrix_init(&to, sizeof to));
  OK(detgemm_operands_init(&operands, sizeof operands));
  to.dtype = DETGEMM_FP32;
  to.data = d;
  to.rows = M;
  to.cols = N;
  to.row_stride = N;
  operands.a = &of_a;
  operands.b = &of_b;
  operands.d = &to;
  if (job != NULL) {
    OK(detgemm_cluster_plan_workspace_size(job, M, &bytes));
  } else {
    OK(detgemm_plan_workspace_size(alone, M, &bytes));
  }
  scratch = aligned(bytes);
  if (job != NULL) {
    OK(detgemm_cluster_plan_run(job, NULL, M, &operands, scratch, bytes, NULL));
  } else {
    OK(detgemm_plan_run(alone, NULL, &operands, scratch, bytes, NULL));
  }
  free(scratch);
}

static void compare(const detgemm_backend_t* backend, const detgemm_contract_t* contract) {
  detgemm_transport_t* transport = NULL;
  detgemm_communicator_t* ranks = NULL;
  detgemm_gemm_spec_t spec;
  detgemm_plan_t* alone = NULL;
  int32_t rank = -1, size = -1, chunks;
  int mpi_rank = -2, mpi_size = -2;
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mpi_size);
  CHECK(detgemm_transport_mpi(MPI_COMM_WORLD, NULL) == DETGEMM_INVALID_ARGUMENT);
  CHECK(strstr(detgemm_last_error(), "transport is null") != NULL);
  OK(detgemm_transport_mpi(MPI_COMM_WORLD, &transport));
  OK(detgemm_communicator_create(transport, NULL, &ranks));
  detgemm_transport_destroy(transport); /* the communicator keeps what it needs */
  OK(detgemm_communicator_rank(ranks, &rank, &size));
  CHECK(rank == mpi_rank && size == mpi_size);
  OK(detgemm_gemm_spec_init(&spec, sizeof spec));
  spec.n = N;
  spec.k = K;
  spec.contract = contract;
  OK(detgemm_plan_create(backend, &spec, NULL, &alone));
  multiply(alone, NULL, 0, K, one);
  for (chunks = 1; chunks <= 2; ++chunks) {
    float d[M * N], less[M * N];
    int64_t begin = 0, end = 0, i;
    detgemm_cluster_plan_t* plan = NULL;
    detgemm_cluster_options_t options;
    OK(detgemm_cluster_options_init(&options, sizeof options));
    options.chunks = chunks;
    OK(detgemm_row_parallel_create(ranks, backend, &spec, &options, &plan));
    OK(detgemm_cluster_plan_share(plan, &begin, &end));
    CHECK(begin < end);
    memset(d, 0, sizeof d);
    multiply(NULL, plan, begin, end, d);
    CHECK(memcmp(d, one, sizeof d) == 0);
    /* The control: the last rank's B is zero. */
    if (rank == size - 1) {
      for (i = begin * N; i < end * N; ++i) b[i] = 0.0F;
    }
    multiply(NULL, plan, begin, end, less);
    CHECK(memcmp(less, one, sizeof less) != 0);
    for (i = 0; i < K * N; ++i) b[i] = (float)(i % 89) * 0.013F - 0.5F;
    detgemm_cluster_plan_destroy(plan);
  }
  detgemm_plan_destroy(alone);
  detgemm_communicator_destroy(ranks);
}

int main(int count, char** words) {
  detgemm_contract_t contract;
  int i, all = 0, rank = 0;
  MPI_Init(&count, &words);
  for (i = 0; i < M * K; ++i) a[i] = (float)(i % 97) * 0.011F - 0.4F;
  for (i = 0; i < K * N; ++i) b[i] = (float)(i % 89) * 0.013F - 0.5F;
  OK(detgemm_contract_init(&contract, sizeof contract));
  OK(detgemm_contract_parse("ieee_fma/fp32/tree:16->fp32", &contract));
  compare(skeleton_for_c(), &contract);
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && all == 0) printf("all ranks have the bits of one plan\n");
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
