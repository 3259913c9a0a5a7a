// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "bench/suite/device.hpp"

namespace detgemm::bench {

/// Each is null where it cannot run here; `why` then says so in a sentence.
std::unique_ptr<BenchDevice> make_host_device(std::string& why);
std::unique_ptr<BenchDevice> make_cuda_device(const std::string& cublaslt, std::string& why);
std::unique_ptr<BenchDevice> make_hip_device(std::string& why);

/// How many CUDA devices this process sees, at most 255; 0 without CUDA.
int cuda_device_count();
/// Makes a device the calling thread's current one; throws.
void use_cuda_device(int ordinal);

/// How every GPU is sampled.
Protocol gpu_protocol(const Case& c, bool quick);

/// Which arithmetic a device's matrix units compute; hopper on the host, whose models are all
/// alike.
Arithmetic native_arithmetic(const BenchDevice& device);

}  // namespace detgemm::bench
