/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* An engine for `detgemm conform --engine` that computes a model's head: products by a triple loop,
   and log-probabilities of their rows in the order logsum16, written from
   core/contract/CONTRACT.md, section 8. Nothing of detgemm is linked. */

#include "detgemm/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { kFp32 = 2, kLeaf = 16, kSpecial = 1 << 20 };

/* The sum of e^x over some columns is s * 2^k, that of x * e^x is a * 2^k (8.3). */
typedef struct node {
  int32_t k;
  float s, a;
} node;

static const node kAbsent = {-kSpecial, 0.0F, -0.0F};

static float of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static float nan32(void) { return of_bits(0x7fffffffU); }
static float canonical(float x) { return x != x ? nan32() : x; }
static int is_absent(float x) { return x < -65536.0F; }

/* A column (8.2): e^x = f * 2^n, and g = f * x. */
static node term_of(float x) {
  if (x != x) return (node){kSpecial, nan32(), nan32()};
  if (x > 65536.0F) return (node){kSpecial, INFINITY, nan32()};
  if (is_absent(x)) return kAbsent;
  const float n = fmaf(x, 0x1.715476p+0F, 0x1.8p+23F) - 0x1.8p+23F;
  const float r = fmaf(n, -0x1.7f7d1cp-20F, fmaf(n, -0x1.62e4p-1F, x));
  float p = 0x1.6a4154p-10F;
  p = fmaf(p, r, 0x1.1239c8p-7F);
  p = fmaf(p, r, 0x1.5558bcp-5F);
  p = fmaf(p, r, 0x1.555492p-3F);
  p = fmaf(p, r, 0x1.fffffcp-2F);
  const float f = 1.0F + fmaf(r * r, p, r);
  return (node){(int32_t)n, f, f * x};
}

static float scaled(float y, int32_t d) { return y * (d < -126 ? 0.0F : ldexpf(1.0F, d)); }

static node join(node left, node right) {
  const int32_t k = left.k > right.k ? left.k : right.k;
  return (node){k, scaled(left.s, left.k - k) + scaled(right.s, right.k - k),
                scaled(left.a, left.k - k) + scaled(right.a, right.k - k)};
}

/* A row of logits, of which `count` exist. */
typedef struct row {
  const char* data;
  int64_t stride, count;
  int32_t dtype;
  float scale;
} row;

static float x_of(const row* r, int64_t col) {
  float z;
  if (r->dtype == kFp32) {
    memcpy(&z, r->data + 4 * col * r->stride, sizeof z);
  } else {
    uint16_t half;
    memcpy(&half, r->data + 2 * col * r->stride, sizeof half);
    z = of_bits((uint32_t)half << 16);
  }
  return z * r->scale;
}

static float add_leaf(const float* t) {
  float p[8], q[4];
  for (int i = 0; i < 8; ++i) p[i] = t[2 * i] + t[2 * i + 1];
#ifdef PLANTED_ORDER
  for (int i = 0; i < 4; ++i) q[i] = p[2 * i] + p[2 * i + 1]; /* bits 0, 1, 2, 3 */
#else
  for (int i = 0; i < 4; ++i) q[i] = p[i] + p[i + 4]; /* bits 0, 3, 1, 2 */
#endif
  return (q[0] + q[1]) + (q[2] + q[3]);
}

static node leaf_of(const row* r, int64_t leaf) {
  node t[kLeaf];
  float f[kLeaf], g[kLeaf];
  int32_t k = -kSpecial;
  for (int i = 0; i < kLeaf; ++i) {
    const int64_t col = leaf * kLeaf + i;
    t[i] = col < r->count ? term_of(x_of(r, col)) : kAbsent;
    k = t[i].k > k ? t[i].k : k;
  }
  for (int i = 0; i < kLeaf; ++i) {
    f[i] = scaled(t[i].s, t[i].k - k);
    g[i] = scaled(t[i].a, t[i].k - k);
  }
  return (node){k, add_leaf(f), add_leaf(g)};
}

/* Node `i` of a level; leaf 0 is the row's first. */
static node node_of(const row* r, int level, int64_t i) {
  if ((i << level) * kLeaf >= r->count) return kAbsent;
  if (level == 0) return leaf_of(r, i);
  return join(node_of(r, level - 1, 2 * i), node_of(r, level - 1, 2 * i + 1));
}

static int64_t leaves_of(int64_t columns) { return (columns + kLeaf - 1) / kLeaf; }

