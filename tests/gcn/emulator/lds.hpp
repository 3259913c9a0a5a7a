// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace detgemm::gcn {

struct Wave;

/// The local memory of one workgroup, which knows for each word who wrote and read it since when.
///
/// Every writing instruction gets a stamp. At a barrier a wave *releases* the stamps of its writes
/// that s_waitcnt has seen complete. Another wave may read or overwrite a word only if its stamp
/// is released: that is a race where the barrier is missing, and also where the wait before the
/// barrier is. Reads are kept per epoch (the time between two barriers); a read that is still
/// outstanding at a barrier counts for the next epoch as well.
class Lds {
 public:
  static constexpr std::uint32_t kLargest = 65536;

  void reset(std::uint32_t bytes, int waves);

  /// `count` words (or one sub-word of `bytes` < 4) for each lane of `exec` at `address[lane]`;
  /// out[word][lane]. `mark` is the load's, so that a barrier knows whether it was waited for.
  void read(const Wave& w, const std::uint32_t* address, std::uint64_t exec, int bytes,
            std::uint32_t (*out)[64], std::uint32_t mark);
  void write(const Wave& w, const std::uint32_t* address, std::uint64_t exec, int bytes,
             const std::uint32_t* const* rows, std::uint32_t mark, bool dma = false);

  /// All waves have come to a barrier.
  void barrier(const std::vector<Wave*>& waves);

 private:
  static constexpr int kWaves = 16;
  static constexpr int kMixed = 31;  ///< several waves wrote parts of a word
  static constexpr std::uint32_t kPartial = 1, kDma = 2;

  struct Read {
    std::uint32_t mark;
    int bytes;
    std::uint64_t exec;
    std::array<std::uint32_t, 64> address;
  };
  struct Write {
    std::uint32_t mark, stamp;
  };

  std::uint32_t released(int wave) const { return wave == kMixed ? safe_ : released_[wave]; }
  template <int kWords>
  bool read_words(int wave, const std::uint32_t* address, std::uint64_t exec,
                  std::uint32_t (*out)[64]);
  void check_range(const std::uint32_t* address, std::uint64_t exec, int bytes) const;
  bool in_flight(const Wave& w, std::uint32_t stamp);
  void note_reader(std::uint32_t word, int wave);
  void check_read(const Wave& w, std::uint32_t word, std::uint32_t mask, int lane);
  void check_write(const Wave& w, std::uint32_t word, std::uint32_t mask, std::uint32_t tag,
                   int lane);

  std::uint32_t size_ = 0;
  std::uint32_t stamp_ = 0, epoch_ = 1;
  std::uint32_t safe_ = 0;  ///< every wave has released the stamps up to here
  std::array<std::uint32_t, kWaves> released_{};
  std::array<std::vector<Read>, kWaves> reads_;
  std::array<std::vector<Write>, kWaves> writes_, dmas_;
  alignas(64) std::array<std::uint8_t, kLargest> data_;
  /// Per word: stamp << 8 | wave << 3 | flags, 0 for never written; and epoch << 16 | waves.
  alignas(64) std::array<std::uint32_t, kLargest / 4> tags_, readers_;
  /// Per word with kPartial: epoch << 16 | bytes written in that epoch << 8 | bytes ever written.
  std::array<std::uint32_t, kLargest / 4> parts_;
};

}  // namespace detgemm::gcn
