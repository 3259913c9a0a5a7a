// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
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
  std::int32_t major = 0;       ///< of its compute capability
  std::uint32_t sm_shares = 0;  ///< that open windows of the device have; see SmShare
  std::uint64_t bytes = 0;      ///< of the data
  void* memory = nullptr;       ///< in its own process
  std::uint64_t mark = 0;
  cudaIpcMemHandle_t handle{};
};
static_assert(sizeof(CudaCard) <= sizeof(PeerCard));

/// A rank's window, Header and data, and its word in the host's memory. Behind the data are two
/// arrays for blank roots of one_shot, which this rank alone uses (cuda/peers/early.hpp).
class CudaPeerMemory final : public PeerMemory {
 public:
  static constexpr std::size_t kBlankBytes = std::size_t{1} << 20;  ///< of each
  static Result<std::unique_ptr<CudaPeerMemory>> make(std::size_t bytes);
  CudaPeerMemory(const CudaPeerMemory&) = delete;
  ~CudaPeerMemory() override;

  const PeerCard& card() const noexcept override { return shown_; }
  const CudaCard& facts() const { return facts_; }
  std::byte* memory() const { return static_cast<std::byte*>(facts_.memory); }
  std::byte* blank_roots(int i) const {
    return memory() + sizeof(peers::Header) + facts_.bytes + (i == 0 ? 0 : kBlankBytes);
  }
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
      : memory_(other.memory_),
        mapped_(other.mapped_),
        whole_words_(other.whole_words_),
        range_(std::move(other.range_)) {
    other.mapped_ = false;
  }
  Reached& operator=(Reached&&) = delete;
  ~Reached();
  std::byte* memory() const { return memory_; }
  bool mapped() const { return mapped_; }  ///< of another process
  /// Kernels may still use it: the destructor leaves it mapped.
  void keep() { mapped_ = false; }
  /// Whether 16 bytes that are stored there in one access arrive in one piece: on the own device,
  /// and over links that carry atomics (NVLink). PCIe does not promise it.
  bool whole_words() const { return whole_words_; }

 private:
  Reached(void* memory, const CudaCard& own, bool mapped, bool whole_words)
      : memory_(static_cast<std::byte*>(memory)),
        mapped_(mapped),
        whole_words_(whole_words),
        range_(memory_, sizeof(peers::Header) + own.bytes, own.ordinal) {}
  std::byte* memory_;
  bool mapped_;
  bool whole_words_;
  ReachedRange range_;
};

/// The share of a device's multiprocessors that the joins of one window may hold while they wait:
/// all of them, or, while other windows of the device are open, a half, a quarter, an eighth ...
/// Then every join finds room while the joins of all other windows wait, in whatever order ranks
/// begin them.
class SmShare {
 public:
  /// The largest that no rank's device has given away; `taken` are their bits, all together.
  SmShare(int device, std::uint32_t taken);
  SmShare(const SmShare&) = delete;
  ~SmShare();
  int of(int multiprocessors) const { return std::max(1, multiprocessors >> index_); }
  /// Whether it is the share 1, of which there is one at a time.
  bool is_first() const { return index_ == 0; }
  /// What the open windows of a device of this process have, bit i for the share 1 / 2^i.
  static std::uint32_t taken(int device);

 private:
  const int device_;
  const int index_;
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
