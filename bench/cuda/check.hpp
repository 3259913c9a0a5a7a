// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "bench/common/arm.hpp"

namespace detgemm::bench {

/// A benchmark that met an error has no result: it ends.
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
  }
}

inline cudaStream_t cuda_stream(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

inline Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return {};
  return {error == cudaErrorNotSupported ? Errc::unsupported : Errc::internal,
          cudaGetErrorString(error)};
}

}  // namespace detgemm::bench
