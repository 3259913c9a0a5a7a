// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The operator that rounds operands for contracts of snap.

#include "python/torch_ops/gemm.hpp"
#include "python/torch_ops/plans.hpp"
#include "python/torch_ops/run.hpp"
#include "python/torch_ops/stack.hpp"

namespace detgemm::torch_ops {
namespace {

/// The first backend for this kind of device that is there.
const detgemm_backend_t* backend_on(const Place& place) {
  std::string refusals;
  for (std::size_t i = 0; i < detgemm_backend_count(); ++i) {
    const detgemm_backend_t* backend = detgemm_backend_at(i);
    detgemm_device_kind_t kind = DETGEMM_HOST;
    detgemm_backend_device_kind(backend, &kind);
    if (kind != place.kind) continue;
    if (detgemm_backend_available(backend) == DETGEMM_OK) return backend;
    refusals += std::string("; ") + detgemm_last_error();
  }
  if (refusals.empty()) refusals = ": this build has no backend for it";
  refuse("no backend on " + name_of(place) + " snaps" + refusals);
}

}  // namespace

void snap(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const Tensor x = from.tensor();
  detgemm_snap_spec_t spec{};
  detgemm_snap_spec_init(&spec, sizeof spec);
  spec.leaf_k = from.integer();
  const std::string k = from.text();
  if (k != "cols" && k != "rows") refuse("k is \"" + k + "\": it must be \"cols\" or \"rows\"");
  spec.k = k == "cols" ? DETGEMM_K_COLS : DETGEMM_K_ROWS;
  const MatrixOf in(x, "x", Copies::allowed);
  const Description& description = in.description();
  if (k == "rows" && description.sizes.size() != 2) {
    refuse("x has " + std::to_string(description.sizes.size()) +
           " dimensions: with k = \"rows\" it must have two, since leading dimensions are rows");
  }
  Tensor out = empty(description.sizes, description.dtype, description.place);
  const MatrixOf result(out, "out", Copies::refused);
  const CurrentStream stream(description.place);
  check_host(description.place);
  const detgemm_matrix_t to = result.output();
  if (detgemm_snap(backend_on(description.place), &stream.stream(), &spec, &in.input(), &to) !=
      DETGEMM_OK) {
    refuse(detgemm_last_error());
  }
  give(stack, std::move(out));
}

}  // namespace detgemm::torch_ops
