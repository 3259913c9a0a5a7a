// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bench/common/arm.hpp"
#include "bench/common/buffers.hpp"
#include "bench/common/problem.hpp"

namespace detgemm::bench {

/// The vendor's library, found at run time: nothing of detgemm links to it.
class CublasLt {
 public:
  /// Null where there is none; `why` then says so. `path` may be empty.
  static std::unique_ptr<CublasLt> open(const std::string& path, std::string& why);
  ~CublasLt();

  /// The first choice of its heuristic with that much workspace. With none it has nowhere to keep
  /// partial sums; `detail` says what it chose, split of K included. `choice` takes a later entry
  /// of the heuristic's list; throws past its end.
  Arm arm(const std::string& name, const Problem& problem, const Buffers& buffers,
          std::size_t workspace_bytes, int choice = 0);
  std::size_t version() const;

 private:
  struct Library;
  explicit CublasLt(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace detgemm::bench
