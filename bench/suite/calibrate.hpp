// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/suite/run.hpp"

namespace detgemm::bench {

/// `detgemm calibrate`: measures a device, prints the numbers and writes them where a file was
/// named. Whether it could be written.
bool run_calibrate(const Options& options);

}  // namespace detgemm::bench
