// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "core/cli/report.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::cli {

/// A backend the project has, whether or not this build contains it.
struct KnownBackend {
  std::string name;
  std::string description;
  const Backend* backend = nullptr;  ///< null if it is not in this build
  Status available;                  ///< ok, or the sentence why it cannot run here
};

/// The project's backends and any other that is registered, in order of preference.
std::vector<KnownBackend> known_backends();

/// The named backend, or with an empty name the first that computes the problem. Throws a
/// Refusal with every backend's sentence if there is none; a named one is never replaced.
const Backend& choose_backend(const std::string& name, const GemmSpec& spec);

/// ok, or why this backend would not compute the problem here.
Status would_run(const KnownBackend& known, const GemmSpec& spec);

/// The promises a backend makes for a contract, by name.
std::vector<std::string> promises(const Guarantees& guarantees);

/// Texts joined by ", ", or "none".
std::string joined(const std::vector<std::string>& texts);

}  // namespace detgemm::cli
