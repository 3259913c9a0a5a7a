// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Random problems over groups, with every layout of C and D, by every kernel that takes them and by
// the oracle, group by group: all of D's memory, byte for byte. See usage below.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "detgemm/detgemm.hpp"
#include "tests/cuda/grouped_sweep/scene.hpp"

namespace detgemm::test {
namespace {

constexpr const char* kUsage = R"(detgemm_cuda_grouped_sweep [--NAME VALUE] ...
  --outputs COUNT    stop after comparing this many outputs, of all kernels together (1e7)
  --seconds T        stop after this time, whatever comes first (600)
  --seed S           problems are a function of the seed and their index (1)
  --only INDEX       this problem alone
  --arithmetic A     hopper (default): bf16 and fp16, or fp8: e4m3, in builds of DETGEMM_CUDA_FP8
  --input T          drawn (default), or tf32, of hopper
  --kind K           batched, m_grouped, m_masked or k_grouped alone
  --variant V        force this kernel; else the backend's choice and then each kernel in turn
  --plant bit        spoil every result by one bit; succeeds if each one is found
Exit status: 0 all equal, 1 something differed, 77 no device to test.)";

struct Settings {
  double outputs = 1e7;
  double seconds = 600;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> only;
  std::optional<std::string> variant;
  std::optional<GroupKind> kind;
  bool e4m3 = false;
  bool tf32 = false;
  bool plant = false;
};

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = i + 1 < argc ? argv[i] : "";
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    const auto kind = parse_group_kind(value);
    if (option == "--outputs") {
      s.outputs = std::stod(value);
    } else if (option == "--seconds") {
      s.seconds = std::stod(value);
    } else if (option == "--seed") {
      s.seed = std::stoull(value);
    } else if (option == "--only") {
      s.only = std::stoull(value);
    } else if (option == "--variant") {
      s.variant = value;
    } else if (option == "--kind" && kind) {
      s.kind = *kind;
    } else if (option == "--arithmetic" && (value == "hopper" || value == "fp8")) {
      s.e4m3 = value == "fp8";
    } else if (option == "--input" && (value == "drawn" || value == "tf32")) {
      s.tf32 = value == "tf32";
    } else if (option == "--plant" && value == "bit") {
      s.plant = true;
    } else {
      std::puts(kUsage);
      std::exit(2);
    }
  }
  return s;
}

/// Runs and outputs compared, and outputs that differ.
struct Count {
  unsigned long long runs = 0, outputs = 0, differ = 0;
};

class Sweep {
 public:
  Sweep(const Settings& settings, const Backend& backend, cudaStream_t stream)
      : settings_(settings), backend_(backend), stream_(stream), scene_(stream) {}

