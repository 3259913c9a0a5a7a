// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <optional>

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

/// Which operands a call snaps: those that nobody promised to be snapped.
struct Snaps {
  bool a = false, b = false;
};

/// The kernels that can be forced: those of hopper's folds and trees, then those of ieee_fma.
std::span<const KernelInfo> kernels(const Contract& contract);

/// Bytes of the copies for at most max_m rows, however the operands lie; a multiple of 256. `k`: of
/// the copies.
std::size_t copies_bytes(std::int64_t max_m, std::int64_t n, std::int64_t k,
                         const LaunchOptions& options);

/// The arithmetic whose kernels multiply.
Arithmetic multiplies(const LaunchOptions& options);

/// What `decide` says where it does not take the forced kernel.
Status refusal(const LaunchOptions& options, const char* why);

/// The call on snapped operands. It refers to itself: do not copy it.
class SnappedCall {
 public:
  /// `input`: the type of the operands.
  SnappedCall(const GemmArguments& g, Arithmetic arithmetic, DType input,
              const LaunchOptions& options, void* workspace);
  SnappedCall(const SnappedCall&) = delete;
  SnappedCall& operator=(const SnappedCall&) = delete;

  /// Enqueues the snapping. `overlap`: both this and what follows may use programmatic dependent
  /// launch.
  cudaError_t snap(bool overlap) const;

  /// The rule by which the device does not have the forced kernel, or null.
  const char* why_not() const;
  const Snaps& snaps() const { return snaps_; }
  Arithmetic arithmetic() const { return arithmetic_; }
  const GemmArguments& arguments() const { return g_; }
  const LaunchOptions& options() const { return options_; }
  void* workspace() const { return workspace_; }

 private:
  GemmArguments g_;
  LaunchOptions options_;
  void* workspace_;
  Arithmetic arithmetic_;
  DType input_;
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
