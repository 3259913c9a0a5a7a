// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/calibrate.hpp"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/suite/console.hpp"

namespace detgemm::bench {
namespace {

/// The ceilings of every run of the benchmark, as constants.
std::vector<Constant> ceilings_of(BenchDevice& device) {
  const Ceilings c = device.measure_ceilings(true);
  std::vector<Constant> all{{"memory_copy", c.copy_bytes_per_s, "B/s", "read and written"},
                            {"memory_read", c.read_bytes_per_s, "B/s", "read alone"}};
  for (const auto& [unit, flops] : c.flops) {
    all.push_back({"multiply_" + unit, flops, "FLOP/s", "after a rest, the best"});
  }
  std::erase_if(all, [](const Constant& each) { return each.value <= 0; });
  return all;
}

std::string json_of(const RunResult& run, const std::vector<Constant>& constants, double seconds) {
  nlohmann::ordered_json out;
  out["schema"] = 1;
  out["tool"] = "detgemm calibrate";
  out["version"] = run.version;
  out["date"] = run.date;
  out["commit"] = run.commit;
  out["seconds"] = seconds;
  for (const auto& [key, value] : run.machine) out["machine"][key] = value;
  for (const Constant& c : constants) {
    out["constants"][c.name] = {{"value", c.value}, {"unit", c.unit}, {"how", c.how}};
  }
  return out.dump(1) + "\n";
}

}  // namespace

bool run_calibrate(const Options& options) {
  const auto device = find_device(options);
  RunResult run = result_of_today(options, "detgemm calibrate");
  run.machine = device->facts();
  std::erase_if(run.machine, [](const auto& fact) { return fact.first == "cublaslt"; });
  for (const auto& [key, value] : run.machine) std::printf("%s: %s\n", key.c_str(), value.c_str());
  const double begin = now_s();
  std::vector<Constant> all = ceilings_of(*device);
  for (Constant& each : device->measure_constants()) all.push_back(std::move(each));
  const double seconds = now_s() - begin;
  for (const Constant& c : all) {
    std::printf("%-22s %12.5g %-7s %s\n", c.name.c_str(), c.value, c.unit.c_str(), c.how.c_str());
  }
  std::printf("%.1f s\n", seconds);
  if (options.json.empty()) return true;
  std::ofstream file(options.json);
  file << json_of(run, all, seconds);
  file.close();
  return static_cast<bool>(file);
}

}  // namespace detgemm::bench
