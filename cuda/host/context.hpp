// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "cuda/families.hpp"

/// What a context remembers about kernels. Raised shared-memory limits live and die with their
/// context, and a device reset ends all contexts of a device, so everything here belongs to the
/// number of a context.
namespace detgemm::cuda {

/// A number for the calling thread's current context. Drivers of CUDA 12.0 and above number
/// contexts and never use a number twice, so a context made after cudaDeviceReset or with
/// cuCtxCreate has another one. With an older driver it is the number of the current device.
std::uint64_t current_context();

/// Prepares a set of kernels in context `context`, which is the current one, if that has not
/// succeeded: raises their shared-memory limits, which loads them. Once it has, a thread that stays
/// with one context takes no lock.
cudaError_t prepare_in(std::uint64_t context, KernelSet set);

/// The clusters of this kernel that the context can run at a time, 0 for none: a whole device has
/// room for some, but under MPS, in a green context or on a MIG slice there may be too few
/// neighbouring multiprocessors. The driver is queried once per thread, context and kernel. INT_MAX
/// where it does not say. Precondition: the kernel is prepared.
int clusters_held(std::uint64_t context, const Kernel& kernel, const Queue& queue);

/// Whether a launch failed because the context has no room for its cluster.
bool says_no_cluster(cudaError_t error);

/// To be called when a launch has shown that it does not.
void remember_no_cluster(std::uint64_t context, const Kernel& kernel);

}  // namespace detgemm::cuda
