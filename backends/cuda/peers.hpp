// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/peers.hpp"

namespace detgemm::cuda {

/// Windows in the memory of NVIDIA GPUs of one host: of one process by peer access, of several by
/// CUDA IPC. Multicast of the switch is not used.
const PeerEngine& peer_engine() noexcept;

}  // namespace detgemm::cuda
