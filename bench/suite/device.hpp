// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/common/buffers.hpp"
#include "bench/common/sampling.hpp"
#include "bench/suite/case.hpp"

namespace detgemm::bench {

/// What a baseline needs to make its arm. With `problem.tokens` changed it is the same case in
/// another batch.
struct BaselineRequest {
  const Problem& problem;
  const Buffers& buffers;
  int threads;  ///< of the host; 0 for all
};

/// What an arm is there for.
enum class Role {
  detgemm,
  baseline,  ///< another library that computes the same sizes
  ceiling,   ///< not a product: what no product can be faster than
};

inline const char* name(Role role) {
  return role == Role::detgemm ? "detgemm" : role == Role::baseline ? "baseline" : "ceiling";
}

/// An arm that is not detgemm's: as a rule another library, found while the program runs. `make`
/// throws with a sentence where it does not compute the problem.
struct Baseline {
  std::string name;
  std::string what;  ///< version and setting, or why it is absent; known once it was looked for
  bool present = false;
  bool searches = false;  ///< tries a list of algorithms: only where a case asks for the best
  std::function<Arm(const BaselineRequest&)> make{};
  Role role = Role::baseline;
  /// Which problems it is timed on; none: all.
  std::function<bool(const Problem&)> takes{};
};

/// What the machine can do at most, measured beside what is compared with it; 0: not measured.
struct Ceilings {
  double copy_bytes_per_s = 0;  ///< read and written bytes of a copy
  double read_bytes_per_s = 0;
  std::vector<std::pair<std::string, double>> flops{};  ///< by what multiplies: bf16, fp32, ...
  std::string how;

  double flops_of(const std::string& unit) const {
    for (const auto& [name, value] : flops) {
      if (name == unit) return value;
    }
    return 0;
  }
};

/// A number that models of time read of a device.
struct Constant {
  std::string name;
  double value = 0;
  std::string unit;
  std::string how;  ///< it was measured
};

/// Medians of what the driver says while it is watched; 0 where it says nothing.
struct Conditions {
  double watts = 0, mhz = 0, memory_mhz = 0, celsius = 0;
};

/// Outputs that were compared with those of another computation, bit by bit.
struct BitsCheck {
  std::string against;  ///< what computed the others
  std::int64_t outputs = 0, different = 0;
};

/// How samples are taken in a mode on a device.
struct Protocol {
  int repetitions = 0;
  double idle_ms = 0;    ///< before each sample
  double sample_us = 0;  ///< work in a replay, at least
  int least_calls = 0;   ///< calls in a replay, at least
  double soak_s = 0;     ///< load before a settled case
  double block_ms = 0;   ///< a settled sample
};

/// One device with everything that an experiment needs from it. There is one for the host, for
/// CUDA, for HIP, and a fake with a clock of its own for the tests.
class BenchDevice {
 public:
  virtual ~BenchDevice() = default;
  virtual std::string name() const = 0;  ///< cpu, cuda, hip
  virtual const Backend& backend() const = 0;
  virtual Queue& queue() = 0;
  /// Whether a call returns when it is done, and not when it is enqueued.
  virtual bool calls_wait() { return queue().stream().kind == DeviceKind::host; }
  virtual Memory& memory() = 0;
  virtual PoolBytes pools() const = 0;
  /// Facts worth recording, in order: device, driver, toolkit, ...
  virtual std::vector<std::pair<std::string, std::string>> facts() = 0;
  /// Names of the baselines this device may have, without looking for any library.
  virtual std::vector<std::string> baseline_names() const = 0;
  /// The baselines, looked for now. Libraries are loaded and may start threads.
  virtual std::vector<Baseline> baselines() = 0;
  /// Arms that show what no product can be faster than, beside the cases that they belong to.
  virtual std::vector<Baseline> ceiling_arms() { return {}; }
  /// Problems that baselines compute in place of this one, for the pools.
  virtual std::vector<Problem> baselines_need(const Problem&) const { return {}; }
  virtual Protocol protocol(const Case& c, bool quick) const = 0;
  /// Microseconds that a call may take, for the estimate of a run.
  virtual double guess_us(const Case& c, const ContractArm& spec) const = 0;
  virtual Ceilings measure_ceilings(bool quick) = 0;
  /// What models of time read of the device beside the ceilings.
  virtual std::vector<Constant> measure_constants() { return {}; }
  /// The arm with the problem's small kernel before every call. Throws where the device has none.
  virtual Arm after_small_kernel(Arm, const Problem&, const Buffers&) {
    throw std::runtime_error("this device has no small kernels that run before a call");
  }
  /// Recomputes a part of the D that call number `call` wrote, by the plainest means the device
  /// has, and counts the outputs whose bits differ. Returns nothing where it has no means for this
  /// contract.
  virtual std::optional<BitsCheck> check_bits(const Problem&, const Contract&, const Buffers&,
                                              int) {
    return std::nullopt;
  }
  /// Parts of a call on the host that can be timed alone, for the overheads: what, and the part.
  virtual std::vector<std::pair<std::string, std::function<void()>>> host_parts() { return {}; }
  virtual void watch() {}
  virtual Conditions watched() { return {}; }
};

/// The scale that arms of `scaled` bring for a row of A, or for a block of 128 columns of B, and a
/// leaf.
float bench_scale(std::int64_t block, std::int64_t leaf);

/// detgemm by a plan of the device's backend. Throws with the library's sentence.
/// Where the arm forces a kernel that does not take the problem, `enqueue` returns
/// Errc::unsupported.
Arm detgemm_arm(const BenchDevice& device, const ContractArm& spec, const Problem& problem,
                int threads, const Buffers& buffers, std::size_t* workspace_bytes = nullptr);

/// What a plan for this problem under this contract is made of.
GemmSpec spec_of(const Problem& problem, const Contract& contract);

}  // namespace detgemm::bench
