// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/backend.hpp"

#include <string>

#include "core/capi/error.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/operands.hpp"
#include "core/capi/text.hpp"

using namespace detgemm;
using namespace detgemm::capi;

namespace {

/// `body(Backend, GemmSpec)` behind the checks of both.
template <class Body>
detgemm_status_t with_spec(const detgemm_backend_t* backend, const detgemm_gemm_spec_t* spec,
                           Body&& body) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    auto problem = spec_of("spec", spec);
    if (!problem) return problem.status();
    return body(backend_of(backend), *problem);
  });
}

/// A name of the backend, or NULL and a sentence.
template <class Name>
const char* name_of(const detgemm_backend_t* backend, Name&& which) {
  const char* name = nullptr;
  guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    name = interned(which(backend_of(backend)));
    return {};
  });
  return name;
}

}  // namespace

size_t detgemm_backend_count(void) { return backends().size(); }

const detgemm_backend_t* detgemm_backend_at(size_t index) {
  const auto all = backends();
  if (index < all.size()) return handle_of(all[index]);
  guarded([&] {
    return invalid("index is " + std::to_string(index) + ": it must be less than " +
                   std::to_string(all.size()));
  });
  return nullptr;
}

detgemm_status_t detgemm_backend_find(const char* name, const detgemm_backend_t** backend) {
  return guarded([&]() -> Status {
    if (name == nullptr) return null_argument("name", "the name of a backend");
    if (backend == nullptr) return null_argument("backend", "a place for the answer");
    auto found = find_backend(name);
    if (!found) return found.status();
    *backend = handle_of(*found);
    return {};
  });
}

detgemm_status_t detgemm_backend_first(const detgemm_gemm_spec_t* spec, detgemm_device_kind_t kind,
                                       const detgemm_backend_t** backend) {
  return guarded([&]() -> Status {
    if (backend == nullptr) return null_argument("backend", "a place for the answer");
    auto problem = spec_of("spec", spec);
    if (!problem) return problem.status();
    auto found = first_backend(*problem, static_cast<DeviceKind>(kind));
    if (!found) return found.status();
    *backend = handle_of(*found);
    return {};
  });
}

const char* detgemm_backend_name(const detgemm_backend_t* backend) {
  return name_of(backend, [](const Backend& b) { return b.name(); });
}

const char* detgemm_backend_description(const detgemm_backend_t* backend) {
  return name_of(backend, [](const Backend& b) { return b.description(); });
}

detgemm_status_t detgemm_backend_available(const detgemm_backend_t* backend) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    return backend_of(backend).available();
  });
}

detgemm_status_t detgemm_backend_supports(const detgemm_backend_t* backend,
                                          const detgemm_gemm_spec_t* spec) {
  return with_spec(backend, spec,
                   [](const Backend& b, const GemmSpec& problem) { return b.supports(problem); });
}

detgemm_status_t detgemm_backend_guarantees(const detgemm_backend_t* backend,
                                            const detgemm_contract_t* contract,
                                            uint32_t* guarantees) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    if (guarantees == nullptr) return null_argument("guarantees", "a place for the answer");
    auto ours = contract_of("contract", contract);
    if (!ours) return ours.status();
    const Guarantees g = backend_of(backend).guarantees(*ours);
    *guarantees = (g.run_to_run ? DETGEMM_RUN_TO_RUN : 0U) |
                  (g.batch_invariant ? DETGEMM_BATCH_INVARIANT : 0U) |
                  (g.launch_invariant ? DETGEMM_LAUNCH_INVARIANT : 0U) |
                  (g.gpu_to_gpu ? DETGEMM_GPU_TO_GPU : 0U) |
                  (g.backend_to_backend ? DETGEMM_BACKEND_TO_BACKEND : 0U);
    return {};
  });
}

detgemm_status_t detgemm_backend_variant_count(const detgemm_backend_t* backend,
                                               const detgemm_gemm_spec_t* spec, size_t* count) {
  return with_spec(backend, spec, [&](const Backend& b, const GemmSpec& problem) -> Status {
    if (count == nullptr) return null_argument("count", "a place for the answer");
    *count = b.variants(problem).size();
    return {};
  });
}

detgemm_status_t detgemm_backend_variant_at(const detgemm_backend_t* backend,
                                            const detgemm_gemm_spec_t* spec, size_t index,
                                            char* buffer, size_t size, size_t* needed) {
  return with_spec(backend, spec, [&](const Backend& b, const GemmSpec& problem) -> Status {
    const auto variants = b.variants(problem);
    if (index >= variants.size()) {
      return invalid("index is " + std::to_string(index) + ": it must be less than " +
                     std::to_string(variants.size()));
    }
    return give_text(variants[index], buffer, size, needed);
  });
}

detgemm_status_t detgemm_backend_device_kind(const detgemm_backend_t* backend,
                                             detgemm_device_kind_t* kind) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    if (kind == nullptr) return null_argument("kind", "a place for the answer");
    *kind = static_cast<detgemm_device_kind_t>(backend_of(backend).device().kind());
    return {};
  });
}

detgemm_status_t detgemm_backend_device_description(const detgemm_backend_t* backend, char* buffer,
                                                    size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    return give_text(backend_of(backend).device().description(), buffer, size, needed);
  });
}
