// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Random and adversarial problems, computed by a backend and by the oracle, compared bit for bit
// with everything around them. See usage below.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

#include "detgemm/detgemm.hpp"
#include "tests/cuda/fma_problem.hpp"
#include "tests/cuda/fp8_problem.hpp"
#include "tests/cuda/host_subject.hpp"
#include "tests/cuda/random_tuning.hpp"
#include "tests/cuda/scene.hpp"
#include "tests/cuda/snap_problem.hpp"
#include "tests/cuda/tally.hpp"

namespace detgemm::test {
namespace {

constexpr const char* kUsage = R"(detgemm_cuda_sweep [--NAME VALUE] ...
  --outputs COUNT    stop after this many outputs, each counted once (1e7)
  --seconds T        stop after this time, whatever comes first (600)
  --seed S           problems are a function of the seed and their index (1)
  --largest PRODUCTS skip problems with more products than this (4e9: none)
  --only INDEX       this problem alone
  --arithmetic A     hopper (default), ampere, blackwell, ieee_fma with fp32 inputs, folds and trees, snap, snap3, or
                     fp8: hopper/e4m3 under scaled, fold and chain, in builds of DETGEMM_CUDA_FP8
  --input T          drawn (default: bf16 and fp16), or tf32, of hopper, ampere and blackwell
  --variant V        force this kernel; else the backend's choice and then each kernel in turn
  --variants PREFIX  of the kernels in turn, those alone whose names begin so, and all of them:
                     mma/ are those of mma.sync, beside the backend's choice
  --reduction WHICH  chain (default), leaves (fold and tree) or all
  --operands WHICH   drawn (default), or odd: A and B at any address, and LEAFs of any size
  --subject NAME     cuda (default), or reference: checks the oracle against the reference
  --tuning random    every problem once more under a tuning file with a random kernel for random
                     ranges of M, in place of each kernel in turn
  --plant WHAT       bit, canary or input: spoil every result; succeeds if each one is found
  --json FILE        the counts, for programs
Exit status: 0 all equal, 1 something differed, 77 no device to test.)";

struct Settings {
  double outputs = 1e7;
  double seconds = 600;
  double largest = kMaxProducts;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> only;
  std::optional<std::string> variant;
  std::string prefix;
  std::string subject = "cuda";
  Reductions reductions = Reductions::chain;
  std::string reduction = "chain";  // by name
  std::string arithmetic = "hopper";
  bool tf32 = false;
  bool odd = false;
  bool tuning = false;
  std::string plant;
  std::string json;
};

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = i + 1 < argc ? argv[i] : "";
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--outputs") {
      s.outputs = std::stod(value);
    } else if (option == "--seconds") {
      s.seconds = std::stod(value);
    } else if (option == "--largest") {
      s.largest = std::stod(value);
    } else if (option == "--seed") {
      s.seed = std::stoull(value);
    } else if (option == "--only") {
      s.only = std::stoull(value);
    } else if (option == "--variant") {
      s.variant = value;
    } else if (option == "--variants") {
      s.prefix = value;
    } else if (option == "--reduction" &&
               (value == "chain" || value == "leaves" || value == "all")) {
      s.reductions = value == "chain"    ? Reductions::chain
                     : value == "leaves" ? Reductions::leaves
                                         : Reductions::all;
      s.reduction = value;
    } else if (option == "--arithmetic" &&
               (value == "hopper" || value == "ampere" || value == "blackwell" ||
                value == "ieee_fma" || value == "snap" || value == "snap3" || value == "fp8")) {
      s.arithmetic = value;
    } else if (option == "--input" && (value == "drawn" || value == "tf32")) {
      s.tf32 = value == "tf32";
    } else if (option == "--operands" && (value == "drawn" || value == "odd")) {
      s.odd = value == "odd";
    } else if (option == "--subject") {
      s.subject = value;
    } else if (option == "--tuning" && value == "random") {
      s.tuning = true;
    } else if (option == "--plant") {
      s.plant = value;
    } else if (option == "--json") {
      s.json = value;
    } else {
      std::puts(kUsage);
      std::exit(2);
    }
  }
  return s;
}

Problem draw(const Settings& s, std::uint64_t index) {
  if (s.arithmetic == "snap") return draw_snap_problem(s.seed, index, s.odd);
  if (s.arithmetic == "snap3") return draw_snap3_problem(s.seed, index, s.odd);
  if (s.arithmetic == "fp8") return draw_fp8_problem(s.seed, index, s.odd);
  Problem problem = s.arithmetic == "ieee_fma" ? draw_fma_problem(s.seed, index)
                                               : draw_problem(s.seed, index, s.reductions);
  if (s.arithmetic == "ampere") problem.spec.contract.arithmetic = Arithmetic::ampere;
  if (s.arithmetic == "blackwell") problem.spec.contract.arithmetic = Arithmetic::blackwell;
  set_input(problem.spec.contract, s.tf32 ? DType::tf32 : problem.spec.contract.input);
  if (s.odd) misalign_operands(problem);
  return problem;
}

