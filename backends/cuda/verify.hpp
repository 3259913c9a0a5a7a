// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "backends/cuda/runtime.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::cuda {

/// Whether a device's mma.sync computes an arithmetic for bf16, fp16 and tf32, by measurement or by
/// the published models: ampere on 8.x, hopper on 9.0, 10.x and 12.x, blackwell on the last two.
bool has_mma_of(Arithmetic arithmetic, const DeviceFacts& device);

/// Whether the project ran the kernels of an arithmetic on devices of this compute capability.
bool is_measured(Arithmetic arithmetic, const DeviceFacts& device);

/// Whether an arithmetic must be verified on a device before anything is planned there: what rests
/// on a published model.
bool must_be_verified(Arithmetic arithmetic, const DeviceFacts& device);

/// What was found of (device, arithmetic, input) in this process, so that it is found once.
class Verdicts {
 public:
  using Key = std::tuple<int, Arithmetic, DType>;

  /// `compare` runs at the first call for a key, one thread at a time. A failure is returned and
  /// not remembered.
  Result<Verification> get(const Key& key, const std::function<Result<Verification>()>& compare);

 private:
  std::mutex mutex_;
  std::map<Key, Verification> known_;
};

/// Computes the pinned products on the current device, which is `device`, at the first call for an
/// arithmetic that must be verified; else says that it is measured. It allocates less than 300 KB
/// of device memory, waits for a stream of its own and frees the memory again, which may wait for
/// other work on the device.
Result<Verification> verify_on(const DeviceFacts& device, Arithmetic arithmetic, DType input);

}  // namespace detgemm::cuda
