// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "tests/unit/bad_input/table.hpp"

namespace detgemm {
namespace {

constexpr auto kInvalid = Errc::invalid_argument;
constexpr std::int64_t kMax = INT64_MAX;

/// The address one byte further, which no element of 2 or 4 bytes may have.
template <class T>
T* off_by_one(T* data) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(data) + 1);
}

constexpr BadInput kRows[] = {
    // Pointers
    {"a_null", Call::run, kInvalid, R"(a\.data is null: the view has 4 x 32 elements)",
     [](Problem& p) { p.operands.a.data = nullptr; }},
    {"b_null", Call::run, kInvalid, R"(b\.data is null: the view has 32 x 6)",
     [](Problem& p) { p.operands.b.data = nullptr; }},
    {"c_null", Call::run, kInvalid, R"(c\.data is null: the view has 4 x 6)",
     [](Problem& p) { p.operands.c.data = nullptr; }},
    {"d_null", Call::run, kInvalid, R"(d\.data is null: the view has 4 x 6)",
     [](Problem& p) { p.operands.d.data = nullptr; }},
    {"bias_null", Call::run, kInvalid, R"(bias\.data is null: the plan adds a bias of 6)",
     [](Problem& p) { p.operands.bias.data = nullptr; }},
    {"a_misaligned", Call::run, kInvalid, R"(a\.data is 0x[0-9a-f]{16}: .* multiple of 2)",
     [](Problem& p) { p.operands.a.data = off_by_one(p.operands.a.data); }},
    {"c_misaligned", Call::run, kInvalid, R"(c\.data is 0x[0-9a-f]{16}: .* multiple of 4)",
     [](Problem& p) { p.operands.c.data = off_by_one(p.operands.c.data); }},
    {"d_misaligned", Call::run, kInvalid, R"(d\.data is 0x[0-9a-f]{16}: .* multiple of 4)",
     [](Problem& p) { p.operands.d.data = off_by_one(p.operands.d.data); }},
    {"bias_misaligned", Call::run, kInvalid, R"(bias\.data is 0x[0-9a-f]{16}: .* multiple of 4)",
     [](Problem& p) { p.operands.bias.data = off_by_one(p.operands.bias.data); }},
    {"a_beyond_address_space", Call::run, kInvalid,
     R"(a\.data is 0xfffffffffffffff0: 256 bytes .* end within the address space)",
     [](Problem& p) { p.operands.a.data = reinterpret_cast<void*>(UINTPTR_MAX - 15); }},
    {"bias_beyond_address_space", Call::run, kInvalid,
     R"(bias\.data is 0xfffffffffffffff0: 24 bytes .* end within the address space)",
     [](Problem& p) { p.operands.bias.data = reinterpret_cast<void*>(UINTPTR_MAX - 15); }},

    // The last address has no successor, so an array may not end behind it.
    {"a_ends_behind_last_address", Call::run, kInvalid,
     R"(a\.data is 0xffffffffffffff00: 256 bytes .* end within the address space)",
     [](Problem& p) { p.operands.a.data = reinterpret_cast<void*>(UINTPTR_MAX - 255); }},
    {"bias_ends_behind_last_address", Call::run, kInvalid,
     R"(bias\.data is 0xffffffffffffffe8: 24 bytes .* end within the address space)",
     [](Problem& p) { p.operands.bias.data = reinterpret_cast<void*>(UINTPTR_MAX - 23); }},

    // Extents
    {"a_rows_negative", Call::run, kInvalid, R"(a\.rows is -4: it must not be negative)",
     [](Problem& p) { p.operands.a.rows = -4; }},
    {"b_cols_least", Call::run, kInvalid, R"(b\.cols is -9223372036854775808: .* not be negative)",
     [](Problem& p) { p.operands.b.cols = INT64_MIN; }},
    {"d_rows_negative", Call::run, kInvalid, R"(d\.rows is -1: it must not be negative)",
     [](Problem& p) { p.operands.d.rows = -1; }},
    {"bias_size_negative", Call::run, kInvalid, R"(bias\.size is -6: it must be n = 6)",
     [](Problem& p) { p.operands.bias.size = -6; }},
    {"bias_size", Call::run, kInvalid, R"(bias\.size is 5: it must be n = 6)",
     [](Problem& p) { p.operands.bias.size = 5; }},
    {"a_rows", Call::run, kInvalid, R"(a is 3 x 32: it must be 4 x 32 \(m x k\))",
     [](Problem& p) { p.operands.a.rows = 3; }},
    {"a_cols", Call::run, kInvalid, R"(a is 4 x 31: it must be 4 x 32 \(m x k\))",
     [](Problem& p) { p.operands.a.cols = 31; }},
    {"a_untransposed", Call::run, kInvalid,
     R"(a is 4 x 32: it must be 32 x 4 \(k x m, transposed\))",
     [](Problem& p) { p.spec.op_a = Op::transpose; }},
    {"b_rows", Call::run, kInvalid, R"(b is 16 x 6: it must be 32 x 6 \(k x n\))",
     [](Problem& p) { p.operands.b.rows = 16; }},
    {"b_untransposed", Call::run, kInvalid,
     R"(b is 32 x 6: it must be 6 x 32 \(n x k, transposed\))",
     [](Problem& p) { p.spec.op_b = Op::transpose; }},
    {"c_rows", Call::run, kInvalid, R"(c is 1 x 6: it must be 4 x 6 \(m x n\))",
     [](Problem& p) { p.operands.c.rows = 1; }},
    {"c_forgotten", Call::run, kInvalid, R"(c is 0 x 0: it must be 4 x 6 \(m x n\))",
     [](Problem& p) { p.operands.c = {}; }},
    {"d_cols", Call::run, kInvalid, R"(d is 4 x 5: it must be 4 x 6 \(m x n\))",
     [](Problem& p) { p.operands.d.cols = 5; }},
    {"d_rows_other", Call::run, kInvalid, R"(c is 4 x 6: it must be 3 x 6 \(m x n\))",
     [](Problem& p) { p.operands.d.rows = 3; }},
    {"d_over_2_63", Call::run, kInvalid, R"(d is 2305843009213693952 x 6 .* bytes must fit 2\^63)",
     [](Problem& p) { p.operands.d.rows = std::int64_t{1} << 61; }},
    {"d_rows_greatest", Call::run, kInvalid, R"(d is 9223372036854775807 x 6 .* must fit 2\^63)",
     [](Problem& p) { p.operands.d.rows = kMax; }},
    {"a_bytes_over_2_63", Call::run, kInvalid,
     R"(a is 4 x 32 with strides \(4611686018427387904, 1\): its bytes must fit 2\^63)",
     [](Problem& p) { p.operands.a.row_stride = std::int64_t{1} << 62; }},

    // Strides
    {"a_row_stride_zero", Call::run, kInvalid,
     R"(a is 4 x 32 with strides \(0, 1\): one stride must be 1 and the other at least)",
     [](Problem& p) { p.operands.a.row_stride = 0; }},
    {"a_row_stride_negative", Call::run, kInvalid, R"(a is .* strides \(-32, 1\): one stride must)",
     [](Problem& p) { p.operands.a.row_stride = -32; }},
    {"a_row_stride_least", Call::run, kInvalid,
     R"(a is .* strides \(-9223372036854775808, 1\): one stride must)",
     [](Problem& p) { p.operands.a.row_stride = INT64_MIN; }},
    {"b_row_stride_short", Call::run, kInvalid, R"(b is 32 x 6 with strides \(5, 1\): one stride)",
     [](Problem& p) { p.operands.b.row_stride = 5; }},
    {"b_no_unit_stride", Call::run, kInvalid, R"(b is 32 x 6 with strides \(12, 2\): one stride)",
     [](Problem& p) { p.operands.b.row_stride = 12, p.operands.b.col_stride = 2; }},
    {"b_both_unit", Call::run, kInvalid, R"(b is 32 x 6 with strides \(1, 1\): one stride)",
     [](Problem& p) { p.operands.b.row_stride = 1; }},
    {"c_col_stride_zero", Call::run, kInvalid, R"(c is 4 x 6 with strides \(6, 0\): one stride)",
     [](Problem& p) { p.operands.c.col_stride = 0; }},
    {"d_broadcast", Call::run, kInvalid, R"(d is 4 x 6 with strides \(0, 1\): one stride)",
     [](Problem& p) { p.operands.d.row_stride = 0; }},

    // Types
    {"a_type", Call::run, kInvalid, R"(a\.dtype is fp16: the contract needs bf16)",
     [](Problem& p) { p.operands.a.dtype = DType::fp16; }},
    {"b_type", Call::run, kInvalid, R"(b\.dtype is e5m2: the contract needs bf16)",
     [](Problem& p) { p.operands.b.dtype = DType::e5m2; }},
    {"c_type", Call::run, kInvalid, R"(c\.dtype is bf16: beta needs fp32)",
     [](Problem& p) { p.operands.c.dtype = DType::bf16; }},
    {"d_type", Call::run, kInvalid, R"(d\.dtype is bf16: the contract needs fp32)",
     [](Problem& p) { p.operands.d.dtype = DType::bf16; }},
    {"bias_type", Call::run, kInvalid, R"(bias\.dtype is fp16: the plan needs fp32)",
     [](Problem& p) { p.operands.bias.dtype = DType::fp16; }},
    {"a_tf32_in_memory", Call::run, kInvalid, R"(a\.dtype is tf32: memory holds bf16)",
     [](Problem& p) { p.operands.a.dtype = DType::tf32; }},
    {"a_type_no_enumerator", Call::run, kInvalid, R"(a\.dtype is unknown \(77\): memory holds)",
     [](Problem& p) { p.operands.a.dtype = static_cast<DType>(77); }},
    {"d_type_negative", Call::run, kInvalid, R"(d\.dtype is unknown \(-1\): memory holds)",
     [](Problem& p) { p.operands.d.dtype = static_cast<DType>(-1); }},
    {"bias_type_no_enumerator", Call::run, kInvalid, R"(bias\.dtype is unknown.*needs fp32)",
     [](Problem& p) { p.operands.bias.dtype = static_cast<DType>(6); }},
    {"continue_type", Call::run, kInvalid, R"(c\.dtype is bf16: continue needs fp32)",
     [](Problem& p) {
       p.spec.contract.reduction = {};
       p.spec.continue_from_c = true;
       p.spec.beta = 0.0F;
       p.operands.c.dtype = DType::bf16;
     }},

    // Streams
    {"stream_of_another_device", Call::run, kInvalid,
     R"(stream\.kind is cuda: backend [a-z]+ needs host)",
     [](Problem& p) { p.stream.kind = DeviceKind::cuda; }},
    {"stream_no_enumerator", Call::run, kInvalid, R"(stream\.kind is unknown \(3\): .* needs host)",
     [](Problem& p) { p.stream.kind = static_cast<DeviceKind>(3); }},
};

}  // namespace

std::span<const BadInput> bad_views() { return kRows; }

}  // namespace detgemm
