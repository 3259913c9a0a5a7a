// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/memory_check.hpp"

#include <cudaTypedefs.h>

#include <array>
#include <cstdint>
#include <string>

#include "backends/cuda/devices.hpp"
#include "detgemm/contract.hpp"

namespace detgemm::cuda {
namespace {

/// The driver answers three questions about an address in one call; the runtime's own
/// cudaPointerGetAttributes asks for more and takes longer.
PFN_cuPointerGetAttributes_v7000 driver_query() {
  static const auto query = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuPointerGetAttributes", &found,
                                                               7000, cudaEnableDefault, &result);
    if (error != cudaSuccess) cudaGetLastError();
    const bool there = error == cudaSuccess && result == cudaDriverEntryPointSuccess;
    return reinterpret_cast<PFN_cuPointerGetAttributes_v7000>(there ? found : nullptr);
  }();
  return query;
}

struct Place {
  unsigned type = 0;  // a CUmemorytype; 0 for memory that CUDA does not know
  int device = -1;
  unsigned managed = 0;
};

std::string name_of(const Place& place) {
  if (place.type == CU_MEMORYTYPE_DEVICE) return "memory of device " + std::to_string(place.device);
  return place.type == CU_MEMORYTYPE_HOST ? "pinned host memory" : "memory that CUDA does not know";
}

/// False where the driver does not answer: it is not there, or this thread has no context yet.
bool ask_driver(const void* data, Place& place) {
  const auto query = driver_query();
  if (query == nullptr) return false;
  std::array<CUpointer_attribute, 3> questions{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                               CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                               CU_POINTER_ATTRIBUTE_IS_MANAGED};
  std::array<void*, 3> answers{&place.type, &place.device, &place.managed};
  return query(questions.size(), questions.data(), answers.data(),
               reinterpret_cast<CUdeviceptr>(data)) == CUDA_SUCCESS;
}

Place ask_runtime(const void* data) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  Place place;
  place.device = attributes.device;
  if (attributes.type == cudaMemoryTypeHost) {
    place.type = CU_MEMORYTYPE_HOST;
  } else if (attributes.type != cudaMemoryTypeUnregistered) {
    place.type = CU_MEMORYTYPE_DEVICE;
    place.managed = attributes.type == cudaMemoryTypeManaged ? 1 : 0;
  }
  return place;
}

}  // namespace

Status check_array_place(std::string_view what, const void* data, int device) {
  Place place;
  if (!ask_driver(data, place)) place = ask_runtime(data);
  if (place.managed != 0) return {};
  if (place.type == CU_MEMORYTYPE_DEVICE && place.device == device) return {};
  return invalid(std::string(what) + ".data is 0x" + hex(reinterpret_cast<std::uintptr_t>(data)) +
                 ", " + name_of(place) + ": it must be memory of the plan's device " +
                 std::to_string(device) + ", or managed");
}

Status check_place(const GemmSpec& spec, const Operands& operands, cudaStream_t stream,
                   int device) {
  int current = -1;
  if (const cudaError_t error = cudaGetDevice(&current); error != cudaSuccess) {
    return failed("cudaGetDevice", error);
  }
  if (current != device) {
    return invalid("the current device is " + std::to_string(current) + ": the plan is of device " +
                   std::to_string(device) + ", which must be current when it runs");
  }
  // A stream under capture may not be asked; there the launch itself refuses another device's.
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (const cudaError_t error = cudaStreamIsCapturing(stream, &capture); error != cudaSuccess) {
    return failed("asking whether stream.handle is being captured", error);
  }
  int of_stream = device;
  if (capture == cudaStreamCaptureStatusNone) {
    if (const cudaError_t error = cudaStreamGetDevice(stream, &of_stream); error != cudaSuccess) {
      return failed("asking stream.handle for its device", error);
    }
  }
  if (of_stream != device) {
    return invalid("stream.handle is a stream of device " + std::to_string(of_stream) +
                   ": the plan is of device " + std::to_string(device));
  }
  if (spec.k > 0) {
    if (Status s = check_array_place("a", operands.a.data, device); !s) return s;
    if (Status s = check_array_place("b", operands.b.data, device); !s) return s;
  }
  if (spec.reads_c() && operands.c.data != operands.d.data) {
    if (Status s = check_array_place("c", operands.c.data, device); !s) return s;
  }
  if (spec.bias) {
    if (Status s = check_array_place("bias", operands.bias.data, device); !s) return s;
  }
  return check_array_place("d", operands.d.data, device);
}

}  // namespace detgemm::cuda
