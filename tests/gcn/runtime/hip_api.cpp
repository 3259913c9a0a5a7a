// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The functions of libamdhip64 that a backend calls, on the emulated device, written after ROCm's
// public documentation (versions 5 to 7). This is test code: nothing of it goes into the library.

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/gcn/emulator/lds.hpp"
#include "tests/gcn/runtime/device.hpp"

using namespace detgemm::gcn;

namespace {

/// Locks the device for a call and remembers the call's error for hipGetLastError.
template <class F>
int call(F f) {
  Device& device = Device::get();
  const std::lock_guard lock(device.mutex);
  const Error error = f(device);
  if (error != kSuccess) device.last = error;
  return error;
}

/// The struct of ROCm 6 and 7 up to the field that names the architecture; what lies in between is
/// not used here. The offsets are checked below.
struct PropertiesR0600 {
  char name[256];
  char ids[32];
  std::size_t memory, shared;
  int registers, warp;
  std::size_t pitch;
  int threads, threads_dim[3], grid[3], clock;
  std::size_t constants;
  int major, minor;
  std::size_t alignment[2];
  int overlap, units;
  char between[768];
  char architecture[256];
  char after[56];
};
static_assert(offsetof(PropertiesR0600, memory) == 288, "totalGlobalMem of ROCm 6");
static_assert(offsetof(PropertiesR0600, units) == 388, "multiProcessorCount of ROCm 6");
static_assert(offsetof(PropertiesR0600, architecture) == 1160, "gcnArchName of ROCm 6");

/// The same for the struct of ROCm 5.
struct PropertiesR0000 {
  char name[256];
  std::size_t memory, shared;
  int registers, warp, threads, threads_dim[3], grid[3], clock, memory_clock, bus;
  std::size_t constants;
  int major, minor, units;
  char between[48];
  char architecture[256];
  char after[512];
};

template <class P>
void fill(P& p, const Device& device) {
  std::memset(&p, 0, sizeof p);
  std::strcpy(p.name, ("emulated " + device.architecture + " (no AMD hardware)").c_str());
  std::strcpy(p.architecture, (device.architecture + ":sramecc+:xnack-").c_str());
  p.memory = std::size_t{8} << 30;
  p.shared = 65536;
  p.warp = 64;
  p.threads = 1024;
  p.major = 9;
  p.minor = device.architecture == "gfx942" ? 4 : device.architecture == "gfx950" ? 5 : 0;
  p.units = device.units;
}

Error copy(void* to, const void* from, std::size_t bytes, int kind, Device& device) {
  // 1 host to device, 2 device to host, 3 device to device; 0 and 4 as the pointers say.
  if (bytes == 0) return kSuccess;
  const bool to_device = kind == 1 || kind == 3;
  const bool from_device = kind == 2 || kind == 3;
  const auto last = [&](const void* p) { return static_cast<const char*>(p) + bytes - 1; };
  if (to_device && (device.kind_of(to) != 2 || device.kind_of(last(to)) != 2)) return kInvalidValue;
  if (from_device && (device.kind_of(from) != 2 || device.kind_of(last(from)) != 2))
    return kInvalidValue;
  std::memmove(to, from, bytes);
  return kSuccess;
}

}  // namespace

#define HIP_EXPORT extern "C" __attribute__((visibility("default")))

HIP_EXPORT int hipInit(unsigned) { return kSuccess; }
HIP_EXPORT int hipGetDeviceCount(int* count) { return *count = 1, kSuccess; }
HIP_EXPORT int hipGetDevice(int* device) { return *device = 0, kSuccess; }
HIP_EXPORT int hipSetDevice(int device) { return device == 0 ? kSuccess : kInvalidDevice; }
HIP_EXPORT int hipDriverGetVersion(int* version) { return *version = 60443483, kSuccess; }
HIP_EXPORT int hipRuntimeGetVersion(int* version) { return *version = 60443483, kSuccess; }

