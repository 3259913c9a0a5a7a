// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detgemm/contract.hpp"
#include "hip/gfx9/tile.hpp"

namespace detgemm::hip {

/// The chips that kernels are compiled for.
enum class Chip { gfx90a, gfx942, gfx950, gfx1100, gfx1101, gfx1102, gfx1200, gfx1201 };
std::span<const Chip> chips();
std::string_view name(Chip chip);
/// Whether the chip has kernels that use its matrix cores.
bool has_matrix_kernels(Chip chip);
/// From the runtime's name of an architecture, "gfx942:sramecc+:xnack-"; features do not matter.
std::optional<Chip> chip_of(std::string_view architecture);

/// A family of kernels: what PlanOptions::variant forces.
enum class Variant {
  tile256,
  tile256x224,
  tile256x192,
  tile160x256,
  tile256x128,
  tile128,
  tile64,
  stream,
  stream32,
  stream64,
  stream48x128,
  stream64x128,
  stream80x128,
  stream96x128,
  simt64,
  simt16,
  fp32_128,
};
std::string_view name(Variant variant);
/// Whether the family uses vector instructions alone and therefore runs on every chip.
bool is_simt(Variant variant);
/// Whether the family streams weights past few rows; these can spread K over workgroups.
bool is_stream(Variant variant);
/// Whether it computes ieee_fma, and therefore takes arrays however they lie.
inline bool is_ieee(Variant variant) { return is_simt(variant) || variant == Variant::fp32_128; }

/// One kernel of a family. `leaves`: for fold and tree; otherwise for chain. `groups`: over many
/// products (hip/group_walk.hpp).
struct KernelKey {
  Variant variant = Variant::tile64;
  DType input = DType::bf16;
  bool leaves = false;
  gfx9::Major a = gfx9::Major::k;  ///< of the matrix-core kernels alone
  gfx9::Major b = gfx9::Major::k;
  bool groups = false;

  bool operator==(const KernelKey&) const = default;
};
std::string name(const KernelKey& key);
/// Whether the chip has kernels of the family.
inline bool has(Chip chip, Variant variant) { return is_simt(variant) || has_matrix_kernels(chip); }

/// The kernels that exist on a chip, in the order of kernel_names; `combine_roots`,
/// `place_roots` and the kernels that snap and split operands follow them.
std::span<const KernelKey> kernel_keys(Chip chip);
/// Names of all kernels of a chip; `Launch::kernel` is an index into this list.
const std::vector<std::string>& kernel_names(Chip chip);
/// Index into kernel_names, -1 where the chip has no such kernel.
int kernel_index(Chip chip, const KernelKey& key);
int combine_index(Chip chip);
int place_index(Chip chip);
/// The kernel that snaps an operand whose neighbours in memory follow each other along K, or along
/// the rows.
int snap_index(Chip chip, bool along_k);
/// The same for the kernels that split an operand of bf16 or fp32.
int split_index(Chip chip, DType input, bool along_k);

}  // namespace detgemm::hip
