// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

/// The memory and queues of one kind of device, for tools that drive any backend: the
/// conformance harness, the command line, the benchmarks. Applications do not need it.
/// Every function may be called from any thread.
class DETGEMM_API Device {
 public:
  virtual ~Device();

  virtual DeviceKind kind() const noexcept = 0;
  /// For example "host" or "NVIDIA H200, driver 580.159".
  virtual std::string description() const = 0;

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
