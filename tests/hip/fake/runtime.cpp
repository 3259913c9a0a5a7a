// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A HIP runtime whose only device is a chip that the library has no kernels for, gfx1030 or what
// DETGEMM_FAKE_ARCHITECTURE says, with the properties of ROCm 5. With DETGEMM_FAKE_INCOMPLETE it
// lacks a function, as a far older one would.

#include <cstddef>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))
// Functions that no test reaches.
#define STUB(name) \
  EXPORT int hip##name() { return 801; }

EXPORT int hipGetDeviceCount(int* count) { return *count = 1, 0; }
EXPORT int hipGetDevice(int* device) { return *device = 0, 0; }
EXPORT int hipDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kMultiprocessorCount = 63;
  return attribute == kMultiprocessorCount ? (*value = 40, 0) : 1;
}
EXPORT int hipGetDeviceProperties(char* to, int) {
  constexpr std::size_t kBytes = 792;
  constexpr std::size_t kMemoryOffset = 256;
  constexpr std::size_t kArchitectureOffset = 396;
  std::memset(to, 0, kBytes);
  std::strcpy(to, "AMD Radeon gfx of another kind");
  const std::size_t memory = std::size_t{16} << 30;
  std::memcpy(to + kMemoryOffset, &memory, sizeof(memory));
  const char* chip = std::getenv("DETGEMM_FAKE_ARCHITECTURE");
  std::strncpy(to + kArchitectureOffset, chip == nullptr ? "gfx1030" : chip, 255);
  return 0;
}
EXPORT int hipRuntimeGetVersion(int* version) { return *version = 50221153, 0; }
EXPORT const char* hipGetErrorName(int) { return "hipErrorNotSupported"; }
EXPORT int hipGetLastError() { return 0; }
STUB(ModuleLoadData)
STUB(ModuleGetFunction)
STUB(ModuleLaunchKernel)
STUB(Malloc)
STUB(Free)
STUB(MemcpyAsync)
STUB(PointerGetAttributes)
STUB(StreamCreateWithFlags)
STUB(StreamDestroy)
STUB(StreamSynchronize)
STUB(StreamIsCapturing)
STUB(StreamBeginCapture)
STUB(StreamEndCapture)
STUB(GraphInstantiate)
#ifndef DETGEMM_FAKE_INCOMPLETE
STUB(GraphLaunch)
#endif
STUB(GraphExecDestroy)
STUB(GraphDestroy)
