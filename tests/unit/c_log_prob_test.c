/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Calls every function of detgemm_log_prob.h from C99, on the example of CONTRACT.md, section 8.9:
 * a vocabulary of four, whose logits are the weights 1, 0, -2 and -Inf times 1. */

#define _POSIX_C_SOURCE 200809L /* posix_memalign */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detgemm/detgemm_log_prob.h"
#include "tests/support/c_expect.h"

static const uint16_t kX[1] = {0x3f80};
static const uint16_t kW[4] = {0x3f80, 0x0000, 0xc000, 0xff80};
static const uint32_t kLogp = 0xbfacac6e, kLse = 0x3facac6e, kEntropy = 0x3f36bfe7, kR = 0x3f04dcb9;
static const uint32_t kNode[3] = {1, 0x3ff6a1a9, 0x3f9ca5a9};
static const uint16_t kG[4] = {0xbf35, 0x3f3e, 0xbd10, 0x0000};

/* Results, which `is_example` compares and clears. */
static float logp, lse, entropy, logit, r;
static int32_t k;

static int word_is(float value, uint32_t bits) { return memcmp(&value, &bits, sizeof bits) == 0; }
static int is_example(void) {
  const int same = word_is(logp, kLogp) && word_is(lse, kLse) && word_is(entropy, kEntropy) &&
                   word_is(logit, 0) && word_is(r, kR) && k == 1;
  logp = lse = entropy = logit = r = 9;
  k = 9;
  return same;
}

