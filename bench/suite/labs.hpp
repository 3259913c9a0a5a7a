// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "bench/suite/lab.hpp"

namespace detgemm::bench {

/// Each is null where it cannot run here; `why` then says so in a sentence.
std::unique_ptr<Lab> make_host_lab(std::string& why);
std::unique_ptr<Lab> make_cuda_lab(const std::string& cublaslt, std::string& why);
std::unique_ptr<Lab> make_hip_lab(std::string& why);

/// How every GPU is sampled.
Protocol gpu_protocol(const Case& c, bool quick);

/// Which arithmetic a lab's matrix units compute; hopper on the host, whose models are all alike.
Arithmetic native_arithmetic(const Lab& lab);

}  // namespace detgemm::bench
