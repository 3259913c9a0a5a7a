// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_engines.hpp"

#include "core/cli/known_backends.hpp"
#include "core/conformance/controls/control.hpp"
#include "detgemm/runtime.hpp"

namespace detgemm::cli {

/// The reference, for every engine but the reference: that one is compared with the skeleton, the
/// contract's plain scalar code without Kokkos. Its own scalar kernel is one of `variants`.
conformance::Oracle oracle_for(const Backend& engine) {
  auto reference = find_backend("reference");
  if (!reference || *reference == &engine || !(*reference)->available()) {
    return {&controls::honest(), {}};
  }
  return {*reference, {}};
}

namespace {

/// What a candidate needs for as long as it is tested.
struct Kept {
  explicit Kept(Runtime started) : runtime(std::move(started)) {}
  Runtime runtime;
  std::unique_ptr<Backend> engine;
};

Result<std::shared_ptr<Kept>> start(int threads) {
  auto runtime = Runtime::start({threads});
  if (!runtime) return runtime.status();
  return std::make_shared<Kept>(std::move(runtime).value());
}

Tested tested(const Backend& engine, int threads) {
  const auto load = [&engine, threads]() -> Result<conformance::Candidate> {
    auto kept = start(threads);
    if (!kept) return kept.status();
    return conformance::Candidate{&engine, oracle_for(engine), *kept};
  };
  return {"--backend " + std::string(engine.name()), engine.device().kind() == DeviceKind::host,
          load};
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

std::vector<Tested> tested_backends(const std::string& name, int threads) {
  std::vector<Tested> list;
  for (const Backend* backend : backends()) {
    if (name == backend->name() || name == "all") list.push_back(tested(*backend, threads));
  }
  if (!list.empty() || name == "all") return list;
  if (name == controls::honest().name()) return {tested(controls::honest(), threads)};
  for (const controls::Control& control : controls::controls()) {
    if (name == control.engine->name()) return {tested(*control.engine, threads)};
  }
  refuse_backend(name);
}

std::vector<Tested> tested_engine(const std::string& path, int threads) {
  const auto load = [path, threads]() -> Result<conformance::Candidate> {
    auto engine = conformance::load_engine(path);
    if (!engine) return engine.status();
    auto kept = start(threads);
    if (!kept) return kept.status();
    (*kept)->engine = std::move(engine).value();
    const Backend& backend = *(*kept)->engine;
    return conformance::Candidate{&backend, oracle_for(backend), *kept};
  };
  return {{"--engine '" + path + "'", false, load}};
}

}  // namespace detgemm::cli
