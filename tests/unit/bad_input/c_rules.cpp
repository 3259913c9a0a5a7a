// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstdint>

#include "tests/unit/bad_input/c_table.hpp"

namespace detgemm {
namespace {

constexpr CRow kRules[] = {{"size_zero",
                            R"(stream\.struct_size is 0: it must be the size of the struct)",
                            CALL{f.stream.struct_size = 0;
return f.run();
}  // namespace
}  // namespace detgemm
, {"size_short", R"(operands\.a\.struct_size is 40: .* from 48 to 4096)",
   CALL{f.view.struct_size = 40;
return f.run();
}
}
, {"size_odd", R"(spec\.struct_size is 57: .* multiple of 8)", CALL{f.spec.struct_size = 57;
return f.create();
}
}
, {"size_garbage", R"(operands\.d\.struct_size is 4294967295: )", CALL{f.d.struct_size = UINT32_MAX;
return f.run();
}
}
, {"size_of_info", R"(info\.struct_size is 8: )", CALL{f.info.struct_size = 8;
return f.run();
}
}
, {"size_of_contract", R"(spec\.contract\.struct_size is 1: )", CALL{f.contract.struct_size = 1;
return f.create();
}
}
, {"size_of_bias", R"(operands\.bias\.struct_size is 4: )", CALL{f.bias.struct_size = 4;
return f.run();
}
}
, {"size_of_plan_options", R"(options\.struct_size is 4: )", CALL{f.plan_options.struct_size = 4;
return f.create();
}
}
, {"size_of_gemm_options", R"(options\.struct_size is 0: )", CALL{f.gemm_options.struct_size = 0;
return f.gemm();
}
}
, {"size_of_runtime_options", R"(options\.struct_size is 7: )",
   CALL{f.runtime_options.struct_size = 7;
return detgemm_runtime_start(&f.runtime_options);
}
}
, {"init_size_zero", R"(struct_size is 0: it must be the size of the struct)",
   CALL{return detgemm_matrix_init(&f.d, 0);
}
}
, {"init_size_huge", R"(struct_size is 18446744073709551615: )",
   CALL{return detgemm_matrix_init(&f.d, SIZE_MAX);
}
}
, {"reserved_contract", R"(contract\.reserved is 5: it must be 0)", CALL{f.contract.reserved = 5;
return detgemm_contract_validate(&f.contract);
}
}
, {"reserved_operands", R"(operands\.reserved is 1: it must be 0)", CALL{f.operands.reserved = 1;
return f.combine();
}
}
, {"flag_serial_plan", R"(options\.serial_launch is 3: it must be 0 or 1)",
   CALL{f.plan_options.serial_launch = 3;
return f.create();
}
}
, {"flag_serial_gemm", R"(options\.serial_launch is -9: it must be 0 or 1)",
   CALL{f.gemm_options.serial_launch = -9;
return f.gemm();
}
}
, {"flag_spec", R"(spec\.continue_from_c is 2: it must be 0 or 1)", CALL{f.spec.continue_from_c = 2;
return f.create();
}
}
, {"flag_gemm", R"(options\.continue_from_c is -1: it must be 0 or 1)",
   CALL{f.gemm_options.continue_from_c = -1;
return f.gemm();
}
}
, {"threads_negative", "threads is -1: it must be from 0", CALL{f.runtime_options.threads = -1;
return detgemm_runtime_start(&f.runtime_options);
}
}
, {"threads_many", "threads is 2147483647: it must be from 0",
   CALL{f.runtime_options.threads = INT32_MAX;
return detgemm_runtime_start(&f.runtime_options);
}
}
, {"m_negative", "m is -1: it must not be negative",
   CALL{return detgemm_plan_describe(f.plan, -1, f.text.data(), f.text.size(), nullptr);
}
}
, {"kernel_m_negative", "m is -9223372036854775808: it must not be negative",
   CALL{return detgemm_plan_kernel(f.plan, INT64_MIN, f.text.data(), 64, nullptr);
}
}
, {"max_m_negative", "max_m is -3: it must not be negative",
   CALL{return detgemm_plan_workspace_size(f.plan, -3, &f.needed);
}
}
, {"fast_max_m_negative", "max_m is -4: it must not be negative",
   CALL{return detgemm_plan_fast_workspace_bound(f.plan, -4, &f.needed);
}
}
, {"k_negative", "k is -1: it must not be negative", CALL{std::int64_t leaves;
return detgemm_contract_leaves(&f.contract, -1, &leaves);
}
}
, {"variant_index", "index is 1: it must be less than 1",
   CALL{return detgemm_backend_variant_at(f.backend, &f.spec, 1, f.text.data(), 64, nullptr);
}
}
, {"buffer_short", "size is 4: the text needs 27 bytes",
   CALL{return detgemm_contract_text(&f.contract, f.text.data(), 4, &f.needed);
}
}
, {"buffer_of_none", "size is 0: the text needs 27 bytes",
   CALL{return detgemm_contract_text(&f.contract, f.text.data(), 0, &f.needed);
}
}
, {"buffer_null_with_size", "buffer is null: size is 64",
   CALL{return detgemm_contract_text(&f.contract, nullptr, 64, &f.needed);
}
}
, {"buffer_and_needed_null", "buffer and needed are null: one of them must",
   CALL{return detgemm_contract_text(&f.contract, nullptr, 0, nullptr);
}
}
, {"count_of_roots_huge", "count is 18446744073709551615: it must be a power of two",
   CALL{const std::array<const detgemm_const_matrix_t*, 1> roots{&f.view};
return detgemm_plan_combine(f.plan, nullptr, roots.data(), SIZE_MAX, &f.operands, nullptr, 0,
                            nullptr);
}
}
, {"count_of_roots_past_the_array", "count is 9223372036854775808: it must divide the 2 leaves",
   CALL{const std::array<const detgemm_const_matrix_t*, 1> roots{&f.view};
return detgemm_plan_combine(f.plan, nullptr, roots.data(), std::size_t{1} << 63, &f.operands,
                            nullptr, 0, nullptr);
}
}
,
}
;

}  // namespace

std::span<const CRow> c_rules() { return kRules; }

}  // namespace detgemm
