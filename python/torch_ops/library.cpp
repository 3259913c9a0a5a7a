// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Names and schemas of the operators, registered when this library is loaded. A schema is an
// interface: saved graphs name it, so arguments are only ever added, with a default. What writes
// returns nothing: torch.compile refuses operators outside of aten that return what they were
// given.

#include "detgemm/export.hpp"
#include "python/torch_ops/gemm.hpp"
#include "python/torch_ops/log_prob.hpp"
#include "python/torch_ops/plans.hpp"
#include "python/torch_ops/run.hpp"
#include "python/torch_ops/views.hpp"

namespace detgemm::torch_ops {
namespace {

/// The ABI of the first release that has all of torch_abi.h: 2.10.
constexpr std::uint64_t kBuiltFor = std::uint64_t{2} << 56 | std::uint64_t{10} << 48;

struct Operator {
  const char* name;
  const char* schema;
  Boxed* function;
};

constexpr Operator kOperators[] = {
    {"gemm",
     "gemm(Tensor a, Tensor b, str contract, Tensor? c=None, Tensor? bias=None, *, "
     "float alpha=1.0, float beta=0.0, str? activation=None, bool continue_from_c=False, "
     "int stable=0, str? backend=None, str? variant=None, bool a_snapped=False, "
     "bool b_snapped=False) -> Tensor",
     gemm},
    {"gemm.out",
     "gemm.out(Tensor a, Tensor b, str contract, Tensor? c=None, Tensor? bias=None, *, "
     "float alpha=1.0, float beta=0.0, str? activation=None, bool continue_from_c=False, "
     "int stable=0, str? backend=None, str? variant=None, bool a_snapped=False, "
     "bool b_snapped=False, Tensor(a!) out) -> ()",
     gemm_out},
    {"accumulate_",
     "accumulate_(Tensor(a!) acc, Tensor a, Tensor b, str contract, *, int stable=0, "
     "bool a_snapped=False, bool b_snapped=False) -> ()",
     accumulate},
    {"linear",
     "linear(Tensor x, Tensor weight, Tensor? bias, Tensor? main_grad, Tensor? bias_main_grad, "
     "str forward, str dgrad, str wgrad, *, bool zero_gradient=False, int stable=0, "
     "bool weight_snapped=False) -> Tensor",
     linear},
    {"bmm",
     "bmm(Tensor a, Tensor b, str contract, Tensor? c=None, *, float alpha=1.0, float beta=0.0, "
     "int stable=0, bool a_snapped=False, bool b_snapped=False) -> Tensor",
     bmm},
    {"bmm.out",
     "bmm.out(Tensor a, Tensor b, str contract, Tensor? c=None, *, float alpha=1.0, "
     "float beta=0.0, int stable=0, bool a_snapped=False, bool b_snapped=False, "
     "Tensor(a!) out) -> ()",
     bmm_out},
    {"grouped_gemm",
     "grouped_gemm(Tensor a, Tensor b, Tensor? offs, str contract, Tensor? bias=None, "
     "Tensor? counts=None, Tensor? scale_a=None, Tensor? scale_b=None, *, str? activation=None, "
     "int stable=0, str? backend=None, "
     "str? variant=None, bool a_snapped=False, bool b_snapped=False) -> Tensor",
     grouped_gemm},
    {"grouped_gemm.out",
     "grouped_gemm.out(Tensor a, Tensor b, Tensor? offs, str contract, Tensor? bias=None, "
     "Tensor? counts=None, Tensor? scale_a=None, Tensor? scale_b=None, *, str? activation=None, "
     "int stable=0, str? backend=None, "
     "str? variant=None, bool a_snapped=False, bool b_snapped=False, Tensor(a!) out) -> ()",
     grouped_gemm_out},
    {"grouped_accumulate_",
     "grouped_accumulate_(Tensor(a!) acc, Tensor a, Tensor b, Tensor? offs, str contract, *, "
     "int stable=0, bool a_snapped=False, bool b_snapped=False) -> ()",
     grouped_accumulate},
    {"snap", "snap(Tensor x, int leaf, str k=\"cols\") -> Tensor", snap},
    {"scaled_gemm",
     "scaled_gemm(Tensor a, Tensor scale_a, Tensor b, Tensor scale_b, str contract, "
     "Tensor? c=None, Tensor? bias=None, *, float alpha=1.0, float beta=0.0, "
     "str? activation=None, bool continue_from_c=False, int stable=0, str? backend=None, "
     "str? variant=None) -> Tensor",
     scaled_gemm},
    {"scaled_gemm.out",
     "scaled_gemm.out(Tensor a, Tensor scale_a, Tensor b, Tensor scale_b, str contract, "
     "Tensor? c=None, Tensor? bias=None, *, float alpha=1.0, float beta=0.0, "
     "str? activation=None, bool continue_from_c=False, int stable=0, str? backend=None, "
     "str? variant=None, Tensor(a!) out) -> ()",
     scaled_gemm_out},
    {"quantize",
     "quantize(Tensor x, int leaf=128, *, int per=1, str k=\"cols\", str scale_type=\"fp32\", "
     "str? backend=None) -> (Tensor, Tensor)",
     quantize},
    {"layer_log_probs",
     "layer_log_probs(Tensor x, Tensor weight, Tensor targets, Tensor? scale, Tensor? bias, "
     "str contract, int valid, bool entropy, *, float alpha=1.0) -> "
     "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
     layer_log_probs},
    {"logits_log_probs",
     "logits_log_probs(Tensor logits, Tensor ids, Tensor? scale, int valid, bool entropy) -> "
     "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
     logits_log_probs},
    {"logits_gradient",
     "logits_gradient(Tensor logits, Tensor targets, Tensor? scale, Tensor k, Tensor r, "
     "Tensor? lse, Tensor? entropy, Tensor? dlogp, Tensor? dlse, Tensor? dentropy, int begin, "
     "int valid, float alpha, *, Tensor(a!) out) -> ()",
     logits_gradient},
    {"linear_log_prob",
     "linear_log_prob(Tensor x, Tensor weight, Tensor targets, Tensor? scale, Tensor? bias, "
     "Tensor? main_grad, Tensor? bias_main_grad, str forward, str dgrad, str wgrad, int valid, "
     "bool entropy, bool keep_logits, bool zero_gradient, float alpha=1.0, "
     "int stripe_bytes=268435456) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
     linear_log_prob},
    {"linear_log_prob_backward",
     "linear_log_prob_backward(Tensor? dlogp, Tensor? dlse, Tensor? dentropy, Tensor x, "
     "Tensor weight, Tensor targets, Tensor? scale, Tensor? bias, Tensor k, Tensor r, Tensor lse, "
     "Tensor entropy, Tensor kept, Tensor(a!)? main_grad, Tensor(b!)? bias_main_grad, "
     "Tensor? ones, str forward, str dgrad, str wgrad, int valid, "
     "int stripe_bytes, bool of_x, bool of_weight, bool of_bias, float alpha=1.0) -> (Tensor, "
     "Tensor, Tensor)",
     linear_log_prob_backward},
};

/// The handles of torch's libraries live as long as the process.
void register_all() {
  constexpr const char* kSpace = "detgemm";
  TorchLibraryHandle library = nullptr;
  check(aoti_torch_library_init_def(kSpace, "detgemm", 0, &library), "register operators");
  for (const Operator& each : kOperators) {
    check(aoti_torch_library_def(library, each.schema), "register a schema");
  }
  for (const char* key : {"CPU", "CUDA"}) {
    TorchLibraryHandle kernels = nullptr;
    check(aoti_torch_library_init_impl(kSpace, key, "detgemm", 0, &kernels), "register kernels");
    for (const Operator& each : kOperators) {
      check(torch_library_impl(kernels, each.name, each.function, kBuiltFor), "register a kernel");
    }
  }
}

/// Happens while the library is loaded, where nobody could catch an exception.
const bool registered = []() noexcept {
  try {
    register_all();
    return true;
  } catch (const std::exception&) {
    return false;  // a second copy of this library, as a rule
  }
}();

}  // namespace
}  // namespace detgemm::torch_ops

