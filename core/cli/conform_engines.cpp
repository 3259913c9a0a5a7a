// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_engines.hpp"

#include <algorithm>

#include "core/conformance/engine.hpp"
#include "tests/controls/engines/control.hpp"

namespace detgemm::cli {
namespace {

constexpr std::string_view kScalar = "scalar";

const Backend* registered_reference() {
  auto found = find_backend("reference");
  return found && (*found)->available() ? *found : nullptr;
}

/// The reference, for everybody but the reference: its fast path is compared with its plain one,
/// and where that is not offered, with the skeleton.
conformance::Oracle oracle_for(const Backend& engine) {
  const Backend* reference = registered_reference();
  if (reference == nullptr) return {&controls::honest(), {}};
  if (reference != &engine) return {reference, {}};
  GemmSpec spec;
  spec.n = 1;
  spec.k = 1;
  const auto variants = reference->variants(spec);
  if (std::find(variants.begin(), variants.end(), kScalar) == variants.end()) {
    return {&controls::honest(), {}};
  }
  return {reference, {std::string(kScalar), 0}};
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
