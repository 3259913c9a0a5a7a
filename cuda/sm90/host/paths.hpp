// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::cuda::sm90 {

/// Which kernels can compute a problem at all, from its strides, alignment and epilogue.
enum class Path {
  plain,    ///< Form::plain
  general,  ///< Form::general or Form::from_c
  realign,  ///< rows at odd addresses: TMA, then a shift in shared memory; chains only
  gather,   ///< no TMA: extents from 2^30 on, or what suits_realign refuses
};

Path path_of(const GemmArguments& g);
/// The same of fold and tree, whose kernels want rows at multiples of 16 bytes and leaves of whole
/// blocks of 64 k; a fold starts from fp32 C on the plain path too.
Path leaf_path_of(const GemmArguments& g);

}  // namespace detgemm::cuda::sm90