const char* oracle_of(const Settings& s) {
  if (s.arithmetic == "snap3") return "one thread an output, split and added in integers";
  if (s.arithmetic == "snap") return "one thread an output, snapped and added in integers";
  return s.arithmetic == "ieee_fma" ? "one thread an output, fp32 fma in a loop"
                                    : "one thread an output, integer model of the arithmetic";
}

class Sweep {
 public:
  Sweep(const Settings& settings, const Backend& backend, cudaStream_t stream)
      : settings_(settings), backend_(backend), scene_(stream) {}

  int run() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    for (std::uint64_t index = settings_.only.value_or(0);; ++index) {
      one(index);
      if (settings_.only || static_cast<double>(distinct_) >= settings_.outputs ||
          elapsed() >= settings_.seconds) {
        return finish(elapsed());
      }
    }
  }

 private:
  void one(std::uint64_t index) {
    const Problem problem = draw(settings_, index);
    const double outputs = static_cast<double>(problem.m) * static_cast<double>(problem.spec.n);
    if (outputs * static_cast<double>(std::max<std::int64_t>(problem.spec.k, 1)) >
        settings_.largest)
      return;
    ++problems_;
    scene_.place(problem);
    runs_ = 0;
    distinct_ += static_cast<unsigned long long>(problem.m * problem.spec.n);
    if (settings_.variant) return force(index, *settings_.variant);
    if (settings_.tuning) return run_tuned(index);
    force(index, "");
    if (!settings_.plant.empty()) return;
    if (settings_.subject != "cuda") return;
    force(index, "");  // with the other workspace
    auto variants = backend_.variants(problem.spec);
    std::erase_if(variants, [&](const std::string& v) { return !v.starts_with(settings_.prefix); });
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (gets_kernel(problem, i, variants.size())) force(index, variants[i]);
    }
  }

  /// Under random files, with the needed and with the fast workspace.
  void run_tuned(std::uint64_t index) {
    constexpr int kFiles = 6;
    for (int file = 0; file < kFiles; ++file) {
      const RandomTuning tuning = random_tuning(backend_, scene_.problem().spec, scene_.problem().m,
                                                mix(settings_.seed + kFiles * index + file));
      row_ = tuning.kernel;
      force(index, "", tuning.file);
      ++(tuning.kernel.empty() ? without_row_ : with_row_);
    }
  }

  void force(std::uint64_t index, const std::string& variant,
             const std::shared_ptr<const Tuning>& tuning = nullptr) {
    const Problem& p = scene_.problem();
    const auto known = backend_.variants(p.spec);
    if (!variant.empty() && std::find(known.begin(), known.end(), variant) == known.end()) {
      ++refused_[variant];
      return;
    }
    const Operands& operands = scene_.reset();
    const auto plan = Plan::create(backend_, p.spec,
                                   PlanOptions{variant, p.max_workers, p.stable, false, tuning});
    must(plan.status(), p.text().c_str());
    RunInfo info;
    if (settings_.subject == "cuda") {
      // Every other run has the workspace with which it is fastest, where copies of operands may
      // lie. A forced kernel that takes the operands as they lie may then take copies instead.
      const auto bytes = (p.key + runs_++) % 2 == 0 ? plan->workspace_bytes(p.m)
                                                    : plan->fast_workspace_bytes(operands);
      must(bytes.status(), p.text().c_str());
      const Status ran =
          plan->run({DeviceKind::cuda, scene_.stream()}, operands, scene_.workspace(*bytes), &info);
      if (ran.code() == Errc::unsupported && !variant.empty()) {
        ++refused_[variant];  // not for arrays that lie like these
        return;
      }
      must(ran, p.text().c_str());
    } else {
      host_.run(*plan, scene_, operands, &info);
    }
    if (settings_.subject == "cuda") ended(index, variant, info.kernel);
    if (!row_.empty() && info.kernel.find(row_) != std::string::npos) ++took_row_;
    plant(index);
    const Difference difference = scene_.difference();
    const bool intact = scene_.inputs_intact();
    tally_.add(p, variant, info.kernel, difference, intact);
    if (!settings_.plant.empty()) return judge_plant(index, difference, intact);
    if (difference.bytes == 0 && intact) return;
    if (++reported_ > 20) return;
    const auto n = static_cast<unsigned long long>(p.spec.n);
    std::printf(
        "DIFFERS --arithmetic %s --reduction %s --operands %s --seed %llu --only %llu --variant "
        "\"%s\": "
        "%llu outputs (first %lld, %lld), %llu bytes outside, inputs %s; kernel %s; %s\n",
        settings_.arithmetic.c_str(), settings_.reduction.c_str(), settings_.odd ? "odd" : "drawn",
        static_cast<unsigned long long>(settings_.seed), static_cast<unsigned long long>(index),
        variant.c_str(), difference.elements,
        difference.elements != 0 ? static_cast<long long>(difference.first / n) : -1,
        difference.elements != 0 ? static_cast<long long>(difference.first % n) : -1,
        difference.bytes_outside(), intact ? "intact" : "changed", info.kernel.c_str(),
        p.text().c_str());
  }

  /// Ends the sweep where a kernel does not come to its end: nothing can be computed after it.
  void ended(std::uint64_t index, const std::string& variant, const std::string& kernel) const {
    const cudaError_t error = cudaStreamSynchronize(scene_.stream());
    if (error == cudaSuccess) return;
    std::printf(
        "FAILS --arithmetic %s --reduction %s --seed %llu --only %llu --variant \"%s\": %s; "
        "kernel %s; %s\n",
        settings_.arithmetic.c_str(), settings_.reduction.c_str(),
        static_cast<unsigned long long>(settings_.seed), static_cast<unsigned long long>(index),
        variant.c_str(), cudaGetErrorString(error), kernel.c_str(),
        scene_.problem().text().c_str());
    std::exit(1);
  }

  void plant(std::uint64_t index) {
    const Problem& p = scene_.problem();
    const auto outputs = static_cast<std::uint64_t>(p.m * p.spec.n);
    if (settings_.plant == "bit") scene_.plant_bit(mix(settings_.seed + index) % outputs);
    if (settings_.plant == "canary") scene_.plant_outside();
    if (settings_.plant == "input") must(poke(scene_.a().memory(), 1, scene_.stream()), "a plant");
  }

  /// The spoilt bit must be found, and nothing else.
  void judge_plant(std::uint64_t index, const Difference& found, bool intact) {
    const bool bit = settings_.plant == "bit";
    const bool canary = settings_.plant == "canary";
    const bool caught = found.elements == (bit ? 1U : 0U) &&
                        found.bytes_outside() == (canary ? 1U : 0U) &&
                        intact == (settings_.plant != "input");
    if (caught) return;
    ++missed_;
    std::printf("MISSED a planted %s in problem %llu: %s\n", settings_.plant.c_str(),
                static_cast<unsigned long long>(index), scene_.problem().text().c_str());
  }

  int finish(double seconds) {
    const bool chose = !settings_.tuning || took_row_ > 0;  // else nothing was tried
    const bool passed = settings_.plant.empty() ? tally_.total().clean() && chose : missed_ == 0;
    for (const auto& [variant, runs] : refused_) {
      std::printf("%s refused %llu problems\n", variant.c_str(), runs);
    }
    if (settings_.tuning) {
      std::printf(
          "random tuning files: %llu runs with a row, of which %llu by its kernel; %llu without\n",
          with_row_, took_row_, without_row_);
    }
    std::printf("%s%llu problems, %llu distinct outputs, %llu compared, %.1f s: %s\n",
                tally_.text().c_str(), problems_, distinct_, tally_.total().outputs, seconds,
                !settings_.plant.empty() ? (passed ? "every planted fault was found" : "MISSED")
                                         : (passed ? "all equal" : "DIFFERENT"));
    if (!settings_.json.empty()) {
      nlohmann::json out = tally_.json();
      out["subject"] = backend_.name();
      out["device"] = find_backend("cuda").value()->device().description();
      out["oracle"] = oracle_of(settings_);
      out["seed"] = settings_.seed;
      out["operands"] = settings_.odd ? "odd" : "drawn";
      out["problems"] = problems_;
      out["refused"] = refused_;
      out["distinct_outputs"] = distinct_;
      if (settings_.tuning) {
        out["tuning"] = {
            {"with_row", with_row_}, {"without_row", without_row_}, {"took_row", took_row_}};
      }
      out["seconds"] = seconds;
      out["plant"] = settings_.plant.empty() ? nlohmann::json() : nlohmann::json(settings_.plant);
      out["passed"] = passed;
      std::ofstream(settings_.json) << out.dump(1) << "\n";
    }
    return passed ? 0 : 1;
  }

  const Settings& settings_;
  const Backend& backend_;
  Scene scene_;
  HostSubject host_;
  Tally tally_;
  std::map<std::string, unsigned long long> refused_;  // by variant
  unsigned long long problems_ = 0, distinct_ = 0, missed_ = 0;
  std::string row_;  // the kernel that the tuning of a run names, if any
  unsigned long long with_row_ = 0, without_row_ = 0, took_row_ = 0;
  std::uint64_t runs_ = 0;  // of the problem that is in place
  int reported_ = 0;
};

int sweep(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const auto cuda = find_backend("cuda");
  Status usable = cuda.status();
  if (usable) usable = (*cuda)->available();
  if (usable) {
    usable = (*cuda)->supports(draw(settings, 1).spec);
  }
  if (!usable) {
    std::printf("skipped: %s\n", usable.message().c_str());
    return 77;
  }
  const auto runtime = Runtime::start();
  must(runtime.status(), "the runtime");
  const auto backend = find_backend(settings.subject);
  must(backend.status(), "--subject");
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  const int status = Sweep(settings, **backend, stream).run();
  cudaStreamDestroy(stream);
  return status;
}

}  // namespace
}  // namespace detgemm::test

int main(int argc, char** argv) { return detgemm::test::sweep(argc, argv); }
