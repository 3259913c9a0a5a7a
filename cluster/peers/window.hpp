// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>

#include "detgemm/cluster.hpp"

namespace detgemm::cluster {

/// What ranks that meet must have in common: which of the communicator's plans runs, its m, and how
/// far it is.
struct PeerStep {
  std::int64_t plan = 0, m = 0, piece = 0, phase = 0;
  bool operator==(const PeerStep&) const = default;
};

/// Memory that every rank of one host reads and writes: a window per rank, all of one size. What
/// ranks wrote before they met, all of them see afterwards.
class Window {
 public:
  virtual ~Window() = default;
  /// The window of a rank, at an address of this process; a multiple of kWorkspaceAlignment.
  virtual std::byte* data(int rank) const = 0;
  /// Of each window.
  virtual std::size_t bytes() const = 0;
  /// Waits until all ranks are at `step`: `peer` where one is not within `patience`
  /// (0: for ever), is at another step, or has given up, and where `health` says so. After a
  /// failure every rank fails, at once, with the same sentence.
  virtual Status meet(const PeerStep& step, std::chrono::milliseconds patience,
                      const std::function<Status()>& health) = 0;
  /// Lets go of every rank that waits: this one takes part no more.
  virtual void give_up() noexcept = 0;
};

}  // namespace detgemm::cluster
