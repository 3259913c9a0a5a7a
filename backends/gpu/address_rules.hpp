// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backends/gpu/runtime.hpp"
#include "detgemm/contract.hpp"
#include "detgemm/gemm_spec.hpp"

/// Whether a plan's device can run a call where the caller put it. No check synchronises or
/// disturbs a capture, and each address costs one query of the driver.
namespace detgemm::gpu {

/// ok, or why the call cannot run here: another device than the plan's is current, or the stream
/// belongs to another device.
template <Runtime R>
Status check_stream(typename R::Stream stream, int device,
                    std::string_view rule = "the plan was made for device ") {
  int current = -1;
  if (const auto error = R::current_device(&current); error != R::kSuccess) {
    return failed<R>(function<R>("GetDevice"), error);
  }
  if (current != device) {
    return invalid("the current device is " + std::to_string(current) +
                   ": the plan was made for device " + std::to_string(device) +
                   ", which must be current when it runs");
  }
  // A stream under capture may not be asked for its device. There the launch itself refuses a
  // stream of another device.
  bool capturing = false;
  if (const auto error = R::is_capturing(stream, &capturing); error != R::kSuccess) {
    return failed<R>("querying whether stream.handle is being captured", error);
  }
  if (capturing) return {};
  int of_stream = device;
  if (const auto error = R::stream_device(stream, &of_stream); error != R::kSuccess) {
    return failed<R>("querying the device of stream.handle", error);
  }
  if (of_stream == device) return {};
  return invalid("stream.handle is a stream of device " + std::to_string(of_stream) + ": " +
                 std::string(rule) + std::to_string(device));
}

/// ok, or why the plan's device cannot use the array that the sentence calls `what`: it lies in
/// another device's memory, which is not a window that ranks share, or in the host's.
template <Runtime R>
Status check_array(std::string_view what, const void* data, int device,
                   std::string_view whose = "the plan's device ") {
  const Place place = R::place_of(data);
  if (place.managed) return {};
  if (place.kind == Place::Kind::device && place.device == device) return {};
  if (R::reaches(data, device)) return {};
  std::string where = "memory that " + std::string(R::kPlatform) + " has not allocated";
  if (place.kind == Place::Kind::host) where = "pinned host memory";
  if (place.kind == Place::Kind::device) where = "memory of device " + std::to_string(place.device);
  return invalid(std::string(what) + ".data is 0x" + hex(reinterpret_cast<std::uintptr_t>(data)) +
                 ", " + where + ": it must be memory of " + std::string(whose) +
                 std::to_string(device) + ", or managed");
}

/// Whether a call has no outputs, and so reads and writes nothing. Its arrays may lie anywhere: a
/// rank without rows has the address behind the last row, which may be nobody's memory.
inline bool has_no_outputs(const Operands& operands) {
  return operands.d.rows == 0 || operands.d.cols == 0;
}

/// The same for A and B, where the spec reads them.
template <Runtime R>
Status check_factors(const GemmSpec& spec, const Operands& operands, int device) {
  if (spec.k == 0 || has_no_outputs(operands)) return {};
  if (Status s = check_array<R>("a", operands.a.data, device); !s) return s;
  return check_array<R>("b", operands.b.data, device);
}

/// The same for scales.
template <Runtime R>
Status check_scales(const GemmSpec& spec, const Operands& operands, int device) {
  if (!spec.reads_scales() || spec.scale_leaves() == 0) return {};
  if (Status s = check_array<R>("scale_a", operands.scale_a.data, device); !s) return s;
  return check_array<R>("scale_b", operands.scale_b.data, device);
}

/// The same for C and the bias, where the spec reads them, and for D.
template <Runtime R>
Status check_outputs(const GemmSpec& spec, const Operands& operands, int device) {
  if (has_no_outputs(operands)) return {};
  if (spec.reads_c() && operands.c.data != operands.d.data) {
    if (Status s = check_array<R>("c", operands.c.data, device); !s) return s;
  }
  if (spec.bias) {
    if (Status s = check_array<R>("bias", operands.bias.data, device); !s) return s;
  }
  return check_array<R>("d", operands.d.data, device);
}

/// The same for the roots of a combine.
template <Runtime R>
Status check_roots(std::span<const TreeRoot> roots, int device) {
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::string name = "roots[" + std::to_string(i) + "]";
    if (Status s = check_array<R>(name, roots[i].root.data, device); !s) return s;
  }
  return {};
}

/// The same for a matrix that is snapped and for the result, on the current device.
template <Runtime R>
Status check_snap(typename R::Stream stream, const ConstMatrix& from, const Matrix& to,
                  int device) {
  if (Status s = check_stream<R>(stream, device, "the current device is "); !s) return s;
  if (Status s = check_array<R>("from", from.data, device, "the current device "); !s) return s;
  return to.data == from.data ? Status{}
                              : check_array<R>("to", to.data, device, "the current device ");
}

/// The same for a workspace, which may be absent. One of no bytes may begin where memory ends.
template <Runtime R>
Status check_workspace(Workspace workspace, int device) {
  if (workspace.data == nullptr || workspace.bytes == 0) return {};
  return check_array<R>("workspace", workspace.data, device);
}

}  // namespace detgemm::gpu
