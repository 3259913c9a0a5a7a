// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "detgemm/nccl.hpp"

namespace detgemm::cluster {

// Numbers of NCCL's enumerations that are used here: ncclResult_t, ncclDataType_t.
inline constexpr int kNcclSuccess = 0;
inline constexpr int kNcclInProgress = 7;
inline constexpr int kNcclInt8 = 0;

/// A loaded NCCL or RCCL.
struct NcclLibrary {
  NcclFunctions call;
  std::string name;  ///< for example "NCCL 2.28.9"
};

/// The library of this process for this kind of device, or `unavailable` and why not.
Result<NcclLibrary> find_nccl(DeviceKind kind, const NcclFunctions* given);

/// The transport over a communicator of the library, whose memory `device` reads and writes.
Result<std::shared_ptr<Transport>> make_nccl(const NcclLibrary& library, void* comm,
                                             Device& device);

}  // namespace detgemm::cluster
