// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/peer_memory.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>

namespace detgemm::cuda {
namespace {

/// CUDA hands out small allocations from blocks of this size, and IPC shares whole blocks.
constexpr std::size_t kBlock = std::size_t{2} << 20;

/// Threads of one process have equal ones.
const std::array<std::uint64_t, 2>& process_id() {
  static const auto id = [] {
    std::random_device random;
    std::array<std::uint64_t, 2> words{};
    for (auto& word : words) word = (std::uint64_t{random()} << 32) | random();
    return words;
  }();
  return id;
}

std::array<char, 40> boot_id() {
  std::array<char, 40> id{};
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  file.read(id.data(), id.size() - 1);
  return id;
}

/// Whether the link between this rank's device and another rank's carries atomics. A device that
/// this process does not see has a link that cannot be asked about.
bool has_atomic_link(const CudaCard& own, const CudaCard& other) {
  if (other.device == own.device) return true;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) continue;
    if (std::memcmp(&properties.uuid, other.device.data(), other.device.size()) != 0) continue;
    int has = 0;
    const cudaError_t asked =
        cudaDeviceGetP2PAttribute(&has, cudaDevP2PAttrNativeAtomicSupported, own.ordinal, ordinal);
    if (asked == cudaSuccess) return has != 0;
  }
  cudaGetLastError();
  return false;
}

std::string device_text(const CudaCard& card) { return "device " + std::to_string(card.ordinal); }

}  // namespace

Result<std::unique_ptr<CudaPeerMemory>> CudaPeerMemory::make(std::size_t bytes) {
  const auto device = current_device();
  if (!device) return device.status();
  cudaDeviceProp properties{};
  cudaError_t error = cudaGetDeviceProperties(&properties, device->ordinal);
  if (error != cudaSuccess) return failed("querying the device of the window", error);
  std::unique_ptr<CudaPeerMemory> made(new CudaPeerMemory);
  CudaCard& card = made->facts_;
  card.host = boot_id();
  card.process = process_id();
  std::memcpy(card.device.data(), &properties.uuid, card.device.size());
  card.ordinal = device->ordinal;
  card.sms = device->sms;
  card.major = device->major;
  card.sm_shares = SmShare::taken(device->ordinal);
  card.bytes = bytes / kWorkspaceAlignment * kWorkspaceAlignment;
  card.mark = std::random_device{}() | 1U;
  const std::size_t used = sizeof(peers::Header) + card.bytes + 2 * kBlankBytes;
  const std::size_t all = (used + kBlock - 1) / kBlock * kBlock;
  const std::string what = "a window of " + std::to_string(all) + " bytes";
  error = cudaMalloc(&card.memory, all);
  if (error != cudaSuccess) return failed("allocating " + what, error);
  // All of it: what the memory was before may be the mail of another communicator.
  error = cudaMemset(card.memory, 0, all);
  if (error == cudaSuccess) {
    error = cudaMemset(made->blank_roots(0), peers::kBlank & 0xff, 2 * kBlankBytes);
  }
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  if (error == cudaSuccess) {
    error = cudaHostAlloc(reinterpret_cast<void**>(&made->host_word_), sizeof(std::uint64_t),
                          cudaHostAllocPortable | cudaHostAllocMapped);
  }
  if (error != cudaSuccess) return failed("preparing " + what, error);
  *made->host_word_ = 0;
  // Without it threads of one process still reach each other.
  if (cudaIpcGetMemHandle(&card.handle, card.memory) != cudaSuccess) {
    cudaGetLastError();
    card.handle = {};
  }
  error = peers::prepare();
  if (error != cudaSuccess) return failed("loading the kernels of peers", error);
  std::memcpy(made->shown_.bytes.data(), &card, sizeof card);
  return made;
}

CudaPeerMemory::~CudaPeerMemory() {
  if (kept_) return;
  const OnDeviceOf here(facts_.ordinal);
  if (facts_.memory != nullptr && cudaFree(facts_.memory) != cudaSuccess) cudaGetLastError();
  if (host_word_ != nullptr && cudaFreeHost(host_word_) != cudaSuccess) cudaGetLastError();
}

Result<Reached> Reached::open(const CudaCard& own, const CudaCard& other, int rank) {
  const auto refused = [&](const std::string& why) {
    return Status{Errc::unavailable, "cuda: the window of rank " + std::to_string(rank) +
                                         " is not reached from " + device_text(own) + ": " + why};
  };
  if (other.host != own.host) return refused("it is on another host");
  if (other.bytes != own.bytes) return refused("it has another size");
  if (other.process == own.process) {
    if (other.ordinal != own.ordinal) {
      int can = 0;
      cudaError_t error = cudaDeviceCanAccessPeer(&can, own.ordinal, other.ordinal);
      if (error == cudaSuccess && can == 0) {
        return refused("there is no peer access to " + device_text(other));
      }
      if (error == cudaSuccess) error = cudaDeviceEnablePeerAccess(other.ordinal, 0);
      if (error == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
        error = cudaSuccess;
      }
      if (error != cudaSuccess) return refused(Cuda::text(error));
    }
    return Reached(other.memory, own, false, has_atomic_link(own, other));
  }
  const cudaIpcMemHandle_t none{};
  if (std::memcmp(&other.handle, &none, sizeof none) == 0) {
    return refused("it is in another process, and CUDA IPC gave no handle for it");
  }
  void* memory = nullptr;
  const cudaError_t error =
      cudaIpcOpenMemHandle(&memory, other.handle, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return refused("it is in another process, and CUDA IPC does not open it: " + Cuda::text(error));
  }
  return Reached(memory, own, true, has_atomic_link(own, other));
}

Reached::~Reached() {
  if (mapped_ && cudaIpcCloseMemHandle(memory_) != cudaSuccess) cudaGetLastError();
}

}  // namespace detgemm::cuda
