// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

/// C = A*B whose rows have the same bits whatever batch they ride in, under a written contract.
///
///   auto runtime  = detgemm::Runtime::start();
///   auto contract = detgemm::Contract::parse("hopper/bf16/chain->bf16");
///   auto status   = detgemm::gemm({}, a, b, d, *contract);
///
/// Types and views     types.hpp, matrix.hpp
/// Errors              status.hpp      Status, Result: a code and a sentence
/// What decides bits   contract.hpp    Contract: arithmetic, k-block, reduction, output
/// The problem         gemm_spec.hpp   GemmSpec (no M) and Operands
/// Doing it            plan.hpp        Plan, gemm
/// By whom             backend.hpp     Backend, backends(), find_backend
/// For tools           device.hpp, digest.hpp; runtime.hpp starts Kokkos where needed

#include "detgemm/backend.hpp"
#include "detgemm/contract.hpp"
#include "detgemm/device.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/gemm_spec.hpp"
#include "detgemm/matrix.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/runtime.hpp"
#include "detgemm/status.hpp"
#include "detgemm/types.hpp"
#include "detgemm/version.hpp"
