// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/quantize.hpp"

#include "core/capi/descriptors.hpp"
#include "core/capi/error.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/operands.hpp"

using namespace detgemm;
using namespace detgemm::capi;

detgemm_status_t detgemm_quantize(const detgemm_backend_t* backend, const detgemm_stream_t* stream,
                                  const detgemm_quantize_spec_t* spec,
                                  const detgemm_const_matrix_t* from, const detgemm_matrix_t* to,
                                  const detgemm_scales_out_t* scales) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    auto blocks = read("spec", spec);
    if (!blocks) return blocks.status();
    auto in = matrix_of("from", from);
    if (!in) return in.status();
    auto out = matrix_of("to", to);
    if (!out) return out.status();
    auto s = read("scales", scales);
    if (!s) return s.status();
    return quantize(backend_of(backend), *queue,
                    {blocks->leaf_k, blocks->per, static_cast<KDimension>(blocks->k)}, *in, *out,
                    {s->data, static_cast<ScaleType>(s->type), s->blocks, s->leaves, s->stride,
                     s->leaf_stride});
  });
}
