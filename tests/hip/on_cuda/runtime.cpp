// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A stand-in for libamdhip64 on an NVIDIA GPU, so that the HIP backend's host code and its portable
// kernels run on a real GPU where there is no AMD hardware. It says that the device is a gfx1100,
// for which the backend has only portable kernels. When it is given that chip's code object it
// loads the same kernels compiled for the GPU that is there. Numbers that HIP and CUDA share
// (errors, copies, streams, memory types of HIP 6) are passed on unchanged.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" {
extern const unsigned char detgemm_on_cuda_cubin[];
}
__asm__(
    ".pushsection .rodata.detgemm_on_cuda,\"a\",@progbits\n"
    ".balign 4096\n"
    "detgemm_on_cuda_cubin:\n"
    ".incbin \"" DETGEMM_CUBIN
    "\"\n"
    ".byte 0\n"
    ".popsection\n");

namespace {

/// A driver's function: the library loads where there is no driver.
template <class Function>
Function driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
  const bool there = error == cudaSuccess && result == cudaDriverEntryPointSuccess;
  return reinterpret_cast<Function>(there ? found : nullptr);
}

constexpr int kNotSupported = 801;
constexpr int kInvalidImage = 200;
constexpr int kMultiprocessorCount = 63;

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

/// Offsets in HIP 6's hipDeviceProp_t of what a reader of names, sizes and architectures looks at.
constexpr std::size_t kPropertyBytes = 1472;
constexpr std::size_t kMemoryOffset = 288;
constexpr std::size_t kArchitectureOffset = 1160;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int hipGetDeviceCount(int* count) { return cudaGetDeviceCount(count); }
EXPORT int hipGetDevice(int* device) { return cudaGetDevice(device); }
EXPORT int hipSetDevice(int device) { return cudaSetDevice(device); }
EXPORT int hipDeviceGetAttribute(int* value, int attribute, int device) {
  if (attribute != kMultiprocessorCount) return kNotSupported;
  return cudaDeviceGetAttribute(value, cudaDevAttrMultiProcessorCount, device);
}
EXPORT int hipGetDevicePropertiesR0600(void* to, int device) {
  cudaDeviceProp properties{};
  if (const int error = cudaGetDeviceProperties(&properties, device)) return error;
  char* const bytes = static_cast<char*>(to);
  std::memset(bytes, 0, kPropertyBytes);
  std::snprintf(bytes, 256, "%.200s playing a HIP device (no AMD hardware)", properties.name);
  const std::size_t memory = properties.totalGlobalMem;
  std::memcpy(bytes + kMemoryOffset, &memory, sizeof(memory));
  std::strcpy(bytes + kArchitectureOffset, "gfx1100");
  return 0;
}
EXPORT int hipRuntimeGetVersion(int* version) {
  *version = 60000000;
  return 0;
}
EXPORT const char* hipGetErrorName(int error) {
  return cudaGetErrorName(static_cast<cudaError_t>(error));
}
EXPORT int hipGetLastError() { return cudaGetLastError(); }

EXPORT int hipModuleLoadData(void** module, const void* image) {
  constexpr unsigned char kElf[] = {0x7f, 'E', 'L', 'F'};
  constexpr std::size_t kMachineOffset = 18;
  constexpr unsigned char kAmdGpu = 224;
  const auto* bytes = static_cast<const unsigned char*>(image);
  if (std::memcmp(bytes, kElf, sizeof(kElf)) != 0 || bytes[kMachineOffset] != kAmdGpu) {
    return kInvalidImage;
  }
  if (const int error = cudaFree(nullptr)) return error;  // makes the context
  const auto load = driver<decltype(&cuModuleLoadData)>("cuModuleLoadData");
  if (load == nullptr) return kNotSupported;
  CUmodule loaded = nullptr;
  const int error = load(&loaded, detgemm_on_cuda_cubin);
  *module = loaded;
  return error;
}
EXPORT int hipModuleGetFunction(void** function, void* module, const char* name) {
  const auto get = driver<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
  CUfunction found = nullptr;
  const int error = get(&found, static_cast<CUmodule>(module), name);
  *function = found;
  return error;
}
EXPORT int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, void* stream,
                                 void** arguments, void** extra) {
  static const auto launch = driver<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  return launch(static_cast<CUfunction>(function), gx, gy, gz, bx, by, bz, shared,
                stream_of(stream), arguments, extra);
}

EXPORT int hipMalloc(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
EXPORT int hipFree(void* memory) { return cudaFree(memory); }
EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return cudaMemcpyAsync(to, from, bytes, static_cast<cudaMemcpyKind>(kind), stream_of(stream));
}
/// hipPointerAttribute_t, whose memory types have CUDA's numbers since HIP 6.
struct PointerAttributes {
  int type, device;
  void *device_pointer, *host_pointer;
  int managed;
  unsigned flags;
};
EXPORT int hipPointerGetAttributes(PointerAttributes* to, const void* data) {
  cudaPointerAttributes found{};
  if (const int error = cudaPointerGetAttributes(&found, data)) return error;
  *to = {found.type,
         found.device,
         found.devicePointer,
         found.hostPointer,
         found.type == cudaMemoryTypeManaged ? 1 : 0,
         0};
  return 0;
}

EXPORT int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  cudaStream_t made = nullptr;
  const int error = cudaStreamCreateWithFlags(&made, flags);
  *stream = made;
  return error;
}
EXPORT int hipStreamDestroy(void* stream) { return cudaStreamDestroy(stream_of(stream)); }
EXPORT int hipStreamSynchronize(void* stream) { return cudaStreamSynchronize(stream_of(stream)); }
EXPORT int hipStreamIsCapturing(void* stream, int* status) {
  cudaStreamCaptureStatus found{};
  const int error = cudaStreamIsCapturing(stream_of(stream), &found);
  *status = found;
  return error;
}
EXPORT int hipStreamGetDevice(void* stream, int* device) {
  return cudaStreamGetDevice(stream_of(stream), device);
}
EXPORT int hipStreamBeginCapture(void* stream, int mode) {
  return cudaStreamBeginCapture(stream_of(stream), static_cast<cudaStreamCaptureMode>(mode));
}
EXPORT int hipStreamEndCapture(void* stream, void** graph) {
  cudaGraph_t made = nullptr;
  const int error = cudaStreamEndCapture(stream_of(stream), &made);
  *graph = made;
  return error;
}
EXPORT int hipGraphInstantiate(void** exec, void* graph, void*, char*, std::size_t) {
  cudaGraphExec_t made = nullptr;
  const int error = cudaGraphInstantiate(&made, static_cast<cudaGraph_t>(graph), 0);
  *exec = made;
  return error;
}
EXPORT int hipGraphLaunch(void* exec, void* stream) {
  return cudaGraphLaunch(static_cast<cudaGraphExec_t>(exec), stream_of(stream));
}
EXPORT int hipGraphExecDestroy(void* exec) {
  return cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(exec));
}
EXPORT int hipGraphDestroy(void* graph) {
  return cudaGraphDestroy(static_cast<cudaGraph_t>(graph));
}
