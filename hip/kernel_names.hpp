// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/contract.hpp"
#include "hip/gfx9/tile.hpp"
#include "hip/launch.hpp"

namespace detgemm::hip {

/// A family of kernels: what `variant` forces.
enum class Variant { tile256, tile128, tile64, stream, simt64, simt16 };
std::string_view name(Variant variant);

/// One kernel of a family. `leaves`: fold and tree; else chain.
struct KernelKey {
  Variant variant = Variant::tile64;
  DType input = DType::bf16;
  bool leaves = false;
  gfx9::Major a = gfx9::Major::k;  ///< of the matrix-core kernels alone
  gfx9::Major b = gfx9::Major::k;

  bool operator==(const KernelKey&) const = default;
};
std::string name(const KernelKey& key);

/// The kernels that exist on a chip, in the order of kernel_names; `combine_roots` and
/// `place_roots` follow them.
std::span<const KernelKey> kernel_keys(Chip chip);
/// Index into kernel_names, -1 where the chip has no such kernel.
int kernel_index(Chip chip, const KernelKey& key);
int combine_index(Chip chip);
int place_index(Chip chip);

}  // namespace detgemm::hip
