// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

/// C = A*B whose rows have the same bits whatever batch they are part of, under a written contract.
/// This header includes the whole C++ interface; the backends' own headers (cuda.hpp, hip.hpp,
/// reference.hpp) and config.hpp, which says which of them this build has, are included separately.
///
///   auto runtime  = detgemm::Runtime::start();
///   auto contract = detgemm::Contract::parse("hopper/bf16/chain->bf16");
///   auto status   = detgemm::gemm({}, a, b, d, *contract);
///
///   types.hpp, matrix.hpp    types, streams, workspaces, and views of the caller's memory
///   status.hpp               Status and Result: a code and a sentence
///   contract.hpp             Contract: everything that decides bits
///   gemm_spec.hpp            GemmSpec, a problem without its M, and Operands, the arrays of a run
///   plan.hpp                 Plan and gemm, which compute
///   grouped.hpp              GroupedPlan: many products in one call
///   log_prob.hpp             log-probabilities of tokens, from hidden states or from logits
///   workspace.hpp            HostWorkspace: the scratch memory that a plan's run on the host needs
///   backend.hpp              Backend, first_backend and find_backend: what they compute with
///   tuning.hpp               measured choices of kernels, from a file
///   snap.hpp                 operands of snap contracts, snapped once
///   scales.hpp               the scales that contracts of `scaled` bring
///   quantize.hpp             operands of those, made from wider numbers
///   bf16.hpp                 fp32 to bf16 and back
///   runtime.hpp              Runtime, which starts Kokkos for the reference
///   version.hpp              the version of the library
///   device.hpp, digest.hpp   for tools

#include "detgemm/backend.hpp"
#include "detgemm/bf16.hpp"
#include "detgemm/contract.hpp"
#include "detgemm/device.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/gemm_spec.hpp"
#include "detgemm/grouped.hpp"
#include "detgemm/log_prob.hpp"
#include "detgemm/matrix.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/quantize.hpp"
#include "detgemm/runtime.hpp"
#include "detgemm/scales.hpp"
#include "detgemm/snap.hpp"
#include "detgemm/status.hpp"
#include "detgemm/tuning.hpp"
#include "detgemm/types.hpp"
#include "detgemm/version.hpp"
#include "detgemm/workspace.hpp"
