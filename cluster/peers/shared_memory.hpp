// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "detgemm/status.hpp"

namespace detgemm::cluster {

/// Memory of the host that other processes open by its name.
class SharedMemory {
 public:
  /// 128 random bits, under which no other memory is found on any host.
  using Id = std::array<std::uint64_t, 2>;

  /// New memory of zeros, which is there in full or refused.
  static Result<std::shared_ptr<SharedMemory>> create(std::size_t bytes);
  /// Memory that a rank of this host made: of this process, where it is the same object, or of
  /// another one.
  static Result<std::shared_ptr<SharedMemory>> open(const Id& id, std::size_t bytes);

  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory();
  std::byte* data() const { return data_; }
  const Id& id() const { return id_; }
  /// From now on no one opens it; who has it keeps it.
  void hide() const;

 private:
  SharedMemory(const Id& id, std::byte* data, std::size_t bytes)
      : id_(id), data_(data), bytes_(bytes) {}
  Id id_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace detgemm::cluster
