// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/support/problem.hpp"

namespace detgemm {

/// The same call through C++ and through the C interface, so that one table tests both.
enum class Call { create, run, combine, gemm };

/// Makes the call on a plan of `backend` (gemm: on the registry's `problem.backend`).
Status call_cpp(Call call, const Backend& backend, const Problem& problem);
Status call_c(Call call, const Backend& backend, const Problem& problem);

}  // namespace detgemm
