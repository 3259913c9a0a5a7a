// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "detgemm/plan.hpp"
#include "tests/cuda/scene.hpp"

namespace detgemm::test {

/// Runs a host backend on a scene: everything down, the plan, D up again. That is how the oracle
/// itself is checked.
class HostSubject {
 public:
  void run(const Plan& plan, const Scene& scene, const Operands& on_device, RunInfo* info);

 private:
  struct Free {
    void operator()(void* memory) const { host_device().release(memory); }
  };
  using Memory = std::unique_ptr<void, Free>;
  struct Copy {
    Memory memory;
    void* array;  ///< element (0, 0), as far from an aligned address as on the device
  };
  static Copy down(const Arena& arena, cudaStream_t stream);
};

}  // namespace detgemm::test
