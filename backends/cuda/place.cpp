// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cudaTypedefs.h>

#include <array>

#include "backends/cuda/reached.hpp"
#include "backends/cuda/runtime.hpp"
#include "cuda/launch.hpp"

namespace detgemm::cuda {
namespace {

using Kind = gpu::Place::Kind;

/// Asks the driver, which answers three questions about an address in one call; the runtime's own
/// cudaPointerGetAttributes asks for more and takes longer. False where the driver does not answer:
/// there is none, or this thread has no context yet.
bool ask_driver(const void* data, gpu::Place& place) {
  static const auto query =
      driver_function<PFN_cuPointerGetAttributes_v7000>("cuPointerGetAttributes", 7000);
  if (query == nullptr) return false;
  unsigned type = 0;  // a CUmemorytype; 0 for memory that CUDA does not know
  unsigned managed = 0;
  std::array<CUpointer_attribute, 3> questions{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                               CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                               CU_POINTER_ATTRIBUTE_IS_MANAGED};
  std::array<void*, 3> answers{&type, &place.device, &managed};
  if (query(questions.size(), questions.data(), answers.data(),
            reinterpret_cast<CUdeviceptr>(data)) != CUDA_SUCCESS) {
    return false;
  }
  place.managed = managed != 0;
  place.kind = type == CU_MEMORYTYPE_DEVICE ? Kind::device
               : type == CU_MEMORYTYPE_HOST ? Kind::host
                                            : Kind::unknown;
  return true;
}

gpu::Place ask_runtime(const void* data) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  switch (attributes.type) {
    case cudaMemoryTypeHost:
      return {Kind::host, attributes.device, false};
    case cudaMemoryTypeDevice:
      return {Kind::device, attributes.device, false};
    case cudaMemoryTypeManaged:
      return {Kind::device, attributes.device, true};
    default:
      return {};
  }
}

}  // namespace

gpu::Place Cuda::place_of(const void* data) {
  gpu::Place place;
  return ask_driver(data, place) ? place : ask_runtime(data);
}

bool Cuda::reaches(const void* data, int device) { return ReachedRange::holds(data, device); }

}  // namespace detgemm::cuda