HIP_EXPORT int hipGetDevicePropertiesR0600(void* out, int device) {
  return call([&](Device& d) {
    if (device != 0) return kInvalidDevice;
    PropertiesR0600 p;
    fill(p, d);
    std::memcpy(out, &p, sizeof p);
    return kSuccess;
  });
}
HIP_EXPORT int hipGetDeviceProperties(void* out, int device) {
  return call([&](Device& d) {
    if (device != 0) return kInvalidDevice;
    PropertiesR0000 p;
    fill(p, d);
    std::memcpy(out, &p, sizeof p);
    return kSuccess;
  });
}
HIP_EXPORT int hipDeviceGetName(char* name, int bytes, int device) {
  PropertiesR0600 p;
  const int error = hipGetDevicePropertiesR0600(&p, device);
  if (error == kSuccess) std::strncpy(name, p.name, static_cast<std::size_t>(bytes));
  return error;
}
HIP_EXPORT int hipDeviceGetAttribute(int* value, int attribute, int device) {
  PropertiesR0600 p;
  if (const int error = hipGetDevicePropertiesR0600(&p, device)) return error;
  switch (attribute) {  // numbers of hipDeviceAttribute_t
    case 23:
      *value = p.major;
      return kSuccess;
    case 56:
      *value = p.threads;
      return kSuccess;
    case 61:
      *value = p.minor;
      return kSuccess;
    case 63:
      *value = p.units;
      return kSuccess;
    case 74:
      *value = static_cast<int>(p.shared);
      return kSuccess;
    case 87:
      *value = p.warp;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

HIP_EXPORT const char* hipGetErrorName(int error) {
  static const std::map<int, const char*> names = {
      {kSuccess, "hipSuccess"},
      {kInvalidValue, "hipErrorInvalidValue"},
      {kOutOfMemory, "hipErrorOutOfMemory"},
      {kInvalidConfiguration, "hipErrorInvalidConfiguration"},
      {kInvalidDevice, "hipErrorInvalidDevice"},
      {kInvalidImage, "hipErrorInvalidImage"},
      {kNoBinaryForGpu, "hipErrorNoBinaryForGpu"},
      {kFileNotFound, "hipErrorFileNotFound"},
      {kInvalidHandle, "hipErrorInvalidHandle"},
      {kContextIsDestroyed, "hipErrorContextIsDestroyed"},
      {kIllegalState, "hipErrorIllegalState"},
      {kNotFound, "hipErrorNotFound"},
      {kLaunchFailure, "hipErrorLaunchFailure"},
      {kCaptureUnsupported, "hipErrorStreamCaptureUnsupported"},
      {kCaptureInvalidated, "hipErrorStreamCaptureInvalidated"}};
  const auto found = names.find(error);
  return found == names.end() ? "hipErrorUnknown" : found->second;
}
HIP_EXPORT const char* hipGetErrorString(int error) { return hipGetErrorName(error); }
HIP_EXPORT int hipPeekAtLastError() { return Device::get().last; }
HIP_EXPORT int hipGetLastError() {
  Device& device = Device::get();
  const std::lock_guard lock(device.mutex);
  return std::exchange(device.last, device.sticky);
}

HIP_EXPORT int hipMalloc(void** out, std::size_t bytes) {
  return call([&](Device& d) {
    const Error error = d.refuse_in_capture(nullptr);
    return error != kSuccess ? error : d.allocate(out, bytes, false);
  });
}
HIP_EXPORT int hipHostMalloc(void** out, std::size_t bytes, unsigned) {
  return call([&](Device& d) { return d.allocate(out, bytes, true); });
}
HIP_EXPORT int hipFree(void* memory) {
  return call([&](Device& d) {
    const Error error = d.sticky != kSuccess ? kSuccess : d.refuse_in_capture(nullptr);
    return error != kSuccess ? error : d.release(memory);
  });
}
HIP_EXPORT int hipHostFree(void* memory) { return hipFree(memory); }
HIP_EXPORT int hipMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  return *free_bytes = *total = std::size_t{8} << 30, kSuccess;
}
HIP_EXPORT int hipPointerGetAttributes(void* out, const void* pointer) {
  struct {
    int type, device;
    const void *device_pointer, *host_pointer;
    int managed;
    unsigned flags;
  } attributes = {0, 0, nullptr, nullptr, 0, 0};
  return call([&](Device& d) {
    attributes.type = d.knows_pointers ? d.kind_of(pointer) : 0;
    if (attributes.type == 0) return kInvalidValue;
    (attributes.type == 2 ? attributes.device_pointer : attributes.host_pointer) = pointer;
    std::memcpy(out, &attributes, sizeof attributes);
    return kSuccess;
  });
}

HIP_EXPORT int hipPointerGetAttribute(void* out, int attribute, const void* pointer) {
  return call([&](Device& d) {
    const int kind = d.kind_of(pointer);
    const int value = attribute == 2 ? kind : 0;  // memory type; ordinal of the only device
    if ((attribute != 2 && attribute != 9) || kind == 0) return kInvalidValue;
    std::memcpy(out, &value, sizeof value);
    return kSuccess;
  });
}

HIP_EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind,
                              void* stream) {
  return call([&](Device& d) {
    d.check_alive(stream);
    return d.enqueue(stream, [=, &d] { return copy(to, from, bytes, kind, d); });
  });
}
HIP_EXPORT int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                std::size_t from_pitch, std::size_t width, std::size_t lines,
                                int kind, void* stream) {
  return call([&](Device& d) {
    d.check_alive(stream);
    if (width > to_pitch || width > from_pitch) return kInvalidValue;
    return d.enqueue(stream, [=, &d] {
      for (std::size_t i = 0; i < lines; ++i) {
        const Error error = copy(static_cast<char*>(to) + i * to_pitch,
                                 static_cast<const char*>(from) + i * from_pitch, width, kind, d);
        if (error != kSuccess) return error;
      }
      return kSuccess;
    });
  });
}
HIP_EXPORT int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return call([&](Device& d) {
    const Error error = d.refuse_in_capture(d.stream(nullptr));
    return error != kSuccess ? error : copy(to, from, bytes, kind, d);
  });
}
HIP_EXPORT int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return call([&](Device& d) {
    return d.enqueue(stream, [=, &d] {
      if (bytes != 0 && d.kind_of(to) != 2) return kInvalidValue;
      std::memset(to, value, bytes);
      return kSuccess;
    });
  });
}
HIP_EXPORT int hipMemset(void* to, int value, std::size_t bytes) {
  return hipMemsetAsync(to, value, bytes, nullptr);
}

