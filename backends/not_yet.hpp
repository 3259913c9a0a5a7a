// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "detgemm/backend.hpp"

namespace detgemm {

/// A device that cannot be used: every call says why.
class UnusableDevice final : public Device {
 public:
  UnusableDevice(DeviceKind kind, Status why) : kind_(kind), why_(std::move(why)) {}

  DeviceKind kind() const noexcept override { return kind_; }
  std::string description() const override { return "none: " + why_.message(); }
  Result<void*> allocate(std::size_t) override { return why_; }
  void release(void*) noexcept override {}
  Status to_device(void*, const void*, std::size_t) override { return why_; }
  Status to_host(void*, const void*, std::size_t) override { return why_; }
  Result<Stream> create_stream() override { return why_; }
  void destroy_stream(Stream) noexcept override {}
  Status synchronize(Stream) override { return why_; }

 private:
  DeviceKind kind_;
  Status why_;
};

/// A backend whose name is taken and whose kernels are still to come: it computes nothing, promises
/// nothing, and says so, so that programs which choose it by name build and report cleanly.
class BackendToCome final : public Backend {
 public:
  BackendToCome(std::string name, DeviceKind kind, std::string sentence)
      : name_(std::move(name)),
        sentence_(std::move(sentence)),
        device_(kind, Status{Errc::unavailable, sentence_}) {}

  std::string_view name() const noexcept override { return name_; }
  std::string_view description() const noexcept override { return sentence_; }
  Status available() const override { return {Errc::unavailable, sentence_}; }
  Status supports(const GemmSpec&) const override { return unsupported(sentence_); }
  Guarantees guarantees(const Contract&) const override { return {}; }
  std::vector<std::string> variants(const GemmSpec&) const override { return {}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec&,
                                                    const PlanOptions&) const override {
    return unsupported(sentence_);
  }
  Device& device() const noexcept override { return device_; }

 private:
  std::string name_;
  std::string sentence_;
  mutable UnusableDevice device_;
};

}  // namespace detgemm
