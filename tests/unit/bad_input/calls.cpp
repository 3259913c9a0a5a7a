// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/bad_input/table.hpp"

namespace detgemm {
namespace {

constexpr auto kInvalid = Errc::invalid_argument;

constexpr BadInput kCombines[] = {
    {"of_a_chain", Call::combine, Errc::unsupported,
     R"(contract is ieee_fma/bf16/chain->fp32: only a tree has roots)",
     [](Problem& p) { p.spec.contract.reduction = {}; }},
    {"of_a_fold", Call::combine, Errc::unsupported,
     R"(contract is ieee_fma/bf16/fold:16->fp32: only a tree has roots)",
     [](Problem& p) { p.spec.contract.reduction.kind = ReductionKind::fold; }},
    {"no_roots", Call::combine, kInvalid, R"((roots\.size\(\)|count) is 0: .* power of two)",
     [](Problem& p) { p.roots.clear(); }},
    {"three_roots", Call::combine, kInvalid, R"((roots\.size\(\)|count) is 3: .* power of two)",
     [](Problem& p) { p.roots.push_back(p.roots[0]); }},
    {"more_roots_than_leaves", Call::combine, kInvalid,
     R"((roots\.size\(\)|count) is 4: it must divide the 2 leaves of k = 32)",
     [](Problem& p) {
       p.roots.insert(p.roots.end(), {p.roots[0], p.roots[1]});
     }},
    {"roots_that_split_a_leaf", Call::combine, kInvalid,
     R"((roots\.size\(\)|count) is 2: it must divide the 3 leaves of k = 33)",
     [](Problem& p) { p.spec.k = 33; }},
    {"root_null", Call::combine, kInvalid, R"(roots\[1\]\.data is null: the view has 4 x 6)",
     [](Problem& p) { p.roots[1].data = nullptr; }},
    {"root_rows", Call::combine, kInvalid, R"(roots\[0\] is 3 x 6: it must be 4 x 6 \(m x n\))",
     [](Problem& p) { p.roots[0].rows = 3; }},
    {"root_cols", Call::combine, kInvalid, R"(roots\[1\] is 4 x 5: it must be 4 x 6 \(m x n\))",
     [](Problem& p) { p.roots[1].cols = 5; }},
    {"root_type", Call::combine, kInvalid, R"(roots\[1\]\.dtype is bf16: combine needs fp32)",
     [](Problem& p) { p.roots[1].dtype = DType::bf16; }},
    {"root_stride", Call::combine, kInvalid, R"(roots\[0\] is 4 x 6 with strides \(3, 1\): one)",
     [](Problem& p) { p.roots[0].row_stride = 3; }},
    {"d_on_a_root", Call::combine, kInvalid,
     R"(d at .* overlaps roots\[1\] at .*: they must not share memory)",
     [](Problem& p) { p.operands.d.data = const_cast<void*>(p.roots[1].data); }},
    {"combine_d_null", Call::combine, kInvalid, R"(d\.data is null: the view has 4 x 6)",
     [](Problem& p) { p.operands.d.data = nullptr; }},
    {"combine_c_null", Call::combine, kInvalid, R"(c\.data is null: the view has 4 x 6)",
     [](Problem& p) { p.operands.c.data = nullptr; }},
    {"combine_stream", Call::combine, kInvalid, R"(stream\.kind is hip: backend .* needs host)",
     [](Problem& p) { p.stream.kind = DeviceKind::hip; }},
};

/// The one-call form has no K or N of its own: a bad view is named by what it stands for.
constexpr BadInput kOneCalls[] = {
    {"backend_unknown", Call::gemm, Errc::not_found, R"(backend is "quantum": this build has )",
     [](Problem& p) { p.backend = "quantum"; }},
    {"backend_with_space", Call::gemm, Errc::not_found, R"(backend is " ": this build has )",
     [](Problem& p) { p.backend = " "; }},
    {"backend_not_ascii", Call::gemm, Errc::not_found, R"(backend is "\?\?reference": this build)",
     [](Problem& p) { p.backend = "\xe2\x80reference"; }},
    {"backend_long", Call::gemm, Errc::not_found, R"(backend is "x{80}\.\.\.": this build has )",
     [](Problem& p) { p.backend = std::string(1000000, 'x'); }},
    {"no_backend_there", Call::gemm, Errc::unavailable,
     R"(no backend on hip is available to compute ieee_fma/)",
     [](Problem& p) { p.stream.kind = DeviceKind::hip; }},
    {"no_such_device", Call::gemm, kInvalid,
     R"(stream\.kind is unknown \(9\): it must be host \(0\), cuda \(1\) or hip \(2\))",
     [](Problem& p) { p.stream.kind = static_cast<DeviceKind>(9); }},
    {"one_call_k_negative", Call::gemm, kInvalid, R"(k is -32: it must not be negative)",
     [](Problem& p) { p.operands.a.cols = -32; }},
    {"one_call_n_negative", Call::gemm, kInvalid, R"(n is -6: it must not be negative)",
     [](Problem& p) { p.operands.d.cols = -6; }},
    {"one_call_bias_null", Call::gemm, kInvalid,
     R"(bias\.data is null and bias\.size is 6: a bias that is not used has size 0)",
     [](Problem& p) { p.operands.bias.data = nullptr; }},
    {"one_call_contract", Call::gemm, kInvalid,
     R"(contract version is 7: this library has version 1)",
     [](Problem& p) { p.spec.contract.version = 7; }},
};

}  // namespace

std::span<const BadInput> bad_combines() { return kCombines; }
std::span<const BadInput> bad_one_calls() { return kOneCalls; }

}  // namespace detgemm
