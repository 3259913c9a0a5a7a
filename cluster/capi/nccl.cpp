// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/nccl.hpp"

#include "cluster/capi/handles.hpp"

using namespace detgemm;
using namespace detgemm::capi;

detgemm_status_t detgemm_transport_nccl(void* comm, detgemm_device_kind_t kind,
                                        detgemm_transport_t** transport) {
  return guarded([&]() -> Status {
    if (Status s = need("transport", transport); !s) return s;
    *transport = nullptr;
    auto made = cluster::nccl(comm, static_cast<DeviceKind>(kind));
    if (!made) return made.status();
    *transport = new detgemm_transport_t(*std::move(made));
    return {};
  });
}
