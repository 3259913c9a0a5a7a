// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Random problems of every contract that the HIP device computes, run by every kernel that takes
// them and compared bit for bit with the reference, including the memory around the arrays.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"
#include "tests/hip/problem.hpp"

namespace detgemm::test {
namespace {

constexpr const char* kUsage = R"(detgemm_hip_sweep [--NAME VALUE] ...
  --outputs COUNT    compare at least this many outputs per contract (1e6)
  --seed S           problems are a function of the seed (1)
  --products COUNT   products of the largest problem (1e6)
  --arithmetic NAME  only this arithmetic
  --input NAME       only this input type
  --variant START    only kernels whose names start so
  --plant bit        flip one bit of every result; succeeds if each one is found
Exit status: 0 all equal, 1 something differed, 77 no device to test.)";

struct Settings {
  double outputs = 1e6;
  std::uint64_t seed = 1;
  double products = 1e6;
  std::string arithmetic, input, variant;
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
    } else if (option == "--plant" && value == "bit") {
      s.plant = true;
    } else {
      std::puts(kUsage);
      std::exit(2);
    }
  }
  return s;
}

/// One arithmetic, input type and reduction.
struct Family {
  Arithmetic arithmetic;
  DType input;
  ReductionKind kind;

  std::string text() const {
    return std::string(name(arithmetic)) + "/" + std::string(name(input)) + "/" +
           std::string(name(kind));
  }
};

/// The kernels that can be forced and are asked for.
std::vector<std::string> wanted(const GemmSpec& spec, const Settings& settings) {
  std::vector<std::string> list;
  for (const std::string& variant : hip_backend().variants(spec)) {
    if (variant.rfind(settings.variant, 0) == 0) list.push_back(variant);
  }
  return list;
}

struct Count {
  std::int64_t problems = 0, runs = 0, outputs = 0, wrong = 0, refused = 0;
  std::set<std::string> kernels;
};

class Sweep {
 public:
  explicit Sweep(const Settings& settings) : settings_(settings) {}

  /// False where something was wrong.
  bool family(const Family& f) {
    Count count;
    conformance::Random random(conformance::derive(settings_.seed, f.text(), 0));
    while (static_cast<double>(count.outputs) < settings_.outputs && count.wrong < 5) {
      one(draw_problem(random, f.arithmetic, f.input, f.kind,
                       static_cast<std::int64_t>(settings_.products)),
          count);
    }
    std::string kernels;
    for (const std::string& kernel : count.kernels) kernels += " " + kernel;
    std::printf("%-22s %6lld problems %6lld runs %9lld outputs %3lld wrong %5lld refused;%s\n",
                f.text().c_str(), static_cast<long long>(count.problems),
                static_cast<long long>(count.runs), static_cast<long long>(count.outputs),
                static_cast<long long>(count.wrong), static_cast<long long>(count.refused),
                kernels.c_str());
    std::fflush(stdout);
    return count.wrong == 0 && count.runs > 0;
  }

 private:
  void one(const conformance::Request& request, Count& count) {
    ++count.problems;
    std::optional<Result<conformance::Output>> expected;
    std::vector<std::string> variants = wanted(request.spec, settings_);
    if (settings_.variant.empty()) variants.insert(variants.begin(), "");
    for (const std::string& variant : variants) {
      conformance::Request forced = request;
      forced.options.variant = variant;
      auto got = conformance::run_once(hip_backend(), std::move(forced));
      if (!got && got.status().code() == Errc::unsupported && !variant.empty()) {
        ++count.refused;  // not for arrays that lie like these
        continue;
      }
      if (!got) return wrong(request, count, got.status().message());
      if (!expected) {
        conformance::Request plain = request;
        plain.options = {};
        expected = conformance::run_once(**find_backend("reference"), plain);
      }
      if (!*expected) {
        return wrong(request, count, "the reference: " + expected->status().message());
      }
      ++count.runs;
      count.outputs += got->d.rows * got->d.cols;
      count.kernels.insert(got->kernel);
      if (settings_.plant) got->d.bytes[got->d.bytes.size() / 2] ^= 1;
      const bool equal = got->d == (**expected).d;
      if (!got->violation.empty()) wrong(request, count, got->violation);
      if (equal == settings_.plant) {
        wrong(request, count, (equal ? "a planted bit was missed by " : "bits of ") + got->kernel);
      }
    }
  }

  static void wrong(const conformance::Request& request, Count& count, const std::string& what) {
    ++count.wrong;
    std::printf("WRONG %s: %s\n", what.c_str(), text(request).c_str());
  }

  const Settings& settings_;
};

/// A contract of the family that the device computes at all.
bool computed(const Family& f, const Settings& settings) {
  GemmSpec spec;
  spec.n = spec.k = 16;
  const std::int64_t leaf = f.kind == ReductionKind::chain ? 0 : 64;
  const auto contract = Contract::make(f.arithmetic, f.input, {f.kind, leaf}, DType::fp32);
  if (!contract) return false;
  spec.contract = *contract;
  return hip_backend().supports(spec) && !wanted(spec, settings).empty();
}

int run(const Settings& settings) {
  if (const Status s = hip_backend().available(); !s) {
    std::printf("skipped: %s\n", s.message().c_str());
    return 77;
  }
  std::printf("device %s\n", hip_backend().device().description().c_str());
  Sweep sweep(settings);
  int families = 0;
  bool passed = true;
  for (const Arithmetic arithmetic : {Arithmetic::cdna3, Arithmetic::cdna2, Arithmetic::ieee_fma}) {
    if (!settings.arithmetic.empty() && settings.arithmetic != name(arithmetic)) continue;
    for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
      if (!settings.input.empty() && settings.input != name(input)) continue;
      for (const ReductionKind kind :
           {ReductionKind::chain, ReductionKind::fold, ReductionKind::tree}) {
        const Family f{arithmetic, input, kind};
        if (!computed(f, settings)) continue;
        ++families;
        passed = sweep.family(f) && passed;
      }
    }
  }
  passed = passed && families > 0;
  std::printf(
      "%d contracts: %s\n", families,
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
