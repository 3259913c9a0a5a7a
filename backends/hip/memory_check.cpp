// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/memory_check.hpp"

#include <string>
#include <string_view>

#include "backends/hip/devices.hpp"

namespace detgemm::hip {
namespace {

enum class Kind { unknown, host, device };

/// hipMemoryType was 0 host, 1 device until version 5; 0 unknown, 1 host, 2 device, 3 managed from
/// 6 on.
Kind kind_of(int type, int version) {
  constexpr int kVersion6 = 60000000;
  if (version < kVersion6) return type == 1 ? Kind::device : Kind::host;
  if (type == 1) return Kind::host;
  return type == 2 || type == 3 ? Kind::device : Kind::unknown;
}

int version_of(const Runtime& api) {
  static const int version = [&] {
    int number = 0;
    return api.RuntimeGetVersion(&number) == kSuccess ? number : 0;
  }();
  return version;
}

Status check_array(std::string_view what, const void* data, int device) {
  const Runtime& api = **runtime();
  PointerAttributes attributes;
  Kind kind = Kind::unknown;
  if (api.PointerGetAttributes(&attributes, data) == kSuccess) {
    kind = kind_of(attributes.type, version_of(api));
  } else {
    api.GetLastError();
    attributes = {};
  }
  if (attributes.managed != 0) return {};
  if (kind == Kind::device && attributes.device == device) return {};
  const std::string where = kind == Kind::device
                                ? "memory of device " + std::to_string(attributes.device)
                            : kind == Kind::host ? "pinned host memory"
                                                 : "memory that HIP does not know";
  return invalid(std::string(what) + ".data is 0x" + hex(reinterpret_cast<std::uintptr_t>(data)) +
                 ", " + where + ": it must be memory of the plan's device " +
                 std::to_string(device) + ", or managed");
}

}  // namespace

Status check_stream(StreamHandle stream, int device) {
  const Runtime& api = **runtime();
  int current = -1;
  if (const Error error = api.GetDevice(&current); error != kSuccess) {
    return failed("hipGetDevice", error);
  }
  if (current != device) {
    return invalid("the current device is " + std::to_string(current) + ": the plan is of device " +
                   std::to_string(device) + ", which must be current when it runs");
  }
  // A stream under capture may not be asked; there the launch itself refuses another device's.
  int capture = kCaptureNone;
  if (const Error error = api.StreamIsCapturing(stream, &capture); error != kSuccess) {
    return failed("asking whether stream.handle is being captured", error);
  }
  if (capture != kCaptureNone || api.StreamGetDevice == nullptr || stream == nullptr) return {};
  int of_stream = device;
  if (const Error error = api.StreamGetDevice(stream, &of_stream); error != kSuccess) {
    return failed("asking stream.handle for its device", error);
  }
  if (of_stream == device) return {};
  return invalid("stream.handle is a stream of device " + std::to_string(of_stream) +
                 ": the plan is of device " + std::to_string(device));
}

Status check_arrays(const GemmSpec& spec, const Operands& operands, bool with_products,
                    int device) {
  if (with_products && spec.k > 0) {
    if (Status s = check_array("a", operands.a.data, device); !s) return s;
    if (Status s = check_array("b", operands.b.data, device); !s) return s;
  }
  if (spec.reads_c() && operands.c.data != operands.d.data) {
    if (Status s = check_array("c", operands.c.data, device); !s) return s;
  }
  if (spec.bias) {
    if (Status s = check_array("bias", operands.bias.data, device); !s) return s;
  }
  return check_array("d", operands.d.data, device);
}

Status check_roots(std::span<const ConstMatrix> roots, int device) {
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (Status s = check_array("roots[" + std::to_string(i) + "]", roots[i].data, device); !s) {
      return s;
    }
  }
  return {};
}

}  // namespace detgemm::hip
