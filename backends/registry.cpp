// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

#include "core/api/plan_checks.hpp"
#include "core/contract/wording.hpp"
#include "detgemm/backend.hpp"
#include "detgemm/config.hpp"
#if DETGEMM_HAS_CUDA
#include "detgemm/cuda.hpp"
#endif
#if DETGEMM_HAS_HIP
#include "detgemm/hip.hpp"
#endif
#if DETGEMM_HAS_REFERENCE
#include "detgemm/reference.hpp"
#endif

namespace detgemm {
namespace {

/// The one ordered table: of the backends on a stream's kind of device, the first that supports a
/// problem is the default. So `reference-device` computes only what no GPU backend before it does.
std::span<const Backend* const> table() {
  static const std::array all {
#if DETGEMM_HAS_CUDA
    &cuda_backend(),
#endif
#if DETGEMM_HAS_HIP
        &hip_backend(),
#endif
#if DETGEMM_HAS_REFERENCE
        &reference_backend(), reference_device_backend(),
#endif
        static_cast<const Backend*>(
            nullptr),  // the last entry may be null: there is no such backend
  };
  static const auto there = std::span(all).first(
      static_cast<std::size_t>(std::find(all.begin(), all.end(), nullptr) - all.begin()));
  return there;
}

}  // namespace

std::span<const Backend* const> backends() noexcept { return table(); }

Result<const Backend*> find_backend(std::string_view name) {
  std::string known;
  for (const Backend* backend : backends()) {
    if (backend->name() == name) return backend;
    known += (known.empty() ? "" : ", ") + std::string(backend->name());
  }
  std::string sentence =
      "backend is " + quoted(name) + ": this build has " + (known.empty() ? "none" : known);
  if (name == "reference-device") sentence += "; it requires Kokkos 4.0 or newer with Cuda or HIP";
  return Status{Errc::not_found, std::move(sentence)};
}

Result<const Backend*> first_backend(const GemmSpec& spec, DeviceKind kind) try {
  if (Status s = validate(spec); !s) return s;
  if (Status s = check_kind("kind", kind); !s) return s;
  std::string refusals;
  bool any_available = false;
  for (const Backend* backend : backends()) {
    if (backend->device().kind() != kind) continue;
    Status status = backend->available();
    if (status) {
      any_available = true;
      status = backend->supports(spec);
    }
    if (status) return backend;
    const std::string who = std::string(backend->name()) + ": ";
    refusals += "; " + (status.message().starts_with(who) ? "" : who) + status.message();
  }
  const std::string where = described(kind);
  if (!any_available) {
    if (refusals.empty()) refusals = ": this build has none";
    return Status{Errc::unavailable, "no backend on " + where + " is available to compute " +
                                         spec.contract.text() + refusals};
  }
  return unsupported("no backend on " + where + " computes " + spec.contract.text() + refusals);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace detgemm