  int run() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    for (std::uint64_t index = settings_.only.value_or(0);; ++index) {
      one(index);
      if (settings_.only || static_cast<double>(total_.outputs) >= settings_.outputs ||
          elapsed() >= settings_.seconds) {
        return finish(elapsed());
      }
    }
  }

 private:
  void one(std::uint64_t index) {
    GroupProblem problem = draw_group_problem(settings_.seed, index, settings_.e4m3);
    if (settings_.tf32) set_input(problem.spec.gemm.contract, DType::tf32);
    if (settings_.kind && problem.spec.kind != *settings_.kind) return;
    ++problems_;
    scene_.place(problem);
    if (settings_.variant) {
      force(index, *settings_.variant);
    } else {
      force(index, "");
      if (settings_.plant) return;
      for (const std::string& variant : backend_.grouped_variants(problem.spec)) {
        force(index, variant);
      }
    }
    if (scene_.inputs_intact()) return;
    ++broken_;
    std::printf("DIFFERS: an operand of problem %llu changed; %s\n",
                static_cast<unsigned long long>(index), problem.text().c_str());
  }

  void force(std::uint64_t index, const std::string& variant) {
    const GroupProblem& p = scene_.problem();
    const GroupedOperands& operands = scene_.reset();
    const auto plan = GroupedPlan::create(backend_, p.spec, PlanOptions{variant});
    if (plan.status().code() == Errc::not_found && !variant.empty()) {
      ++refused_;
      return;
    }
    must(plan.status(), p.text().c_str());
    const bool by_k = p.spec.kind == GroupKind::k_grouped;
    const auto bytes = plan->workspace_bytes(p.m, by_k ? p.k : 0);
    must(bytes.status(), p.text().c_str());
    RunInfo info;
    const Status ran =
        plan->run({DeviceKind::cuda, stream_}, operands, scene_.workspace(*bytes), &info);
    if (ran.code() == Errc::unsupported && !variant.empty()) {
      ++refused_;  // not for arrays that lie like these
      return;
    }
    must(ran, p.text().c_str());
    const cudaError_t error = cudaStreamSynchronize(stream_);
    if (error != cudaSuccess) {  // nothing can be computed after it
      say("FAILS", index, variant, info.kernel);
      std::printf("%s\n", cudaGetErrorString(error));
      std::exit(1);
    }
    if (settings_.plant) scene_.plant_bit();
    const Difference found = scene_.difference();
    if (settings_.plant) {
      const bool caught = p.outputs() == 0 || (found.bytes == 1 && found.elements == 1);
      if (caught) return count(info.kernel, {});
      ++broken_;
      return say("MISSED", index, variant, info.kernel);
    }
    count(info.kernel, found);
    if (found.bytes == 0) return;
    if (found.elements == 0) ++broken_;  // bytes outside of all outputs
    if (++reported_ > 20) return;
    say("DIFFERS", index, variant, info.kernel);
    std::printf("  %llu outputs, %llu bytes outside\n", found.elements, found.bytes_outside());
  }

  void count(const std::string& kernel, const Difference& found) {
    const GroupProblem& p = scene_.problem();
    const auto outputs = static_cast<unsigned long long>(p.outputs());
    const std::string way = kernel.find("loop") != std::string::npos       ? "loop"
                            : kernel.find("gather") != std::string::npos   ? "gather"
                            : kernel.find("elements") != std::string::npos ? "elements"
                                                                           : "tiles";
    const std::string heading = std::string(name(p.spec.kind)) + ", D " + p.d_layout() + ", " + way;
    for (Count* c : {&total_, &by_[heading]}) {
      ++c->runs;
      c->outputs += outputs;
      c->differ += found.elements;
    }
  }

  void say(const char* what, std::uint64_t index, const std::string& variant,
           const std::string& kernel) const {
    std::printf(
        "%s --arithmetic %s --input %s --seed %llu --only %llu --variant \"%s\": kernel %s; %s\n",
        what, settings_.e4m3 ? "fp8" : "hopper", settings_.tf32 ? "tf32" : "drawn",
        static_cast<unsigned long long>(settings_.seed), static_cast<unsigned long long>(index),
        variant.c_str(), kernel.c_str(), scene_.problem().text().c_str());
  }

  int finish(double seconds) const {
    for (const auto& [heading, c] : by_) {
      std::printf("  %-48s %8llu runs %14llu outputs %8llu differ\n", heading.c_str(), c.runs,
                  c.outputs, c.differ);
    }
    const bool passed = total_.differ == 0 && broken_ == 0 && total_.outputs > 0;
    std::printf("%llu problems, %llu runs refused by forced kernels, %.1f s\n", problems_, refused_,
                seconds);
    if (settings_.plant) {
      std::printf("%s\n", passed ? "every planted fault was found" : "MISSED");
    } else {
      std::printf("%llu outputs compared, %llu differ%s\n", total_.outputs, total_.differ,
                  broken_ != 0 ? "; memory outside of outputs changed" : "");
    }
    return passed ? 0 : 1;
  }

  const Settings& settings_;
  const Backend& backend_;
  cudaStream_t stream_;
  GroupScene scene_;
  Count total_;
  std::map<std::string, Count> by_;
  unsigned long long problems_ = 0, refused_ = 0, broken_ = 0;
  int reported_ = 0;
};

int sweep(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const auto cuda = find_backend("cuda");
  Status usable = cuda.status();
  if (usable) usable = (*cuda)->available();
  if (usable) {
    GroupProblem problem = draw_group_problem(settings.seed, 1, settings.e4m3);
    if (settings.tf32) set_input(problem.spec.gemm.contract, DType::tf32);
    usable = (*cuda)->supports(problem.spec.gemm);
  }
  if (!usable) {
    std::printf("skipped: %s\n", usable.message().c_str());
    return 77;
  }
  const auto runtime = Runtime::start();
  must(runtime.status(), "the runtime");
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  const int status = Sweep(settings, **cuda, stream).run();
  cudaStreamDestroy(stream);
  return status;
}

}  // namespace
}  // namespace detgemm::test

int main(int argc, char** argv) { return detgemm::test::sweep(argc, argv); }
