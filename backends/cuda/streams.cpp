// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cudaTypedefs.h>

#include "backends/cuda/runtime.hpp"
#include "cuda/launch.hpp"

// What every call queries about its stream. The driver answers in less than half of the runtime's
// time (docs/log/house.md). Where it does not answer, the runtime does: the driver is older, or
// this thread has no context yet, which the null stream needs.
namespace detgemm::cuda {
namespace {

/// Whether the driver knows the stream: the null stream and those of handles 1 and 2 (legacy, per
/// thread) are the current context's. Tools report a call that fails.
bool has_context(cudaStream_t stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) > 2) return true;
  static const auto get = driver_function<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000);
  CUcontext current = nullptr;
  return get != nullptr && get(&current) == CUDA_SUCCESS && current != nullptr;
}

}  // namespace

Cuda::Error Cuda::is_capturing(Stream stream, bool* yes) {
  static const auto query =
      driver_function<PFN_cuStreamIsCapturing_v10000>("cuStreamIsCapturing", 10000);
  if (query != nullptr && has_context(stream)) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (query(stream, &status) == CUDA_SUCCESS) {
      *yes = status != CU_STREAM_CAPTURE_STATUS_NONE;
      return cudaSuccess;
    }
  }
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const Error error = cudaStreamIsCapturing(stream, &status);
  *yes = status != cudaStreamCaptureStatusNone;
  return error;
}

Cuda::Error Cuda::stream_device(Stream stream, int* ordinal) {
  static const auto query =
      driver_function<PFN_cuStreamGetDevice_v12080>("cuStreamGetDevice", 12080);
  if (query != nullptr && has_context(stream)) {
    CUdevice device = 0;
    if (query(stream, &device) == CUDA_SUCCESS) {
      *ordinal = device;
      return cudaSuccess;
    }
  }
  return cudaStreamGetDevice(stream, ordinal);
}

}  // namespace detgemm::cuda
