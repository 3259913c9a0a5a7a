// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/host/context.hpp"

#include <cudaTypedefs.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include "cuda/driver.hpp"

namespace detgemm::cuda {
namespace {

/// Bytes of shared memory that a CTA of the current device may have.
int most_shared() {
  int device = 0, bytes = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                            device) == cudaSuccess;
  return known ? bytes : std::numeric_limits<int>::max();
}

/// Raises the limits of all kernels of a set, as far as the device goes: kernels of several devices
/// take more where there is more. Some functions are in it twice.
cudaError_t raise_limits(KernelSet set) {
  const int most = most_shared();
  for (const FamilyRow& row : families()) {
    if (row.set != set) continue;
    for (const Decision& d : row.compiled(row.family)) {
      const Kernel kernel = row.kernel(d);
      if (kernel.function == nullptr) continue;
      // mma.sync requests more than it needs, so that multiprocessors take equal numbers of CTAs.
      const int bytes =
          set == KernelSet::mma ? std::min(kernel.shared_bytes, most) : kernel.shared_bytes;
      const auto e =
          cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      if (e != cudaSuccess) return e;
    }
  }
  return cudaSuccess;
}

/// How many clusters of a kernel fit a context.
struct Fit {
  std::uint64_t context = 0;
  const void* function = nullptr;
  int cluster = 0;
  int clusters = 0;

  bool is_of(std::uint64_t in, const Kernel& kernel) const {
    return context == in && function == kernel.function && cluster == kernel.cluster;
  }
};

/// The last answers, one table per thread, so that nothing is locked.
Fit& entry_of(const Kernel& kernel) {
  static thread_local std::array<Fit, 64> table;
  const auto mix = reinterpret_cast<std::uintptr_t>(kernel.function) * 0x9e3779b97f4a7c15ULL;
  return table[mix >> 58];
}

}  // namespace

std::uint64_t current_context() {
  static const auto get_id = driver_function<PFN_cuCtxGetId_v12000>("cuCtxGetId", 12000);
  static const auto get_current =
      driver_function<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000);
  unsigned long long id = 0;
  if (get_id != nullptr) {
    CUcontext current = nullptr;  // queried first, since tools report a call that fails
    if (get_current != nullptr && get_current(&current) == CUDA_SUCCESS && current != nullptr &&
        get_id(nullptr, &id) == CUDA_SUCCESS) {
      return id;
    }
    // This thread has no context yet, or it was destroyed: the runtime makes one.
    if (cudaFree(nullptr) != cudaSuccess) cudaGetLastError();
    if (get_id(nullptr, &id) == CUDA_SUCCESS) return id;
  }
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) cudaGetLastError();
  // Devices have a bit of their own, so that they are never mistaken for contexts.
  return (std::uint64_t{1} << 63) | static_cast<unsigned>(device);
}

cudaError_t prepare_in(std::uint64_t context, KernelSet set) {
  using Key = std::pair<std::uint64_t, KernelSet>;
  const Key key{context, set};
  // No lock is taken while a thread stays with one context.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // the number of no context
  constexpr auto kSets = static_cast<std::size_t>(KernelSet::count);
  static thread_local std::array<std::uint64_t, kSets> prepared_last = [] {
    std::array<std::uint64_t, kSets> none{};
    none.fill(kNone);
    return none;
  }();
  std::uint64_t& last = prepared_last.at(static_cast<std::size_t>(set));
  if (last == context) return cudaSuccess;
  static std::mutex mutex;
  static std::set<Key> prepared;
  const std::lock_guard lock(mutex);
  if (!prepared.contains(key)) {
    if (const auto e = raise_limits(set); e != cudaSuccess) return e;
    prepared.insert(key);
  }
  last = context;
  return cudaSuccess;
}

int clusters_held(std::uint64_t context, const Kernel& kernel, const Queue& queue) {
  Fit& entry = entry_of(kernel);
  if (!entry.is_of(context, kernel)) {
    const LaunchConfig one(kernel, kernel.cluster, queue);
    int clusters = 0;
    const auto error = cudaOccupancyMaxActiveClusters(&clusters, kernel.function, &one.config);
    if (error != cudaSuccess) cudaGetLastError();  // the launch itself will say what is wrong
    if (error != cudaSuccess) clusters = std::numeric_limits<int>::max();
    entry = {context, kernel.function, kernel.cluster, clusters};
  }
  return entry.clusters;
}

bool says_no_cluster(cudaError_t error) {
  return error == cudaErrorInvalidClusterSize || error == cudaErrorLaunchOutOfResources ||
         error == cudaErrorInvalidConfiguration;
}

void remember_no_cluster(std::uint64_t context, const Kernel& kernel) {
  entry_of(kernel) = {context, kernel.function, kernel.cluster, 0};
}

}  // namespace detgemm::cuda
