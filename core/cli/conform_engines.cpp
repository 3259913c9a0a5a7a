// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_engines.hpp"

#include "core/conformance/engine.hpp"
#include "core/conformance/controls/control.hpp"

namespace detgemm::cli {
namespace {

const Backend* registered_reference() {
  auto found = find_backend("reference");
  return found && (*found)->available() ? *found : nullptr;
}

/// The reference, for everybody but the reference: that one is compared with the skeleton, the
/// contract's plain scalar code without Kokkos. Its own scalar kernel is one of `variants`.
conformance::Oracle oracle_for(const Backend& engine) {
  const Backend* reference = registered_reference();
  if (reference == nullptr || reference == &engine) return {&controls::honest(), {}};
  return {reference, {}};
}

Candidate candidate(const Backend& engine) {
  return {&engine, oracle_for(engine), "--backend " + std::string(engine.name()), nullptr};
}

}  // namespace

Result<std::vector<Candidate>> candidates(const std::string& name) {
  std::vector<Candidate> list;
  if (name == "all") {
    for (const Backend* backend : backends()) {
      if (backend->available()) list.push_back(candidate(*backend));
    }
    return list;
  }
  if (name == controls::honest().name()) {
    return std::vector<Candidate>{candidate(controls::honest())};
  }
  for (const controls::Control& control : controls::controls()) {
    if (name == control.engine->name()) {
      return std::vector<Candidate>{candidate(*control.engine)};
    }
  }
  auto found = find_backend(name);
  if (!found) return found.status();
  return std::vector<Candidate>{candidate(**found)};
}

Result<std::vector<Candidate>> candidate_from_file(const std::string& path) {
  auto engine = conformance::load_engine(path);
  if (!engine) return engine.status();
  std::shared_ptr<Backend> owned = std::move(engine).value();
  return std::vector<Candidate>{
      {owned.get(), oracle_for(*owned), "--engine '" + path + "'", owned}};
}

}  // namespace detgemm::cli
