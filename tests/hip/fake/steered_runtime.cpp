// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A HIP runtime with a gfx942 that launches nothing. Its answers are those that the test wants, see
// steering.hpp; handles become invalid with hipDeviceReset, as those of a destroyed context do.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/hip/fake/steering.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT detgemm::test::Steering detgemm_fake_hip;
detgemm::test::Steering detgemm_fake_hip;

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kInvalidHandle = 400;

const detgemm::test::Steering& fake = detgemm_fake_hip;
std::uintptr_t context = 1;

/// Handles of modules and functions: the number of the context in which they were made.
void* handle() { return reinterpret_cast<void*>(context << 8); }

}  // namespace

EXPORT int hipDeviceReset() { return ++context, kSuccess; }
EXPORT int hipGetDeviceCount(int* count) { return *count = 1, kSuccess; }
EXPORT int hipGetDevice(int* device) { return *device = fake.device, kSuccess; }
EXPORT int hipDeviceGetAttribute(int* value, int attribute, int) {
  // DETGEMM_FAKE_HOST_MEMORY: "apu", or "discrete" for a card that can reach the host's memory too.
  const char* variable = std::getenv("DETGEMM_FAKE_HOST_MEMORY");
  const std::string_view host = variable == nullptr ? "" : variable;
  switch (attribute) {
    case 16:  // hipDeviceAttributeIntegrated
      return *value = host == "apu", kSuccess;
    case 63:  // hipDeviceAttributeMultiprocessorCount
      return *value = fake.units, kSuccess;
    case 65:  // hipDeviceAttributePageableMemoryAccess
      return *value = host == "apu" || host == "discrete", kSuccess;
    case 10018:  // hipDeviceAttributeNumberOfXccs
      return fake.xcds > 0 ? (*value = fake.xcds, kSuccess) : kInvalidValue;
    default:  // one that this version does not know
      return kInvalidValue;
  }
}
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
  return ++detgemm_fake_hip.loads, *module = handle(), kSuccess;
}
EXPORT int hipModuleGetFunction(void** function, void* module, const char*) {
  return *function = module, kSuccess;
}
EXPORT int hipModuleLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, void*, void** arguments, void**) {
  if (function != handle() || fake.broken != 0) return kInvalidHandle;
  std::memcpy(detgemm_fake_hip.arguments, arguments[0], sizeof(fake.arguments));
  return ++detgemm_fake_hip.launches, kSuccess;
}

EXPORT int hipMalloc(void** memory, std::size_t bytes) {
  return *memory = std::calloc(bytes, 1), kSuccess;
}
EXPORT int hipFree(void* memory) { return std::free(memory), kSuccess; }
EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void*) {
  return std::memcpy(to, from, bytes), kSuccess;
}
EXPORT int hipPointerGetAttributes(void* to, const void*) {
  const struct {
    int type, device;
    const void *device_pointer, *host_pointer;
    int managed;
  } attributes{fake.memory_type, fake.memory_device, nullptr, nullptr, fake.managed};
  return std::memcpy(to, &attributes, sizeof(attributes)), kSuccess;
}
EXPORT int hipStreamCreateWithFlags(void** stream, unsigned) {
  return *stream = handle(), kSuccess;
}
EXPORT int hipStreamDestroy(void*) { return kSuccess; }
EXPORT int hipStreamSynchronize(void*) { return kSuccess; }
EXPORT int hipStreamIsCapturing(void*, int* status) { return *status = fake.capturing, kSuccess; }
EXPORT int hipStreamGetDevice(void*, int* device) { return *device = fake.stream_device, kSuccess; }
EXPORT int hipStreamBeginCapture(void*, int) { return kSuccess; }
EXPORT int hipStreamEndCapture(void*, void**) { return kSuccess; }
EXPORT int hipGraphInstantiate(void**, void*, void*, char*, std::size_t) { return kSuccess; }
EXPORT int hipGraphLaunch(void*, void*) { return kSuccess; }
EXPORT int hipGraphExecDestroy(void*) { return kSuccess; }
EXPORT int hipGraphDestroy(void*) { return kSuccess; }
