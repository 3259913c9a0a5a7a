// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/runtime.hpp"

namespace detgemm::hip {
namespace {

using Kind = gpu::Place::Kind;

/// hipMemoryType was 0 host, 1 device until version 5; 0 unknown, 1 host, 2 device, 3 managed from
/// 6 on.
Kind kind_of(int type, int version) {
  constexpr int kVersion6 = 60000000;
  if (version < kVersion6) return type == 1 ? Kind::device : Kind::host;
  if (type == 1) return Kind::host;
  return type == 2 || type == 3 ? Kind::device : Kind::unknown;
}

}  // namespace

gpu::Place Hip::place_of(const void* data) {
  static const int version = api().version();
  PointerAttributes attributes;
  if (api().PointerGetAttributes(&attributes, data) != kSuccess) {
    forget_error();
    return {};
  }
  return {kind_of(attributes.type, version), attributes.device, attributes.managed != 0};
}

}  // namespace detgemm::hip
