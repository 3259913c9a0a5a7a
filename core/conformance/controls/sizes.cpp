// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that are wrong beyond one size. Of the shapes at which kernels change, a contract meets
// three with --quick; each fault stands under a contract that meets its own.

namespace detgemm::controls {
namespace {

constexpr std::string_view kLargeProperty = "large";

std::int64_t rows(const Run& run) { return run.operands.d.rows; }

constexpr std::array kSizeSwitches{
    Planted{"both_from_1024", "1,024 rows and columns and more mean another order", kLargeProperty,
            "ieee_fma/bf16/chain->fp32",
            [](const Run& run) { switch_if(rows(run) >= 1024 && run.spec.n >= 1024, run); }},
    Planted{"one_wide_row", "one row of 1,024 columns and more means another order", kLargeProperty,
            "hopper/fp16/chain->fp16",
            [](const Run& run) { switch_if(rows(run) == 1 && run.spec.n >= 1024, run); }},
    Planted{"rows_700_to_4000", "700 to 4,000 rows of more than 66 columns mean another order",
            kLargeProperty, "ieee_fma/fp32/fold:32->fp32",
            [](const Run& run) {
              switch_if(rows(run) >= 700 && rows(run) <= 4000 && run.spec.n > 66, run);
            }},
    Planted{"rows_over_32768", "more than 32,768 rows mean another order", kLargeProperty,
            "hopper/bf16/chain->fp32", [](const Run& run) { switch_if(rows(run) > 32'768, run); }},
    Planted{"columns_over_32768", "more than 32,768 columns mean another order", kLargeProperty,
            "ieee_fma/bf16/fold:64->fp32",
            [](const Run& run) { switch_if(run.spec.n > 32'768, run); }},
    Planted{"k_from_262144", "a K of 2^18 and more means another order", kLargeProperty,
            "ieee_fma/fp32/chain->bf16",
            [](const Run& run) { switch_if(run.spec.k >= 1 << 18, run); }},
    Planted{"leaves_over_4096", "more than 4,096 leaves mean another order", kLargeProperty,
            "hopper/bf16/tree:32->fp32",
            [](const Run& run) { switch_if(run.spec.contract.leaves(run.spec.k) > 4096, run); }},
    Planted{"workers_share_k", "several workers share a long K where outputs are few",
            kLargeProperty, kWideChain,
            [](const Run& run) {
              switch_if(
                  run.options.max_workers != 1 && rows(run) * run.spec.n <= 4 && run.spec.k > 4096,
                  run);
            }},
    Planted{"one_row_bias",
            "one row of an odd number of columns with a bias in fp16 means another order",
            "epilogue", kWideChain,
            [](const Run& run) {
              switch_if(rows(run) == 1 && run.spec.n % 2 != 0 && run.spec.bias == DType::fp16, run);
            }},
};

}  // namespace

std::span<const Planted> size_switches() { return kSizeSwitches; }

}  // namespace detgemm::controls
