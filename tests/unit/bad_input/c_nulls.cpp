// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstdint>

#include "detgemm/detgemm_tuning.h"
#include "tests/unit/bad_input/c_table.hpp"

namespace detgemm {
namespace {

constexpr CRow kNulls[] = {{"parse_text", "text is null: it must point to a contract's text",
                            CALL{return detgemm_contract_parse(nullptr, &f.contract);
}  // namespace
}  // namespace detgemm
, {"parse_out", "out is null: it must point to an initialised struct",
   CALL{return detgemm_contract_parse("hopper/bf16/chain", nullptr);
}
}
, {"make_out", "out is null", CALL{return detgemm_contract_make(0, 0, DETGEMM_CHAIN, 0, 0, nullptr);
}
}
, {"at_out", "out is null", CALL{return detgemm_contract_at(0, nullptr);
}
}
, {"validate", "contract is null", CALL{return detgemm_contract_validate(nullptr);
}
}
, {"text_contract", "contract is null",
   CALL{return detgemm_contract_text(nullptr, f.text.data(), f.text.size(), nullptr);
}
}
, {"canonical_contract", "contract is null",
   CALL{return detgemm_contract_canonical(nullptr, f.text.data(), f.text.size(), nullptr);
}
}
, {"digest_out", "digest is null", CALL{return detgemm_contract_digest(&f.contract, nullptr);
}
}
, {"equal_y", "y is null", CALL{std::int32_t equal;
return detgemm_contract_equal(&f.contract, nullptr, &equal);
}
}
, {"equal_out", "equal is null",
   CALL{return detgemm_contract_equal(&f.contract, &f.contract, nullptr);
}
}
, {"leaves_out", "leaves is null", CALL{return detgemm_contract_leaves(&f.contract, 1, nullptr);
}
}
, {"share_begin", "begin is null", CALL{std::int64_t end;
return detgemm_contract_rank_share(&f.contract, 2, 0, 1, nullptr, &end);
}
}
, {"k_block_out", "k_block is null", CALL{return detgemm_k_block(0, 0, nullptr);
}
}
, {"dtype_text", "text is null", CALL{detgemm_dtype_t t;
return detgemm_dtype_parse(nullptr, &t);
}
}
, {"dtype_out", "dtype is null", CALL{return detgemm_dtype_parse("bf16", nullptr);
}
}
, {"activation_out", "activation is null", CALL{return detgemm_activation_parse("relu", nullptr);
}
}
, {"find_name", "name is null", CALL{return detgemm_backend_find(nullptr, &f.backend);
}
}
, {"find_out", "backend is null", CALL{return detgemm_backend_find("reference", nullptr);
}
}
, {"first_spec", "spec is null",
   CALL{return detgemm_backend_first(nullptr, DETGEMM_HOST, &f.backend);
}
}
, {"first_out", "backend is null",
   CALL{return detgemm_backend_first(&f.spec, DETGEMM_HOST, nullptr);
}
}
, {"first_kind", R"(kind is unknown \(77\): it must be host \(0\), cuda \(1\) or hip \(2\))",
   CALL{return detgemm_backend_first(&f.spec, 77, &f.backend);
}
}
, {"cuts_contract", "contract is null", CALL{const int64_t lengths = 1;
return detgemm_contract_check_cuts(nullptr, &lengths, 1);
}
}
, {"cuts_lengths", "lengths is null: it must point to an array of 2 lengths",
   CALL{return detgemm_contract_check_cuts(&f.contract, nullptr, 2);
}
}
, {"available", "backend is null", CALL{return detgemm_backend_available(nullptr);
}
}
, {"supports_spec", "spec is null", CALL{return detgemm_backend_supports(f.backend, nullptr);
}
}
, {"supports_backend", "backend is null", CALL{return detgemm_backend_supports(nullptr, &f.spec);
}
}
, {"guarantees_out", "guarantees is null",
   CALL{return detgemm_backend_guarantees(f.backend, &f.contract, nullptr);
}
}
, {"variants_out", "count is null",
   CALL{return detgemm_backend_variant_count(f.backend, &f.spec, nullptr);
}
}
, {"device_kind_out", "kind is null", CALL{return detgemm_backend_device_kind(f.backend, nullptr);
}
}
, {"device_backend", "backend is null",
   CALL{return detgemm_backend_device_description(nullptr, nullptr, 0, &f.needed);
}
}
, {"spec", "spec is null", CALL{return detgemm_gemm_spec_validate(nullptr);
}
}
, {"spec_contract", R"(spec\.contract is null)", CALL{f.spec.contract = nullptr;
return f.create();
}
}
, {"create_backend", "backend is null", CALL{f.backend = nullptr;
return f.create();
}
}
, {"create_out", "plan is null",
   CALL{return detgemm_plan_create(f.backend, &f.spec, nullptr, nullptr);
}
}
, {"workspace_plan", "plan is null", CALL{return detgemm_plan_workspace_size(nullptr, 1, &f.needed);
}
}
, {"workspace_out", "bytes is null", CALL{return detgemm_plan_workspace_size(f.plan, 1, nullptr);
}
}
, {"fast_workspace_plan", "plan is null",
   CALL{return detgemm_plan_fast_workspace_size(nullptr, &f.operands, &f.needed);
}
}
, {"fast_workspace_operands", "operands is null",
   CALL{return detgemm_plan_fast_workspace_size(f.plan, nullptr, &f.needed);
}
}
, {"fast_workspace_out", "bytes is null",
   CALL{return detgemm_plan_fast_workspace_size(f.plan, &f.operands, nullptr);
}
}
, {"fast_workspace_bound_plan", "plan is null",
   CALL{return detgemm_plan_fast_workspace_bound(nullptr, 1, &f.needed);
}
}
, {"fast_workspace_bound_out", "bytes is null",
   CALL{return detgemm_plan_fast_workspace_bound(f.plan, 1, nullptr);
}
}
, {"run_plan", "plan is null",
   CALL{return detgemm_plan_run(nullptr, nullptr, &f.operands, nullptr, 0, nullptr);
}
}
, {"run_operands", "operands is null",
   CALL{return detgemm_plan_run(f.plan, nullptr, nullptr, nullptr, 0, nullptr);
}
}
, {"operands_a", R"(operands\.a is null)", CALL{f.operands.a = nullptr;
return f.run();
}
}
, {"operands_b", R"(operands\.b is null)", CALL{f.operands.b = nullptr;
return f.run();
}
}
, {"operands_c", R"(operands\.c is null)", CALL{f.operands.c = nullptr;
return f.run();
}
}
, {"operands_d", R"(operands\.d is null)", CALL{f.operands.d = nullptr;
return f.run();
}
}
, {"operands_bias", R"(operands\.bias is null)", CALL{f.operands.bias = nullptr;
return f.run();
}
}
, {"roots", "roots is null",
   CALL{return detgemm_plan_combine(f.plan, nullptr, nullptr, 2, &f.operands, nullptr, 0, nullptr);
}
}
, {"root", R"(roots\[1\] is null)",
   CALL{const std::array<const detgemm_const_matrix_t*, 2> roots{&f.view, nullptr};
return detgemm_plan_combine(f.plan, nullptr, roots.data(), 2, &f.operands, nullptr, 0, nullptr);
}
}
, {"describe_plan", "plan is null",
   CALL{return detgemm_plan_describe(nullptr, 1, nullptr, 0, &f.needed);
}
}
, {"kernel_plan", "plan is null",
   CALL{return detgemm_plan_kernel(nullptr, 1, nullptr, 0, &f.needed);
}
}
, {"plan_digest_out", "digest is null", CALL{return detgemm_plan_digest(f.plan, nullptr);
}
}
, {"plan_spec_out", "out is null", CALL{return detgemm_plan_spec(f.plan, nullptr);
}
}
, {"tuning_text", "text is null", CALL{detgemm_tuning_t * t;
return detgemm_tuning_parse(f.backend, nullptr, &t);
}
}
, {"tuning_path", "path is null", CALL{detgemm_tuning_t * t;
return detgemm_tuning_load(f.backend, nullptr, &t);
}
}
, {"tuning_out", "tuning is null", CALL{return detgemm_tuning_parse(f.backend, "x", nullptr);
}
}
, {"tuning_backend", "backend is null", CALL{detgemm_tuning_t * t;
return detgemm_tuning_load(nullptr, "x", &t);
}
}
, {"plan_options_out", "out is null", CALL{return detgemm_plan_options(f.plan, nullptr);
}
}
, {"gemm_a", "a is null",
   CALL{return detgemm_gemm(nullptr, nullptr, &f.view, &f.d, &f.contract, nullptr);
}
}
, {"gemm_b", "b is null",
   CALL{return detgemm_gemm(nullptr, &f.view, nullptr, &f.d, &f.contract, nullptr);
}
}
, {"gemm_d", "d is null",
   CALL{return detgemm_gemm(nullptr, &f.view, &f.view, nullptr, &f.contract, nullptr);
}
}
, {"gemm_contract", "contract is null",
   CALL{return detgemm_gemm(nullptr, &f.view, &f.view, &f.d, nullptr, nullptr);
}
}
, {"gemm_c", R"(options\.c is null)", CALL{f.gemm_options.beta = 2;
return f.gemm();
}
}
, {"digest_bytes_data", "data is null: it must point to 3 bytes", CALL{std::uint64_t digest;
return detgemm_digest_bytes(nullptr, 3, 0, &digest);
}
}
, {"digest_matrix", "matrix is null", CALL{std::uint64_t digest;
return detgemm_digest_matrix(nullptr, &digest);
}
}
, {"init_contract", "contract is null", CALL{return detgemm_contract_init(nullptr, 48);
}
}
, {"init_spec", "spec is null", CALL{return detgemm_gemm_spec_init(nullptr, 64);
}
}
,
}
;

}  // namespace

std::span<const CRow> c_nulls() { return kNulls; }

}  // namespace detgemm
