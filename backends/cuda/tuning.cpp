// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/tuning.hpp"

#include <algorithm>

#include "backends/cuda/devices.hpp"
#include "backends/gpu/arguments.hpp"
#include "core/arithmetic/step.hpp"
#include "cuda/launch.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/version.hpp"

namespace detgemm::cuda {
namespace {

/// A digest of the names of all kernels of single products, in the order of their numbers.
std::uint64_t digest_of_kernels() {
  std::uint64_t digest = kDigestSeed;
  for (const char* text : {"hopper/bf16/chain->bf16", "hopper/bf16/tree:64->bf16",
                           "hopper/e4m3/fold:128->bf16", "ieee_fma/fp32/chain->fp32"}) {
    for (const KernelInfo& kernel : kernels(*Contract::parse(text))) {
      digest = digest_bytes(kernel.name.c_str(), kernel.name.size() + 1, digest);
    }
  }
  return digest;
}

bool has_wgmma() {
  const auto device = current_device();
  return !device || device->has_wgmma();
}

/// Whether a plan of the problem that forces no kernel has loaded this one.
bool is_loaded(const KernelInfo& kernel, const GemmSpec& spec, bool wgmma) {
  const bool by_mma = kernel.family == Family::mma;
  const bool mma_alone = spec.contract.arithmetic != Arithmetic::hopper || !wgmma;
  return !arithmetic::is_snap(spec.contract.arithmetic) && (!by_mma || mma_alone) &&
         takes(kernel, spec, wgmma);
}

class Engine final : public TuningEngine {
 public:
  Result<TuningTarget> target() const override {
    const auto device = current_device();
    if (!device) return device.status();
    static const std::uint64_t digest = digest_of_kernels();
    return TuningTarget{std::string(Cuda::kName), version(), digest, device->name, device->sms};
  }

  std::int32_t number(const GemmSpec& spec, std::string_view name) const override {
    const auto all = kernels(spec.contract);
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const KernelInfo& k) { return k.name == name; });
    if (at == all.end() || !is_loaded(*at, spec, has_wgmma())) return -1;
    return static_cast<std::int32_t>(at - all.begin());
  }

  std::vector<std::string> ranked(const GemmSpec& spec, std::int64_t m) const override {
    const auto device = current_device();
    if (!device || m < 1 || spec.n < 1) return {};
    LaunchOptions options;
    options.sms = device->sms;
    options.wgmma = device->has_wgmma();
    const Problem usual = gpu::usual_problem(spec, m);
    const auto all = kernels(spec.contract);
    options.workspace_bytes = workspace_bytes(spec.contract, m, spec.n, spec.k, options);
    struct Expected {
      double us;
      const std::string* name;
    };
    std::vector<Expected> found;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_loaded(all[i], spec, options.wgmma)) continue;
      options.forced = static_cast<int>(i);
      const auto decision = decide(usual, options);
      if (decision) found.push_back({decision->us, &all[i].name});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Expected& x, const Expected& y) { return x.us < y.us; });
    std::vector<std::string> names;
    names.reserve(found.size());
    for (const Expected& each : found) names.push_back(*each.name);
    return names;
  }
};

}  // namespace

const TuningEngine& tuning_engine() noexcept {
  static const Engine engine;
  return engine;
}

Status check_tuning(const PlanOptions& options, const DeviceFacts& device) {
  if (options.tuning == nullptr) return {};
  const TuningTarget& target = options.tuning->target();
  if (target.device == device.name && target.processors == device.sms) return {};
  return {Errc::unavailable, "cuda: tuning is for " + target.device + " with " +
                                 std::to_string(target.processors) + " multiprocessors: device " +
                                 std::to_string(device.ordinal) + " is " + device.name + " with " +
                                 std::to_string(device.sms) + "; tune there, or name no tuning"};
}

}  // namespace detgemm::cuda
