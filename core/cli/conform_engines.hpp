// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "detgemm/conformance.hpp"

namespace detgemm::cli {

/// What `conform` tests, and how a process of its own gets at it. Nothing is started or opened
/// before `load`.
struct Tested {
  std::string flag;      ///< how the command line names it
  bool on_host = false;  ///< a backend of this build whose device is the host
  std::function<Result<conformance::Candidate>()> load;
};

/// The backends called `name`: one of this build, `skeleton`, `control:NAME`, or "all" (those that
/// cannot run here refuse as unavailable). `threads` is for the reference.
std::vector<Tested> tested_backends(const std::string& name, int threads);

/// What an engine is compared with.
conformance::Oracle oracle_for(const Backend& engine);

/// The engine in a shared object.
std::vector<Tested> tested_engine(const std::string& path, int threads);

}  // namespace detgemm::cli
