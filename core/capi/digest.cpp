// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/digest.hpp"

#include <string>

#include "core/capi/error.hpp"
#include "core/capi/operands.hpp"
#include "core/capi/text.hpp"

using namespace detgemm;
using namespace detgemm::capi;

static_assert(DETGEMM_DIGEST_SEED == kDigestSeed, "C and C++ start from one seed");
static_assert(DETGEMM_WORKSPACE_ALIGNMENT == kWorkspaceAlignment, "C and C++ align alike");

detgemm_status_t detgemm_digest_bytes(const void* data, size_t bytes, uint64_t seed,
                                      uint64_t* digest) {
  return guarded([&]() -> Status {
    if (data == nullptr && bytes != 0) {
      return null_argument("data", std::to_string(bytes) + " bytes");
    }
    if (digest == nullptr) return null_argument("digest", "a place for the answer");
    *digest = digest_bytes(data, bytes, seed);
    return {};
  });
}

detgemm_status_t detgemm_digest_matrix(const detgemm_const_matrix_t* matrix, uint64_t* digest) {
  return guarded([&]() -> Status {
    if (digest == nullptr) return null_argument("digest", "a place for the answer");
    auto view = matrix_of("matrix", matrix);
    if (!view) return view.status();
    auto value = digest_matrix(*view);
    if (!value) return value.status();
    *digest = *value;
    return {};
  });
}

detgemm_status_t detgemm_digest_text(uint64_t digest, char* buffer, size_t size, size_t* needed) {
  return guarded([&] { return give_text(hex(digest), buffer, size, needed); });
}
