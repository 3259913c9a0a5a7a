// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "detgemm/backend.hpp"
#include "detgemm/detgemm.h"
#include "detgemm/gemm_spec.hpp"

namespace detgemm::capi {

/// The C structs as their C++ counterparts. `what` names the argument in a sentence.
Result<Contract> contract_of(std::string_view what, const detgemm_contract_t* given);
detgemm_contract_t c_contract(const Contract& contract);
DETGEMM_API Result<GemmSpec> spec_of(std::string_view what, const detgemm_gemm_spec_t* given);
DETGEMM_API Result<Stream> stream_of(const detgemm_stream_t* given);
DETGEMM_API Result<ConstMatrix> matrix_of(std::string_view what,
                                          const detgemm_const_matrix_t* given);
Result<Matrix> matrix_of(std::string_view what, const detgemm_matrix_t* given);
Result<BlockScales> scales_of(std::string_view what, const detgemm_block_scales_t* given);
Result<ConstVector> vector_of(std::string_view what, const detgemm_vector_t* given);

DETGEMM_API Result<PlanOptions> plan_options_of(std::string_view what,
                                                const detgemm_plan_options_t* given);

/// 0 or 1, or a sentence.
DETGEMM_API Result<bool> flag_of(std::string_view what, std::int32_t given);

/// Which of the operands a call looks at.
enum class Inputs { a_and_b, none };
DETGEMM_API Result<Operands> operands_of(const GemmSpec& spec, const detgemm_operands_t* given,
                                         Inputs inputs);

}  // namespace detgemm::capi
