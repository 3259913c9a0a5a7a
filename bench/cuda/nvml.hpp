// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace detgemm::bench {

/// Medians of what the driver says of the device while it was watched; 0 where it says nothing.
/// The SM clock it shows reads about 10 % high under tensor load.
struct Watched {
  double watts = 0, sm_mhz = 0, memory_mhz = 0, celsius = 0;
};

class Nvml {
 public:
  Nvml();
  ~Nvml() { stop(); }
  bool there() const { return device_ != nullptr; }
  std::string driver() const;
  double power_limit_watts() const;  ///< 0 where it says nothing
  void start();
  Watched stop();

 private:
  void sample();
  void* library_ = nullptr;
  void* device_ = nullptr;
  std::atomic<bool> running_{false};
  std::thread thread_;
  std::vector<double> watts_, sm_, memory_, celsius_;
};

}  // namespace detgemm::bench
