// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Random problems of every contract that the HIP device computes, run by every kernel that takes
// them and compared bit for bit with the reference, including the memory around the arrays.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"
#include "tests/hip/launched.hpp"
#include "tests/hip/sweep_units.hpp"

namespace detgemm::test {
namespace {

constexpr const char* kUsage = R"(detgemm_hip_sweep [--NAME VALUE] ...
  --outputs COUNT    compare at least this many outputs per contract (1e6)
  --seed S           problems are a function of the seed (1)
  --products COUNT   products of the largest problem (1e6)
  --arithmetic NAME  only this arithmetic
  --input NAME       only this input type
  --variant START    only kernels whose names start so
  --each yes         every kernel by itself: COUNT outputs of each per contract, forced by its name
  --each kernel      every compiled kernel by itself, by problems whose layouts it takes
  --only START       of these, what the line printed for it starts with
  --list yes         print the names of these, and compute nothing
  --seconds COUNT    draw no problem after so long; what was compared until then counts
  --json FILE        write the counts per contract and per kernel here, for scripts/record.py
  --plant bit        flip one bit of every result; succeeds if each one is found
Exit status: 0 all equal, 1 something differed, 77 no device to test.)";

struct Settings {
  double outputs = 1e6;
  std::uint64_t seed = 1;
  double products = 1e6;
  double seconds = 1e9;
  std::string arithmetic, input, variant, json, only;
  bool each = false;
  bool each_kernel = false;
  bool list = false;
  bool plant = false;
};

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = i + 1 < argc ? argv[i] : "";
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--outputs") {
      s.outputs = std::stod(value);
    } else if (option == "--seed") {
      s.seed = std::stoull(value);
    } else if (option == "--products") {
      s.products = std::stod(value);
    } else if (option == "--arithmetic") {
      s.arithmetic = value;
    } else if (option == "--input") {
      s.input = value;
    } else if (option == "--variant") {
      s.variant = value;
    } else if (option == "--each" && value == "yes") {
      s.each = true;
    } else if (option == "--each" && value == "kernel") {
      s.each = s.each_kernel = true;
    } else if (option == "--only") {
      s.only = value;
    } else if (option == "--list" && value == "yes") {
      s.list = true;
    } else if (option == "--seconds") {
      s.seconds = std::stod(value);
    } else if (option == "--json") {
      s.json = value;
    } else if (option == "--plant" && value == "bit") {
      s.plant = true;
    } else {
      std::puts(kUsage);
      std::exit(2);
    }
  }
  return s;
}

struct Count {
  std::int64_t problems = 0, distinct = 0, runs = 0, outputs = 0, wrong = 0, refused = 0;
  std::set<std::string> kernels;
};

/// Totals under a heading of the report; `broken` counts calls that touched memory not theirs.
struct Total {
  std::int64_t runs = 0, outputs = 0, wrong = 0, broken = 0;

  nlohmann::json json() const {
    return {{"runs", runs},
            {"outputs", outputs},
            {"mismatches", wrong},
            {"bytes_outside", broken},
            {"inputs_changed", 0}};
  }
};

/// How many outputs are not the same bits.
std::int64_t differences(const conformance::Elements& got, const conformance::Elements& expected) {
  if (got == expected) return 0;
  const std::size_t size = got.bytes.size() / static_cast<std::size_t>(got.rows * got.cols);
  if (got.bytes.size() != expected.bytes.size()) return got.rows * got.cols;
  std::int64_t count = 0;
  for (std::size_t at = 0; at < got.bytes.size(); at += size) {
    count += std::memcmp(&got.bytes[at], &expected.bytes[at], size) != 0 ? 1 : 0;
  }
  return count;
}

/// "gfx942/64x64-parts:17/any-strides" is counted as "64x64-parts/any-strides".
std::string variant_of(const std::string& kernel) {
  std::string name = kernel.substr(kernel.find('/') + 1);
  const std::size_t parts = name.find(':');
  if (parts == std::string::npos) return name;
  const std::size_t rest = name.find('/', parts);
  return name.substr(0, parts) + (rest == std::string::npos ? "" : name.substr(rest));
}

class Sweep {
 public:
  explicit Sweep(const Settings& settings) : settings_(settings) {}

