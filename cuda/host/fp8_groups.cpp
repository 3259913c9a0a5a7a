// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8_groups.hpp"

#include <algorithm>

#include "core/contract/forced_kernel.hpp"
#include "cuda/fp8/grouped.hpp"
#include "cuda/sm90/fp8/kernels.hpp"

namespace detgemm::cuda {
namespace {

constexpr std::int64_t kElementCtas = 16;  // per multiprocessor
constexpr const char* kLoop = "loop";
constexpr const char* kElements = "elements";

/// One group of a batched problem.
Fp8Arguments group_of(const Fp8Groups& all, std::int64_t group) {
  const Segment part{0, all.p.all.m};
  return {arguments_of_group(all.p, group, part),
          scales_of_group(all.scales, all.p.distance, group, part)};
}

}  // namespace

std::vector<std::string> fp8_group_kernels(const GroupedSpec& spec) {
  std::vector<std::string> names;
  if (spec.kind == GroupKind::batched && spec.groups <= kMaxFp8Loop) names.emplace_back(kLoop);
  names.emplace_back(kElements);
  if (spec.kind != GroupKind::m_grouped && spec.kind != GroupKind::m_masked) return names;
  for (std::size_t i = 0; i < sm90::kFp8Geometries.size(); ++i) {
    if (sm90::is_fp8_group_geometry(i)) names.push_back(sm90::name(sm90::kFp8Geometries[i]));
  }
  return names;
}

Result<Fp8GroupDecision> decide_fp8_groups(const Fp8Groups& all, const LaunchOptions& options,
                                           const std::string& forced) {
  const GroupedArguments& p = all.p;
  Fp8GroupDecision d;
  d.groups = p.groups;
  if (p.all.m == 0 || p.all.n == 0) return d;
  if (forced != kElements && p.kind == GroupKind::batched && p.groups <= kMaxFp8Loop) {
    const auto one = decide_fp8(group_of(all, 0), options);
    if (!one) return one.status();
    d.way = Fp8GroupWay::loop;
    d.one = *one;
    return d;
  }
  if (forced != kElements) {
    const char* why_not = sm90::why_not_fp8_groups(p, all.scales);
    if (why_not == nullptr) {
      LaunchOptions choice = options;
      choice.forced = -1;
      for (std::size_t i = 0; i < sm90::kFp8Geometries.size(); ++i) {
        if (forced == sm90::name(sm90::kFp8Geometries[i])) choice.forced = static_cast<int>(i);
      }
      d.way = Fp8GroupWay::tiles;
      d.one = sm90::choose_fp8_groups(p, all.scales, choice);
      if (d.one.way == Fp8Way::tiles) return d;
      why_not = "it takes weights whose scale 128 columns share";
    }
    if (!forced.empty()) return forced_kernel_refuses(forced, why_not);
  }
  d.way = Fp8GroupWay::elements;
  const std::int64_t most = std::int64_t{options.sms} * kElementCtas;
  const std::int64_t threads = sm90::fp8_group_element_kernel().threads;
  std::int64_t outputs = 0;
  const bool many = __builtin_mul_overflow(p.all.m, p.all.n, &outputs);
  d.across = static_cast<int>(many ? most : std::min(most, ceil_div(outputs, threads)));
  d.down = static_cast<int>(std::clamp<std::int64_t>(most / d.across, 1, p.groups));
  return d;
}

std::string name(const Fp8GroupDecision& d) {
  if (d.way == Fp8GroupWay::tiles) return name(d.one) + "/grouped";
  if (d.way == Fp8GroupWay::loop) {
    return "loop of " + std::to_string(d.groups) + ": " + name(d.one);
  }
  return d.way == Fp8GroupWay::elements ? "fp8/elements/grouped" : "none (no outputs)";
}

cudaError_t enqueue_fp8_groups(const Fp8GroupDecision& d, const Fp8Groups& all,
                               const LaunchOptions& options) {
  if (d.way == Fp8GroupWay::none) return cudaSuccess;
  if (d.way == Fp8GroupWay::loop) {
    for (std::int64_t group = 0; group < all.p.groups; ++group) {
      const Fp8Arguments one = group_of(all, group);
      auto decision = decide_fp8(one, options);     // an address may be less aligned
      if (!decision) return cudaErrorInvalidValue;  // nothing is forced, so a kernel takes it
      if (const auto e = enqueue_fp8(*decision, one, options); e != cudaSuccess) return e;
    }
    return cudaSuccess;
  }
  if (const auto e = prepare_fp8_kernels(); e != cudaSuccess) return e;
  if (d.way == Fp8GroupWay::tiles) {
    return sm90::launch_fp8_groups(d.one, all.p, all.scales, options);
  }
  Fp8Groups given = all;
  int across = d.across;
  void* arguments[] = {&given.p, &given.scales, &across};
  return launch(sm90::fp8_group_element_kernel(), d.across * d.down, {options.stream, false},
                arguments);
}

}  // namespace detgemm::cuda
