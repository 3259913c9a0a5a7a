// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "backends/gpu/address_rules.hpp"
#include "backends/gpu/arguments.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::gpu {

/// Kernels for one spec on one device, with everything that a plan's options say about them: what
/// GpuPlan needs of a vendor.
///
/// decide           what would run with so many bytes of workspace, without running it: pure, and
///                  free of pointers to arrays. What no kernel takes, or not the forced one, it
///                  refuses in a sentence without the backend's name in front; see
///                  core/contract/forced_kernel.hpp.
/// enqueue          launches the Decision. It may replace the Decision by another one with the same
///                  bits, where the device cannot hold the first; what it leaves is what runs.
/// name             one line for RunInfo::kernel; only computed where somebody asks.
template <class K>
concept Multiplies = Runtime<typename K::Runtime> && std::copyable<typename K::Decision> &&
    requires(const K& kernels, const Problem& problem, typename K::Decision& decision,
             Workspace workspace, typename K::Runtime::Stream stream) {
  { kernels.decide(problem, workspace.bytes) } -> std::same_as<Result<typename K::Decision>>;
  { kernels.enqueue(decision, problem, workspace, stream) } -> std::same_as<Status>;
  { kernels.name(decision) } -> std::same_as<std::string>;
};

/// The same for single products, which have roots too.
///
/// enqueue_combine  joins roots, at most kMaxRoots of them, and applies the epilogue.
template <class K>
concept Kernels = Multiplies<K> &&
    requires(const K& kernels, const GemmArguments& g, const Problem& problem, std::int64_t max_m,
             Workspace workspace, typename K::Runtime::Stream stream,
             std::span<const typename K::Root> roots) {
  { kernels.workspace_bytes(max_m) } -> std::same_as<std::size_t>;
  { kernels.fast_workspace_bytes(problem) } -> std::same_as<std::size_t>;
  { kernels.fast_workspace_bound(max_m) } -> std::same_as<std::size_t>;
  { kernels.enqueue_combine(g, roots, workspace.data, stream) } -> std::same_as<Status>;
  { kernels.combine_name() } -> std::same_as<std::string>;
  { K::kMaxRoots } -> std::convertible_to<std::size_t>;
};

/// What K::decide refuses, with the backend's name in front.
template <Multiplies K>
Status refusal(const Status& why) {
  return {why.code(), std::string(K::Runtime::kName) + ": " + why.message()};
}

/// Decides once, enqueues the Decision and reports it. Where the arrays are has been checked.
template <Multiplies K>
Status launch(const K& kernels, const Problem& problem, Workspace workspace, Stream stream,
              RunInfo* info) {
  auto decision = kernels.decide(problem, workspace.bytes);
  if (!decision) return refusal<K>(decision.status());
  const auto on = handle<typename K::Runtime>(stream);
  if (Status s = kernels.enqueue(*decision, problem, workspace, on); !s) return s;
  if (info == nullptr) return {};
  info->kernel = kernels.name(*decision);
  if constexpr (requires { kernels.evidence; }) info->evidence = kernels.evidence;
  return {};
}

/// The kernel for usual arrays with the workspace that they need.
template <Multiplies K>
std::string usual_kernel(const K& kernels, const Problem& usual, std::size_t workspace_bytes) {
  const auto decision = kernels.decide(usual, workspace_bytes);
  if (!decision) return "none (" + refusal<K>(decision.status()).message() + ")";
  return kernels.name(*decision);
}

/// Where the arrays of a call are: refused unless the plan's device can use them.
template <Runtime R>
Status check_call(const GemmSpec& spec, Stream stream, const Operands& operands,
                  Workspace workspace, int device) {
  if (Status s = check_stream<R>(handle<R>(stream), device); !s) return s;
  if (Status s = check_factors<R>(spec, operands, device); !s) return s;
  if (Status s = check_scales<R>(spec, operands, device); !s) return s;
  if (Status s = check_outputs<R>(spec, operands, device); !s) return s;
  return check_workspace<R>(workspace, device);
}

/// A plan: checks where the arrays are, decides once, enqueues the Decision and reports it.
template <Kernels K>
class GpuPlan final : public PlanImpl {
 public:
  using R = typename K::Runtime;

  GpuPlan(const GemmSpec& spec, int device, K kernels)
      : spec_(spec), device_(device), kernels_(std::move(kernels)) {}

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    return kernels_.workspace_bytes(max_m);
  }
  std::size_t fast_workspace_bytes(const Operands& operands) const override {
    if (operands.d.rows == 0 || spec_.n == 0) return workspace_bytes(operands.d.rows);
    return kernels_.fast_workspace_bytes(problem_of(spec_, operands));
  }
  std::size_t fast_workspace_bound(std::int64_t max_m) const override {
    return kernels_.fast_workspace_bound(max_m);
  }

  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    if (Status s = check_call<R>(spec_, stream, operands, workspace, device_); !s) return s;
    return launch(kernels_, problem_of(spec_, operands), workspace, stream, info);
  }
  Status check(Stream stream, const Operands& operands, Workspace workspace) const override {
    if (Status s = check_call<R>(spec_, stream, operands, workspace, device_); !s) return s;
    const auto decision = kernels_.decide(problem_of(spec_, operands), workspace.bytes);
    return decision ? Status{} : refusal<K>(decision.status());
  }

  Status combine(Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
                 Workspace workspace, RunInfo* info) const override {
    if (roots.size() > K::kMaxRoots) {
      return unsupported(std::string(R::kName) + ": roots is a list of " +
                         std::to_string(roots.size()) + ": this backend joins at most " +
                         std::to_string(K::kMaxRoots) + " in one call");
    }
    const auto on = handle<R>(stream);
    if (Status s = check_stream<R>(on, device_); !s) return s;
    if (Status s = check_outputs<R>(spec_, operands, device_); !s) return s;
    if (Status s = check_roots<R>(roots, device_); !s) return s;
    if (Status s = check_workspace<R>(workspace, device_); !s) return s;
    std::vector<typename K::Root> list;
    list.reserve(roots.size());
    for (const auto& [root, closes] : roots) {
      list.push_back({static_cast<const float*>(root.data), strides_of(root, Op::none), closes});
    }
    const GemmArguments g = arguments_of(spec_, operands);
    if (Status s = kernels_.enqueue_combine(g, list, workspace.data, on); !s) return s;
    if (info != nullptr) info->kernel = kernels_.combine_name();
    return {};
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec_.n == 0) return "none (no outputs)";
    return usual_kernel(kernels_, usual_problem(spec_, m), workspace_bytes(m));
  }

 private:
  GemmSpec spec_;
  int device_;
  K kernels_;
};

/// Where the forced kernel stands in a list of KernelInfo (anything with a `name`), or -1.
template <class Infos>
int index_of(const Infos& kernels, std::string_view forced) {
  int index = 0;
  for (const auto& kernel : kernels) {
    if (kernel.name == forced) return index;
    ++index;
  }
  return -1;
}

}  // namespace detgemm::gpu
