// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that are wrong where an extent or a stride is of a special kind, or that keep or undo
// what they should not touch.

namespace detgemm::controls {
namespace {

constexpr std::string_view kWideFold = "ieee_fma/fp32/fold:64->fp32";

bool in_tiles(const Run& run, std::int64_t tile) {
  return run.operands.d.rows % tile == 0 && run.spec.n % tile == 0 && run.spec.k % tile == 0 &&
         run.spec.k > 0;
}

/// The offset of the last element.
std::int64_t reach(const ConstMatrix& x) {
  return std::max<std::int64_t>(x.rows - 1, 0) * x.row_stride +
         std::max<std::int64_t>(x.cols - 1, 0) * x.col_stride;
}
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

/// The copy of B that an earlier call has made is taken for this one's, if address and shape agree.
void keep_b(const Run& run) {
  thread_local const void* kept = nullptr;
  thread_local std::vector<std::uint8_t> copy;
  thread_local std::array<std::int64_t, 4> shape{};
  const ConstMatrix b = run.operands.b;
  const std::array<std::int64_t, 4> now{b.rows, b.cols, b.row_stride, b.col_stride};
  const std::size_t bytes = static_cast<std::size_t>(reach(b) + 1) * size_of(b.dtype);
  if (bytes > (std::size_t{1} << 20) || run.spec.k == 0) return compute_honestly(run);
  if (kept != b.data || shape != now) {
    copy.resize(bytes);
    std::memcpy(copy.data(), b.data, bytes);
    kept = b.data;
    shape = now;
  }
  Operands operands = run.operands;
  operands.b.data = copy.data();
  compute_honestly({run.spec, run.options, operands, run.workspace});
}

/// Writes another byte there, and then the old one.
void disturb(const void* at, std::int64_t offset) {
  volatile auto* byte = static_cast<volatile std::uint8_t*>(const_cast<void*>(at)) + offset;
  const std::uint8_t before = *byte;
  *byte = static_cast<std::uint8_t>(before ^ 0x55U);
  *byte = before;
}

void disturb_a(const Run& run) {
  if (run.operands.a.rows > 0 && run.spec.k > 0) disturb(run.operands.a.data, 0);
  compute_honestly(run);
}

void disturb_gaps(const Run& run) {
  compute_honestly(run);
  const Matrix& d = run.operands.d;
  const auto size = static_cast<std::int64_t>(size_of(d.dtype));
  if (d.col_stride != 1 || d.row_stride <= d.cols) return;
  for (std::int64_t i = 0; i + 1 < d.rows; ++i) {
    disturb(d.data, (i * d.row_stride + d.cols) * size);
  }
}

void disturb_far(const Run& run) {
  compute_honestly(run);
  const Matrix& d = run.operands.d;
  if (d.rows == 0 || d.cols == 0) return;
  disturb(d.data, (reach(d) + 1) * static_cast<std::int64_t>(size_of(d.dtype)) + 200'000);
}

/// Each fma as a product and a sum in double, rounded to double and then to fp32.
void fma_in_double(const Run& run) {
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      float acc = start_value(g, row, col);
      for (std::int64_t k = 0; k < g.k; ++k) {
        const double a = step.load(g.a, row * g.as.row + k * g.as.col);
        const double b = step.load(g.b, k * g.bs.row + col * g.bs.col);
        acc = static_cast<float>(a * b + static_cast<double>(acc));
      }
      finish_element(g, row, col, acc);
    });
  });
}

constexpr std::array kTurningFaults{
    Planted{"whole_tiles_32", "M, N and K in whole tiles of 32 mean another order", "large",
            kWideChain, [](const Run& run) { switch_if(in_tiles(run, 32), run); }},
    Planted{"whole_tiles_128", "M, N and K in whole tiles of 128 mean another order", "large",
            kWideChain, [](const Run& run) { switch_if(in_tiles(run, 128), run); }},
    Planted{"a_in_32_bits", "an A that spans 2^31 elements means another order", "strides",
            kNarrowChain, [](const Run& run) { switch_if(reach(run.operands.a) > kMaxInt, run); }},
    Planted{"b_in_32_bits", "a B that spans 2^31 elements means another order", "strides",
            kNarrowChain, [](const Run& run) { switch_if(reach(run.operands.b) > kMaxInt, run); }},
    Planted{"c_in_32_bits", "a C that spans 2^31 elements means another order", "strides",
            kNarrowChain, [](const Run& run) { switch_if(reach(run.operands.c) > kMaxInt, run); }},
    Planted{"d_in_32_bits", "a D that spans 2^31 elements means another order", "strides",
            kNarrowChain, [](const Run& run) { switch_if(reach(run.operands.d) > kMaxInt, run); }},
    Planted{"leaf_128", "a LEAF of 128 is taken for 64", "reference", kWideFold,
            [](const Run& run) {
              Reduction reduction = run.spec.contract.reduction;
              if (reduction.leaf_k == 128) reduction.leaf_k = 64;
              compute_with(run, reduction);
            }},
    Planted{"leaf_512", "a LEAF of 512 is taken for 256", "reference", kWideFold,
            [](const Run& run) {
              Reduction reduction = run.spec.contract.reduction;
              if (reduction.leaf_k == 512) reduction.leaf_k = 256;
              compute_with(run, reduction);
            }},
    Planted{"keeps_b", "a copy of B is found again by its address and shape", "run_to_run",
            kNarrowChain, keep_b},
    Planted{"forced_continue", "a forced kernel that continues from C adds in another order",
            "variants", kNarrowChain,
            [](const Run& run) {
              switch_if(!run.options.variant.empty() && run.spec.continue_from_c, run);
            }},
    Planted{"forced_padded_b", "a forced kernel with a padded transposed B adds in another order",
            "variants", kNarrowChain,
            [](const Run& run) {
              const ConstMatrix& b = run.operands.b;
              const bool padded =
                  std::max(b.row_stride, b.col_stride) > (b.row_stride == 1 ? b.rows : b.cols);
              switch_if(!run.options.variant.empty() && run.spec.op_b == Op::transpose && padded,
                        run);
            }},
    Planted{"disturbs_a", "a byte of A is changed and restored", "run_to_run", kNarrowChain,
            disturb_a},
    Planted{"disturbs_gaps", "bytes between the rows of D are changed and restored", "padding",
            kNarrowChain, disturb_gaps},
    Planted{"disturbs_far", "a byte 200,000 bytes after D is changed and restored", "run_to_run",
            kNarrowChain, disturb_far},
    Planted{"fma_in_double", "an fma is rounded to double and then to fp32", "specials", kWideChain,
            fma_in_double},
    Planted{"stride_in_16_bits", "a D whose rows are 32,768 elements apart means another order",
            "padding", kNarrowChain,
            [](const Run& run) { switch_if(run.operands.d.row_stride >= 32'768, run); }},
};

}  // namespace

std::span<const Planted> turning_faults() { return kTurningFaults; }

Fault many_roots() {
  return {"many_roots", compute_honestly, [](std::span<const float> roots) {
            if (roots.size() >= 16) {
              float sum = roots[0];
              for (std::size_t i = 1; i < roots.size(); ++i)
                sum = arithmetic::add_rn(sum, roots[i]);
              return sum;
            }
            std::vector<float> level(roots.begin(), roots.end());
            for (; level.size() > 1; level.resize(level.size() / 2)) {
              for (std::size_t i = 0; 2 * i + 1 < level.size(); ++i) {
                level[i] = arithmetic::add_rn(level[2 * i], level[2 * i + 1]);
              }
            }
            return level[0];
          }};
}

}  // namespace detgemm::controls
