// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstring>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that write what they may only read, or read what is not theirs where only one layout
// shows it.

namespace detgemm::controls {
namespace {

/// Afterwards, the first byte of an operand is another one.
void spoil(const void* data) {
  auto* byte = static_cast<unsigned char*>(const_cast<void*>(data));
  *byte ^= 1U;
}

/// The element after a line of a stored operand enters every output, times zero; `enters` is asked
/// where that element lies.
void read_past(const Run& run, const ConstMatrix& v, bool reads) {
  // Only where there is padding: past the last line of a packed operand lies a guard.
  const bool padded = v.rows > 1 && v.col_stride == 1 && v.row_stride > v.cols;
  if (!reads || !padded) return compute_honestly(run);
  const float past = load_as_float(v.data, v.cols, v.dtype);
  with_own_epilogue(
      run, [&](const GemmArguments& g, std::int64_t row, std::int64_t col, float acc) {
        finish_element(g, row, col, arithmetic::add_rn(acc, arithmetic::mul_rn(past, 0.0F)));
      });
}

volatile unsigned char sink;

constexpr std::array kStrayFaults{
    Planted{"spoils_a", "a byte of A is written", "padding", kNarrowChain,
            [](const Run& run) {
              compute_honestly(run);
              spoil(run.operands.a.data);
            }},
    Planted{"spoils_b", "a byte of B is written", "padding", kNarrowChain,
            [](const Run& run) {
              compute_honestly(run);
              spoil(run.operands.b.data);
            }},
    Planted{"spoils_c", "a byte of C is written", "combinations", kNarrowChain,
            [](const Run& run) {
              compute_honestly(run);
              if (run.spec.reads_c() && run.operands.c.data != run.operands.d.data) {
                spoil(run.operands.c.data);
              }
            }},
    Planted{"spoils_bias", "a byte of the bias is written", "combinations", kNarrowChain,
            [](const Run& run) {
              compute_honestly(run);
              if (run.spec.bias) spoil(run.operands.bias.data);
            }},
    Planted{"reads_past_transposed_a",
            "the element after a row of a transposed A enters, times zero", "combinations",
            kNarrowChain,
            [](const Run& run) { read_past(run, run.operands.a, run.spec.op_a == Op::transpose); }},
    Planted{"reads_past_c", "the element after a row of C enters, times zero", "combinations",
            kNarrowChain,
            [](const Run& run) { read_past(run, run.operands.c, run.spec.beta != 0.0F); }},
    Planted{"reads_far_past_b", "a byte 1 KiB after the end of B is read", "run_to_run",
            kNarrowChain,
            [](const Run& run) {
              compute_honestly(run);
              const ConstMatrix& b = run.operands.b;
              if (b.col_stride != 1 || b.rows == 0) return;
              const auto end =
                  static_cast<std::size_t>((b.rows - 1) * b.row_stride + b.cols) * size_of(b.dtype);
              sink = static_cast<const unsigned char*>(b.data)[end + 1023];
            }},
    Planted{"writes_far_past_d", "a byte 1 KiB after the end of D is written", "run_to_run",
            kNarrowChain,
            [](const Run& run) {
              compute_honestly(run);
              const Matrix& d = run.operands.d;
              if (d.col_stride != 1 || d.rows == 0) return;
              const auto end =
                  static_cast<std::size_t>((d.rows - 1) * d.row_stride + d.cols) * size_of(d.dtype);
              static_cast<unsigned char*>(d.data)[end + 1023] = 0;
            }},
};

}  // namespace

std::span<const Planted> stray_accesses() { return kStrayFaults; }

}  // namespace detgemm::controls
