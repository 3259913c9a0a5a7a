// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "backends/gpu/runtime.hpp"

/// The HIP runtime, found while the program runs: this library is built without ROCm and loads
/// where there is none. The declarations are the documented ones of ROCm, versions 5 to 7; a newer
/// one is taken too, as long as it has these functions.
namespace detgemm::hip {

using Error = int;  ///< hipError_t; 0 is success
inline constexpr Error kSuccess = 0;
inline constexpr Error kErrorNoDevice = 100;
inline constexpr Error kErrorInvalidContext = 201;
inline constexpr Error kErrorInvalidHandle = 400;
inline constexpr Error kErrorNotReady = 600;
inline constexpr Error kErrorContextIsDestroyed = 709;
inline constexpr Error kErrorCaptureUnsupported = 900;
inline constexpr Error kErrorCaptureInvalidated = 901;

// Handles, as the runtime gives them.
using StreamHandle = void*;
using Module = void*;
using Function = void*;
using Graph = void*;
using GraphExec = void*;

/// A stream of the calling thread's own: the number stands for it in every runtime since ROCm 4.5.
inline StreamHandle stream_per_thread() { return reinterpret_cast<StreamHandle>(2); }

// Numbers of the runtime's enumerations that this library uses.
inline constexpr int kIntegrated = 16;           // hipDeviceAttributeIntegrated
inline constexpr int kMultiprocessorCount = 63;  // hipDeviceAttributeMultiprocessorCount
inline constexpr int kNumberOfXccs = 10018;      // hipDeviceAttributeNumberOfXccs, from ROCm 6 on
inline constexpr int kPageableAccess = 65;       // hipDeviceAttributePageableMemoryAccess
inline constexpr int kHostPageTables =
    66;                                  // hipDeviceAttributePageableMemoryAccessUsesHostPageTables
inline constexpr int kHostToDevice = 1;  // hipMemcpyKind
inline constexpr int kDeviceToHost = 2;
inline constexpr int kDeviceToDevice = 3;
inline constexpr unsigned kStreamNonBlocking = 1;  // hipStreamNonBlocking
inline constexpr int kCaptureThreadLocal = 1;      // hipStreamCaptureMode
inline constexpr int kCaptureNone = 0;             // hipStreamCaptureStatus

// Numbers of hipPointer_attribute.
inline constexpr int kPointerMemoryType = 2;     // HIP_POINTER_ATTRIBUTE_MEMORY_TYPE
inline constexpr int kPointerDeviceOrdinal = 9;  // HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL

/// hipPointerAttribute_t.
struct PointerAttributes {
  int type = 0;  ///< hipMemoryType, whose numbers changed with version 6
  int device = -1;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  int managed = 0;
  unsigned flags = 0;
  std::byte room[64]{};  ///< for fields that a later runtime may add
};

/// The runtime's functions by their names without the prefix.
struct Runtime {
  std::string library;          ///< the file that was loaded
  bool new_properties = false;  ///< GetDeviceProperties fills the struct of ROCm 6 and later

  Error (*GetDeviceCount)(int*);
  Error (*GetDevice)(int*);
  Error (*DeviceGetAttribute)(int*, int, int);
  Error (*GetDeviceProperties)(void*, int);
  Error (*RuntimeGetVersion)(int*);
  const char* (*GetErrorName)(Error);
  Error (*GetLastError)();
  Error (*ModuleLoadData)(Module*, const void*);
  Error (*ModuleGetFunction)(Function*, Module, const char*);
  Error (*ModuleLaunchKernel)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, StreamHandle, void**, void**);
  Error (*Malloc)(void**, std::size_t);
  Error (*Free)(void*);
  Error (*MemcpyAsync)(void*, const void*, std::size_t, int, StreamHandle);
  Error (*PointerGetAttributes)(PointerAttributes*, const void*);
  Error (*StreamCreateWithFlags)(StreamHandle*, unsigned);
  Error (*StreamDestroy)(StreamHandle);
  Error (*StreamSynchronize)(StreamHandle);
  Error (*StreamIsCapturing)(StreamHandle, int*);
  Error (*StreamBeginCapture)(StreamHandle, int);
  Error (*StreamEndCapture)(StreamHandle, Graph*);
  Error (*GraphInstantiate)(GraphExec*, Graph, void*, char*, std::size_t);
  Error (*GraphLaunch)(GraphExec, StreamHandle);
  Error (*GraphExecDestroy)(GraphExec);
  Error (*GraphDestroy)(Graph);
  Error (*StreamGetDevice)(StreamHandle, int*);           ///< null where the runtime has none
  Error (*StreamQuery)(StreamHandle);                     ///< likewise
  Error (*PointerGetAttribute)(void*, int, const void*);  ///< likewise
  Error (*Memcpy2DAsync)(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t,
                         int, StreamHandle);  ///< likewise

  /// major * 10^7 + minor * 10^5 + patch; 0 where the runtime does not say.
  int version() const;
  /// For example "6.4.3".
  std::string version_text() const;
};

/// The runtime, loaded at the first call that finds one, as find_runtime says. Or why there is
/// none.
Result<const Runtime*> runtime();

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  std::string architecture;  ///< as the runtime names it: "gfx942:sramecc+:xnack-"
  int units = 0;             ///< compute units
  int xcds = 0;              ///< dies with an L2 each; 0 where the runtime does not say
  std::size_t memory = 0;
  /// Processor and GPU are one chip with one memory (MI300A), and kernels may read and write
  /// whatever the process has mapped, as they may with HSA_XNACK=1.
  bool shares_host_memory = false;

  /// For example "gfx942".
  std::string processor() const { return architecture.substr(0, architecture.find(':')); }
};