HIP_EXPORT int hipModuleLoadData(void** out, const void* image) {
  return call([&](Device& d) {
    if (!d.loads_in_capture) {
      if (const Error error = d.refuse_in_capture(nullptr); error != kSuccess) return error;
    }
    try {
      Module* module = nullptr;
      const Error error = d.load(image, module);
      *out = error == kSuccess ? module : nullptr;
      return error;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      return kInvalidImage;
    }
  });
}
HIP_EXPORT int hipModuleUnload(void*) { return kSuccess; }  // modules are kept for the next load
HIP_EXPORT int hipModuleGetFunction(void** out, void* module, const char* name) {
  return call([&](Device&) {
    auto* m = static_cast<Module*>(module);
    const auto found = m->functions.find(name);
    if (found == m->functions.end()) return kNotFound;
    *out = &found->second;
    return kSuccess;
  });
}

namespace {

/// Null, after a sentence, for instructions that are not modelled.
const Kernel* decoded(Function& function) {
  try {
    if (!function.kernel) {
      KernelText whole = function.text;
      read_code(whole);
      function.kernel = std::make_unique<const Kernel>(std::move(whole));
    }
    return function.kernel.get();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return nullptr;
  }
}

}  // namespace

HIP_EXPORT int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz,
                                     unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                     void* stream, void** parameters, void** extra) {
  return call([&](Device& d) {
    if (function == nullptr) return kInvalidHandle;
    const Kernel* const kernel = decoded(*static_cast<Function*>(function));
    if (kernel == nullptr) return kInvalidImage;
    Launch launch{{gx, gy, gz}, {bx, by, bz}, shared, {}, false};
    const std::uint64_t threads = std::uint64_t{bx} * by * bz;
    const std::uint32_t max_threads = kernel->text.descriptor("max_flat_workgroup_size");
    const std::uint32_t local = kernel->text.descriptor("group_segment_fixed_size") + shared;
    if (threads == 0 || threads > max_threads || local > Lds::kLargest)
      return kInvalidConfiguration;
    if (gx == 0 || gy == 0 || gz == 0) return kInvalidConfiguration;
    if (parameters == nullptr || extra != nullptr) return kInvalidValue;
    launch.adverse = d.adverse;
    launch.step = d.step;
    launch.fp8_step = d.fp8_step;
    launch.arguments = pack_arguments(kernel->text, parameters, launch);
    d.launched.insert(kernel->text.name);
    return d.enqueue(stream, [=, &d] { return d.launch(*kernel, launch); });
  });
}

/// No function of HIP: the names of the kernels that were launched since the last call, one per
/// line. Tests count by them what they compare.
HIP_EXPORT const char* gcnTakeLaunches() {
  static std::string names;
  call([](Device& d) {
    names.clear();
    for (const std::string& name : d.launched) names += name + '\n';
    d.launched.clear();
    return kSuccess;
  });
  return names.c_str();
}

