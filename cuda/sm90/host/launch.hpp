// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"
#include "cuda/sm90/host/operand_maps.hpp"
#include "cuda/sm90/tile/sides.hpp"

/// The rest of the rows of chain, realign, leaves and gather, with the columns of FamilyRow.
namespace detgemm::cuda::sm90 {

std::span<const KernelInfo> chain_kernels();
std::span<const KernelInfo> leaf_kernels();

std::string name(const Decision& d);

std::vector<Decision> compiled(Family family);
Kernel kernel_of(const Decision& d);

cudaError_t launch_chain(const Kernel& kernel, const Decision& d, const Call& call);
cudaError_t launch_realign(const Kernel& kernel, const Decision& d, const Call& call);
cudaError_t launch_leaves(const Kernel& kernel, const Decision& d, const Call& call);

std::size_t leaf_workspace(const Reduction& reduction, std::int64_t max_m, std::int64_t n,
                           std::int64_t k, int sms);

/// The operands of a call on the sides that were decided.
Sides sides_of(const Decision& d, const Call& call);
/// What every tiled kernel is told about its problem, but for blocks of k, C and what follows from
/// them. `by_class`: see last_origin.
LaunchShape tile_shape(const Geometry& t, const Raster& raster, const Sides& p,
                       const GemmArguments& g, bool by_class);
/// What a kernel does after its last step (finish), once `shape.c` says how C is loaded.
void set_finish(bool may_use_registers, const GemmArguments& g, LaunchShape& shape);
/// All of it for a kernel of chain, realign or leaves.
LaunchShape shape_of(const Decision& d, const Sides& p, const Call& call);
/// The maps of the operands, and of C and D where TMA moves them. Where the driver
/// refuses a map of several k blocks, whose strides do not grow from dimension to dimension as its
/// documentation says they should, `shape` is told that every block has a box.
cudaError_t make_maps(const Decision& d, const Sides& p, const Call& call, LaunchShape& shape,
                      LaunchMaps* maps);

}  // namespace detgemm::cuda::sm90
