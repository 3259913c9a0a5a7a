// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "backends/gpu/runtime.hpp"

namespace detgemm::cuda {

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int sms = 0;
  std::size_t memory = 0;

  bool has_wgmma() const { return major == 9 && minor == 0; }
  std::string capability() const { return std::to_string(major) + "." + std::to_string(minor); }
};

/// The CUDA runtime as backends/gpu uses it; see gpu::Runtime.
struct Cuda {
  using Error = cudaError_t;
  using Stream = cudaStream_t;
  using Graph = cudaGraph_t;
  using GraphExec = cudaGraphExec_t;
  using Facts = DeviceFacts;
  static constexpr std::string_view kName = "cuda";
  static constexpr std::string_view kPlatform = "CUDA";
  static constexpr DeviceKind kKind = DeviceKind::cuda;
  static constexpr Error kSuccess = cudaSuccess;

  static Status loaded() { return {}; }  // it is linked statically
  static Status available();
  static Error device_count(int* count) { return cudaGetDeviceCount(count); }
  static Error current_device(int* ordinal) { return cudaGetDevice(ordinal); }
  static Result<Facts> ask(int ordinal);
  static std::string text(const Facts& device);
  static DeviceInfo info(const Facts& device);

  static std::string text(Error error) {
    return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
  }
  static void forget_error() { cudaGetLastError(); }

  static Error allocate(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
  static Error release(void* memory) { return cudaFree(memory); }
  static Error copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
  }
  static Error copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
  }
  static Error copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t lines, Stream stream) {
    // CUDA refuses a pitch below the width, also of one line, and pitches from 2 GiB on.
    constexpr std::size_t kMaxPitch = 0x7fffffff;
    if (to_pitch == width && from_pitch == width) {
      width *= lines;
      lines = 1;
    }
    if (lines > 1 && std::max(to_pitch, from_pitch) <= kMaxPitch) {
      return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, lines,
                               cudaMemcpyDeviceToDevice, stream);
    }
    for (std::size_t i = 0; i < lines; ++i) {
      const Error error = cudaMemcpyAsync(static_cast<std::byte*>(to) + i * to_pitch,
                                          static_cast<const std::byte*>(from) + i * from_pitch,
                                          width, cudaMemcpyDeviceToDevice, stream);
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  }
  static gpu::Place place_of(const void* data);
  static bool reaches(const void* data, int device);

  static Stream stream_per_thread() { return cudaStreamPerThread; }
  static Error create_stream(Stream* stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
  }
  static Error destroy_stream(Stream stream) { return cudaStreamDestroy(stream); }
  static Error synchronize(Stream stream) { return cudaStreamSynchronize(stream); }
  /// The event may be destroyed before it has happened; the runtime keeps it until then.
  static Error follow(Stream later, Stream earlier) {
    cudaEvent_t event = nullptr;
    Error error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
    error = cudaEventRecord(event, earlier);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(later, event, 0);
    cudaEventDestroy(event);
    return error;
  }
  static Error is_finished(Stream stream, bool* yes) {
    const Error error = cudaStreamQuery(stream);
    *yes = error == cudaSuccess;
    if (error != cudaErrorNotReady) return error;
    cudaGetLastError();
    return cudaSuccess;
  }
  static Error stream_device(Stream stream, int* ordinal);

  static Error is_capturing(Stream stream, bool* yes);
  static Error begin_capture(Stream stream) {
    return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  }
  static Error end_capture(Stream stream, Graph* graph) {
    return cudaStreamEndCapture(stream, graph);
  }
  static Error instantiate(GraphExec* exec, Graph graph) {
    return cudaGraphInstantiate(exec, graph, 0);
  }
  static Error launch_graph(GraphExec exec, Stream stream) { return cudaGraphLaunch(exec, stream); }
  static void destroy_graph(Graph graph) { cudaGraphDestroy(graph); }
  static void destroy_exec(GraphExec exec) { cudaGraphExecDestroy(exec); }
};

}  // namespace detgemm::cuda
