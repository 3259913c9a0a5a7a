// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/bad_input/table.hpp"

namespace detgemm {
namespace {

/// One row of D, C and A; the row strides, which nothing may look at, are as odd as they can be.
void one_row(Problem& p) {
  p.operands.d.rows = p.operands.c.rows = p.operands.a.rows = 1;
  p.operands.d.row_stride = INT64_MAX;
  p.operands.c.row_stride = INT64_MIN;
  p.operands.a.row_stride = 0;
}

void no_rows(Problem& p) {
  p.operands.d.rows = p.operands.c.rows = p.operands.a.rows = 0;
  for (ConstMatrix& root : p.roots) root.rows = 0;
}

void no_products(Problem& p) {
  p.spec.k = 0;
  p.operands.a.cols = 0;
  p.operands.b.rows = 0;
}

constexpr OddInput kRows[] = {
    {"as_it_is", Call::run, [](Problem&) {}},
    {"combine_as_it_is", Call::combine, [](Problem&) {}},
    {"one_call_as_it_is", Call::gemm, [](Problem&) {}},
    {"one_row_any_stride", Call::run, one_row},
    {"d_is_c", Call::run, [](Problem& p) { p.operands.c.data = p.operands.d.data; }},
    {"d_is_c_in_one_row", Call::run,
     [](Problem& p) {
       one_row(p);
       p.operands.c.data = p.operands.d.data;
     }},
    {"no_rows", Call::run, no_rows},
    {"no_rows_combine", Call::combine, no_rows},
    {"no_rows_one_call", Call::gemm, no_rows},
    {"no_rows_no_pointers", Call::run,
     [](Problem& p) {
       no_rows(p);
       p.operands.a.data = p.operands.c.data = nullptr;
     }},
    {"no_columns", Call::run,
     [](Problem& p) {
       p.spec.n = p.operands.b.cols = p.operands.c.cols = p.operands.d.cols = 0;
       p.operands.bias = {nullptr, 0, DType::fp32};
     }},
    {"no_products", Call::run, no_products},
    {"no_products_no_pointers", Call::run,
     [](Problem& p) {
       no_products(p);
       p.operands.a.data = p.operands.b.data = nullptr;
     }},
    {"no_products_one_call", Call::gemm, no_products},
    {"beta_minus_zero_reads_no_c", Call::run,
     [](Problem& p) {
       p.spec.beta = -0.0F;
       p.operands.c = {};
     }},
    {"backend_name_empty", Call::gemm, [](Problem& p) { p.backend = ""; }},
    {"combine_without_a_and_b", Call::combine,
     [](Problem& p) { p.operands.a = p.operands.b = ConstMatrix{}; }},
    {"combine_one_root", Call::combine, [](Problem& p) { p.roots.pop_back(); }},
};

}  // namespace

std::span<const OddInput> odd_inputs() { return kRows; }

}  // namespace detgemm
