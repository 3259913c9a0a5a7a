// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "detgemm/backend.hpp"
#include "detgemm/plan.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::soak {

/// Prints the sentence and ends the process with status 1.
[[noreturn]] void stop(const std::string& said);
void need(const Status& status, const std::string& doing);
template <class T>
T need(Result<T> result, const std::string& doing) {
  if (!result) need(result.status(), doing);
  return std::move(*result);
}

/// Memory of the backend's device.
class Memory {
 public:
  Memory(Device& device, std::size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }

 private:
  Device& device_;
  void* data_;
};

/// A random problem: operands in the device's memory, and the answer that it gave first.
class Scene {
 public:
  Scene(const Backend& backend, test::Random& random);

  const GemmSpec& spec() const { return spec_; }
  std::int64_t m() const { return m_; }
  const std::vector<std::string>& variants() const { return variants_; }
  const Operands& operands() const { return operands_; }
  std::size_t d_bytes() const { return d_bytes_; }
  const std::vector<std::byte>& first() const { return first_; }

  /// How one answer is asked for: a plan's run, or the one-call form.
  enum class Way { run, one_call, replay };
  /// Computes D into fresh memory with fresh scratch; the bytes, or none where a forced kernel of a
  /// device does not take these arrays, which then has written nothing.
  std::optional<std::vector<std::byte>> answer(const Backend& backend, const Plan& plan,
                                               Stream stream, Way way) const;

 private:
  void* keep(const Backend& backend, const void* host, std::size_t bytes);

  GemmSpec spec_;
  std::int64_t m_ = 0;
  std::size_t d_bytes_ = 0;
  Operands operands_;
  std::vector<std::string> variants_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::vector<std::byte> first_;
};

}  // namespace detgemm::soak
