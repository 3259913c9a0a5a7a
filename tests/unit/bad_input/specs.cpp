// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/bad_input/table.hpp"

namespace detgemm {
namespace {

constexpr auto kInvalid = Errc::invalid_argument;

constexpr BadInput kRows[] = {
    // Sizes
    {"n_negative", Call::create, kInvalid, R"(n is -6: it must not be negative)",
     [](Problem& p) { p.spec.n = -6; }},
    {"k_negative", Call::create, kInvalid, R"(k is -1: it must not be negative)",
     [](Problem& p) { p.spec.k = -1; }},
    {"k_least", Call::create, kInvalid, R"(k is -9223372036854775808: it must not be negative)",
     [](Problem& p) { p.spec.k = INT64_MIN; }},
    {"n_times_k", Call::create, kInvalid,
     R"(n is 4294967296 and k is 2147483648: n \* k must fit 2\^63)",
     [](Problem& p) { p.spec.n = std::int64_t{1} << 32, p.spec.k = std::int64_t{1} << 31; }},
    {"n_and_k_greatest", Call::create, kInvalid, R"(n is 9223372036854775807 and k is .* 2\^63)",
     [](Problem& p) { p.spec.n = p.spec.k = INT64_MAX; }},

    // Enumerations out of range
    {"op_a", Call::create, kInvalid, R"(op_a is 2: it must be none \(0\) or transpose \(1\))",
     [](Problem& p) { p.spec.op_a = static_cast<Op>(2); }},
    {"op_b", Call::create, kInvalid, R"(op_b is -1: it must be none \(0\) or transpose \(1\))",
     [](Problem& p) { p.spec.op_b = static_cast<Op>(-1); }},
    {"activation", Call::create, kInvalid, R"(activation is 5: it must be none \(0\), relu \(1\))",
     [](Problem& p) { p.spec.activation = static_cast<Activation>(5); }},
    {"activation_negative", Call::create, kInvalid, R"(activation is -2147483648: it must be none)",
     [](Problem& p) { p.spec.activation = static_cast<Activation>(INT32_MIN); }},
    {"bias_tf32", Call::create, kInvalid, R"(bias is tf32: it must be bf16, fp16 or fp32)",
     [](Problem& p) { p.spec.bias = DType::tf32; }},
    {"bias_e4m3", Call::create, kInvalid, R"(bias is e4m3: it must be bf16, fp16 or fp32)",
     [](Problem& p) { p.spec.bias = DType::e4m3; }},
    {"bias_no_enumerator", Call::create, kInvalid, R"(bias is unknown \(99\): it must be bf16)",
     [](Problem& p) { p.spec.bias = static_cast<DType>(99); }},

    // Scalars
    {"alpha_nan", Call::create, kInvalid, R"(alpha is -?nan: it must be finite)",
     [](Problem& p) { p.spec.alpha = __builtin_nanf(""); }},
    {"alpha_infinite", Call::create, kInvalid, R"(alpha is -inf: it must be finite)",
     [](Problem& p) { p.spec.alpha = -__builtin_inff(); }},
    {"beta_nan", Call::create, kInvalid, R"(beta is -?nan: it must be finite)",
     [](Problem& p) { p.spec.beta = __builtin_nanf(""); }},
    {"beta_infinite_one_call", Call::gemm, kInvalid, R"(beta is inf: it must be finite)",
     [](Problem& p) { p.spec.beta = __builtin_inff(); }},

    // continue
    {"continue_with_tree", Call::create, Errc::unsupported,
     R"(continue_from_c is set and the contract is ieee_fma/bf16/tree:16->fp32: a tree's shape)",
     [](Problem& p) { p.spec.continue_from_c = true, p.spec.beta = 0.0F; }},
    {"continue_with_beta", Call::create, kInvalid, R"(beta is 0\.5.*: continue_from_c .* beta = 0)",
     [](Problem& p) { p.spec.continue_from_c = true, p.spec.contract.reduction = {}; }},
    {"continue_with_beta_nan", Call::create, kInvalid, R"(beta is -?nan: it must be finite)",
     [](Problem& p) {
       p.spec.continue_from_c = true;
       p.spec.contract.reduction = {};
       p.spec.beta = __builtin_nanf("");
     }},

    // The contract's own rules
    {"arithmetic", Call::create, kInvalid,
     R"(contract arithmetic is unknown \(77\): it must be from ieee_fma \(0\) to)",
     [](Problem& p) { p.spec.contract.arithmetic = static_cast<Arithmetic>(77); }},
    {"arithmetic_negative", Call::create, kInvalid, R"(contract arithmetic is unknown \(-1\): it)",
     [](Problem& p) { p.spec.contract.arithmetic = static_cast<Arithmetic>(-1); }},
    {"input_without_step", Call::create, kInvalid,
     R"(contract input is fp32: hopper is defined for bf16, fp16, tf32, e4m3, e5m2)",
     [](Problem& p) {
       p.spec.contract.arithmetic = Arithmetic::hopper;
       p.spec.contract.input = DType::fp32;
     }},
    {"input_no_enumerator", Call::create, kInvalid, R"(contract input is unknown \(6\): ieee_fma)",
     [](Problem& p) { p.spec.contract.input = static_cast<DType>(6); }},
    {"k_block", Call::create, kInvalid, R"(contract k_block is 2: ieee_fma/bf16 fuses 1 products)",
     [](Problem& p) { p.spec.contract.k_block = 2; }},
    {"k_order", Call::create, kInvalid, R"(contract k_order is 1: only ascending \(0\))",
     [](Problem& p) { p.spec.contract.k_order = static_cast<KOrder>(1); }},
    {"rounding", Call::create, kInvalid, R"(contract rounding is 3: only nearest_even \(0\))",
     [](Problem& p) { p.spec.contract.rounding = static_cast<Rounding>(3); }},
    {"version", Call::create, kInvalid, R"(contract version is 2: this library has version 1)",
     [](Problem& p) { p.spec.contract.version = 2; }},
    {"version_zero", Call::create, kInvalid, R"(contract version is 0: this library has version 1)",
     [](Problem& p) { p.spec.contract.version = 0; }},
    {"output_tf32", Call::create, kInvalid, R"(contract output is tf32: it must be bf16, fp16)",
     [](Problem& p) { p.spec.contract.output = DType::tf32; }},
    {"output_no_enumerator", Call::create, kInvalid,
     R"(contract output is unknown \(-2\): it must)",
     [](Problem& p) { p.spec.contract.output = static_cast<DType>(-2); }},
    {"reduction", Call::create, kInvalid, R"(contract reduction is 4: it must be chain \(0\))",
     [](Problem& p) { p.spec.contract.reduction.kind = static_cast<ReductionKind>(4); }},
    {"chain_with_leaf", Call::create, kInvalid, R"(contract leaf is 16: chain has no leaves)",
     [](Problem& p) { p.spec.contract.reduction.kind = ReductionKind::chain; }},
    {"leaf_zero", Call::create, kInvalid, R"(contract leaf is 0: it must be a multiple of)",
     [](Problem& p) { p.spec.contract.reduction.leaf_k = 0; }},
    {"leaf_negative", Call::create, kInvalid, R"(contract leaf is -16: it must be a multiple of)",
     [](Problem& p) { p.spec.contract.reduction.leaf_k = -16; }},
    {"leaf_over_2_31", Call::create, kInvalid, R"(contract leaf is 2147483649: .* and 2\^31)",
     [](Problem& p) { p.spec.contract.reduction.leaf_k = kMaxLeaf + 1; }},
    {"leaf_not_of_k_blocks", Call::create, kInvalid,
     R"(contract leaf is 24: it must be a multiple of hopper/bf16's k_block 16)",
     [](Problem& p) {
       p.spec.contract.arithmetic = Arithmetic::hopper;
       p.spec.contract.k_block = 16;
       p.spec.contract.reduction.leaf_k = 24;
     }},

    // Choices
    {"max_workers", Call::create, kInvalid,
     R"(max_workers is -2: it must be 0 \(all\) or positive)",
     [](Problem& p) { p.options.max_workers = -2; }},
    {"stable", Call::create, kInvalid,
     R"(stable is unknown \(3\): it must be none \(0\), a \(1\) or b \(2\))",
     [](Problem& p) { p.options.stable = static_cast<Stable>(3); }},
    {"stable_negative", Call::create, kInvalid, R"(stable is unknown \(-1\): it must be none)",
     [](Problem& p) { p.options.stable = static_cast<Stable>(-1); }},
    {"variant", Call::create, Errc::not_found, R"(variant is "warp": [a-z]+ has .*scalar.* for)",
     [](Problem& p) { p.options.variant = "warp"; }},
    {"variant_not_ascii", Call::create, Errc::not_found, R"(variant is "\?\?\?scalar": )",
     [](Problem& p) { p.options.variant = "\xc3\xa9\x01scalar"; }},
    {"variant_with_space", Call::create, Errc::not_found, R"(variant is "scalar ": )",
     [](Problem& p) { p.options.variant = "scalar "; }},
    {"variant_long", Call::create, Errc::not_found, R"(variant is "v{80}\.\.\.": )",
     [](Problem& p) { p.options.variant = std::string(100000, 'v'); }},
};

}  // namespace

std::span<const BadInput> bad_specs() { return kRows; }

}  // namespace detgemm