/* The level of the largest node that begins at leaf `first` and ends by leaf `end`. */
static int largest(int64_t first, int64_t end) {
  int level = 0;
  while ((first >> level & 1) == 0 && first + ((int64_t)2 << level) <= end) ++level;
  return level;
}

/* LN(q, m) = ln(q * 2^m) (8.4). */
static float ln_of(float q, int32_t m) {
  const uint32_t bits = bits_of(q), fraction = bits & 0x7fffffU;
  const int above = fraction > 0x3504f3U;
  const float whole = (float)((int32_t)(bits >> 23) - 127 + m + above);
  const float h = of_bits(fraction | (above ? 0x3f000000U : 0x3f800000U)) - 1.0F;
  static const float kSteps[] = {-0x1.243bc6p-3F, 0x1.317752p-3F,  -0x1.53815cp-3F,
                                 0x1.98d796p-3F,  -0x1.000384p-2F, 0x1.5556dap-2F};
  float c = 0x1.646558p-4F;
  for (int i = 0; i < 6; ++i) c = c * h + kSteps[i];
  const float w = h * h;
  const float y = ((h * w) * c - w * 0.5F) + h;
  return (whole * 0x1.7f7d1cp-20F + y) + whole * 0x1.62e4p-1F;
}

static int64_t target_of(const detgemm_engine_tokens* t, int64_t i) {
  const int64_t at = i * t->target_stride;
  return t->target_type == 0 ? ((const int32_t*)t->targets)[at] : ((const int64_t*)t->targets)[at];
}

/* Results of row i from its root (8.4, 8.5). `x` is that of the target, if it is not ignored. */
static void put(const detgemm_engine_tokens* t, int64_t i, node root, float x) {
  const int ordinary = root.k != kSpecial && root.k != -kSpecial;
  float lse = root.k == kSpecial ? canonical(root.s) : -INFINITY;
  float entropy = nan32(), logp = nan32();
  if (ordinary) {
    lse = ln_of(root.s, root.k);
    entropy = canonical(lse - root.a / root.s);
    const node at = term_of(x);
    if (is_absent(x)) {
      logp = x - lse;
    } else if (x == x) {
      logp = 0.0F - ln_of(root.s / at.s, root.k - at.k);
    }
  }
  const int ignored = target_of(t, i) < 0;
  if (t->logp != NULL) t->logp[i] = ignored ? 0.0F : logp;
  if (t->target_logit != NULL) t->target_logit[i] = ignored ? 0.0F : canonical(x);
  if (t->lse != NULL) t->lse[i] = lse;
  if (t->entropy != NULL) t->entropy[i] = entropy;
  if (t->saved_k != NULL) t->saved_k[i] = root.k;
  if (t->saved_r != NULL) t->saved_r[i] = ordinary ? 1.0F / root.s : 0.0F;
}

static row row_of(const detgemm_engine_matrix* z, const detgemm_engine_tokens* t, int64_t i) {
  const int64_t size = z->dtype == kFp32 ? 4 : 2;
  return (row){(const char*)z->data + i * z->row_stride * size, z->cols > 1 ? z->col_stride : 0,
               z->cols, z->dtype, t->scale == NULL ? 1.0F : t->scale[i]};
}

static int log_probs(const detgemm_engine_matrix* z, const detgemm_engine_tokens* t) {
  int top = 0;
  while (((int64_t)1 << top) < leaves_of(t->vocabulary)) ++top;
  for (int64_t i = 0; i < t->rows; ++i) {
    const row r = row_of(z, t, i);
    const int64_t target = target_of(t, i);
    put(t, i, node_of(&r, top, 0), target < 0 ? 0.0F : x_of(&r, target));
  }
  return 0;
}

/* Planes K, S, A of a shard's nodes. */
static float* word_of(const detgemm_engine_shard* s, int64_t rows, int plane, int64_t slot,
                      int64_t i) {
  return (float*)s->nodes + (plane * s->slots + slot) * rows + i;
}

