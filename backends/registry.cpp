// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <string>

#include "core/contract/wording.hpp"
#include "detgemm/backend.hpp"
#ifdef DETGEMM_HAS_CUDA
#include "detgemm/cuda.hpp"
#endif
#ifdef DETGEMM_HAS_HIP
#include "detgemm/hip.hpp"
#endif
#ifdef DETGEMM_HAS_REFERENCE
#include "detgemm/reference.hpp"
#endif

namespace detgemm {
namespace {

/// The one ordered table: the first backend that supports a problem is the default.
std::span<const Backend* const> table() {
  static const std::array list{
#ifdef DETGEMM_HAS_CUDA
      &cuda_backend(),
#endif
#ifdef DETGEMM_HAS_HIP
      &hip_backend(),
#endif
#ifdef DETGEMM_HAS_REFERENCE
      &reference_backend(),
#endif
      static_cast<const Backend*>(nullptr),  // ends the list, so that it is never empty
  };
  return std::span(list).first(list.size() - 1);
}

}  // namespace

std::span<const Backend* const> backends() noexcept { return table(); }

Result<const Backend*> find_backend(std::string_view name) {
  std::string known;
  for (const Backend* backend : backends()) {
    if (backend->name() == name) return backend;
    known += (known.empty() ? "" : ", ") + std::string(backend->name());
  }
  return Status{Errc::not_found, "backend is " + quoted(name) + ": this build has " +
                                     (known.empty() ? "none" : known)};
}

}  // namespace detgemm
