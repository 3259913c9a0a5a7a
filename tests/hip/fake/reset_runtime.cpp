// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A HIP runtime with one device, a gfx942 that launches nothing, whose handles become invalid with
// hipDeviceReset as those of a context that was destroyed do. It counts what it is asked for; the
// functions named fake* are how reset_test.cpp reads and steers it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidHandle = 400;

std::uintptr_t context = 1;
int loads = 0;
int launches = 0;
bool capturing = false;
bool broken = false;

/// Handles of modules and functions: the number of the context in which they were made.
void* handle() { return reinterpret_cast<void*>(context << 8); }
bool alive(const void* made) { return made == handle() && !broken; }

}  // namespace

EXPORT int fakeLoads() { return loads; }
EXPORT int fakeLaunches() { return launches; }
EXPORT int fakeCapture(int yes) { return capturing = yes != 0, kSuccess; }
EXPORT int fakeBreak(int yes) { return broken = yes != 0, kSuccess; }

EXPORT int hipDeviceReset() { return ++context, kSuccess; }
EXPORT int hipGetDeviceCount(int* count) { return *count = 1, kSuccess; }
EXPORT int hipGetDevice(int* device) { return *device = 0, kSuccess; }
EXPORT int hipDeviceGetAttribute(int* value, int, int) { return *value = 304, kSuccess; }
EXPORT int hipGetDevicePropertiesR0600(char* to, int) {
  constexpr std::size_t kBytes = 1472;
  constexpr std::size_t kArchitectureOffset = 1160;
  std::memset(to, 0, kBytes);
  std::strcpy(to, "a device that can be reset");
  std::strcpy(to + kArchitectureOffset, "gfx942:sramecc+:xnack-");
  return kSuccess;
}
EXPORT int hipRuntimeGetVersion(int* version) { return *version = 60443483, kSuccess; }
EXPORT const char* hipGetErrorName(int error) {
  return error == kInvalidHandle ? "hipErrorInvalidHandle" : "hipErrorUnknown";
}
EXPORT int hipGetLastError() { return kSuccess; }

EXPORT int hipModuleLoadData(void** module, const void*) {
  return ++loads, *module = handle(), kSuccess;
}
EXPORT int hipModuleGetFunction(void** function, void* module, const char*) {
  return *function = module, kSuccess;
}
EXPORT int hipModuleLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, void*, void**, void**) {
  if (!alive(function)) return kInvalidHandle;
  return ++launches, kSuccess;
}

EXPORT int hipMalloc(void** memory, std::size_t bytes) {
  return *memory = std::calloc(bytes, 1), kSuccess;
}
EXPORT int hipFree(void* memory) { return std::free(memory), kSuccess; }
EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void*) {
  return std::memcpy(to, from, bytes), kSuccess;
}
EXPORT int hipPointerGetAttributes(int* type_and_device, const void*) {
  constexpr int kDeviceMemory = 2;
  type_and_device[0] = kDeviceMemory;
  type_and_device[1] = 0;
  return kSuccess;
}
EXPORT int hipStreamCreateWithFlags(void** stream, unsigned) {
  return *stream = handle(), kSuccess;
}
EXPORT int hipStreamDestroy(void*) { return kSuccess; }
EXPORT int hipStreamSynchronize(void*) { return kSuccess; }
EXPORT int hipStreamIsCapturing(void*, int* status) { return *status = capturing, kSuccess; }
EXPORT int hipStreamBeginCapture(void*, int) { return kSuccess; }
EXPORT int hipStreamEndCapture(void*, void**) { return kSuccess; }
EXPORT int hipGraphInstantiate(void**, void*, void*, char*, std::size_t) { return kSuccess; }
EXPORT int hipGraphLaunch(void*, void*) { return kSuccess; }
EXPORT int hipGraphExecDestroy(void*) { return kSuccess; }
EXPORT int hipGraphDestroy(void*) { return kSuccess; }
