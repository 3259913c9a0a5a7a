// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// rows_ggml: is a row the same alone, in a small batch and among 64, in ggml as it was built? See
// rows_torch.py. ggml has kernels of its own for up to 16 tokens where K is even, and calls cuBLAS
// where K is odd or the activations have 16 bits; both kinds of problem are here.
#include <ggml-backend.h>
#include <ggml.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr std::int64_t kTokens = 64;
constexpr std::int64_t kN = 1024;
constexpr int kNothing = 3;

struct Case {
  const char* name;
  ggml_type weights;
  ggml_type tokens;
  std::int64_t k;
  std::vector<std::int64_t> counts;  // of tokens, each compared with kTokens
};

std::vector<std::uint8_t> numbers(ggml_type type, std::int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  std::vector<std::uint8_t> bytes(ggml_row_size(type, count));
  if (type == GGML_TYPE_F32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  } else if (type == GGML_TYPE_F16) {
    ggml_fp32_to_fp16_row(values.data(), reinterpret_cast<ggml_fp16_t*>(bytes.data()), count);
  } else {
    ggml_fp32_to_bf16_row(values.data(), reinterpret_cast<ggml_bf16_t*>(bytes.data()), count);
  }
  return bytes;
}

/// The last of `tokens` rows of the product, N numbers; empty where the backend fails.
std::vector<float> last_row(ggml_backend_t backend, const Case& c, std::int64_t tokens,
                            const std::vector<std::uint8_t>& w,
                            const std::vector<std::uint8_t>& x) {
  ggml_context* const context =
      ggml_init({ggml_tensor_overhead() * 8 + ggml_graph_overhead(), nullptr, true});
  ggml_tensor* const weights = ggml_new_tensor_2d(context, c.weights, c.k, kN);
  ggml_tensor* const input = ggml_new_tensor_2d(context, c.tokens, c.k, tokens);
  ggml_tensor* const product = ggml_mul_mat(context, weights, input);  // tokens rows of N
  ggml_cgraph* const graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, product);
  ggml_backend_buffer_t const buffer = ggml_backend_alloc_ctx_tensors(context, backend);
  ggml_backend_tensor_set(weights, w.data(), 0, w.size());
  const std::size_t bytes = ggml_row_size(c.tokens, c.k * tokens);
  ggml_backend_tensor_set(input, x.data() + (x.size() - bytes), 0, bytes);
  std::vector<float> row;
  if (ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS) {
    row.resize(kN);
    ggml_backend_tensor_get(product, row.data(), (tokens - 1) * kN * sizeof(float),
                            kN * sizeof(float));
  }
  ggml_backend_buffer_free(buffer);
  ggml_free(context);
  return row;
}

}  // namespace

int main() {
  ggml_backend_load_all();
  ggml_backend_t const backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_GPU, nullptr);
  if (backend == nullptr) {
    std::fprintf(stderr, "ggml finds no GPU\n");
    return kNothing;
  }
  const std::vector<std::int64_t> all = {1, 2, 17};
  const Case cases[] = {
      {"f32_odd", GGML_TYPE_F32, GGML_TYPE_F32, 4095, all},
      {"f16_odd", GGML_TYPE_F16, GGML_TYPE_F32, 4095, all},
      {"bf16_odd", GGML_TYPE_BF16, GGML_TYPE_F32, 4095, all},
      {"f16_both", GGML_TYPE_F16, GGML_TYPE_F16, 4096, all},
      {"f32", GGML_TYPE_F32, GGML_TYPE_F32, 4096, {17, 33}},
      {"f16", GGML_TYPE_F16, GGML_TYPE_F32, 4096, {17, 33}},
      {"bf16", GGML_TYPE_BF16, GGML_TYPE_F32, 4096, {17, 33}},
  };
  int failed = 0;
  for (const Case& c : cases) {
    std::mt19937 random(1);
    const auto weights = numbers(c.weights, c.k * kN, random);
    const auto tokens = numbers(c.tokens, c.k * kTokens, random);
    const std::vector<float> together = last_row(backend, c, kTokens, weights, tokens);
    for (const std::int64_t count : c.counts) {
      const std::vector<float> alone = last_row(backend, c, count, weights, tokens);
      if (together.empty() || alone.empty()) {
        std::fprintf(stderr, "%s: ggml computes nothing for %lld tokens\n", c.name,
                     static_cast<long long>(count));
        failed = 1;
        continue;
      }
      const bool same = std::memcmp(together.data(), alone.data(), kN * sizeof(float)) == 0;
      std::printf("%s_m%lld %s\n", c.name, static_cast<long long>(count), same ? "same" : "other");
    }
  }
  ggml_backend_free(backend);
  return failed;
}
