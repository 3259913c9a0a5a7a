// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>

namespace detgemm::bench::hip {

/// The part of the HIP runtime that only a clock needs: events and graphs. It is found while the
/// program runs, in the library that the backend has loaded. Not run on AMD hardware.
struct Runtime {
  int (*StreamSynchronize)(void*);
  int (*StreamBeginCapture)(void*, int);
  int (*StreamEndCapture)(void*, void**);
  int (*GraphInstantiate)(void**, void*, void*, char*, std::size_t);
  int (*GraphLaunch)(void*, void*);
  int (*GraphExecDestroy)(void*);
  int (*GraphDestroy)(void*);
  int (*EventCreate)(void**);
  int (*EventDestroy)(void*);
  int (*EventRecord)(void*, void*);
  int (*EventQuery)(void*);
  int (*EventSynchronize)(void*);
  int (*EventElapsedTime)(float*, void*, void*);
  int (*MemsetAsync)(void*, int, std::size_t, void*);
  int (*MemcpyAsync)(void*, const void*, std::size_t, int, void*);
};

inline constexpr int kNotReady = 600;      // hipErrorNotReady
inline constexpr int kDeviceToDevice = 3;  // hipMemcpyDeviceToDevice
inline constexpr int kCaptureThreadLocal = 1;

/// Null where there is no runtime; `why` then says so.
const Runtime* runtime(std::string& why);

/// Throws on anything but success.
void good(int error, const char* what);

}  // namespace detgemm::bench::hip
