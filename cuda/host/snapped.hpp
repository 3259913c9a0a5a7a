// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

#include "cuda/families.hpp"
#include "cuda/snap/snap.hpp"
#include "cuda/snap/split.hpp"

/// The arithmetics `snap` and `snap3`: operands are snapped into the workspace, or split into parts
/// there, and kernels of other arithmetics multiply them, which the exact sums of leaves do not
/// tell from each other.
///
///     A, B --snap--> copies --hopper (tensor cores of 9.0) or ieee_fma--> leaves --fold, tree--> D
///     A, B --split-> copies of three times the leaves --the same--> D                      (snap3)
///
///     workspace   |copy of A|copy of B|what the multiplication uses|
namespace detgemm::cuda::snap {

/// The problem that is multiplied: of snap itself, of snap3 the one over its copies.
struct Copied {
  std::int64_t k = 0;
  Reduction reduction;
};
Copied copied(Arithmetic arithmetic, const Reduction& reduction, std::int64_t k);

/// Which operands a call snaps: those that are not promised to be snapped.
struct Snaps {
  bool a = false, b = false;
};

/// Bytes of the copies for at most max_m rows, however the operands are laid out; a multiple of
/// 256. `k`: of the copies.
std::size_t copies_bytes(std::int64_t max_m, std::int64_t n, std::int64_t k,
                         const LaunchOptions& options);

/// The arithmetic whose kernels multiply, the forced one's where one is.
Arithmetic arithmetic_of(const Contract& contract, const LaunchOptions& options);

/// The call on snapped operands: the problem of another arithmetic over the copies, which begin at
/// the workspace given, and what is left of the workspace.
class SnappedCall {
 public:
  SnappedCall(const Problem& problem, const LaunchOptions& options, void* workspace);

  /// Enqueues the snapping. `overlap`: both this and what follows may use programmatic dependent
  /// launch.
  cudaError_t snap(bool overlap) const;

  const Snaps& snaps() const { return snaps_; }
  const Problem& problem() const { return call_.problem; }
  const LaunchOptions& options() const { return call_.options; }
  const Call& call() const { return call_; }

 private:
  Call call_;
  DType input_;  // of the operands
  Snaps snaps_;
  std::array<Operand, 2> operands_{};     // of snap
  std::array<SplitOperand, 2> splits_{};  // of snap3
};

/// FamilyRow: the kernels that snap, which are loaded with the others.
std::vector<Decision> compiled(Family family);
Kernel kernel_of(const Decision& d);
std::string name(const Decision& d);

/// FamilyRow: the kernels that split.
std::vector<Decision> compiled_splits(Family family);
Kernel split_kernel_of(const Decision& d);
std::string split_name(const Decision& d);

}  // namespace detgemm::cuda::snap
