// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"
#include "cuda/families.hpp"

/// Copies of a batch whose lines begin at odd addresses, so that tiles can read them: those of all
/// groups by one launch, as cuda/sm90/host/packing.hpp copies the operands of one product.
namespace detgemm::cuda {

/// How the lines of one operand of all groups are copied. Lines are rows of A or columns of B where
/// k runs along memory, or rows of B. They are evenly spaced in one of two orders:
///
///   group after group   | 0: 0 1 2 | 1: 0 1 2 |     distance = lines of a group * ld
///   line after line     | 0 1 | 0 1 | 0 1 |         ld = groups * distance, as heads of tokens are
struct GroupLines {
  std::int64_t count = 0;       ///< of all groups; 0: there is no copy
  std::int64_t ld = 0;          ///< elements from a line to the next
  std::int64_t length = 0;      ///< elements of a line
  std::int64_t pitch = 0;       ///< the same distance in the copy, a multiple of 128 bytes
  std::int64_t line_step = 0;   ///< lines of all groups from one of a group to its next one
  std::int64_t group_step = 0;  ///< and from a group to the next; 0: all groups have one operand
  bool along_k = true;

  std::size_t bytes() const;
};

/// The copies of a batch under hopper.
struct GroupCopies {
  GroupLines a, b;
  bool any() const { return a.count > 0 || b.count > 0; }
  std::size_t bytes() const { return a.bytes() + b.bytes(); }
  /// Microseconds that the model of single products expects of the copying.
  double predicted_time() const;
};

/// What tiles need copied: operands that TMA does not read. None where that is not a batch, where
/// lines are not evenly spaced, and of an A whose M runs along memory, which tiles do not take.
GroupCopies copies_for_tiles(const GroupedArguments& p);

/// The batch on copies that begin at `to`, a multiple of 256 bytes.
GroupedArguments on_copies(const GroupedArguments& p, const GroupCopies& copies, void* to);

/// Enqueues the copying into the call's workspace, and moves the call to the copies.
cudaError_t copy_groups(Call& call);

/// Bytes that are enough for every batch of a spec with at most max_m rows per group whose lines
/// are packed. 0 where packed lines need no copy.
std::size_t copies_bound(const GroupedSpec& spec, std::int64_t max_m);

}  // namespace detgemm::cuda