/// The HIP runtime as backends/gpu uses it; see gpu::Runtime.
struct Hip {
  using Error = hip::Error;
  using Stream = StreamHandle;
  using Graph = hip::Graph;
  using GraphExec = hip::GraphExec;
  using Facts = DeviceFacts;
  static constexpr std::string_view kName = "hip";
  static constexpr std::string_view kPlatform = "HIP";
  static constexpr DeviceKind kKind = DeviceKind::hip;
  static constexpr Error kSuccess = hip::kSuccess;

  static const Runtime& api() { return **runtime(); }

  static Status loaded() { return runtime().status(); }
  static Status available();
  static Error device_count(int* count) { return api().GetDeviceCount(count); }
  static Error current_device(int* ordinal) { return api().GetDevice(ordinal); }
  static Result<Facts> ask(int ordinal);
  static std::string text(const Facts& device);
  static DeviceInfo info(const Facts& device);

  static std::string text(Error error) {
    const char* name = api().GetErrorName(error);
    const std::string number = std::to_string(error);
    return name == nullptr ? number : name + (" (" + number + ")");
  }
  static void forget_error() { api().GetLastError(); }

  static Error allocate(void** memory, std::size_t bytes) { return api().Malloc(memory, bytes); }
  static Error release(void* memory) { return api().Free(memory); }
  static Error copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream) {
    if (const Error error = alive(stream); error != hip::kSuccess) return error;
    return api().MemcpyAsync(to, from, bytes, kHostToDevice, stream);
  }
  static Error copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) {
    if (const Error error = alive(stream); error != hip::kSuccess) return error;
    return api().MemcpyAsync(to, from, bytes, kDeviceToHost, stream);
  }
  static Error copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t lines, Stream stream) {
    if (const Error error = alive(stream); error != hip::kSuccess) return error;
    // The runtime's own copy of lines takes pitches of less than 2 GiB whose lines are apart.
    constexpr std::size_t kMaxPitch = (std::size_t{1} << 31) - 1;
    if (api().Memcpy2DAsync != nullptr && lines > 1 && width <= std::min(to_pitch, from_pitch) &&
        std::max(to_pitch, from_pitch) <= kMaxPitch) {
      return api().Memcpy2DAsync(to, to_pitch, from, from_pitch, width, lines, kDeviceToDevice,
                                 stream);
    }
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    for (; lines != 0; --lines, target += to_pitch, source += from_pitch) {
      const Error error = api().MemcpyAsync(target, source, width, kDeviceToDevice, stream);
      if (error != kSuccess) return error;
    }
    return kSuccess;
  }
  static gpu::Place place_of(const void* data);
  static bool reaches(const void*, int) { return false; }  // there are no windows

  static Stream stream_per_thread() { return hip::stream_per_thread(); }
  static Error create_stream(Stream* stream) {
    return api().StreamCreateWithFlags(stream, kStreamNonBlocking);
  }
  static Error destroy_stream(Stream stream) { return api().StreamDestroy(stream); }
  static Error synchronize(Stream stream) { return api().StreamSynchronize(stream); }
  static Error is_finished(Stream stream, bool* yes) {
    const Runtime& hip = api();
    if (const Error dead = alive(stream); dead != hip::kSuccess) return dead;
    const Error error =
        hip.StreamQuery == nullptr ? hip.StreamSynchronize(stream) : hip.StreamQuery(stream);
    *yes = error == hip::kSuccess;
    if (error != kErrorNotReady) return error;
    hip.GetLastError();
    return hip::kSuccess;
  }
  static Error stream_device(Stream stream, int* ordinal) {
    const Runtime& hip = api();
    if (hip.StreamGetDevice == nullptr || stream == nullptr) return kSuccess;
    return hip.StreamGetDevice(stream, ordinal);
  }
  /// Asked before a call to which a stream that was destroyed is an address: since HIP 7 only some
  /// functions check it, and the others fault. Any other answer is left to the call itself.
  static Error alive(Stream stream) {
    int ordinal = 0;
    const Error error = stream_device(stream, &ordinal);
    if (error == kErrorInvalidHandle || error == kErrorContextIsDestroyed) return error;
    if (error != hip::kSuccess) forget_error();
    return hip::kSuccess;
  }

  static Error is_capturing(Stream stream, bool* yes) {
    int status = kCaptureNone;
    if (const Error dead = alive(stream); dead != hip::kSuccess) return dead;
    const Error error = api().StreamIsCapturing(stream, &status);
    *yes = status != kCaptureNone;
    return error;
  }
  static Error begin_capture(Stream stream) {
    return api().StreamBeginCapture(stream, kCaptureThreadLocal);
  }
  static Error end_capture(Stream stream, Graph* graph) {
    return api().StreamEndCapture(stream, graph);
  }
  static Error instantiate(GraphExec* exec, Graph graph) {
    return api().GraphInstantiate(exec, graph, nullptr, nullptr, 0);
  }
  static Error launch_graph(GraphExec exec, Stream stream) {
    if (const Error error = alive(stream); error != hip::kSuccess) return error;
    return api().GraphLaunch(exec, stream);
  }
  static void destroy_graph(Graph graph) { api().GraphDestroy(graph); }
  static void destroy_exec(GraphExec exec) { api().GraphExecDestroy(exec); }
};

}  // namespace detgemm::hip
