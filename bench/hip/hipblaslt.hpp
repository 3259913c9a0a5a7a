// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/suite/device.hpp"

namespace detgemm::bench::hip {

/// hipBLASLt's first choice with that much workspace, found while the program runs. Written from
/// its documented interface; not run on AMD hardware.
Baseline hipblaslt(Device& device, const std::string& name, std::size_t workspace_bytes);

}  // namespace detgemm::bench::hip
