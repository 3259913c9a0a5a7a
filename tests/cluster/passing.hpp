// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/cluster.hpp"

namespace detgemm::cluster {

/// Passes everything on to another transport; tests change or note what they want to.
class PassingTransport : public Transport {
 public:
  explicit PassingTransport(std::shared_ptr<Transport> inner) : inner_(std::move(inner)) {}
  std::string description() const override { return inner_->description(); }
  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  bool enqueues(DeviceKind kind) const noexcept override { return inner_->enqueues(kind); }
  Status health() override { return inner_->health(); }
  void abort() noexcept override { inner_->abort(); }
  Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
               std::chrono::milliseconds patience) override {
    return inner_->agree(mine, all, patience);
  }
  Status exchange(Stream stream, std::span<const Send> sends, std::span<const Receive> receives,
                  std::chrono::milliseconds patience) override {
    return inner_->exchange(stream, sends, receives, patience);
  }

 private:
  std::shared_ptr<Transport> inner_;
};

}  // namespace detgemm::cluster
