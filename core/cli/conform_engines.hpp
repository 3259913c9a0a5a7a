// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/conformance/case.hpp"

namespace detgemm::cli {

/// An engine to test, whom to compare it with, and how the command line names it.
struct Candidate {
  const Backend* engine = nullptr;
  conformance::Oracle oracle;
  std::string flag;
  std::shared_ptr<Backend> owned;  ///< of an engine loaded from a file
};

/// `name` is a backend of this build, "all" of them that can run here, "skeleton", or
/// "control:NAME".
Result<std::vector<Candidate>> candidates(const std::string& name);

/// The engine in a shared object.
Result<std::vector<Candidate>> candidate_from_file(const std::string& path);

}  // namespace detgemm::cli