int main(void) {
  detgemm_contract_t contract, gradient, other;
  detgemm_log_prob_spec_t spec;
  detgemm_log_prob_rows_t rows;
  detgemm_log_prob_outputs_t outputs;
  detgemm_log_prob_shard_t shard;
  detgemm_log_prob_upstream_t upstream;
  detgemm_const_matrix_t x, w, logits;
  detgemm_matrix_t dx, dw, g;
  const detgemm_backend_t* backend = NULL;
  detgemm_log_prob_plan_t* plan = NULL;
  const int64_t target = 1;
  const float one = 1;
  uint32_t nodes[3] = {0, 0, 0};
  uint16_t out_g[4] = {7, 7, 7, 7};
  float out_dx[1] = {9}, out_dw[4] = {9, 9, 9, 9}, kept[4] = {9, 9, 9, 9}, dummy = 0;
  char text[128];
  uint64_t digest = 0;
  int64_t slots = 0;
  size_t bytes = 0, more = 0, needed = 0;
  void* scratch = NULL;
  void* space = NULL;

  OK(detgemm_contract_init(&contract, sizeof contract));
  OK(detgemm_log_prob_contract_parse("ieee_fma/bf16/chain->fp32+logsum16", &contract));
  REFUSED(detgemm_log_prob_contract_parse("ieee_fma/bf16/chain->fp32", &contract),
          DETGEMM_INVALID_ARGUMENT, "+logsum16");
  REFUSED(detgemm_log_prob_contract_parse(NULL, &contract), DETGEMM_INVALID_ARGUMENT, "text");
  OK(detgemm_log_prob_contract_text(&contract, text, sizeof text, &needed));
  EXPECT(strcmp(text, "ieee_fma/bf16/chain->fp32+logsum16") == 0 && needed == strlen(text) + 1);
  OK(detgemm_log_prob_contract_digest(&contract, &digest));
  EXPECT(digest != 0);
  other = contract;
  other.output = DETGEMM_FP16;
  REFUSED(detgemm_log_prob_contract_digest(&other, &digest), DETGEMM_INVALID_ARGUMENT, "fp16");
  gradient = contract;

  OK(detgemm_log_prob_spec_init(&spec, sizeof spec));
  EXPECT(spec.alpha == 1 && spec.bias == DETGEMM_NONE && spec.begin == 0 && spec.vocabulary == 0);
  REFUSED(detgemm_log_prob_spec_validate(&spec), DETGEMM_INVALID_ARGUMENT, "spec.contract");
  spec.contract = &contract;
  spec.n = 4;
  spec.k = 1;
  spec.entropy = 1;
  spec.dgrad = spec.wgrad = &gradient;
  OK(detgemm_log_prob_spec_validate(&spec));
  spec.begin = 8;
  REFUSED(detgemm_log_prob_spec_validate(&spec), DETGEMM_INVALID_ARGUMENT, "begin is 8");
  spec.begin = 0;
  spec.entropy = 2;
  REFUSED(detgemm_log_prob_spec_validate(&spec), DETGEMM_INVALID_ARGUMENT, "spec.entropy is 2");
  spec.entropy = 1;

  OK(detgemm_const_matrix_init(&x, sizeof x));
  x.dtype = DETGEMM_BF16;
  x.data = kX;
  x.rows = x.cols = x.row_stride = 1;
  w = x;
  w.data = kW;
  w.rows = 4;
  logits = w;
  logits.rows = 1;
  logits.cols = logits.row_stride = 4;
  OK(detgemm_log_prob_rows_init(&rows, sizeof rows));
  EXPECT(rows.per_row == 1 && rows.target_stride == 1 && rows.target_type == DETGEMM_I64);
  rows.targets = &target;
  OK(detgemm_log_prob_outputs_init(&outputs, sizeof outputs));
  outputs.logp = &logp;
  outputs.lse = &lse;
  outputs.entropy = &entropy;
  outputs.target_logit = &logit;
  outputs.saved_k = &k;
  outputs.saved_r = &r;

  OK(detgemm_runtime_start(NULL));
  OK(detgemm_backend_find("reference", &backend));
  REFUSED(detgemm_log_prob_plan_create(NULL, &spec, NULL, &plan), DETGEMM_INVALID_ARGUMENT,
          "backend");
  EXPECT(plan == NULL);
  OK(detgemm_log_prob_plan_create(backend, &spec, NULL, &plan));
  REFUSED(detgemm_log_prob_plan_workspace_size(plan, -1, &bytes), DETGEMM_INVALID_ARGUMENT,
          "max_t is -1");
  OK(detgemm_log_prob_plan_workspace_size(plan, 1, &bytes));
  OK(detgemm_log_prob_plan_backward_workspace_size(plan, 1, &more));
  EXPECT(more >= bytes && bytes > 0);
  if (posix_memalign(&scratch, DETGEMM_WORKSPACE_ALIGNMENT, more) != 0) return 2;

  OK(detgemm_linear_log_prob(plan, NULL, &x, &w, NULL, &rows, &outputs, scratch, bytes));
  EXPECT(is_example());
  REFUSED(detgemm_linear_log_prob(plan, NULL, &x, NULL, NULL, &rows, &outputs, scratch, bytes),
          DETGEMM_INVALID_ARGUMENT, "w is null");
  REFUSED(detgemm_linear_log_prob(NULL, NULL, &x, &w, NULL, &rows, &outputs, scratch, bytes),
          DETGEMM_INVALID_ARGUMENT, "plan");

  OK(detgemm_log_prob_slots(0, 4, &slots));
  EXPECT(slots == 1);
  OK(detgemm_log_prob_shard_init(&shard, sizeof shard));
  shard.end = 4;
  shard.entropy = 1;
  shard.nodes = nodes;
  shard.target_logit = &dummy;
  OK(detgemm_linear_log_prob_nodes(plan, NULL, &x, &w, NULL, &rows, &shard, scratch, bytes));
  EXPECT(memcmp(nodes, kNode, sizeof nodes) == 0);
  memset(nodes, 0, sizeof nodes);
  OK(detgemm_log_prob_nodes(backend, NULL, &logits, 4, &rows, &shard));
  EXPECT(memcmp(nodes, kNode, sizeof nodes) == 0);
  OK(detgemm_log_prob_join(backend, NULL, 1, &shard, 1, 4, &rows, &outputs));
  EXPECT(is_example());
  REFUSED(detgemm_log_prob_join(backend, NULL, 1, NULL, 1, 4, &rows, &outputs),
          DETGEMM_INVALID_ARGUMENT, "shards");

  OK(detgemm_log_prob_workspace_size(1, 4, &bytes));
  if (posix_memalign(&space, DETGEMM_WORKSPACE_ALIGNMENT, bytes) != 0) return 2;
  OK(detgemm_log_prob_of_logits(backend, NULL, &logits, 4, &rows, &outputs, space, bytes));
  EXPECT(is_example());
  OK(detgemm_log_prob_of_logits(backend, NULL, &logits, 4, &rows, &outputs, space, bytes));

  OK(detgemm_log_prob_upstream_init(&upstream, sizeof upstream));
  upstream.saved_k = &k;
  upstream.saved_r = &r;
  upstream.d_logp = &one;
  OK(detgemm_matrix_init(&g, sizeof g));
  g.dtype = DETGEMM_BF16;
  g.data = out_g;
  g.rows = 1;
  g.cols = g.row_stride = 4;
  OK(detgemm_log_prob_gradient(backend, NULL, &logits, 0, 4, &rows, &upstream, &g));
  EXPECT(memcmp(out_g, kG, sizeof kG) == 0);
  memcpy(out_g, kW, sizeof kW); /* in place of the logits */
  logits.data = out_g;
  OK(detgemm_log_prob_gradient(backend, NULL, &logits, 0, 4, &rows, &upstream, &g));
  EXPECT(memcmp(out_g, kG, sizeof kG) == 0);
  logits.data = kW;
  upstream.alpha = INFINITY;
  REFUSED(detgemm_log_prob_gradient(backend, NULL, &logits, 0, 4, &rows, &upstream, &g),
          DETGEMM_INVALID_ARGUMENT, "alpha is inf");
  upstream.alpha = 1;

  g.dtype = DETGEMM_FP32; /* the logits of a run are kept for its gradient */
  g.data = kept;
  g.cols = 3;
  outputs.logits = &g;
  OK(detgemm_log_prob_plan_workspace_size(plan, 1, &bytes));
  REFUSED(detgemm_linear_log_prob(plan, NULL, &x, &w, NULL, &rows, &outputs, scratch, bytes),
          DETGEMM_INVALID_ARGUMENT, "logits is 1 x 3: it must be 1 x 4");
  g.cols = 4;
  OK(detgemm_linear_log_prob(plan, NULL, &x, &w, NULL, &rows, &outputs, scratch, bytes));
  EXPECT(is_example() && kept[0] == 1 && kept[1] == 0 && kept[2] == -2 && kept[3] == -INFINITY);
  OK(detgemm_linear_log_prob(plan, NULL, &x, &w, NULL, &rows, &outputs, scratch, bytes));
  logits.dtype = DETGEMM_FP32;
  logits.data = kept;
  upstream.logits = &logits;
  OK(detgemm_matrix_init(&dx, sizeof dx));
  dx.dtype = DETGEMM_FP32;
  dx.data = out_dx;
  dx.rows = dx.cols = dx.row_stride = 1;
  dw = dx;
  dw.data = out_dw;
  dw.rows = 4;
  OK(detgemm_linear_log_prob_backward(plan, NULL, &x, &w, NULL, &rows, &upstream, NULL, &dw,
                                      scratch, more));
  EXPECT(out_dw[3] == 0 && out_dw[1] > 0.7F && out_dw[1] < 0.8F);
  /* dX is NaN: the gradient 0 of a masked column times the weight -Inf. */
  OK(detgemm_linear_log_prob_backward(plan, NULL, &x, &w, NULL, &rows, &upstream, &dx, NULL,
                                      scratch, more));
  EXPECT(out_dx[0] != out_dx[0]);
  detgemm_log_prob_plan_destroy(plan);
  detgemm_log_prob_plan_destroy(NULL);
  free(scratch);
  free(space);
  OK(detgemm_runtime_stop());
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