static int log_prob_nodes(const detgemm_engine_matrix* z, const detgemm_engine_shard* s,
                          const detgemm_engine_tokens* t) {
  for (int64_t i = 0; i < t->rows; ++i) {
    const row r = row_of(z, t, i);
    int64_t slot = 0;
    const int64_t begin = s->begin / kLeaf, end = leaves_of(s->end);
    for (int64_t at = begin; at < end; ++slot) {
      const int level = largest(at, end);
      const row part = {r.data + (at - begin) * kLeaf * r.stride * (r.dtype == kFp32 ? 4 : 2),
                        r.stride, r.count - (at - begin) * kLeaf, r.dtype, r.scale};
      const node n = node_of(&part, level, 0);
      memcpy(word_of(s, t->rows, 0, slot, i), &n.k, sizeof n.k);
      *word_of(s, t->rows, 1, slot, i) = canonical(n.s);
      if (s->planes == 3) *word_of(s, t->rows, 2, slot, i) = canonical(n.a);
      at += (int64_t)1 << level;
    }
    const int64_t target = target_of(t, i);
    if (s->target_logit != NULL && target >= s->begin && target < s->end)
      s->target_logit[i] = canonical(x_of(&r, target - s->begin));
  }
  return 0;
}

/* Nodes that wait for their right neighbours: one per level at most, the highest first. */
typedef struct waiting {
  node nodes[64];
  int levels[64];
  int count;
} waiting;

static void push(waiting* w, node n, int level, int64_t index) {
  while (w->count > 0 && index % 2 == 1 && w->levels[w->count - 1] == level) {
    n = join(w->nodes[--w->count], n);
    ++level;
    index /= 2;
  }
  w->nodes[w->count] = n;
  w->levels[w->count++] = level;
}

static int log_prob_join(const detgemm_engine_shard* shards, size_t count,
                         const detgemm_engine_tokens* t) {
  for (int64_t i = 0; i < t->rows; ++i) {
    waiting w = {.count = 0};
    const int64_t target = target_of(t, i);
    float x = 0.0F;
    for (size_t j = 0; j < count; ++j) {
      const detgemm_engine_shard* s = &shards[j];
      int64_t at = s->begin / kLeaf;
      for (int64_t slot = 0; slot < s->slots; ++slot) {
        const int level = largest(at, leaves_of(s->end));
        node n;
        memcpy(&n.k, word_of(s, t->rows, 0, slot, i), sizeof n.k);
        n.s = *word_of(s, t->rows, 1, slot, i);
        n.a = s->planes == 3 ? *word_of(s, t->rows, 2, slot, i) : 0.0F;
        push(&w, n, level, at >> level);
        at += (int64_t)1 << level;
      }
      if (s->target_logit != NULL && target >= s->begin && target < s->end) x = s->target_logit[i];
    }
    /* A node without a right neighbour passes up unchanged. */
    node root = w.count > 0 ? w.nodes[--w.count] : kAbsent;
    while (w.count > 0) root = join(w.nodes[--w.count], root);
    put(t, i, root, x);
  }
  return 0;
}

/* Products: fp32 multiply-adds, k ascending. */
static int supports(const detgemm_engine_spec* s, char* sentence, size_t size) {
  if (strcmp(s->contract, "ieee_fma/fp32/chain->fp32") != 0) {
    snprintf(sentence, size,
             "contract is %s: this example computes ieee_fma/fp32/chain->fp32 alone", s->contract);
    return 1;
  }
  if (s->alpha != 1.0F || s->beta != 0.0F || s->bias >= 0 || s->activation != 0 ||
      s->continue_from_c) {
    snprintf(sentence, size, "the problem has an epilogue: this example computes plain products");
    return 1;
  }
  return 0;
}

static float element(const detgemm_engine_matrix* m, int64_t i, int64_t j, int transposed) {
  return ((const float*)m->data)[transposed ? j * m->row_stride + i * m->col_stride
                                            : i * m->row_stride + j * m->col_stride];
}

static int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  snprintf(c->kernel, c->kernel_size, "triple_loop");
  for (int64_t i = 0; i < c->d.rows; ++i) {
    for (int64_t j = 0; j < c->d.cols; ++j) {
      float sum = 0.0F;
      for (int64_t k = 0; k < s->k; ++k) {
        sum = fmaf(element(&c->a, i, k, s->op_a), element(&c->b, k, j, s->op_b), sum);
      }
      ((float*)c->d.data)[i * c->d.row_stride + j * c->d.col_stride] = canonical(sum);
    }
  }
  return 0;
}

const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  static const detgemm_engine table = {
      .struct_size = sizeof(detgemm_engine),
      .abi_version = DETGEMM_ENGINE_ABI_VERSION,
      .name = "logsum16",
      .description = "a head in C: a triple loop, and log-probabilities in the order logsum16",
      .supports = supports,
      .run = run,
      .log_probs = log_probs,
      .log_prob_nodes = log_prob_nodes,
      .log_prob_join = log_prob_join,
  };
  return abi_version == DETGEMM_ENGINE_ABI_VERSION ? &table : NULL;
}
