// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdio>

#include "bench/cuda/bits.hpp"
#include "bench/cuda/ceilings.hpp"
#include "bench/cuda/check.hpp"
#include "bench/cuda/constants.hpp"
#include "bench/cuda/cublaslt.hpp"
#include "bench/cuda/memory.hpp"
#include "bench/cuda/nvml.hpp"
#include "bench/cuda/queue.hpp"
#include "bench/cuda/small.hpp"
#include "bench/cuda/weight_read.hpp"
#include "bench/suite/devices.hpp"

namespace detgemm::bench {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr double kShortUs = 200;         // below this a second look is cheap and worthwhile
constexpr int kChoices = 10;             // of the heuristic's list
constexpr std::int64_t kTiles = 4096;    // of D that are recomputed for a K of 8192
constexpr double kLargeWeights = 100e6;  // bytes: from here on memory bounds a read

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  return stream;
}

std::string version_text(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

class CudaBenchDevice final : public BenchDevice {
 public:
  CudaBenchDevice(const Backend& backend, const std::string& cublaslt)
      : backend_(backend), queue_(new_stream()), cublaslt_(cublaslt) {}
  ~CudaBenchDevice() override {
    if (probe_ != nullptr) memory_.release(probe_);
  }

  std::string name() const override { return "cuda"; }
  const Backend& backend() const override { return backend_; }
  Queue& queue() override { return queue_; }
  Memory& memory() override { return memory_; }
  PoolBytes pools() const override { return kCudaPools; }

  std::vector<std::pair<std::string, std::string>> facts() override {
    int device = 0;
    int runtime = 0;
    cudaDeviceProp properties{};
    check(cudaGetDevice(&device), "device");
    check(cudaGetDeviceProperties(&properties, device), "device");
    check(cudaRuntimeGetVersion(&runtime), "runtime");
    char power[32];
    std::snprintf(power, sizeof power, "%.0f W", nvml_.power_limit_watts());
    return {{"device", properties.name},
            {"processors", std::to_string(properties.multiProcessorCount)},
            {"last cache", std::to_string(properties.l2CacheSize >> 20) + " MiB"},
            {"driver", nvml_.driver()},
            {"toolkit", "CUDA " + version_text(runtime)},
            {"cublaslt", lt_ != nullptr ? std::to_string(lt_->version()) : "absent"},
            {"power limit", power}};
  }

  std::vector<std::string> baseline_names() const override {
    return {"cublaslt", "cublaslt0", "cublaslt-best"};
  }

  std::vector<Baseline> baselines() override {
    lt_ = CublasLt::open(cublaslt_, why_no_lt_);
    if (lt_ == nullptr) return {{"cublaslt", why_no_lt_}};
    const std::string version = "cuBLASLt " + std::to_string(lt_->version());
    std::vector<Baseline> all;
    all.push_back({"cublaslt", version + ", its first choice with 32 MiB of workspace", true, false,
                   [this](const BaselineRequest& r) {
                     return lt_->arm("cublaslt", r.problem, r.buffers, kWorkspace);
                   }});
    all.push_back({"cublaslt0", version + ", its first choice without workspace", true, false,
                   [this](const BaselineRequest& r) {
                     return lt_->arm("cublaslt0", r.problem, r.buffers, 0);
                   }});
    all.push_back({"cublaslt-best",
                   version + ", the fastest of up to 10 of its list with 32 MiB of workspace", true,
                   true, [this](const BaselineRequest& r) { return fastest(r); }});
    return all;
  }

  std::vector<Baseline> ceiling_arms() override {
    std::vector<Baseline> all;
    for (const int kib : {128, 192}) {
      Baseline& arm = all.emplace_back();
      arm.name = "read" + std::to_string(kib);
      arm.what = "the weights read by TMA, " + std::to_string(kib) +
                 " KiB in flight on each multiprocessor, without arithmetic";
      arm.present = true;
      arm.role = Role::ceiling;
      arm.takes = [](const Problem& p) {
        return weight_read_takes(p) && p.tokens <= 16 &&
               static_cast<double>(gemm_of(p).b_bytes()) >= kLargeWeights;
      };
      arm.make = [name = arm.name, kib](const BaselineRequest& r) {
        return weight_read(name, r.problem, r.buffers, kib);
      };
    }
    return all;
  }

  Arm after_small_kernel(Arm arm, const Problem& p, const Buffers& buffers) override {
    return after_small(std::move(arm), p, buffers);
  }

  std::optional<BitsCheck> check_bits(const Problem& p, const Contract& contract,
                                      const Buffers& buffers, int call) override {
    if (!has_plain_chain(contract) || p.accumulate || p.extra != Extra::none) return std::nullopt;
    // Long chains are slow to recompute, so fewer of them are.
    const std::int64_t steps = std::max<std::int64_t>(gemm_of(p).k, 8192);
    const Counted counted = against_plain_chain(cuda_stream(queue_.stream()), p,
                                                buffers.at(p, call), kTiles * 8192 / steps);
    return BitsCheck{"plain chain on the device", counted.seen, counted.different};
  }

  std::vector<std::pair<std::string, std::function<void()>>> host_parts() override {
    if (probe_ == nullptr) probe_ = memory_.allocate(256);
    void* const memory = probe_;
    const cudaStream_t stream = cuda_stream(queue_.stream());
    return {{"part: launch of a kernel of one thread", [this] { queue_.occupy(0); }},
            {"part: cudaGetDevice",
             [] {
               int device = 0;
               check(cudaGetDevice(&device), "a device");
             }},
            {"part: cudaStreamGetDevice",
             [stream] {
               int device = 0;
               check(cudaStreamGetDevice(stream, &device), "a device");
             }},
            {"part: cudaPointerGetAttributes", [memory] {
               cudaPointerAttributes attributes{};
               check(cudaPointerGetAttributes(&attributes, memory), "a pointer");
             }}};
  }

  Protocol protocol(const Case& c, bool quick) const override { return gpu_protocol(c, quick); }

  double guess_us(const Case& c, const ContractArm& spec) const override {
    const Gemm g = gemm_of(c.problem);
    const double rate = spec.contract.arithmetic == Arithmetic::ieee_fma ? 50e6 : 700e6;
    return std::max({3.0, g.bytes() / 4.4e6, g.flops() / rate});
  }

  Ceilings measure_ceilings(bool quick) override {
    Ceilings c;
    const int tries = quick ? 3 : 9;
    c.copy_bytes_per_s = copy_rate(tries);
    c.read_bytes_per_s = read_rate(tries);
    double flops = 0;
    for (const auto& make : {wgmma_loop, fma_loop}) {
      try {
        const Arm arm = make(flops);
        const double rate = flops / fastest_us(arm, 2, tries, 60) * 1e6;
        if (arm.name == "fma") {
          c.flops.emplace_back("fp32", rate);
        } else {
          c.flops.emplace_back("bf16", rate);
          c.flops.emplace_back("fp16", rate);  // the same instruction and rate
        }
      } catch (const std::exception& error) {
        std::fprintf(stderr, "a ceiling was not measured: %s\n", error.what());
      }
    }
    c.how =
        "copies of 1 GiB; 939 MB of weights read by TMA; wgmma m64n256k16 on random bf16 in shared "
        "memory, which stands for fp16 too; fp32 FMAs in registers; bursts after 60 ms of rest, "
        "best of " +
        std::to_string(tries);
    return c;
  }

  std::vector<Constant> measure_constants() override { return cuda_constants(*this, nvml_); }

  void watch() override { nvml_.start(); }
  Conditions watched() override {
    const Watched w = nvml_.stop();
    return {w.watts, w.sm_mhz, w.memory_mhz, w.celsius};
  }

 private:
  /// The minimum, over graphs of a few calls, of the microseconds per call.
  double fastest_us(const Arm& arm, int calls, int tries, double idle_ms) {
    check(arm.enqueue(queue_.stream(), 0), arm.name);
    queue_.wait();
    const auto replay = queue_.record(arm, calls);
    const auto samples = sample_in_turn(queue_, {replay.get()}, tries, idle_ms);
    return *std::min_element(samples[0].us.begin(), samples[0].us.end());
  }

  double copy_rate(int tries) {
    constexpr std::int64_t kBytes = std::int64_t{1} << 30;
    struct Block {
      CudaMemory& memory;
      void* data;
      ~Block() { memory.release(data); }
    };
    const Block from{memory_, memory_.allocate(kBytes)};
    const Block to{memory_, memory_.allocate(kBytes)};
    memory_.fill_normal(from.data, kBytes, DType::bf16, 3);
    Arm arm;
    arm.name = "copy";
    arm.enqueue = [&](Stream stream, int) {
      return status_of(cudaMemcpyAsync(to.data, from.data, kBytes, cudaMemcpyDeviceToDevice,
                                       cuda_stream(stream)));
    };
    return 2.0 * kBytes / fastest_us(arm, 2, tries, 1) * 1e6;
  }

  double read_rate(int tries) {
    Problem p;
    p.tokens = 16;
    p.n = 57344;
    p.k = 8192;
    const Buffers buffers(memory_, {p}, {std::int64_t{1} << 30, std::int64_t{1} << 20});
    double best = 0;
    for (const int kib : {128, 192}) {
      try {
        const double us = fastest_us(weight_read("read", p, buffers, kib), 2, tries, 1);
        best = std::max(best, static_cast<double>(gemm_of(p).b_bytes()) / us * 1e6);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "reads were not measured: %s\n", error.what());
      }
    }
    return best;
  }

  Arm fastest(const BaselineRequest& request) {
    Arm best;
    double best_us = 0;
    for (int i = 0; i < kChoices; ++i) {
      try {
        Arm arm = lt_->arm("cublaslt-best", request.problem, request.buffers, kWorkspace, i);
        check(arm.enqueue(queue_.stream(), 0), arm.name);
        queue_.wait();
        double us = time_roughly(queue_, arm);
        if (us < kShortUs) us = std::min(us, time_roughly(queue_, arm));
        if (best_us == 0 || us < best_us) {
          best_us = us;
          best = arm;
          best.detail = "number " + std::to_string(i + 1) + " of the list: " + arm.detail;
        }
      } catch (const std::exception&) {
        static_cast<void>(cudaGetLastError());
        break;  // past the end of the list
      }
    }
    if (best_us == 0) throw std::runtime_error("cuBLASLt: no algorithm for this problem");
    return best;
  }

  const Backend& backend_;
  CudaQueue queue_;
  CudaMemory memory_;
  void* probe_ = nullptr;  ///< some device memory, to ask the driver about
  Nvml nvml_;
  std::string cublaslt_;
  std::string why_no_lt_;
  std::unique_ptr<CublasLt> lt_;
};

}  // namespace

int cuda_device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? std::min(count, 255) : 0;
}

void use_cuda_device(int ordinal) { check(cudaSetDevice(ordinal), "a device"); }

std::unique_ptr<BenchDevice> make_cuda_device(const std::string& cublaslt, std::string& why) {
  const auto found = find_backend("cuda");
  if (!found) {
    why = found.status().message();
    return nullptr;
  }
  if (const Status status = (*found)->available(); !status) {
    why = status.message();
    return nullptr;
  }
  return std::make_unique<CudaBenchDevice>(**found, cublaslt);
}

}  // namespace detgemm::bench
