// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/gcn/emulator/launch.hpp"

/// The device behind the stand-in for libamdhip64: memory, modules, streams and errors. Every call
/// is executed immediately, in the order of the calls.
namespace detgemm::gcn {

/// hipError_t, with the values that ROCm documents.
enum Error {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidConfiguration = 9,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kFileNotFound = 301,
  kInvalidHandle = 400,
  kNotFound = 500,
  kContextIsDestroyed = 709,
  kLaunchFailure = 719,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kIllegalState = 401,
};

using Work = std::function<Error()>;

struct Graph {
  std::vector<Work> nodes;
};

struct Stream {
  std::unique_ptr<Graph> recording;  ///< while the stream is being captured
  bool invalidated = false;
  int mode = 0;  ///< hipStreamCaptureMode: global, thread local, relaxed
  std::thread::id thread;
};

struct Event {
  std::chrono::steady_clock::time_point time;
};

/// A kernel of a module, decoded by its first launch: a program that asks for all of them runs few.
struct Function {
  KernelText text;  ///< without instructions
  std::unique_ptr<const Kernel> kernel;
};

struct Module {
  std::vector<std::unique_ptr<const std::string>> files;  ///< that the texts are parts of
  std::map<std::string, Function> functions;
};

class Device {
 public:
  static Device& get();
  ~Device();

  std::string architecture;   ///< gfx942, gfx90a or gfx950
  int units;                  ///< number of compute units that it reports
  bool adverse = false;       ///< see Launch
  MatrixStep step, fp8_step;  ///< likewise
  // What a version of HIP may do, and a program must not depend on: see README.md.
  bool faults_on_dead_streams, loads_in_capture, knows_pointers, streams_elsewhere;
  std::recursive_mutex mutex;

  Error allocate(void** out, std::size_t bytes, bool host);
  Error release(void* memory);
  /// 2 device, 1 host, 0 neither.
  int kind_of(const void* address) const;

  /// The module of an image; one that was loaded before is returned again.
  Error load(const void* image, Module*& out);
  /// Runs a kernel; a fault is printed, and the device is lost from then on.
  Error launch(const Kernel& kernel, const Launch& launch);

  /// Puts work on a stream: recorded while the stream is being captured, otherwise done at once.
  Error enqueue(void* stream, Work work);
  /// What may not happen while a capture is under way: waiting and allocating.
  Error refuse_in_capture(Stream* waited);

  /// Ends the process for a stream that is none, as HIP 7 may, where it was asked to.
  void check_alive(void* handle);
  Stream* stream(void* handle);  ///< null for a handle that is not a stream's
  std::map<void*, std::unique_ptr<Stream>> streams;
  Error sticky = kSuccess;
  Error last = kSuccess;
  std::set<std::string> launched;  ///< kernels, since gcnTakeLaunches was called

 private:
  Device();

  Error parse(const std::filesystem::path& code_object, Module& out) const;

  MemoryMap device_memory_, host_memory_;
  std::map<std::string, Module> modules_;  ///< by file
  std::vector<std::string> folders_;
  std::string report_;
  int threads_ = 1;
  Totals totals_;
  std::uint64_t launches_ = 0;
  double seconds_ = 0;
};

}  // namespace detgemm::gcn
