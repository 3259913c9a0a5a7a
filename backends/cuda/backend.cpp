// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "backends/cuda/device.hpp"
#include "backends/cuda/log_prob.hpp"
#include "backends/cuda/peers.hpp"
#include "backends/cuda/plan.hpp"
#include "backends/cuda/tuning.hpp"
#include "backends/cuda/verify.hpp"
#include "backends/gpu/address_rules.hpp"
#include "core/contract/in_words.hpp"
#include "cuda/launch.hpp"
#include "cuda/quantize/launch.hpp"
#include "detgemm/cuda.hpp"

namespace detgemm {
namespace {

bool is_e4m3(const Contract& contract) {
  return contract.arithmetic == Arithmetic::hopper && contract.input == DType::e4m3;
}

/// Blackwell's bf16 and fp16 steps equal Hopper's, but its contracts are separate ones: it was not
/// measured. Which devices have an arithmetic is another question (runs_here).
bool computes(const Contract& contract) {
  const bool scaled = contract.reduction.kind == ReductionKind::scaled;
  return (is_e4m3(contract) || !scaled) && !cuda::kernels(contract).empty();
}

bool snaps(const Contract& contract) {
  return contract.arithmetic == Arithmetic::snap || contract.arithmetic == Arithmetic::snap3;
}

/// Computed on CUDA cores, which are the same on every device since compute capability 8.0, or, for
/// snap and snap3, there and on tensor cores alike.
bool is_portable(const Contract& contract) {
  return contract.arithmetic == Arithmetic::ieee_fma || snaps(contract);
}

/// Whether the current device has wgmma, which hopper, snap and snap3 use; without a device the
/// answer is for one that has it.
bool has_wgmma(const Contract& contract) {
  if (!snaps(contract) && contract.arithmetic != Arithmetic::hopper) return true;
  const auto device = cuda::current_device();
  return !device || device->has_wgmma();
}

/// ok if there are kernels for it, on some device; otherwise why there are none.
Status has_kernels(const GemmSpec& spec) {
  const std::string text = spec.contract.text();
  if (is_e4m3(spec.contract) && !cuda::has_e4m3()) {
    return unsupported("cuda: contract is " + text +
                       ": only builds with DETGEMM_CUDA_FP8=ON have the kernels of hopper/e4m3");
  }
  if (spec.reads_scales() && !computes(spec.contract)) {
    return unsupported("cuda: contract is " + text +
                       ": this backend has no kernels for scaled yet");
  }
  if (spec.line_scales && !(is_e4m3(spec.contract) && computes(spec.contract))) {
    return unsupported("cuda: line_scales is set and the contract is " + text +
                       ": the kernels of hopper/e4m3 alone take scales of rows and columns");
  }
  if (!computes(spec.contract)) {
    return unsupported("cuda: contract is " + text + ": this backend computes " +
                       contracts_in_words(computes));
  }
  return {};
}

/// For a sentence.
const char* needed_capability(const Contract& contract) {
  if (is_portable(contract)) return "8.0 or above";
  if (is_e4m3(contract)) return "9.0";
  switch (contract.arithmetic) {
    case Arithmetic::ampere:
      return "8.x";
    case Arithmetic::blackwell:
      return "10.x or 12.x";
    default:
      return "9.0, 10.x or 12.x";
  }
}

/// ok if the current device has what the kernels of a contract need.
Status runs_here(const Contract& contract) {
  const auto device = cuda::current_device();
  if (!device) return device.status();
  if (is_portable(contract) ? device->major >= 8
      : is_e4m3(contract)   ? device->has_wgmma()
                            : cuda::has_mma_of(contract.arithmetic, *device)) {
    return {};
  }
  return unsupported("cuda: device " + std::to_string(device->ordinal) + " (" + device->name +
                     ") has compute capability " + device->capability() + ": " + contract.text() +
                     " needs " + needed_capability(contract) +
                     ", and nothing else runs in its place");
}

/// What the bits of a contract rest on here: refused where the device returned others. Of snap
/// outside of 9.0, which CUDA cores compute too: empty where mma.sync has no verified arithmetic.
Result<std::string> evidence_here(const Contract& contract, const cuda::DeviceFacts& device) {
  if (cuda::is_measured(contract.arithmetic, device)) {
    return std::string("measured by the project");
  }
  if (snaps(contract)) {
    const Arithmetic own = device.major == 8 ? Arithmetic::ampere : Arithmetic::hopper;
    if (!cuda::must_be_verified(own, device)) return std::string();
    const auto verification = cuda::verify_on(device, own, DType::bf16);
    const bool equal = verification && verification->different == 0;
    return equal ? verification->text : std::string();
  }
  if (!cuda::must_be_verified(contract.arithmetic, device)) return std::string();
  auto verification = cuda::verify_on(device, contract.arithmetic, contract.input);
  if (!verification) return verification.status();
  if (verification->different > 0) return unsupported(verification->text);
  return verification->text;
}

class CudaBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "cuda"; }
  std::string_view description() const noexcept override {
    static const std::string text =
        "NVIDIA GPUs: " +
        contracts_in_words([](const Contract& c) { return computes(c) && !is_portable(c); }) +
        " on tensor cores, of which 9.0 was measured and others (8.x, 10.x, 12.x) are verified at "
        "the first plan; " +
        contracts_in_words([](const Contract& c) { return computes(c) && is_portable(c); }) +
        " on 8.0 and above";
    return text;
  }
  Status available() const override { return cuda::driver_status(); }

