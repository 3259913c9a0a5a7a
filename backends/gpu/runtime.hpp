// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "detgemm/device.hpp"
#include "detgemm/status.hpp"

/// What the CUDA and the HIP backend share. This folder includes no vendor's header: it is
/// written against the concept `Runtime`, and each backend instantiates it with its own.
namespace detgemm::gpu {

/// Where an address lies, as a runtime says.
struct Place {
  enum class Kind { unknown, host, device };
  Kind kind = Kind::unknown;  ///< unknown: memory that the runtime has not allocated or registered
  int device = -1;            ///< ordinal, where kind is device
  bool managed = false;       ///< usable from every device and from the host
};

/// The functions of a vendor's runtime that this folder calls, as static members of R.
///
/// They return R::Error and mean what the function of that name means in CUDA and in HIP alike.
/// `R::loaded` says whether the runtime is there at all; the others may only be called after it
/// has returned ok. Facts about a device are the vendor's own struct with a member `ordinal`.
template <class R>
concept Runtime = requires(int* number, bool* yes, void** memory, const void* from,
                           std::size_t bytes, typename R::Stream stream,
                           typename R::Stream* new_stream, typename R::Graph graph,
                           typename R::Graph* new_graph, typename R::GraphExec exec,
                           typename R::GraphExec* new_exec, typename R::Error error,
                           const typename R::Facts& facts) {
  // Names: of the backend and of the runtime's functions ("cuda"), of the vendor's platform in
  // sentences ("CUDA").
  { R::kName } -> std::convertible_to<std::string_view>;
  { R::kPlatform } -> std::convertible_to<std::string_view>;
  { R::kKind } -> std::convertible_to<DeviceKind>;
  { R::kSuccess } -> std::convertible_to<typename R::Error>;

  // Whether there is a runtime, whether there is also a device, and what devices are.
  { R::loaded() } -> std::same_as<Status>;
  { R::available() } -> std::same_as<Status>;
  { R::device_count(number) } -> std::same_as<typename R::Error>;
  { R::current_device(number) } -> std::same_as<typename R::Error>;
  { R::ask(*number) } -> std::same_as<Result<typename R::Facts>>;
  { R::text(facts) } -> std::same_as<std::string>;
  { R::info(facts) } -> std::same_as<DeviceInfo>;

  // An error as text, and the runtime's own record of the last one forgotten.
  { R::text(error) } -> std::same_as<std::string>;
  { R::forget_error() } -> std::same_as<void>;

  // Memory. Copies are asynchronous.
  { R::allocate(memory, bytes) } -> std::same_as<typename R::Error>;
  { R::release(*memory) } -> std::same_as<typename R::Error>;
  { R::copy_to_device(*memory, from, bytes, stream) } -> std::same_as<typename R::Error>;
  { R::copy_to_host(*memory, from, bytes, stream) } -> std::same_as<typename R::Error>;
  {
    R::copy_2d(*memory, bytes, from, bytes, bytes, bytes, stream)
    } -> std::same_as<typename R::Error>;
  { R::place_of(from) } -> std::same_as<Place>;
  { R::reaches(from, *number) } -> std::same_as<bool>;  // memory of others that a device may use

  // Streams. A runtime that can order them also has R::follow(later, earlier). New ones do not wait
  // for the null stream. `stream_device` leaves the number as it is where the runtime cannot say.
  { R::stream_per_thread() } -> std::same_as<typename R::Stream>;
  { R::create_stream(new_stream) } -> std::same_as<typename R::Error>;
  { R::destroy_stream(stream) } -> std::same_as<typename R::Error>;
  { R::synchronize(stream) } -> std::same_as<typename R::Error>;
  { R::is_finished(stream, yes) } -> std::same_as<typename R::Error>;
  { R::stream_device(stream, number) } -> std::same_as<typename R::Error>;

  // Graphs. Captures are thread-local: other threads may go on allocating meanwhile.
  { R::is_capturing(stream, yes) } -> std::same_as<typename R::Error>;
  { R::begin_capture(stream) } -> std::same_as<typename R::Error>;
  { R::end_capture(stream, new_graph) } -> std::same_as<typename R::Error>;
  { R::instantiate(new_exec, graph) } -> std::same_as<typename R::Error>;
  { R::launch_graph(exec, stream) } -> std::same_as<typename R::Error>;
  { R::destroy_graph(graph) } -> std::same_as<void>;
  { R::destroy_exec(exec) } -> std::same_as<void>;
};

/// The handle of a Stream in the runtime's own type.
template <Runtime R>
typename R::Stream handle(Stream stream) {
  return static_cast<typename R::Stream>(stream.handle);
}

/// A failed call as a Status. The runtime's record of the error is cleared, because it would
/// otherwise be reported by a later call that has nothing to do with it.
template <Runtime R>
Status failed(std::string_view what, typename R::Error error) {
  R::forget_error();
  return {Errc::internal,
          std::string(R::kName) + ": " + std::string(what) + " failed: " + R::text(error)};
}

/// The same for a call that may have succeeded.
template <Runtime R>
Status check(std::string_view what, typename R::Error error) {
  return error == R::kSuccess ? Status{} : failed<R>(what, error);
}

/// A function of the runtime by its full name, for example "cudaStreamBeginCapture".
template <Runtime R>
std::string function(std::string_view name) {
  return std::string(R::kName) + std::string(name);
}

}  // namespace detgemm::gpu
