/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The C interface of clusters from plain C: three threads as ranks and a transport of the program's
 * own have the bits of one plan, and what is wrong is refused with a sentence. */

#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detgemm/detgemm_cluster.h"
#include "tests/support/c_backend.h"

#define RANKS 3
#define M 30
#define N 20
#define K 160

static int failures = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fail(int line, const char* what) {
  pthread_mutex_lock(&lock);
  ++failures;
  printf("line %d: %s: %s\n", line, what, detgemm_last_error());
  pthread_mutex_unlock(&lock);
}
#define OK(call) ((call) == DETGEMM_OK ? (void)0 : fail(__LINE__, #call))
#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))
#define REFUSED(call, sentence)                                                \
  do {                                                                         \
    CHECK((call) == DETGEMM_INVALID_ARGUMENT);                                 \
    if (strstr(detgemm_last_error(), sentence) == NULL) fail(__LINE__, #call); \
  } while (0)

static float a[M * K], b[K * N], one[M * N];
static detgemm_contract_t contract;

/* C99 has no aligned allocation: POSIX has. */
static void* aligned(size_t bytes) {
  void* memory = NULL;
  if (bytes == 0 || posix_memalign(&memory, DETGEMM_WORKSPACE_ALIGNMENT, bytes) != 0) return NULL;
  return memory;
}

static detgemm_gemm_spec_t problem(void) {
  detgemm_gemm_spec_t spec;
  OK(detgemm_gemm_spec_init(&spec, sizeof spec));
  spec.n = N;
  spec.k = K;
  spec.contract = &contract;
  spec.alpha = 0.7F;
  return spec;
}

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

/* Runs a plan on A[rows, k_begin:k_end] and B[k_begin:k_end, n_begin:n_end] and compares D. */
static void run(const detgemm_cluster_plan_t* plan, const detgemm_const_matrix_t* mine_a,
                const detgemm_const_matrix_t* mine_b, int64_t n_begin, int64_t n_end) {
  size_t bytes = 0;
  float d[M * N];
  detgemm_matrix_t to;
  detgemm_operands_t operands;
  detgemm_run_info_t info;
  void* scratch;
  int64_t i;
  OK(detgemm_cluster_plan_workspace_size(plan, M, &bytes));
  scratch = aligned(bytes);
  memset(d, 0, sizeof d);
  OK(detgemm_matrix_init(&to, sizeof to));
  OK(detgemm_operands_init(&operands, sizeof operands));
  OK(detgemm_run_info_init(&info, sizeof info));
  to.dtype = DETGEMM_FP32;
  to.data = d + n_begin;
  to.rows = M;
  to.cols = n_end - n_begin;
  to.row_stride = N;
  operands.a = mine_a;
  operands.b = mine_b;
  operands.d = &to;
  OK(detgemm_cluster_plan_run(plan, NULL, M, &operands, scratch, bytes, &info));
  CHECK(info.kernel[0] != 0);
  for (i = 0; i < M; ++i) {
    CHECK(memcmp(d + i * N + n_begin, one + i * N + n_begin,
                 (size_t)(n_end - n_begin) * sizeof(float)) == 0);
  }
  free(scratch);
}

static void row_parallel(const detgemm_communicator_t* ranks, const detgemm_gemm_spec_t* spec) {
  static const int64_t cuts[RANKS + 1] = {0, 32, 128, K};
  detgemm_cluster_plan_t* plan = NULL;
  detgemm_cluster_options_t options;
  detgemm_const_matrix_t mine_a, mine_b;
  int64_t begin = 0, end = 0;
  char text[512];
  int uneven;
  for (uneven = 0; uneven < 2; ++uneven) {
    OK(detgemm_cluster_options_init(&options, sizeof options));
    options.algorithm = uneven ? DETGEMM_GATHER : DETGEMM_SCATTER;
    options.k_cuts = uneven ? cuts : NULL;
    OK(detgemm_row_parallel_create(ranks, skeleton_for_c(), spec, &options, &plan));
    OK(detgemm_cluster_plan_share(plan, &begin, &end));
    mine_a = view(a + begin, M, end - begin, K);
    mine_b = view(b + begin * N, end - begin, N, N);
    run(plan, &mine_a, &mine_b, 0, N);
    OK(detgemm_cluster_plan_describe(plan, M, text, sizeof text, NULL));
    CHECK(strstr(text, uneven ? "gather" : "scatter") != NULL);
    detgemm_cluster_plan_destroy(plan);
  }
}

static void column_parallel(const detgemm_communicator_t* ranks, const detgemm_gemm_spec_t* spec,
                            int32_t rank) {
  detgemm_cluster_plan_t* plan = NULL;
  detgemm_cluster_options_t options;
  detgemm_const_matrix_t mine_a, mine_b;
  int64_t begin = 0, end = 0, first = 0, last = 0;
  size_t count = 0;
  OK(detgemm_cluster_options_init(&options, sizeof options));
  options.input = DETGEMM_ROWS;
  options.output = DETGEMM_COLUMNS;
  OK(detgemm_column_parallel_create(ranks, skeleton_for_c(), spec, &options, &plan));
  OK(detgemm_cluster_plan_share(plan, &begin, &end));
  OK(detgemm_rows_of(M, rank, RANKS, &first, &last));
  mine_a = view(a + first * K, last - first, K, K);
  mine_b = view(b + begin, K, end - begin, N);
  run(plan, &mine_a, &mine_b, begin, end);
  REFUSED(detgemm_cluster_plan_node_count(plan, &count), "plan spreads N");
  detgemm_cluster_plan_destroy(plan);
}

/* Roots by plans of this rank's own, added by all. */
static void tree_sum(const detgemm_communicator_t* ranks, const detgemm_gemm_spec_t* spec) {
  detgemm_cluster_plan_t* sum = NULL;
  float roots[4][M * N], d[M * N];
  detgemm_const_matrix_t views[4];
  const detgemm_const_matrix_t* list[4];
  detgemm_matrix_t to;
  detgemm_operands_t operands;
  size_t count = 0, i, bytes = 0;
  void* scratch;
  void* place = &to;
  OK(detgemm_tree_sum_create(ranks, skeleton_for_c(), spec, NULL, &sum));
  OK(detgemm_cluster_plan_node_count(sum, &count));
  CHECK(count <= 4);
  OK(detgemm_matrix_init(&to, sizeof to));
  OK(detgemm_operands_init(&operands, sizeof operands));
  to.dtype = DETGEMM_FP32;
  to.rows = M;
  to.cols = to.row_stride = N;
  operands.d = &to;
  for (i = 0; i < count; ++i) {
    detgemm_gemm_spec_t part = problem();
    detgemm_plan_t* plan = NULL;
    detgemm_const_matrix_t mine_a, mine_b;
    int64_t begin = 0, end = 0;
    OK(detgemm_cluster_plan_node(sum, i, &begin, &end));
    part.k = end - begin;
    part.alpha = 1.0F;
    mine_a = view(a + begin, M, part.k, K);
    mine_b = view(b + begin * N, part.k, N, N);
    to.data = roots[i];
    operands.a = &mine_a;
    operands.b = &mine_b;
    OK(detgemm_plan_create(skeleton_for_c(), &part, NULL, &plan));
    OK(detgemm_plan_run(plan, NULL, &operands, NULL, 0, NULL));
    detgemm_plan_destroy(plan);
    views[i] = view(roots[i], M, N, N);
    list[i] = &views[i];
  }
  operands.a = operands.b = NULL;
  to.data = d;
  OK(detgemm_cluster_plan_workspace_size(sum, M, &bytes));
  scratch = aligned(bytes);
  OK(detgemm_tree_sum_run(sum, NULL, M, list, count, &operands, scratch, bytes, NULL));
  CHECK(memcmp(d, one, sizeof d) == 0);
  REFUSED(detgemm_tree_sum_run(sum, NULL, M, list, count + 1, &operands, scratch, bytes, NULL),
          "count is ");
  OK(detgemm_tree_sum_place(sum, M, 0, &place));
  CHECK(place == NULL); /* there are no windows */
  REFUSED(detgemm_tree_sum_place(sum, -1, 0, &place), "m is -1");
  REFUSED(detgemm_tree_sum_place(sum, M, count, &place), "node is ");
  REFUSED(detgemm_tree_sum_place(sum, M, 0, NULL), "place is null");
  operands.a = operands.b = &views[0];
  REFUSED(detgemm_cluster_plan_run(sum, NULL, M, &operands, scratch, bytes, NULL),
          "plan is a sum of roots: it runs by detgemm_tree_sum_run");
  free(scratch);
  detgemm_cluster_plan_destroy(sum);
}

/* Products through windows of the host, from plain C. */
static void windows(const detgemm_transport_t* transport, const detgemm_gemm_spec_t* spec) {
  static const detgemm_algorithm_t ways[3] = {DETGEMM_ONE_SHOT, DETGEMM_TWO_SHOT, DETGEMM_PUSH};
  static const char* const names[3] = {"one_shot", "two_shot", "push"};
  detgemm_communicator_t* ranks = NULL;
  detgemm_communicator_options_t options;
  detgemm_cluster_options_t choices;
  detgemm_cluster_plan_t* plan = NULL;
  detgemm_const_matrix_t mine_a, mine_b;
  int64_t begin = 0, end = 0;
  int32_t yes = -1;
  char text[512];
  int i;
  OK(detgemm_communicator_options_init(&options, sizeof options));
  CHECK(options.window_bytes == 0 && options.window_backend == NULL);
  options.window_bytes = 1 << 16;
  OK(detgemm_communicator_create(transport, &options, &ranks));
  OK(detgemm_communicator_has_windows(ranks, &yes));
  CHECK(yes == 1);
  for (i = 0; i < 3; ++i) {
    OK(detgemm_cluster_options_init(&choices, sizeof choices));
    choices.algorithm = ways[i];
    OK(detgemm_row_parallel_create(ranks, skeleton_for_c(), spec, &choices, &plan));
    OK(detgemm_cluster_plan_share(plan, &begin, &end));
    mine_a = view(a + begin, M, end - begin, K);
    mine_b = view(b + begin * N, end - begin, N, N);
    run(plan, &mine_a, &mine_b, 0, N);
    OK(detgemm_cluster_plan_describe(plan, M, text, sizeof text, NULL));
    CHECK(strstr(text, names[i]) != NULL);
    detgemm_cluster_plan_destroy(plan);
  }
  detgemm_communicator_destroy(ranks);
  /* A caller of the header before there were windows: its struct ends with the patience. */
  options.struct_size = (uint32_t)offsetof(detgemm_communicator_options_t, window_bytes);
  OK(detgemm_communicator_create(transport, &options, &ranks));
  OK(detgemm_communicator_has_windows(ranks, &yes));
  CHECK(yes == 0);
  choices.algorithm = DETGEMM_TWO_SHOT;
  CHECK(detgemm_row_parallel_create(ranks, skeleton_for_c(), spec, &choices, &plan) ==
        DETGEMM_UNSUPPORTED);
  CHECK(strstr(detgemm_last_error(), "these ranks have no windows: window_bytes is 0") != NULL);
  detgemm_communicator_destroy(ranks);
}

static void* on_rank(void* given) {
  detgemm_transport_t* transport = given;
  detgemm_communicator_t* ranks = NULL;
  const detgemm_gemm_spec_t spec = problem();
  int32_t rank = -1, size = -1;
  windows(transport, &spec);
  OK(detgemm_communicator_create(transport, NULL, &ranks));
  detgemm_transport_destroy(transport);
  OK(detgemm_communicator_rank(ranks, &rank, &size));
  CHECK(size == RANKS);
  row_parallel(ranks, &spec);
  column_parallel(ranks, &spec, rank);
  tree_sum(ranks, &spec);
  OK(detgemm_communicator_health(ranks));
  detgemm_communicator_destroy(ranks);
  return NULL;
}

/* A transport of one rank, which has nobody to send to. */
static int agree(void* context, const void* mine, size_t bytes, void* all, int64_t patience_ms,
                 char* sentence, size_t sentence_size) {
  int* calls = context;
  (void)patience_ms;
  memcpy(all, mine, bytes);
  if (++*calls < 3) return 0;
  snprintf(sentence, sentence_size, "the wire is cut");
  return 5;
}
static int exchange(void* context, const detgemm_stream_t* stream, const detgemm_send_t* sends,
                    size_t send_count, const detgemm_receive_t* receives, size_t receive_count,
                    int64_t patience_ms, char* sentence, size_t sentence_size) {
  (void)context, (void)stream, (void)sends, (void)receives, (void)patience_ms;
  (void)sentence, (void)sentence_size;
  return send_count + receive_count == 0 ? 0 : 1;
}
static void drop(void* context) { *(int*)context = -1; }

static void own_transport(void) {
  detgemm_transport_callbacks_t callbacks;
  detgemm_transport_t* transport = NULL;
  detgemm_communicator_t* ranks = NULL;
  detgemm_cluster_plan_t* plan = NULL;
  const detgemm_gemm_spec_t spec = problem();
  const detgemm_const_matrix_t whole_a = view(a, M, K, K), whole_b = view(b, K, N, N);
  char text[128];
  int calls = 0;
  OK(detgemm_transport_callbacks_init(&callbacks, sizeof callbacks));
  callbacks.context = &calls;
  REFUSED(detgemm_transport_create(&callbacks, &transport), "callbacks.agree is null");
  callbacks.agree = agree;
  REFUSED(detgemm_transport_create(&callbacks, &transport), "callbacks.exchange is null");
  callbacks.exchange = exchange;
  callbacks.abort = drop;
  callbacks.rank = 1;
  REFUSED(detgemm_transport_create(&callbacks, &transport), "callbacks has rank 1 of 1");
  CHECK(transport == NULL);
  callbacks.rank = 0;
  OK(detgemm_transport_create(&callbacks, &transport));
  OK(detgemm_communicator_create(transport, NULL, &ranks));
  OK(detgemm_communicator_describe(ranks, text, sizeof text, NULL));
  CHECK(strcmp(text, "the program's own transport, rank 0 of 1") == 0);
  OK(detgemm_row_parallel_create(ranks, skeleton_for_c(), &spec, NULL, &plan));
  run(plan, &whole_a, &whole_b, 0, N);
  detgemm_cluster_plan_destroy(plan);
  CHECK(detgemm_row_parallel_create(ranks, skeleton_for_c(), &spec, NULL, &plan) == DETGEMM_PEER);
  CHECK(strstr(detgemm_last_error(), "returned 5: the wire is cut") != NULL);
  CHECK(plan == NULL);
  CHECK(detgemm_communicator_health(ranks) == DETGEMM_PEER);
  OK(detgemm_communicator_abort(ranks));
  CHECK(calls == -1);
  detgemm_communicator_destroy(ranks);
  detgemm_transport_destroy(transport);
}

static void refusals(void) {
  detgemm_transport_t* transports[1] = {NULL};
  detgemm_communicator_t* ranks = NULL;
  detgemm_communicator_options_t options;
  detgemm_cluster_options_t choices;
  detgemm_cluster_plan_t* plan = NULL;
  detgemm_gemm_spec_t spec = problem();
  const int64_t bad_cuts[2] = {0, K - 1};
  int64_t begin = 0, end = 0;
  int32_t rank = 0;
  size_t bytes = 0;
  char garbage[64];
  memset(garbage, 'x', sizeof garbage);
  REFUSED(detgemm_transport_threads(0, transports), "ranks is 0");
  REFUSED(detgemm_transport_threads(1, NULL), "transports is null");
  REFUSED(detgemm_transport_nccl(garbage, DETGEMM_CUDA, NULL), "transport is null");
  REFUSED(detgemm_transport_nccl(NULL, DETGEMM_CUDA, transports), "comm is null");
  REFUSED(detgemm_transport_nccl(garbage, DETGEMM_HOST, transports), "kind is host");
  REFUSED(detgemm_transport_nccl(garbage, 7, transports), "kind is");
  CHECK(transports[0] == NULL);
  CHECK(detgemm_transport_nccl(garbage, DETGEMM_HIP, transports) == DETGEMM_UNAVAILABLE);
  REFUSED(detgemm_transport_callbacks_init(NULL, 8), "callbacks is null");
  OK(detgemm_transport_threads(1, transports));
  REFUSED(detgemm_communicator_create(NULL, NULL, &ranks), "transport is null");
  REFUSED(detgemm_communicator_create((detgemm_transport_t*)(void*)garbage, NULL, &ranks),
          "transport is not a transport's handle");
  REFUSED(detgemm_communicator_create(transports[0], NULL, NULL), "communicator is null");
  REFUSED(detgemm_communicator_options_init(&options, 1), "struct_size is 1");
  OK(detgemm_communicator_options_init(&options, sizeof options));
  options.check_calls = 2;
  REFUSED(detgemm_communicator_create(transports[0], &options, &ranks),
          "options.check_calls is 2: it must be 0 or 1");
  options.check_calls = 1;
  options.patience_ms = -1;
  REFUSED(detgemm_communicator_create(transports[0], &options, &ranks), "patience is -1 ms");
  options.patience_ms = 1000;
  options.window_backend = (const detgemm_backend_t*)(void*)garbage;
  REFUSED(detgemm_communicator_create(transports[0], &options, &ranks),
          "options.window_backend is not a backend's handle");
  options.window_backend = skeleton_for_c();
  options.window_bytes = 1 << 16;
  OK(detgemm_communicator_create(transports[0], &options, &ranks));
  OK(detgemm_communicator_has_windows(ranks, &rank));
  CHECK(rank == 0); /* one rank needs none */
  REFUSED(detgemm_communicator_has_windows(ranks, NULL), "yes is null");
  REFUSED(detgemm_communicator_rank(ranks, NULL, &rank), "rank is null");
  REFUSED(detgemm_communicator_health(NULL), "communicator is null");
  REFUSED(detgemm_communicator_abort((detgemm_communicator_t*)(void*)garbage),
          "communicator is not a communicator's handle");
  REFUSED(detgemm_rows_of(-1, 0, 1, &begin, &end), "extent is -1");
  REFUSED(detgemm_rows_of(8, 2, 2, &begin, &end), "rank is 2 of 2");
  OK(detgemm_cluster_options_init(&choices, sizeof choices));
  choices.output = 7;
  REFUSED(detgemm_row_parallel_create(ranks, skeleton_for_c(), &spec, &choices, &plan),
          "output is unknown (7)");
  choices.output = DETGEMM_REPLICATED;
  choices.k_cuts = bad_cuts;
  REFUSED(detgemm_row_parallel_create(ranks, skeleton_for_c(), &spec, &choices, &plan),
          "leaves are 16 products");
  REFUSED(detgemm_tree_sum_create(ranks, skeleton_for_c(), &spec, &choices, &plan),
          "leaves are 16 products");
  REFUSED(detgemm_row_parallel_create(NULL, skeleton_for_c(), &spec, NULL, &plan),
          "communicator is null");
  REFUSED(detgemm_row_parallel_create(ranks, NULL, &spec, NULL, &plan), "backend is null");
  REFUSED(detgemm_row_parallel_create(ranks, skeleton_for_c(), NULL, NULL, &plan), "spec is null");
  REFUSED(detgemm_row_parallel_create(ranks, skeleton_for_c(), &spec, NULL, NULL), "plan is null");
  REFUSED(detgemm_cluster_plan_share(NULL, &begin, &end), "plan is null");
  REFUSED(detgemm_cluster_plan_run((detgemm_cluster_plan_t*)(void*)garbage, NULL, 1, NULL, NULL, 0,
                                   NULL),
          "plan is not a plan's handle");
  OK(detgemm_row_parallel_create(ranks, skeleton_for_c(), &spec, NULL, &plan));
  REFUSED(detgemm_cluster_plan_run(plan, NULL, 1, NULL, NULL, 0, NULL), "operands is null");
  REFUSED(detgemm_cluster_plan_workspace_size(plan, -1, &bytes), "max_m is -1");
  REFUSED(detgemm_cluster_plan_node(plan, 1, &begin, &end), "this rank has 1 nodes");
  REFUSED(detgemm_cluster_plan_describe(plan, -1, garbage, sizeof garbage, NULL), "m is -1");
  detgemm_cluster_plan_destroy(plan);
  detgemm_cluster_plan_destroy(NULL);
  detgemm_communicator_destroy(ranks);
  detgemm_transport_destroy(transports[0]);
}

int main(void) {
  detgemm_transport_t* transports[RANKS];
  pthread_t threads[RANKS];
  detgemm_plan_t* plan = NULL;
  detgemm_gemm_spec_t spec;
  detgemm_operands_t operands;
  detgemm_matrix_t d;
  detgemm_const_matrix_t whole_a, whole_b;
  int i;
  srand(7);
  for (i = 0; i < M * K; ++i) a[i] = (float)(rand() % 2001 - 1000) / (float)(1 << rand() % 20);
  for (i = 0; i < K * N; ++i) b[i] = (float)(rand() % 2001 - 1000) / (float)(1 << rand() % 20);
  OK(detgemm_contract_init(&contract, sizeof contract));
  OK(detgemm_contract_parse("ieee_fma/fp32/tree:16->fp32", &contract));
  spec = problem();
  whole_a = view(a, M, K, K);
  whole_b = view(b, K, N, N);
  OK(detgemm_matrix_init(&d, sizeof d));
  OK(detgemm_operands_init(&operands, sizeof operands));
  d.dtype = DETGEMM_FP32;
  d.data = one;
  d.rows = M;
  d.cols = d.row_stride = N;
  operands.a = &whole_a;
  operands.b = &whole_b;
  operands.d = &d;
  OK(detgemm_plan_create(skeleton_for_c(), &spec, NULL, &plan));
  OK(detgemm_plan_run(plan, NULL, &operands, NULL, 0, NULL));
  detgemm_plan_destroy(plan);
  OK(detgemm_transport_threads(RANKS, transports));
  for (i = 0; i < RANKS; ++i) pthread_create(&threads[i], NULL, on_rank, transports[i]);
  for (i = 0; i < RANKS; ++i) pthread_join(threads[i], NULL);
  own_transport();
  refusals();
  printf(failures == 0 ? "passed\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
