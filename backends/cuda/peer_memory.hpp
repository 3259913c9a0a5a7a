// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <vector>

#include "backends/cuda/devices.hpp"
#include "backends/cuda/reached.hpp"
#include "cuda/peers/launch.hpp"
#include "detgemm/peers.hpp"

namespace detgemm::cuda {

/// What a PeerCard of this backend holds.
struct CudaCard {
  std::array<char, 40> host{};             ///< id of the machine's boot
  std::array<std::uint64_t, 2> process{};  ///< random, for a process
  std::array<char, 16> device{};           ///< the device's UUID
  std::int32_t ordinal = -1;               ///< in its own process
  std::int32_t sms = 0;
  std::uint64_t bytes = 0;  ///< of the data
  void* memory = nullptr;   ///< in its own process
  std::uint64_t mark = 0;
  cudaIpcMemHandle_t handle{};
};
static_assert(sizeof(CudaCard) <= sizeof(PeerCard));

/// A rank's window, Header and data, and its word in the host's memory.
class CudaPeerMemory final : public PeerMemory {
 public:
  static Result<std::unique_ptr<CudaPeerMemory>> make(std::size_t bytes);
  CudaPeerMemory(const CudaPeerMemory&) = delete;
  ~CudaPeerMemory() override;

  const PeerCard& card() const noexcept override { return shown_; }
  const CudaCard& facts() const { return facts_; }
  std::byte* memory() const { return static_cast<std::byte*>(facts_.memory); }
  std::uint64_t* host_word() const { return host_word_; }
  /// Somebody may still use it: the destructor leaves it alone.
  void keep() { kept_ = true; }

 private:
  CudaPeerMemory() = default;
  CudaCard facts_;
  PeerCard shown_;
  std::uint64_t* host_word_ = nullptr;
  bool kept_ = false;
};

/// The memory of another rank, as this process reaches it.
class Reached {
 public:
  /// `own` is this rank's card, whose device is current.
  static Result<Reached> open(const CudaCard& own, const CudaCard& other, int rank);
  Reached(Reached&& other) noexcept
      : memory_(other.memory_), mapped_(other.mapped_), range_(std::move(other.range_)) {
    other.mapped_ = false;
  }
  Reached& operator=(Reached&&) = delete;
  ~Reached();
  std::byte* memory() const { return memory_; }
  bool mapped() const { return mapped_; }  ///< of another process

 private:
  Reached(void* memory, const CudaCard& own, bool mapped)
      : memory_(static_cast<std::byte*>(memory)),
        mapped_(mapped),
        range_(memory_, sizeof(peers::Header) + own.bytes, own.ordinal) {}
  std::byte* memory_;
  bool mapped_;
  ReachedRange range_;
};

/// Makes a device current while it lives.
class OnDeviceOf {
 public:
  explicit OnDeviceOf(int ordinal) {
    if (cudaGetDevice(&before_) != cudaSuccess || before_ == ordinal) before_ = -1;
    if (before_ >= 0) cudaSetDevice(ordinal);
  }
  OnDeviceOf(const OnDeviceOf&) = delete;
  ~OnDeviceOf() {
    if (before_ >= 0) cudaSetDevice(before_);
  }

 private:
  int before_ = -1;
};

}  // namespace detgemm::cuda
