// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "detgemm/tuning.hpp"

namespace detgemm::test {

/// A tuning file for one product, written and read again: random kernels for random ranges of M,
/// whatever suits the ranges. Some rows are for other products.
struct RandomTuning {
  std::shared_ptr<const Tuning> file;
  std::string kernel;  ///< that it names for m rows, or empty
};
RandomTuning random_tuning(const Backend& backend, const GemmSpec& spec, std::int64_t m,
                           std::uint64_t key);

}  // namespace detgemm::test