HIP_EXPORT int hipStreamCreateWithFlags(void** out, unsigned) {
  return call([&](Device& d) {
    auto stream = std::make_unique<Stream>();
    *out = stream.get();
    d.streams[*out] = std::move(stream);
    return kSuccess;
  });
}
HIP_EXPORT int hipStreamCreate(void** out) { return hipStreamCreateWithFlags(out, 0); }
HIP_EXPORT int hipStreamDestroy(void* stream) {
  return call([&](Device& d) { return d.streams.erase(stream) != 0 ? kSuccess : kInvalidHandle; });
}
HIP_EXPORT int hipStreamSynchronize(void* stream) {
  return call([&](Device& d) {
    Stream* s = d.stream(stream);
    if (s == nullptr) return kInvalidHandle;
    return s->recording ? d.refuse_in_capture(s) : d.sticky;
  });
}
HIP_EXPORT int hipStreamQuery(void* stream) {
  Device::get().check_alive(stream);
  return hipStreamSynchronize(stream);
}
HIP_EXPORT int hipStreamGetDevice(void* stream, int* device) {
  return call([&](Device& d) {
    *device = d.streams_elsewhere ? 1 : 0;
    return d.stream(stream) == nullptr ? kContextIsDestroyed : kSuccess;
  });
}
HIP_EXPORT int hipDeviceSynchronize() {
  return call([&](Device& d) { return d.refuse_in_capture(nullptr); });
}
HIP_EXPORT int hipStreamWaitEvent(void*, void*, unsigned) { return kSuccess; }

HIP_EXPORT int hipEventCreateWithFlags(void** out, unsigned) { return *out = new Event, kSuccess; }
HIP_EXPORT int hipEventCreate(void** out) { return hipEventCreateWithFlags(out, 0); }
HIP_EXPORT int hipEventDestroy(void* event) { return delete static_cast<Event*>(event), kSuccess; }
HIP_EXPORT int hipEventRecord(void* event, void*) {
  return static_cast<Event*>(event)->time = std::chrono::steady_clock::now(), kSuccess;
}
HIP_EXPORT int hipEventSynchronize(void*) { return Device::get().sticky; }
HIP_EXPORT int hipEventQuery(void*) { return Device::get().sticky; }
HIP_EXPORT int hipEventElapsedTime(float* ms, void* from, void* to) {
  const auto elapsed = static_cast<Event*>(to)->time - static_cast<Event*>(from)->time;
  *ms = std::chrono::duration<float, std::milli>(elapsed).count();
  return kSuccess;
}

HIP_EXPORT int hipStreamBeginCapture(void* stream, int mode) {
  return call([&](Device& d) {
    Stream* s = d.stream(stream);
    if (s == nullptr || stream == nullptr) return kCaptureUnsupported;
    if (s->recording) return kIllegalState;
    s->recording = std::make_unique<Graph>();
    s->invalidated = false;
    s->mode = mode;
    s->thread = std::this_thread::get_id();
    return kSuccess;
  });
}
HIP_EXPORT int hipStreamEndCapture(void* stream, void** graph) {
  return call([&](Device& d) {
    Stream* s = d.stream(stream);
    *graph = nullptr;
    if (s == nullptr || !s->recording) return kIllegalState;
    auto recorded = std::move(s->recording);
    if (s->invalidated) return kCaptureInvalidated;
    *graph = recorded.release();
    return kSuccess;
  });
}
HIP_EXPORT int hipStreamIsCapturing(void* stream, int* status) {
  return call([&](Device& d) {
    d.check_alive(stream);
    Stream* s = d.stream(stream);
    if (s == nullptr) return kInvalidHandle;
    *status = !s->recording ? 0 : s->invalidated ? 2 : 1;
    return kSuccess;
  });
}
HIP_EXPORT int hipGraphInstantiate(void** exec, void* graph, void*, char*, std::size_t) {
  return *exec = new Graph(*static_cast<Graph*>(graph)), kSuccess;
}
HIP_EXPORT int hipGraphLaunch(void* exec, void* stream) {
  return call([&](Device& d) {
    d.check_alive(stream);
    for (const Work& node : static_cast<Graph*>(exec)->nodes) {
      if (const Error error = d.enqueue(stream, node); error != kSuccess) return error;
    }
    return kSuccess;
  });
}
HIP_EXPORT int hipGraphExecDestroy(void* exec) {
  return delete static_cast<Graph*>(exec), kSuccess;
}
HIP_EXPORT int hipGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), kSuccess; }
