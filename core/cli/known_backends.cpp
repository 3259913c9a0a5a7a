// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/known_backends.hpp"

#include <algorithm>
#include <array>

namespace detgemm::cli {
namespace {

/// The project's backends; a build contains some of them.
struct Entry {
  const char* name;
  const char* description;
  const char* how;  // how to have it in a build
};
constexpr std::array kProject{
    Entry{"reference", "every contract on Kokkos, bit for bit",
          "configure with -DDETGEMM_ENABLE_KOKKOS=ON"},
    Entry{"cuda", "NVIDIA GPUs", "configure with -DDETGEMM_ENABLE_CUDA=ON"},
    Entry{"hip", "AMD GPUs", "configure with -DDETGEMM_ENABLE_HIP=ON"},
    Entry{"reference-device", "every contract on Kokkos's device space, slowly",
          "it requires Kokkos 4.0 or newer with Cuda or HIP"},
};

const Backend* registered(std::string_view name) {
  for (const Backend* backend : backends()) {
    if (backend->name() == name) return backend;
  }
  return nullptr;
}

Status not_built(const Entry& entry) {
  return {Errc::unavailable,
          "backend " + std::string(entry.name) + " is not in this build: " + entry.how};
}

KnownBackend present(const Backend& backend) {
  return {std::string(backend.name()), std::string(backend.description()), &backend,
          backend.available()};
}

}  // namespace

std::vector<KnownBackend> known_backends() {
  std::vector<KnownBackend> list;
  for (const Backend* backend : backends()) list.push_back(present(*backend));
  for (const Entry& entry : kProject) {
    if (registered(entry.name) == nullptr) {
      list.push_back({entry.name, entry.description, nullptr, not_built(entry)});
    }
  }
  return list;
}

Status would_run(const KnownBackend& known, const GemmSpec& spec) {
  if (!known.available) return known.available;
  return known.backend->supports(spec);
}

const Backend& choose_backend(const std::string& name, const GemmSpec& spec) {
  const auto list = known_backends();
  if (!name.empty()) {
    const auto it = std::find_if(list.begin(), list.end(),
                                 [&](const KnownBackend& known) { return known.name == name; });
    if (it == list.end()) need(find_backend(name));
    need(would_run(*it, spec));
    return *it->backend;
  }
  std::string refusals;
  bool any_available = false;
  for (const KnownBackend& known : list) {
    const Status status = would_run(known, spec);
    if (status) return *known.backend;
    any_available = any_available || known.available.ok();
    refusals += "; " + known.name + ": " + status.message();
  }
  if (!any_available) {
    throw Refusal(Status{Errc::unavailable, "no backend is available here" + refusals});
  }
  throw Refusal(unsupported("no backend computes " + spec.contract.text() + " here" + refusals));
}

std::vector<std::string> promises(const Guarantees& guarantees) {
  std::vector<std::string> list;
  if (guarantees.run_to_run) list.emplace_back("run_to_run");
  if (guarantees.batch_invariant) list.emplace_back("batch_invariant");
  if (guarantees.launch_invariant) list.emplace_back("launch_invariant");
  if (guarantees.gpu_to_gpu) list.emplace_back("gpu_to_gpu");
  if (guarantees.backend_to_backend) list.emplace_back("backend_to_backend");
  return list;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all.empty() ? "none" : all;
}

}  // namespace detgemm::cli
