// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>

#include "core/contract/leaf_scales.hpp"
#include "cuda/launch.hpp"
#include "cuda/sm90/fp8/tile.hpp"

/// The entry to the CUDA kernels of hopper/e4m3, beside cuda/launch.hpp. They are part of the
/// library where DETGEMM_CUDA_FP8 is ON.
///
///     arguments, scales, options -> decide_fp8 -> Fp8Decision -> enqueue_fp8 -> a launch
///
///   way       what runs                                       takes
///   tiles     sm90/fp8: TMA and wgmma, m64nNk32               K-major operands at multiples of 16
///                                                             bytes, leaves of whole 128 k, chains
///                                                             from +0
///   elements  one output per thread, by the integer model     everything under chain, fold, scaled
namespace detgemm::cuda {

enum class Fp8Way : std::uint8_t { none, tiles, elements };

/// One product: the arguments, and under scaled its scales.
struct Fp8Arguments {
  GemmArguments g;
  ScalePair scales;
};

/// What runs, a plain value without addresses.
struct Fp8Decision {
  Fp8Way way = Fp8Way::none;
  int geometry = -1;     ///< tiles: index into sm90::kFp8Geometries ...
  sm90::Join join{};     ///< ... and how its leaves join
  bool swapped = false;  ///< N takes the x side of the tensor core
  sm90::Raster raster;   ///< the order of the tiles
  int grid = 0;          ///< CTAs
};

/// A kernel that can be forced by its name, for example "128x128" or "elements".
struct Fp8Kernel {
  std::string name;
};

/// Whether a contract is one of these kernels'.
bool computes_fp8(const Contract& contract);

/// The kernels that can be forced; LaunchOptions::forced counts in this list. All of them give the
/// same bits for every problem that they take; the last one takes all.
std::span<const Fp8Kernel> fp8_kernels();

/// The cheapest kernel that takes these arguments, or the forced one. `unsupported`, with a
/// sentence, if and only if the forced one does not take them. A pure function of shapes, strides,
/// alignment, types and options; a null pointer stands for an aligned address.
Result<Fp8Decision> decide_fp8(const Fp8Arguments& p, const LaunchOptions& options);

/// For example "sm90/fp8/128x128/swapped" or "fp8/elements".
std::string name(const Fp8Decision& decision);

/// As prepare_kernels.
cudaError_t prepare_fp8_kernels();

/// Enqueues what was decided for the same arguments and options. It needs no workspace, waits for
/// nothing and is capturable. Where the context has no room for the decision's cluster this decides
/// again without clusters, which gives the same bits; `decision` is then what was enqueued instead.
/// A forced kernel is never replaced: the error is then cudaErrorInvalidClusterSize.
cudaError_t enqueue_fp8(Fp8Decision& decision, const Fp8Arguments& p, const LaunchOptions& options);

}  // namespace detgemm::cuda
