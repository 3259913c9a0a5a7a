// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// An engine on a GPU for `detgemm conform --engine`: the harness gives it arrays in device memory
// and a stream. One thread computes one output of ieee_fma/fp32/chain->fp32, so it is right and
// slow. Nothing of detgemm is linked. ENGINE_PLANTED_FAULT makes it wrong for more than 100 rows,
// to see the harness find that.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "detgemm/engine.h"

namespace {

constexpr int kFp32 = 2;
constexpr int kThreads = 128;

struct View {
  float* data;
  int64_t row, col;
};

struct Problem {
  View a, b, c, d;
  const float* bias;
  int64_t m, n, k;
  float alpha, beta;
  bool relu, continues, other_order;
};

__device__ float at(const View& v, int64_t i, int64_t j) { return v.data[i * v.row + j * v.col]; }

// k ascends, one fused multiply-add per product; then every operation is rounded by itself.
__global__ void multiply(Problem p) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= p.m * p.n) return;
  const int64_t i = index / p.n;
  const int64_t j = index % p.n;
  float acc = p.continues ? at(p.c, i, j) : 0.0F;
  if (p.other_order) {
    for (int64_t k = p.k; k-- > 0;) acc = __fmaf_rn(at(p.a, i, k), at(p.b, k, j), acc);
  } else {
    for (int64_t k = 0; k < p.k; ++k) acc = __fmaf_rn(at(p.a, i, k), at(p.b, k, j), acc);
  }
  float v = __fmul_rn(p.alpha, acc);
  if (p.beta != 0.0F) v = __fadd_rn(v, __fmul_rn(p.beta, at(p.c, i, j)));
  if (p.bias != nullptr) v = __fadd_rn(v, p.bias[j]);
  if (p.relu) v = isnan(v) || v > 0.0F ? v : 0.0F;
  p.d.data[i * p.d.row + j * p.d.col] = isnan(v) ? __int_as_float(0x7fffffff) : v;
}

View view_of(const detgemm_engine_matrix& m, int32_t op) {
  auto* data = static_cast<float*>(m.data);
  return op == 1 ? View{data, m.col_stride, m.row_stride} : View{data, m.row_stride, m.col_stride};
}

int supports(const detgemm_engine_spec* s, char* sentence, size_t size) {
  if (std::strcmp(s->arithmetic, "ieee_fma") != 0 || s->reduction != 0 || s->input != kFp32 ||
      s->output != kFp32) {
    std::snprintf(sentence, size, "contract is %s: this engine has ieee_fma/fp32/chain->fp32",
                  s->contract);
    return 1;
  }
  if (s->activation > 1) {
    std::snprintf(sentence, size, "activation is %d: this engine has none and relu", s->activation);
    return 1;
  }
  if (s->bias >= 0 && s->bias != kFp32) {
    std::snprintf(sentence, size, "bias has type %d: this engine has fp32", s->bias);
    return 1;
  }
  return 0;
}

int done(cudaError_t code) { return code == cudaSuccess ? 0 : 1; }

int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  Problem p{view_of(c->a, s->op_a),
            view_of(c->b, s->op_b),
            view_of(c->c, 0),
            view_of(c->d, 0),
            static_cast<const float*>(c->bias),
            c->d.rows,
            s->n,
            s->k,
            s->alpha,
            s->beta,
            s->activation == 1,
            s->continue_from_c != 0,
            false};
#ifdef ENGINE_PLANTED_FAULT
  p.other_order = p.m > 100;
#endif
  const int64_t blocks = (p.m * p.n + kThreads - 1) / kThreads;
  if (blocks > 0) {
    // The harness counts on it that a call enqueues and does not wait.
    multiply<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(c->stream)>>>(
        p);
  }
  const cudaError_t code = cudaGetLastError();
  std::snprintf(c->kernel, c->kernel_size, "one thread per output");
  if (code != cudaSuccess)
    std::snprintf(c->sentence, c->sentence_size, "%s", cudaGetErrorString(code));
  return done(code);
}

void* allocate(size_t bytes) {
  void* memory = nullptr;
  return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : nullptr;
}
void release(void* memory) { cudaFree(memory); }

// Blocking, and ordered before all later work on any stream, as the interface asks.
int to_device(void* device, const void* host, size_t bytes) {
  const int code = done(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  return code != 0 ? code : done(cudaStreamSynchronize(nullptr));
}
int to_host(void* host, const void* device, size_t bytes) {
  return done(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

int create_stream(void** stream) {
  cudaStream_t made = nullptr;
  const cudaError_t code = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
  *stream = made;
  return done(code);
}
void destroy_stream(void* stream) { cudaStreamDestroy(static_cast<cudaStream_t>(stream)); }
int synchronize(void* stream) {
  return done(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

size_t memory_bytes() {
  size_t left = 0, all = 0;
  return cudaMemGetInfo(&left, &all) == cudaSuccess ? all : 0;
}

const detgemm_engine* table() {
  static detgemm_engine engine{};
  engine.struct_size = sizeof engine;
  engine.abi_version = DETGEMM_ENGINE_ABI_VERSION;
  engine.device = 1;
  engine.name = "plain-cuda";
  engine.description = "one thread per output, fused multiply-adds in ascending order";
  engine.supports = supports;
  engine.run = run;
  engine.allocate = allocate;
  engine.release = release;
  engine.to_device = to_device;
  engine.to_host = to_host;
  engine.create_stream = create_stream;
  engine.destroy_stream = destroy_stream;
  engine.synchronize = synchronize;
  engine.memory_bytes = memory_bytes;
  return &engine;
}

}  // namespace

// The harness asks in a process of its own, before it uses the GPU.
const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  return abi_version == DETGEMM_ENGINE_ABI_VERSION ? table() : nullptr;
}
