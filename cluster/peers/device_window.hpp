// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cluster/common/state.hpp"
#include "detgemm/peers.hpp"

namespace detgemm::cluster {

/// Windows of `bytes` in the memory of the backend's devices. Collective: all ranks get one, or all
/// the same sentence, for example where two devices do not reach each other. `peer` where the
/// communicator broke.
Result<std::shared_ptr<PeerWindow>> make_device_window(Communicator::State& state,
                                                       const Backend& backend, std::size_t bytes);

/// A failure that kernels have found, as a Status; ok where there is none.
Status status_of(const PeerFailure& failure, int ranks, std::chrono::milliseconds patience);

}  // namespace detgemm::cluster
