// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/backend.hpp"

namespace detgemm {

/// A complete backend in the fewest lines: every contract, one scalar at a time, on the host.
/// Copy this folder to start a backend of your own, and add a line to backends/registry.cpp.
/// It is not registered; the conformance harness compares the reference with it.
const Backend& skeleton_backend() noexcept;

}  // namespace detgemm
