// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_engines.hpp"

#include "core/cli/known_backends.hpp"
#include "core/conformance/controls/control.hpp"
#include "core/conformance/engine.hpp"

namespace detgemm::cli {
namespace {

const Backend* registered_reference() {
  auto found = find_backend("reference");
  return found && (*found)->available() ? *found : nullptr;
}

/// The reference, for every engine but the reference: that one is compared with the skeleton, the
/// contract's plain scalar code without Kokkos. Its own scalar kernel is one of `variants`.
conformance::Oracle oracle_for(const Backend& engine) {
  const Backend* reference = registered_reference();
  if (reference == nullptr || reference == &engine) return {&controls::honest(), {}};
  return {reference, {}};
}

Candidate candidate(const Backend& engine) {
  return {&engine, oracle_for(engine), "--backend " + std::string(engine.name()), nullptr};
}

/// The sentence for a name that is no engine: one of the project's backends that this build lacks,
/// or no name at all.
[[noreturn]] void refuse_backend(const std::string& name) {
  for (const KnownBackend& known : known_backends()) {
    if (known.name == name) throw Refusal(known.available);
  }
  throw Refusal(Status{Errc::not_found, find_backend(name).status().message() +
                                            "; conform also takes all, skeleton and control:NAME"});
}

}  // namespace

std::vector<Candidate> candidates(const std::string& name) {
  std::vector<Candidate> list;
  for (const Backend* backend : backends()) {
    if (name == backend->name() || (name == "all" && backend->available())) {
      list.push_back(candidate(*backend));
    }
  }
  if (!list.empty() || name == "all") return list;
  if (name == controls::honest().name()) return {candidate(controls::honest())};
  for (const controls::Control& control : controls::controls()) {
    if (name == control.engine->name()) return {candidate(*control.engine)};
  }
  refuse_backend(name);
}

std::vector<Candidate> candidate_from_file(const std::string& path) {
  std::shared_ptr<Backend> owned = need(conformance::load_engine(path));
  return {{owned.get(), oracle_for(*owned), "--engine '" + path + "'", owned}};
}

}  // namespace detgemm::cli
