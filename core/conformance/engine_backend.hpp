// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "detgemm/backend.hpp"
#include "detgemm/engine.h"

namespace detgemm::conformance {

/// A backend that calls the callbacks of a table that has been checked.
std::unique_ptr<Backend> make_engine_backend(const detgemm_engine& engine);

/// Log-probabilities through the table's callbacks; the table must outlive it.
std::unique_ptr<LogProbEngine> make_engine_log_prob(const detgemm_engine& engine);

/// Memory and streams through the table's callbacks; the table must outlive it.
std::unique_ptr<Device> make_engine_device(const detgemm_engine& engine);

}  // namespace detgemm::conformance
