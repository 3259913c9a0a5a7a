// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/snap.hpp"

#include "core/capi/descriptors.hpp"
#include "core/capi/error.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/operands.hpp"

using namespace detgemm;
using namespace detgemm::capi;

namespace {

Result<SnapSpec> snap_spec_of(const detgemm_snap_spec_t* given) {
  auto c = read("spec", given);
  if (!c) return c.status();
  return SnapSpec{c->leaf_k, static_cast<KDimension>(c->k)};
}

}  // namespace

detgemm_status_t detgemm_snap(const detgemm_backend_t* backend, const detgemm_stream_t* stream,
                              const detgemm_snap_spec_t* spec, const detgemm_const_matrix_t* from,
                              const detgemm_matrix_t* to) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    auto leaves = snap_spec_of(spec);
    if (!leaves) return leaves.status();
    auto in = matrix_of("from", from);
    if (!in) return in.status();
    auto out = matrix_of("to", to);
    if (!out) return out.status();
    return snap(backend_of(backend), *queue, *leaves, *in, *out);
  });
}

detgemm_status_t detgemm_is_snapped(const detgemm_backend_t* backend,
                                    const detgemm_stream_t* stream, const detgemm_snap_spec_t* spec,
                                    const detgemm_const_matrix_t* matrix, int32_t* snapped) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    if (snapped == nullptr) return null_argument("snapped", "a place for the answer");
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    auto leaves = snap_spec_of(spec);
    if (!leaves) return leaves.status();
    auto view = matrix_of("matrix", matrix);
    if (!view) return view.status();
    auto answer = is_snapped(backend_of(backend), *queue, *leaves, *view);
    if (!answer) return answer.status();
    *snapped = *answer ? 1 : 0;
    return {};
  });
}