  Status supports(const GemmSpec& spec) const override {
    if (Status s = has_kernels(spec); !s) return s;
    return runs_here(spec.contract);
  }

  Guarantees guarantees(const Contract& contract) const override {
    if (!computes(contract)) return {};
    return {true, true, true, true, true};
  }

  std::vector<std::string> variants(const GemmSpec& spec) const override {
    if (!computes(spec.contract)) return {};
    return names_of(cuda::kernels(spec.contract), spec, has_wgmma(spec.contract));
  }

  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    const auto device = cuda::current_device();
    if (!device) return device.status();
    if (Status s = cuda::check_tuning(options, *device); !s) return s;
    // Where mma.sync is forced beside wgmma, its kernels are those to load.
    const bool wgmma = device->has_wgmma() && !options.variant.starts_with("mma/");
    const auto evidence = evidence_here(spec.contract, *device);
    if (!evidence) return evidence.status();
    const auto error = cuda::prepare_kernels(spec.contract, wgmma, !evidence->empty());
    if (error == cudaSuccess) return cuda::make_plan(spec, options, *device, *evidence);
    return cuda::failed("preparing the kernels on device " + std::to_string(device->ordinal),
                        error);
  }

  Result<Verification> verify(const Contract& contract) const override {
    const auto device = cuda::current_device();
    if (!device) return device.status();
    return cuda::verify_on(*device, contract.arithmetic, contract.input);
  }

  Device& device() const noexcept override { return cuda::cuda_device(); }
  const PeerEngine* peers() const noexcept override { return &cuda::peer_engine(); }
  const LogProbEngine* log_prob() const noexcept override { return &cuda::log_prob_engine(); }
  const TuningEngine* tuning() const noexcept override { return &cuda::tuning_engine(); }

  Status snap(Stream stream, const SnapSpec& spec, const ConstMatrix& from,
              const Matrix& to) const override {
    const auto device = cuda::current_device();
    if (!device) return device.status();
    if (device->major < 8) {
      return unsupported("cuda: device " + std::to_string(device->ordinal) + " (" + device->name +
                         ") has compute capability " + device->capability() +
                         ": snapping needs 8.0 or above");
    }
    const auto on = gpu::handle<cuda::Cuda>(stream);
    if (Status s = gpu::check_snap<cuda::Cuda>(on, from, to, device->ordinal); !s) return s;
    const bool along = spec.k == KDimension::cols;
    const auto strides = [&](const ConstMatrix& view) {
      return strides_of(view, along ? Op::none : Op::transpose);
    };
    cuda::LaunchOptions options;
    options.stream = on;
    options.sms = device->sms;
    options.overlap = device->major >= 9;
    const cudaError_t error = cuda::snap_operand(
        from.data, strides(from), to.data, strides(to), along ? from.rows : from.cols,
        along ? from.cols : from.rows, spec.leaf_k, options);
    return error == cudaSuccess ? Status{} : cuda::failed("launching a kernel that snaps", error);
  }

  Status quantize(Stream stream, const QuantizeSpec& spec, const ConstMatrix& from,
                  const Matrix& to, const ScalesOut& scales) const override {
    const auto device = cuda::current_device();
    if (!device) return device.status();
    if (device->major < 8) {
      return unsupported("cuda: device " + std::to_string(device->ordinal) + " (" + device->name +
                         ") has compute capability " + device->capability() +
                         ": quantising needs 8.0 or above");
    }
    const auto on = gpu::handle<cuda::Cuda>(stream);
    if (Status s = gpu::check_snap<cuda::Cuda>(on, from, to, device->ordinal); !s) return s;
    if (Status s = gpu::check_array<cuda::Cuda>("scales", scales.data, device->ordinal,
                                                "the current device ");
        !s) {
      return s;
    }
    const cudaError_t error = cuda::quantize::enqueue(detgemm::flatten(spec, from, to, scales),
                                                      device->sms, {on, device->major >= 9});
    return error == cudaSuccess ? Status{}
                                : cuda::failed("launching a kernel that quantises", error);
  }

  Status supports_grouped(const GroupedSpec& spec) const override {
    // What no device computes is refused on all: the device is asked last.
    if (Status s = has_kernels(spec.gemm); !s) return s;
    if (spec.gemm.contract.arithmetic == Arithmetic::snap3) {
      return unsupported(
          "cuda: contract is " + spec.gemm.contract.text() +
          ": this backend does not split operands in groups; run a Plan for each group");
    }
    const bool loops = spec.kind == GroupKind::batched && spec.groups <= cuda::kMaxLoop;
    const bool snaps = spec.gemm.contract.arithmetic == Arithmetic::snap &&
                       !(spec.gemm.a_snapped && spec.gemm.b_snapped);
    if (!snaps || loops) return runs_here(spec.gemm.contract);
    return unsupported(
        "cuda: contract is " + spec.gemm.contract.text() + " for " + std::to_string(spec.groups) +
        (spec.groups == 1 ? " group" : " groups") + " of " + std::string(detgemm::name(spec.kind)) +
        ": this backend does not snap operands in groups; snap them first and set a_snapped and "
        "b_snapped, or run a Plan for each group");
  }
  std::vector<std::string> grouped_variants(const GroupedSpec& spec) const override {
    const Contract& contract = spec.gemm.contract;
    return names_of(cuda::kernels(contract, true), spec, has_wgmma(contract));
  }
  Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(
      const GroupedSpec& spec, const PlanOptions& options) const override {
    const auto device = cuda::current_device();
    if (!device) return device.status();
    const auto error = cuda::prepare_kernels(spec, device->has_wgmma());
    if (error == cudaSuccess) {
      const auto evidence = evidence_here(spec.gemm.contract, *device);
      if (!evidence) return evidence.status();
      return cuda::make_grouped_plan(spec, options, *device, *evidence);
    }
    return cuda::failed(
        "preparing the kernels over groups on device " + std::to_string(device->ordinal), error);
  }

 private:
  /// The kernels that take the problem.
  template <class Spec>
  static std::vector<std::string> names_of(std::span<const cuda::KernelInfo> kernels,
                                           const Spec& spec, bool wgmma) {
    std::vector<std::string> list;
    for (const cuda::KernelInfo& kernel : kernels) {
      if (cuda::takes(kernel, spec, wgmma)) list.push_back(kernel.name);
    }
    return list;
  }
};

}  // namespace

const Backend& cuda_backend() noexcept {
  static const CudaBackend backend;
  return backend;
}

}  // namespace detgemm