  /// Problems of the unit until enough outputs were compared; false where something was wrong.
  bool draw(const Unit& unit) {
    Count count;
    conformance::Random random(conformance::derive(settings_.seed, unit.text, 0));
    const Family& f = unit.family;
    while (static_cast<double>(count.outputs) < settings_.outputs && count.wrong < 5 &&
           seconds() < settings_.seconds && (count.runs > 0 || count.problems < kMostRefused)) {
      one(f,
          draw_problem(random, f.arithmetic, f.input, f.kind,
                       static_cast<std::int64_t>(settings_.products), unit.suited),
          unit.variants, count);
    }
    std::string kernels;
    for (const std::string& kernel : count.kernels) kernels += " " + kernel;
    std::printf("%-22s %6lld problems %6lld runs %9lld outputs %3lld wrong %5lld refused;%s\n",
                unit.text.c_str(), static_cast<long long>(count.problems),
                static_cast<long long>(count.runs), static_cast<long long>(count.outputs),
                static_cast<long long>(count.wrong), static_cast<long long>(count.refused),
                kernels.c_str());
    std::fflush(stdout);
    problems_ += count.problems;
    distinct_ += count.distinct;
    return count.wrong == 0 && (count.runs > 0 || seconds() >= settings_.seconds);
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }

  std::int64_t runs() const { return total_.runs; }

  std::string table() {
    std::string out;
    for (const auto& [kernel, total] : by_["kernel"]) {
      char row[160];
      std::snprintf(row, sizeof row, "  %-20s %7lld runs %10lld outputs %3lld wrong\n",
                    kernel.c_str(), static_cast<long long>(total.runs),
                    static_cast<long long>(total.outputs), static_cast<long long>(total.wrong));
      out += row;
    }
    return out;
  }

  /// What scripts/record.py makes a record of.
  nlohmann::json json() const {
    nlohmann::json out;
    for (const auto& [heading, values] : by_) {
      for (const auto& [value, total] : values) out["by"][heading][value] = total.json();
    }
    out["total"] = total_.json();
    out["problems"] = problems_;
    out["distinct_outputs"] = distinct_;
    return out;
  }

 private:
  void one(const Family& f, const conformance::Request& request,
           const std::vector<std::string>& variants, Count& count) {
    ++count.problems;
    std::optional<Result<conformance::Output>> expected;
    for (const std::string& variant : variants) {
      conformance::Request forced = request;
      forced.options.variant = variant;
      take_launches();
      auto got = conformance::run_once(hip_backend(), std::move(forced));
      if (!got && got.status().code() == Errc::unsupported && !variant.empty()) {
        ++count.refused;  // not for arrays that lie like these
        continue;
      }
      if (!got) return wrong(request, count, got.status().message());
      if (!expected) {
        conformance::Request plain = request;
        plain.options = {};
        // What was promised to be snapped is snapped once more there, which changes nothing.
        plain.spec.a_snapped = plain.spec.b_snapped = false;
        expected = conformance::run_once(**find_backend("reference"), plain);
        count.distinct += got->d.rows * got->d.cols;
      }
      if (!*expected) {
        return wrong(request, count, "the reference: " + expected->status().message());
      }
      ++count.runs;
      count.outputs += got->d.rows * got->d.cols;
      count.kernels.insert(got->kernel);
      if (settings_.plant) got->d.bytes[got->d.bytes.size() / 2] ^= 1;
      const std::int64_t differ = differences(got->d, (**expected).d);
      const bool equal = differ == 0;
      if (!got->violation.empty()) wrong(request, count, got->violation);
      if (equal == settings_.plant) {
        wrong(request, count, (equal ? "a planted bit was missed by " : "bits of ") + got->kernel);
      }
      const std::int64_t outputs = got->d.rows * got->d.cols;
      std::vector<Total*> totals{&total_, &by_["contract"][f.text()],
                                 &by_["kernel"][variant_of(got->kernel)]};
      // Each compiled kernel that took part, the one that rounded an operand among them.
      for (const std::string& kernel : take_launches()) totals.push_back(&by_["compiled"][kernel]);
      for (Total* const total : totals) {
        ++total->runs;
        total->outputs += outputs;
        total->wrong += differ;
        total->broken += got->violation.empty() ? 0 : 1;
      }
    }
  }

  static void wrong(const conformance::Request& request, Count& count, const std::string& what) {
    ++count.wrong;
    std::printf("WRONG %s: %s\n", what.c_str(), text(request).c_str());
  }

