// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Products with a scale per block of each operand, and the quantiser that makes such operands.

#include <array>
#include <vector>

#include "python/torch_ops/gemm.hpp"
#include "python/torch_ops/plans.hpp"
#include "python/torch_ops/platform.hpp"
#include "python/torch_ops/run.hpp"
#include "python/torch_ops/stack.hpp"

namespace detgemm::torch_ops {
namespace {

/// The arguments of `scaled_gemm` and `scaled_gemm.out`, in the order of their schemas.
struct ScaledCall {
  Tensor a, b, c, bias;
  ScaleTensors scales;
  Problem problem;

  explicit ScaledCall(Arguments& from) {
    a = from.tensor();
    scales.a = from.tensor();
    b = from.tensor();
    scales.b = from.tensor();
    problem.contract = from.text();
    c = from.optional_tensor();
    bias = from.optional_tensor();
    problem.alpha = from.real();
    problem.beta = from.real();
    problem.activation = from.optional_text();
    problem.continue_from_c = from.boolean();
    problem.stable = from.integer();
    problem.backend = from.optional_text();
    problem.variant = from.optional_text();
  }
  Tensor run(Tensor out) const {
    return multiply(problem, a, b, c, bias, std::move(out), {}, &scales);
  }
};

/// The arguments of `quantize`.
struct QuantizeCall {
  Tensor x;
  std::int64_t leaf, per;
  std::string k, scale_type, backend;

  explicit QuantizeCall(Arguments& from) {
    x = from.tensor();
    leaf = from.integer();
    per = from.integer();
    k = from.text();
    scale_type = from.text();
    backend = from.optional_text();
  }
  void check() const {
    if (leaf < 1 || leaf > std::int64_t{1} << 31) {
      refuse("leaf is " + std::to_string(leaf) + ": it must be from 1 to 2^31");
    }
    if (per != 1 && per != 128) {
      refuse("per is " + std::to_string(per) + ": a scale is that of 1 or 128 lines");
    }
    if (k != "cols" && k != "rows") refuse("k is \"" + k + "\": it must be \"cols\" or \"rows\"");
    if (scale_type != "fp32" && scale_type != "e8m0") {
      refuse("scale_type is \"" + scale_type + "\": it must be \"fp32\" or \"e8m0\"");
    }
  }
};

/// Runs the named backend, or the first one for the place that quantises.
template <class Run>
void run_on(const Place& place, const std::string& named, Run&& run) {
  if (!named.empty()) {
    const detgemm_backend_t* backend = nullptr;
    if (detgemm_backend_find(whole("backend", named), &backend) != DETGEMM_OK ||
        run(backend) != DETGEMM_OK) {
      refuse(detgemm_last_error());
    }
    return;
  }
  std::string refusals;
  for (std::size_t i = 0; i < detgemm_backend_count(); ++i) {
    const detgemm_backend_t* backend = detgemm_backend_at(i);
    detgemm_device_kind_t kind = DETGEMM_HOST;
    detgemm_backend_device_kind(backend, &kind);
    if (kind != place.kind) continue;
    const detgemm_status_t status = run(backend);
    if (status == DETGEMM_OK) return;
    if (status != DETGEMM_UNSUPPORTED && status != DETGEMM_UNAVAILABLE) {
      refuse(detgemm_last_error());
    }
    refusals += std::string("; ") + detgemm_last_error();
  }
  if (refusals.empty()) refusals = ": this build has no backend for it";
  refuse("no backend on " + name_of(place) + " quantises" + refusals);
}

std::int64_t parts(std::int64_t count, std::int64_t size) {
  return count / size + (count % size == 0 ? 0 : 1);
}

}  // namespace

void scaled_gemm(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const ScaledCall call(from);
  give(stack, call.run(Tensor()));
}

void scaled_gemm_out(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const ScaledCall call(from);
  Tensor out = from.tensor();
  refuse_forward_level("scaled_gemm.out");
  call.run(std::move(out));
}

void quantize(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments from(stack);
  const QuantizeCall call(from);
  call.check();
  const MatrixOf in(call.x, "x", Copies::allowed);
  const Description& x = in.description();
  if (x.dtype != DETGEMM_BF16 && x.dtype != DETGEMM_FP16 && x.dtype != DETGEMM_FP32) {
    refuse(std::string("x.dtype is ") + detgemm_dtype_name(x.dtype) +
           ": quantize takes bf16, fp16 and fp32");
  }
  const bool along = call.k == "cols";
  if (!along && x.sizes.size() != 2) {
    refuse("x has " + std::to_string(x.sizes.size()) +
           " dimensions: with k = \"rows\" it must have two, since leading dimensions are rows");
  }
  const std::int64_t blocks = parts(along ? in.rows() : in.cols(), call.per);
  const std::int64_t leaves = parts(along ? in.cols() : in.rows(), call.leaf);

  // Scales have the shape of x, with a scale in place of each block: rows one by one keep their
  // leading dimensions.
  std::vector<std::int64_t> sizes = {along ? blocks : leaves, along ? leaves : blocks};
  if (along && call.per == 1) {
    sizes.assign(x.sizes.begin(), x.sizes.end());
    sizes.back() = leaves;
  }
  Tensor out = empty(x.sizes, DETGEMM_E4M3, x.place);
  const bool wide = call.scale_type == "fp32";
  const detgemm_scale_type_t type = wide ? DETGEMM_SCALE_FP32 : DETGEMM_SCALE_E8M0;
  Tensor scales = empty_scales(sizes, type, x.place);

  const MatrixOf result(out, "out", Copies::refused);
  const detgemm_matrix_t to = result.output();
  detgemm_quantize_spec_t spec{};
  detgemm_quantize_spec_init(&spec, sizeof spec);
  spec.k = along ? DETGEMM_K_COLS : DETGEMM_K_ROWS;
  spec.leaf_k = call.leaf;
  spec.per = call.per;
  detgemm_scales_out_t made{};
  detgemm_scales_out_init(&made, sizeof made);
  made.type = type;
  check(aoti_torch_get_data_ptr(scales.get(), &made.data), "describe a result");
  made.blocks = blocks;
  made.leaves = leaves;
  made.stride = along ? leaves : 1;
  made.leaf_stride = along ? 1 : blocks;
  const CurrentStream stream(x.place);
  check_host(x.place);
  run_on(x.place, call.backend, [&](const detgemm_backend_t* backend) {
    return detgemm_quantize(backend, &stream.stream(), &spec, &in.input(), &to, &made);
  });
  give(stack, std::move(out));
  give(stack, std::move(scales), 1);
}

}  // namespace detgemm::torch_ops
