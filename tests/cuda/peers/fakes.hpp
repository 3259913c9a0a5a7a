// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <vector>

#include "backends/cuda/peers.hpp"
#include "tests/cluster/fake_nccl/device.hpp"
#include "tests/cuda/peers/host_cta.hpp"

/// A CUDA runtime of several devices in the host's memory, on which the kernels of peers run as
/// host_cta.hpp says, on the streams of fake::device(). Every thread has a current device of its
/// own; memory belongs to the device that was current when it was allocated.
namespace detgemm::test {

struct FakeCuda {
  int devices = 8;
  int sms = 4;
  int major = 9;  ///< of the compute capability
  bool peer_access = true;
  bool atomic_links = true;  ///< links carry atomics, as NVLink does and PCIe does not
  bool ipc = true;           ///< handles are given and opened
  bool out_of_memory = false;
  /// What was freed last, by size: CUDA hands it out again as it was.
  std::map<std::size_t, std::vector<std::byte>> freed;
  bool dirty_windows = false;                     ///< a planted fault: only headers are cleared
  bool lost_writes = false;                       ///< copies by the host do not arrive
  std::atomic<int> launch_error{0};               ///< of the next launch ...
  std::atomic<int> launch_error_of{0};            ///< ... on this device
  std::atomic<PeerFault> fault{PeerFault::none};  ///< of rank 0, unless its comment says other
  /// Kernels of rank 0 that have read what they should not have, or would have with a fault.
  std::atomic<int> ahead{0};
  std::atomic<int> launches{0}, overlapping{0}, early{0}, lets_next_in{0}, allocated{0}, opened{0};
  std::atomic<int> most_ctas{0};
  std::atomic<int> plain_copies{0};
  std::atomic<int> slow_device{-1};  ///< whose kernels begin late
  std::atomic<int> pending[16]{};    ///< kernels of a device that have not ended; without graphs
  std::atomic<int> freed_early{0};   ///< memory of a device that had such kernels
};
FakeCuda& fake_cuda();

/// Waits, but not for ever, until so many kernels of rank 0 are ahead.
void wait_until_ahead(int kernels);

/// The skeleton's products on the stand-in's streams, with windows by the CUDA backend's own code.
const Backend& peer_backend();

}  // namespace detgemm::test
