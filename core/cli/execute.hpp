// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>

#include "detgemm/plan.hpp"

namespace detgemm::cli {

/// Memory of a device that is given back at the end; `host_device()` gives host memory.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::size_t bytes);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// How a run went.
struct Execution {
  std::string kernel;               ///< the one that ran
  double seconds = 0.0;             ///< from enqueueing to the end of the work, without copies
  std::size_t workspace_bytes = 0;  ///< what the plan asked for
};

/// Runs the plan once over host arrays, wherever its backend lives: copies there and back where
/// that is not the host. Throws a Refusal with the library's sentence.
Execution execute(const Plan& plan, const Operands& host);

}  // namespace detgemm::cli
