// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::cuda {
struct Question;
}

namespace detgemm::cuda::sm90 {

/// Which kernels can compute a problem at all, judging by its strides, alignment and epilogue.
enum class Path {
  plain,    ///< Form::plain
  general,  ///< Form::general or Form::from_c
  realign,  ///< rows at odd addresses: TMA, then a shift in shared memory; chains only
  gather,   ///< no TMA: extents from 2^30 on, or what suits_realign refuses
};

/// Fills in what a Question says about arrays, which are not read. A fold or tree of a single leaf
/// from +0 is the chain, and so is one of no leaf, unless a kernel of fold and tree is forced.
void ask(const GemmArguments& g, Question& q);

/// The Question about m rows whose arrays are as they usually are: row-major, with all rows at
/// multiples of 16 bytes. Any number of multiprocessors, but no clusters where none is needed.
Question usual_question(const GemmSpec& spec, std::int64_t m);

}  // namespace detgemm::cuda::sm90
