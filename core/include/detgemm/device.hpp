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
  std::string name;                ///< for example "NVIDIA H200"
  std::string capability;          ///< the name of its instruction set: "9.0", "gfx942"
  std::int32_t processors = 0;     ///< multiprocessors or compute units
  std::uint64_t memory_bytes = 0;  ///< all of its memory, free or not
  std::string driver;              ///< version, as the driver's own tools print it
  std::string runtime;             ///< version of the runtime this library was built with
};

/// The memory and streams of one kind of device, for tools that work with any backend: the
/// conformance harness, the command, the benchmark. Applications do not need it.
/// Every function may be called from any thread. Failures are a Status with the device's own
/// sentence: `unavailable` without a driver or device, `internal` for exhausted memory and for
/// errors of earlier work.
class DETGEMM_API Device {
 public:
  virtual ~Device();

  /// Whose memory and streams these are.
  virtual DeviceKind kind() const noexcept = 0;
  /// For example "host" or "NVIDIA H200, driver 580.159".
  virtual std::string description() const = 0;

  /// Every device of this kind that is visible to the process, in the order of their ordinals.
  /// Empty for the host.
  virtual std::vector<DeviceInfo> list() const;

  /// Memory aligned to at least 256 bytes. 0 bytes give a null pointer.
  virtual Result<void*> allocate(std::size_t bytes) = 0;
  /// Gives back what `allocate` returned; null is accepted.
  virtual void release(void* memory) noexcept = 0;
  /// Blocking copies. A copy by `to_device` is ordered before all later work on any stream.
  virtual Status to_device(void* device, const void* host, std::size_t bytes) = 0;
  /// The other way; the bytes are there when it returns.
  virtual Status to_host(void* host, const void* device, std::size_t bytes) = 0;

  /// Copies `lines` lines of `width` bytes within the device's memory, line i from `from` +
  /// i * from_pitch to `to` + i * to_pitch; the two do not overlap. Of one line the pitches mean
  /// nothing. Ordered on the stream. Devices without such a copy wait for the stream and copy
  /// through the host.
  virtual Status copy_2d(Stream stream, void* to, std::size_t to_pitch, const void* from,
                         std::size_t from_pitch, std::size_t width, std::size_t lines);
  /// The same for bytes in one piece, of any number.
  Status copy(Stream stream, void* to, const void* from, std::size_t bytes) {
    return copy_2d(stream, to, bytes, from, bytes, bytes, 1);
  }

  /// A stream that the caller destroys; on the host it is an empty one.
  virtual Result<Stream> create_stream() = 0;
  /// Gives back what `create_stream` returned.
  virtual void destroy_stream(Stream stream) noexcept = 0;
  /// Waits until all work on the stream has finished, and reports its errors.
  virtual Status synchronize(Stream stream) = 0;
  /// Whether all work on the stream has finished; does not wait, where the device has a query for
  /// it. By default it waits by `synchronize`. The stream is not being captured.
  virtual Result<bool> finished(Stream stream);

  /// Whether work on the stream is being captured into a graph; false by default.
  virtual Result<bool> is_capturing(Stream stream);

  /// Whether `follow` orders streams, in graphs too.
  virtual bool orders_streams() const noexcept { return false; }
  /// What is put on `later` from now on begins when all that is on `earlier` now has finished. Does
  /// not wait. Where `earlier` is being captured, `later` joins the capture.
  virtual Status follow(Stream /*later*/, Stream /*earlier*/) {
    return unsupported("this device does not order streams");
  }

  /// The ordinal of the calling thread's current device; -1 where there is no such thing.
  virtual int current() const { return -1; }

  /// Whether `replay` captures a graph. The host has no graphs.
  virtual bool has_graphs() const noexcept { return false; }
  /// Captures into a graph what `enqueue` puts on the stream, launches the graph `times` times and
  /// waits. `unsupported` where the device has no graphs.
  virtual Status replay(Stream stream, const std::function<Status(Stream)>& enqueue, int times);
};

/// The host's memory; its streams are empty.
DETGEMM_API Device& host_device() noexcept;

}  // namespace detgemm
