// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "detgemm/backend.hpp"
#include "detgemm/engine.h"

namespace detgemm::conformance {

/// Opens a shared object that exports `detgemm_engine_query` and presents it as a backend. The
/// object stays open to the end of the process: its code may run in any thread.
Result<std::unique_ptr<Backend>> load_engine(const std::string& path);

/// The same for a table in this process; refuses with a sentence what is missing from it.
Result<std::unique_ptr<Backend>> wrap_engine(const detgemm_engine* table);

}  // namespace detgemm::conformance
