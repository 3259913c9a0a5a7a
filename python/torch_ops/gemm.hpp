// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "python/torch_ops/torch_abi.h"

/// The operators, with the calling convention of the stable ABI: arguments are taken from the
/// stack, the result goes to its first place. library.cpp has their schemas. A refusal is an
/// exception, before anything is written.
namespace detgemm::torch_ops {

using Boxed = void(StableIValue* stack, std::uint64_t arguments, std::uint64_t results);

Boxed gemm;
Boxed gemm_out;
Boxed accumulate;
Boxed linear;
Boxed bmm;
Boxed bmm_out;
Boxed grouped_gemm;
Boxed grouped_gemm_out;
Boxed grouped_accumulate;
Boxed snap;
Boxed scaled_gemm;
Boxed scaled_gemm_out;
Boxed quantize;
Boxed layer_log_probs;
Boxed logits_log_probs;
Boxed logits_gradient;
Boxed linear_log_prob;
Boxed linear_log_prob_backward;

}  // namespace detgemm::torch_ops
