// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>

#include "detgemm/status.hpp"

/// The HIP runtime, found while the program runs: this library is built without ROCm and loads
/// where there is none. The declarations are ROCm's documented ones, versions 5 to 7.
namespace detgemm::hip {

using Error = int;  ///< hipError_t; 0 is success
inline constexpr Error kSuccess = 0;
inline constexpr Error kErrorNoDevice = 100;

// Handles, as the runtime gives them.
using StreamHandle = void*;
using Module = void*;
using Function = void*;
using Graph = void*;
using GraphExec = void*;

/// A stream of the calling thread's own, which every runtime since ROCm 4.5 makes of this number.
inline StreamHandle stream_per_thread() { return reinterpret_cast<StreamHandle>(2); }

// Numbers of the runtime's enumerations that this library uses.
inline constexpr int kMultiprocessorCount = 63;  // hipDeviceAttributeMultiprocessorCount
inline constexpr int kHostToDevice = 1;          // hipMemcpyKind
inline constexpr int kDeviceToHost = 2;
inline constexpr unsigned kStreamNonBlocking = 1;  // hipStreamNonBlocking
inline constexpr int kCaptureThreadLocal = 1;      // hipStreamCaptureMode
inline constexpr int kCaptureNone = 0;             // hipStreamCaptureStatus

/// hipPointerAttribute_t.
struct PointerAttributes {
  int type = 0;  ///< hipMemoryType, whose numbers changed with version 6
  int device = -1;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  int managed = 0;
  unsigned flags = 0;
  std::byte room[64]{};  ///< for what a later runtime may add
};

/// The runtime's functions by their names without the prefix.
struct Runtime {
  std::string library;  ///< the file that was loaded
  int version = 0;      ///< hipRuntimeGetVersion: major * 10^7 + minor * 10^5 + patch
  bool new_properties = false;

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
  Error (*StreamGetDevice)(StreamHandle, int*);  ///< null where the runtime has none

  /// "6.4.3"
  std::string version_text() const;
};

/// The runtime, loaded at the first call: one that the program has loaded already, else the newest
/// of libamdhip64.so.7, .6 and .5. Or why there is none.
Result<const Runtime*> runtime();

}  // namespace detgemm::hip
