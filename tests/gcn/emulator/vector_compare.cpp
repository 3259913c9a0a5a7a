// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/vector_alu.hpp"

namespace detgemm::gcn {

namespace {

template <class F>
void both(F, std::vector<Opcode>& table, const char* plain, const char* narrowing) {
  table.push_back({plain, compare<F, false>});
  table.push_back({narrowing, compare<F, true>});
}

// One comparison of one type: v_cmp_NAME_TYPE and v_cmpx_NAME_TYPE.
#define GCN_COMPARE(NAME, TYPE, T, EXPRESSION)                                                   \
  both([](T a, T b) { return (void)a, (void)b, (EXPRESSION); }, table, "v_cmp_" #NAME "_" #TYPE, \
       "v_cmpx_" #NAME "_" #TYPE);

#define GCN_INTEGER(TYPE, T)       \
  GCN_COMPARE(f, TYPE, T, false)   \
  GCN_COMPARE(lt, TYPE, T, a < b)  \
  GCN_COMPARE(eq, TYPE, T, a == b) \
  GCN_COMPARE(le, TYPE, T, a <= b) \
  GCN_COMPARE(gt, TYPE, T, a > b)  \
  GCN_COMPARE(ne, TYPE, T, a != b) \
  GCN_COMPARE(ge, TYPE, T, a >= b) \
  GCN_COMPARE(t, TYPE, T, true)

// lg is less or greater; an n in front is "not", true for NaN.
#define GCN_FLOAT(TYPE, T)                     \
  GCN_COMPARE(lt, TYPE, T, a < b)              \
  GCN_COMPARE(eq, TYPE, T, a == b)             \
  GCN_COMPARE(le, TYPE, T, a <= b)             \
  GCN_COMPARE(gt, TYPE, T, a > b)              \
  GCN_COMPARE(lg, TYPE, T, a<b || a> b)        \
  GCN_COMPARE(ge, TYPE, T, a >= b)             \
  GCN_COMPARE(o, TYPE, T, a == a && b == b)    \
  GCN_COMPARE(u, TYPE, T, a != a || b != b)    \
  GCN_COMPARE(nge, TYPE, T, !(a >= b))         \
  GCN_COMPARE(nlg, TYPE, T, !(a < b || a > b)) \
  GCN_COMPARE(ngt, TYPE, T, !(a > b))          \
  GCN_COMPARE(nle, TYPE, T, !(a <= b))         \
  GCN_COMPARE(neq, TYPE, T, !(a == b))         \
  GCN_COMPARE(nlt, TYPE, T, !(a < b))

}  // namespace

std::vector<Opcode> vector_compare_opcodes() {
  std::vector<Opcode> table;
  GCN_INTEGER(i16, i16)
  GCN_INTEGER(u16, u16)
  GCN_INTEGER(i32, i32)
  GCN_INTEGER(u32, u32)
  GCN_INTEGER(i64, i64)
  GCN_INTEGER(u64, u64)
  GCN_FLOAT(f32, float)
  return table;
}

}  // namespace detgemm::gcn
