// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8_elements.hpp"

#include <algorithm>

#include "cuda/sm90/fp8/kernels.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr std::int64_t kCtasPerSm = 16;

/// CTAs for the outputs of one product, at most `most`.
std::int64_t ctas_of(const GemmArguments& g, int threads, std::int64_t most) {
  std::int64_t outputs = 0;
  if (__builtin_mul_overflow(g.m, g.n, &outputs)) return most;
  return std::min(most, ceil_div(outputs, std::int64_t{threads}));
}

}  // namespace

std::span<const KernelInfo> element_kernels() {
  static const std::vector<KernelInfo> all{{"elements", Family::elements, 0}};
  return all;
}

std::span<const KernelInfo> element_group_kernels() {
  static const std::vector<KernelInfo> all{{"elements", Family::element_groups, 0}};
  return all;
}

Choice choose_elements(const Question& q) {
  Choice choice;
  Decision& d = choice.decision;
  d.family = Family::elements;
  d.input = q.input;
  d.grid =
      static_cast<int>(ctas_of(q.problem->g(), fp8_element_kernel().threads, q.sms * kCtasPerSm));
  return choice;
}

Choice choose_element_groups(const Question& q) {
  const std::int64_t most = q.sms * kCtasPerSm;
  Choice choice;
  Decision& d = choice.decision;
  d.family = Family::element_groups;
  d.input = q.input;
  const std::int64_t across = ctas_of(q.problem->g(), fp8_group_element_kernel().threads, most);
  d.across = static_cast<int>(across);
  const std::int64_t down = std::clamp<std::int64_t>(most / across, 1, q.problem->gemms.groups);
  d.grid = static_cast<int>(across * down);
  return choice;
}

std::string element_name(const Decision&) { return "fp8/elements"; }

std::vector<Decision> compiled_elements(Family) { return {}; }

Kernel element_kernel(const Decision& d) {
  return d.family == Family::elements ? fp8_element_kernel() : fp8_group_element_kernel();
}

cudaError_t launch_elements(const Kernel& kernel, const Decision& d, const Call& call) {
  GemmArguments g = call.g();
  ScalePair scales = call.problem.scales;
  void* arguments[] = {&g, &scales};
  return launch(kernel, d.grid, {call.options.stream, false}, arguments);
}

cudaError_t launch_element_groups(const Kernel& kernel, const Decision& d, const Call& call) {
  GroupedArguments p = call.problem.gemms;
  ScalePair scales = call.problem.scales;
  int across = d.across;
  void* arguments[] = {&p, &scales, &across};
  return launch(kernel, d.grid, {call.options.stream, false}, arguments);
}

}  // namespace detgemm::cuda::sm90
