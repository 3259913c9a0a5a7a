// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that add in another order where two conditions meet: an operation and a stride, a stride
// and an address, an epilogue and a layout.

namespace detgemm::controls {
namespace {

constexpr std::string_view kCrossedProperty = "combinations";

bool by_columns(const ConstMatrix& v) {
  return v.row_stride == 1 && v.col_stride != 1 && v.rows > 1 && v.cols > 1;
}
/// Elements lie between the lines.
bool padded(const ConstMatrix& v) {
  return by_columns(v) ? v.col_stride > v.rows : v.rows > 1 && v.row_stride > v.cols;
}
std::uintptr_t address(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }
bool uses_beta(const Run& run) { return run.spec.beta != 0.0F; }

constexpr std::array kCrossedSwitches{
    Planted{"padded_transposed_b", "a transposed B with padded rows means another order",
            kCrossedProperty, kNarrowChain,
            [](const Run& run) {
              switch_if(run.spec.op_b == Op::transpose && padded(run.operands.b), run);
            }},
    Planted{"padded_columns_of_a", "an A by columns with padding means another order",
            kCrossedProperty, kNarrowChain,
            [](const Run& run) {
              switch_if(by_columns(run.operands.a) && padded(run.operands.a), run);
            }},
    Planted{"padded_columns_of_d", "a D by columns with padding means another order",
            kCrossedProperty, kNarrowChain,
            [](const Run& run) {
              switch_if(by_columns(run.operands.d) && padded(run.operands.d), run);
            }},
    Planted{"padded_c", "a C with padded rows means another order", kCrossedProperty, kNarrowChain,
            [](const Run& run) { switch_if(uses_beta(run) && padded(run.operands.c), run); }},
    Planted{"columns_of_c", "a C by columns means another order", kCrossedProperty, kNarrowChain,
            [](const Run& run) { switch_if(uses_beta(run) && by_columns(run.operands.c), run); }},
    Planted{"c_between_lines", "a C not at a multiple of 64 bytes means another order",
            kCrossedProperty, kNarrowChain,
            [](const Run& run) {
              switch_if(uses_beta(run) && address(run.operands.c.data) % 64 == 32, run);
            }},
    Planted{"a_at_128", "an A at 128 modulo 256 bytes means another order", kCrossedProperty,
            kNarrowChain,
            [](const Run& run) { switch_if(address(run.operands.a.data) % 256 == 128, run); }},
    Planted{"bias_not_aligned", "a bias not aligned to 16 bytes means another order",
            kCrossedProperty, kNarrowChain,
            [](const Run& run) {
              switch_if(run.spec.bias && address(run.operands.bias.data) % 16 != 0, run);
            }},
    Planted{"c_across_d", "a C by columns with a D by rows means another order", "layouts",
            kNarrowChain,
            [](const Run& run) {
              switch_if(uses_beta(run) && by_columns(run.operands.c) && !by_columns(run.operands.d),
                        run);
            }},
    Planted{"strided_c", "gaps between the rows of C mean another order", "strides", kNarrowChain,
            [](const Run& run) { switch_if(uses_beta(run) && padded(run.operands.c), run); }},
    Planted{"a_is_b", "A and B at one address mean another order", kCrossedProperty, kNarrowChain,
            [](const Run& run) { switch_if(run.operands.a.data == run.operands.b.data, run); }},
    Planted{
        "bias_and_transposed_a", "a bias with a transposed A means another order", kCrossedProperty,
        kNarrowChain,
        [](const Run& run) { switch_if(run.spec.bias && run.spec.op_a == Op::transpose, run); }},
    Planted{"beta_and_transposed_b", "beta with a transposed B means another order",
            kCrossedProperty, kNarrowChain,
            [](const Run& run) {
              switch_if(uses_beta(run) && run.spec.op_b == Op::transpose && run.spec.k > 16, run);
            }},
    Planted{
        "scaled_continue", "continue with alpha other than 1 means another order", kCrossedProperty,
        kNarrowChain,
        [](const Run& run) { switch_if(run.spec.continue_from_c && run.spec.alpha != 1.0F, run); }},
};

}  // namespace

std::span<const Planted> crossed_switches() { return kCrossedSwitches; }

}  // namespace detgemm::controls
