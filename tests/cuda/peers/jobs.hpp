// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "cluster/common/state.hpp"
#include "tests/cluster/on_device.hpp"
#include "tests/cuda/peers/fakes.hpp"

/// Ranks as threads, each with a device of its own.
namespace detgemm::test {

inline constexpr const char* kContract = "ieee_fma/bf16/tree:16->fp32";
inline constexpr std::array kDeviceAlgorithms{
    cluster::Algorithm::one_shot, cluster::Algorithm::two_shot, cluster::Algorithm::push,
    cluster::Algorithm::automatic};

inline void on_devices(int ranks,
                       const std::function<void(std::shared_ptr<cluster::Transport>)>& body) {
  cluster::on_ranks(ranks, [&](const std::shared_ptr<cluster::Transport>& transport) {
    cudaSetDevice(transport->rank());
    body(transport);
  });
}

inline cluster::Options with_windows(
    std::size_t bytes, std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  cluster::Options options;
  options.window_bytes = bytes;
  options.window_backend = &peer_backend();
  options.patience = patience;
  return options;
}

}  // namespace detgemm::test
