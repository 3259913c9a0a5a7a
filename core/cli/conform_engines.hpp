// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/conformance/case.hpp"

namespace detgemm::cli {

/// An engine to test, the backend to compare it with, and how the command line names it.
struct Candidate {
  const Backend* engine = nullptr;
  conformance::Oracle oracle;
  std::string flag;
  std::shared_ptr<Backend> owned;  ///< set for an engine that was loaded from a file
};

/// `name` is a backend of this build, "all" for every backend that can run here, "skeleton", or
/// "control:NAME". Throws a Refusal where there is no such engine.
std::vector<Candidate> candidates(const std::string& name);

/// The engine in a shared object; throws a Refusal where it cannot be loaded.
std::vector<Candidate> candidate_from_file(const std::string& path);

}  // namespace detgemm::cli
