// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The device of an AMD GPU. Not run on AMD hardware.

#include <algorithm>

#include "bench/hip/hipblaslt.hpp"
#include "bench/hip/queue.hpp"
#include "bench/host/memory.hpp"
#include "bench/suite/devices.hpp"

namespace detgemm::bench {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr std::size_t kScratch = std::size_t{256} << 20;
constexpr std::int64_t kCopied = std::int64_t{1} << 30;

/// The device of tests/gcn, whose clock is the interpreter's: it is enough that everything runs.
bool is_emulated(const Backend& backend) {
  const auto list = backend.device().list();
  return !list.empty() && list[0].name.rfind("emulated ", 0) == 0;
}

template <class T>
T required(Result<T> result) {
  if (!result) throw std::runtime_error(result.status().message());
  return std::move(result).value();
}

/// Pools filled from the host: a block of random elements, repeated.
class HipMemory final : public Memory {
 public:
  explicit HipMemory(Device& device) : device_(device) {}
  void* allocate(std::int64_t bytes) override {
    return required(device_.allocate(static_cast<std::size_t>(bytes)));
  }
  void release(void* memory) noexcept override { device_.release(memory); }
  void fill_normal(void* memory, std::int64_t bytes, DType type, std::uint64_t seed) override {
    upload(memory, bytes, normal_elements(type, (std::int64_t{1} << 22) + 17, seed));
  }
  void fill_zero(void* memory, std::int64_t bytes) override {
    upload(memory, bytes, std::vector<unsigned char>(std::size_t{1} << 24));
  }

 private:
  void upload(void* memory, std::int64_t bytes, const std::vector<unsigned char>& block) {
    auto* out = static_cast<unsigned char*>(memory);
    for (std::int64_t at = 0; at < bytes;) {
      const auto part = std::min<std::int64_t>(bytes - at, static_cast<std::int64_t>(block.size()));
      check(device_.to_device(out + at, block.data(), static_cast<std::size_t>(part)), "a pool");
      at += part;
    }
  }
  Device& device_;
};

class HipBenchDevice final : public BenchDevice {
 public:
  HipBenchDevice(const Backend& backend, const hip::Runtime& api)
      : backend_(backend),
        api_(api),
        emulated_(is_emulated(backend)),
        memory_(backend.device()),
        queue_(api, required(backend.device().create_stream()),
               emulated_ ? nullptr : required(backend.device().allocate(kScratch)),
               emulated_ ? 0 : kScratch) {}

  std::string name() const override { return "hip"; }
  const Backend& backend() const override { return backend_; }
  Queue& queue() override { return queue_; }
  Memory& memory() override { return memory_; }
  /// Past the 256 MB of a gfx942's last cache.
  PoolBytes pools() const override {
    if (emulated_) return {std::int64_t{1} << 20, std::int64_t{1} << 20};
    return {std::int64_t{2} << 30, std::int64_t{1} << 30};
  }
  bool calls_wait() override { return emulated_; }

  std::vector<std::pair<std::string, std::string>> facts() override {
    const auto list = backend_.device().list();
    if (list.empty()) return {{"device", backend_.device().description()}};
    return {{"device", list[0].name},
            {"capability", list[0].capability},
            {"processors", std::to_string(list[0].processors)},
            {"driver", list[0].driver},
            {"toolkit", "HIP " + list[0].runtime}};
  }

  std::vector<std::string> baseline_names() const override { return {"hipblaslt", "hipblaslt0"}; }
  std::vector<Baseline> baselines() override {
    return {hip::hipblaslt(backend_.device(), "hipblaslt", kWorkspace),
            hip::hipblaslt(backend_.device(), "hipblaslt0", 0)};
  }

  Protocol protocol(const Case& c, bool quick) const override {
    return emulated_ ? Protocol{3, 0, 1, 1} : gpu_protocol(c, quick);
  }

  double guess_us(const Case& c, const ContractArm& spec) const override {
    const Gemm g = gemm_of(c.problem);
    const double rate = spec.contract.arithmetic == Arithmetic::ieee_fma ? 30e6 : 300e6;
    return std::max({5.0, g.bytes() / 4e6, g.flops() / rate});
  }

  Ceilings measure_ceilings(bool quick) override {
    Ceilings c;
    const std::int64_t bytes = emulated_ ? kCopied >> 10 : kCopied;
    void* const from = memory_.allocate(bytes);
    void* const to = memory_.allocate(bytes);
    Arm arm;
    arm.name = "copy";
    arm.enqueue = [&](Stream stream, int) -> Status {
      const int error = api_.MemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                         hip::kDeviceToDevice, stream.handle);
      if (error == 0) return {};
      return {Errc::internal, "a copy: HIP error " + std::to_string(error)};
    };
    const auto replay = queue_.record(arm, 2);
    const auto samples = sample_in_turn(queue_, {replay.get()}, quick ? 3 : 9, 1);
    memory_.release(from);
    memory_.release(to);
    c.copy_bytes_per_s = 2.0 * static_cast<double>(bytes) /
                         *std::min_element(samples[0].us.begin(), samples[0].us.end()) * 1e6;
    c.how = "copies of " + std::to_string(bytes >> 20) +
            " MiB; the ceiling of matrix instructions is not measured on AMD";
    return c;
  }

 private:
  const Backend& backend_;
  const hip::Runtime& api_;
  bool emulated_;
  HipMemory memory_;
  hip::HipQueue queue_;
};

}  // namespace

std::unique_ptr<BenchDevice> make_hip_device(std::string& why) {
  const auto found = find_backend("hip");
  if (!found) {
    why = found.status().message();
    return nullptr;
  }
  if (const Status status = (*found)->available(); !status) {
    why = status.message();
    return nullptr;
  }
  const hip::Runtime* api = hip::runtime(why);
  return api == nullptr ? nullptr : std::make_unique<HipBenchDevice>(**found, *api);
}

}  // namespace detgemm::bench
