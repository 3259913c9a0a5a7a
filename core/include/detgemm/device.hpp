// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

/// One device as a listing shows it.
struct DeviceInfo {
  std::string name;             ///< for example "NVIDIA H200"
  std::string capability;       ///< what its instructions are called: "9.0", "gfx942"
  std::int32_t processors = 0;  ///< multiprocessors, compute units
  std::uint64_t memory_bytes = 0;
  std::string driver;   ///< version, as the driver's own tools print it
  std::string runtime;  ///< version of the runtime this library was built with
};

/// The memory and queues of one kind of device, for tools that drive any backend: the
/// conformance harness, the command line, the benchmarks. Applications do not need it.
/// Every function may be called from any thread.
class DETGEMM_API Device {
 public:
  virtual ~Device();

  virtual DeviceKind kind() const noexcept = 0;
  /// For example "host" or "NVIDIA H200, driver 580.159".
  virtual std::string description() const = 0;

  /// Every device of this kind that the process sees, in the order of their numbers; the host is
  /// not listed.
  virtual std::vector<DeviceInfo> list() const;

  /// Memory aligned to at least 256 bytes. 0 bytes give a null pointer.
  virtual Result<void*> allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Blocking copies; `to_device` orders itself before any later work on any stream.
  virtual Status to_device(void* device, const void* host, std::size_t bytes) = 0;
  virtual Status to_host(void* host, const void* device, std::size_t bytes) = 0;

  virtual Result<Stream> create_stream() = 0;
  virtual void destroy_stream(Stream stream) noexcept = 0;
  virtual Status synchronize(Stream stream) = 0;

  /// Whether `replay` captures a graph. The host has none.
  virtual bool has_graphs() const noexcept { return false; }
  /// Captures what `enqueue` puts on the stream, then launches the graph `times` times and waits.
  virtual Status replay(Stream stream, const std::function<Status(Stream)>& enqueue, int times);
};

/// The host's memory; streams are empty.
DETGEMM_API Device& host_device() noexcept;

}  // namespace detgemm
