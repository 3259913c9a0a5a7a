// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cluster/common/state.hpp"
#include "cluster/peers/window.hpp"

namespace detgemm::cluster {

/// Windows of `bytes` in the host's memory, shared between processes by POSIX shared memory, whose
/// names are gone again when this returns. Collective: all ranks get one, or all the same sentence,
/// for example where ranks are on different hosts. `peer` where the communicator broke.
Result<std::shared_ptr<Window>> make_host_window(Communicator::State& state, std::size_t bytes);

}  // namespace detgemm::cluster