  static constexpr std::int64_t kMostRefused = 10'000;  // in a row, from the first on
  const Settings& settings_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::map<std::string, std::map<std::string, Total>> by_;  // heading, value
  Total total_;
  std::int64_t problems_ = 0, distinct_ = 0;
};

/// The kernels that are asked for and compute a contract of the family on this device.
std::vector<std::string> kernels_for(const Family& f, const Settings& settings) {
  GemmSpec spec;
  spec.n = spec.k = 16;
  const std::int64_t leaf = f.kind == ReductionKind::chain ? 0 : 64;
  const auto contract = Contract::make(f.arithmetic, f.input, {f.kind, leaf}, DType::fp32);
  if (!contract) return {};
  spec.contract = *contract;
  std::vector<std::string> list;
  if (!hip_backend().supports(spec)) return list;
  for (const std::string& variant : hip_backend().variants(spec)) {
    if (variant.rfind(settings.variant, 0) == 0) list.push_back(variant);
  }
  // The one that is chosen too, where nothing is forced.
  if (!list.empty() && settings.variant.empty() && !settings.each) list.insert(list.begin(), "");
  return list;
}

/// Of one family, all that the settings name.
std::vector<Unit> units_of(const Family& f, const Settings& settings) {
  const std::vector<std::string> variants = kernels_for(f, settings);
  std::vector<Unit> units;
  if (settings.each_kernel) {
    units = units_per_kernel(f, variants);
  } else if (settings.each) {
    for (const auto& variant : variants)
      units.push_back({f, f.text() + "/" + variant, {variant}, {}});
  } else if (!variants.empty()) {
    units.push_back({f, f.text(), variants, {}});
  }
  std::erase_if(units, [&](const Unit& u) { return u.text.rfind(settings.only, 0) != 0; });
  return units;
}

int run(const Settings& settings) {
  if (const Status s = hip_backend().available(); !s) {
    std::printf("skipped: %s\n", s.message().c_str());
    return 77;
  }
  if (!settings.list) std::printf("device %s\n", hip_backend().device().description().c_str());
  Sweep sweep(settings);
  int families = 0, left = 0;
  bool passed = true;
  for (const Arithmetic arithmetic : {Arithmetic::cdna3, Arithmetic::cdna2, Arithmetic::ieee_fma,
                                      Arithmetic::snap, Arithmetic::snap3}) {
    if (!settings.arithmetic.empty() && settings.arithmetic != name(arithmetic)) continue;
    for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
      if (!settings.input.empty() && settings.input != name(input)) continue;
      for (const ReductionKind kind :
           {ReductionKind::chain, ReductionKind::fold, ReductionKind::tree}) {
        const Family f{arithmetic, input, kind};
        const std::vector<Unit> units = units_of(f, settings);
        families += units.empty() ? 0 : 1;
        for (const Unit& unit : units) {
          if (settings.list) {
            std::puts(unit.text.c_str());
          } else if (sweep.seconds() < settings.seconds) {
            passed = sweep.draw(unit) && passed;
          } else {
            ++left;
          }
        }
      }
    }
  }
  passed = passed && families > 0 && (settings.list || sweep.runs() > 0);
  if (settings.list) return passed ? 0 : 1;
  if (!settings.json.empty()) {
    nlohmann::json out = sweep.json();
    out["subject"] = "hip";
    out["device"] = hip_backend().device().description();
    out["oracle"] = "reference";
    out["seed"] = settings.seed;
    out["seconds"] = sweep.seconds();
    out["plant"] = settings.plant ? nlohmann::json("bit") : nlohmann::json();
    out["units_left"] = left;
    out["passed"] = passed;
    std::ofstream file(settings.json);
    if (!(file << out.dump(1) << "\n")) {
      std::printf("%s cannot be written\n", settings.json.c_str());
      return 1;
    }
  }
  if (left > 0) std::printf("%d units were not drawn: the time was over\n", left);
  std::printf(
      "%s%d contracts: %s\n", sweep.table().c_str(), families,
      passed ? (settings.plant ? "every planted bit was found" : "all equal") : "DIFFERENT");
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace detgemm::test

int main(int argc, char** argv) {
  const auto settings = detgemm::test::parse(argc, argv);
  const auto runtime = detgemm::Runtime::start();
  if (!runtime) {
    std::printf("%s\n", runtime.status().message().c_str());
    return 1;
  }
  return detgemm::test::run(settings);
}