// What the Python package asks for beside the operators, through ctypes.

extern "C" DETGEMM_API std::int32_t detgemm_torch_abi_version() { return detgemm_abi_version(); }

/// 1, or 0 where the operators could not be registered.
extern "C" DETGEMM_API std::int32_t detgemm_torch_registered() {
  return detgemm::torch_ops::registered ? 1 : 0;
}

/// Operands copied; plans found in the cache, made, held and parked; `OddCounts`.
extern "C" DETGEMM_API void detgemm_torch_counts(std::int64_t* seven) {
  const auto plans = detgemm::torch_ops::plan_counts();
  seven[0] = detgemm::torch_ops::copies();
  seven[1] = plans.hits;
  seven[2] = plans.made;
  seven[3] = plans.cached;
  seven[4] = plans.parked;
  const auto odd = detgemm::torch_ops::odd_counts();
  seven[5] = odd.fast;
  seven[6] = odd.slow;
}

/// `gradient_stripe`, or 0 where dgrad is no contract.
extern "C" DETGEMM_API std::int64_t detgemm_torch_gradient_stripe(const char* dgrad,
                                                                  std::int64_t bytes,
                                                                  std::int64_t t,
                                                                  std::int64_t columns) {
  try {
    return detgemm::torch_ops::gradient_stripe(dgrad, bytes, t, columns);
  } catch (const std::exception&) {
    return 0;
  }
}

/// Refuses products on the host from now on: this is a forked child without the parent's threads.
extern "C" DETGEMM_API void detgemm_torch_forbid_host() { detgemm::torch_ops::forbid_host(); }

extern "C" DETGEMM_API void detgemm_torch_clear_plans() { detgemm::torch_ops::clear_plans(); }
