// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "backends/gpu/device_table.hpp"
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

/// Whether the current device is an APU that may use `data`, which the runtime did not allocate.
/// An address that the process has not mapped is refused, since a kernel would fault there.
bool is_shared_with_host(const void* data) {
  const auto device = gpu::current_device<Hip>();
  if (!device || !device->shares_host_memory) return false;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char in_memory = 0;
  return mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) / page * page),
                 page, &in_memory) == 0;
}

/// Memory of an address range that the program maps itself (hipMemMap, as PyTorch's expandable
/// segments do): the struct of all attributes may not know it, and single attributes do.
gpu::Place place_of_mapped(const void* data, int version) {
  const Runtime& api = Hip::api();
  int type = -1;
  int ordinal = -1;
  if (api.PointerGetAttribute == nullptr) return {};
  if (api.PointerGetAttribute(&ordinal, kPointerDeviceOrdinal, data) != kSuccess || ordinal < 0) {
    Hip::forget_error();
    return {};
  }
  if (api.PointerGetAttribute(&type, kPointerMemoryType, data) != kSuccess) {
    Hip::forget_error();
    return {};
  }
  const Kind kind = kind_of(type, version);
  return kind == Kind::device ? gpu::Place{kind, ordinal, false} : gpu::Place{};
}

}  // namespace

gpu::Place Hip::place_of(const void* data) {
  static const int version = api().version();
  gpu::Place place;
  PointerAttributes attributes;
  if (api().PointerGetAttributes(&attributes, data) == kSuccess) {
    place = {kind_of(attributes.type, version), attributes.device, attributes.managed != 0};
  } else {
    forget_error();
  }
  if (place.kind == Kind::unknown && !place.managed) place = place_of_mapped(data, version);
  // An APU's kernels use malloc'ed and pinned memory as they use managed memory.
  if (!place.managed && place.kind != Kind::device) place.managed = is_shared_with_host(data);
  return place;
}

}  // namespace detgemm::hip
