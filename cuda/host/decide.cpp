// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "core/arithmetic/step.hpp"
#include "cuda/families.hpp"
#include "cuda/host/copies.hpp"
#include "cuda/host/recall.hpp"
#include "cuda/host/snapped.hpp"

// What runs for a problem. The walk is one-way: decide -> decide_groups, decide_snapped or
// multiplication -> the row of a family, which chooses among its kernels.
namespace detgemm::cuda {
namespace {

/// A single product, multiplied as it is: by the preferred kernel where it takes the arrays.
Result<Decision> multiplication(const Problem& p, const LaunchOptions& options) {
  if (options.preferred >= 0 && options.forced < 0) {
    LaunchOptions with = options;
    with.forced = options.preferred;
    if (auto preferred = multiplication(p, with)) return preferred;
  }
  const KernelInfo* const forced = forced_kernel(p, options);
  if (forced != nullptr && !options.wgmma && row_of(forced->family).set == KernelSet::hopper) {
    return refusal(*forced, "it needs tensor cores of compute capability 9.0");
  }
  const Question q = question_of(p, options);
  const Choice choice = row_of(q.family).choose(q);
  if (choice.why_not != nullptr) {
    return forced != nullptr ? refusal(*forced, choice.why_not) : unsupported(choice.why_not);
  }
  Decision d = choice.decision;
  d.us = choice.us;
  return d;
}

/// A single product of snap or snap3.
Result<Decision> decide_snapped(const Problem& p, const LaunchOptions& options) {
  const snap::SnappedCall call(p, options, nullptr);
  const KernelInfo* const forced = forced_kernel(p, options);
  if (forced != nullptr && call.problem().arithmetic == Arithmetic::hopper && !options.wgmma) {
    return refusal(*forced, "it needs tensor cores of compute capability 9.0");
  }
  auto decision = multiplication(call.problem(), call.options());
  if (!decision || !(call.snaps().a || call.snaps().b)) return decision;
  const bool splits = p.arithmetic == Arithmetic::snap3;
  Steps steps;
  steps.add({splits ? Step::split : Step::snap, call.snaps().a, call.snaps().b, 0});
  for (const Step& step : decision->steps) steps.add(step);
  decision->steps = steps;
  return decision;
}

/// The families that compute groups: by tiles, where they take the arrays, and whatever they are.
struct Ways {
  Family tiles = Family::none;
  Family all = Family::none;
};
Ways ways_of(const Problem& p, const LaunchOptions& options) {
  const bool snaps =
      p.arithmetic == Arithmetic::snap && !(options.a_is_snapped && options.b_is_snapped);
  switch (set_of(multiplies(p.arithmetic, options.wgmma), p.input, true, options.wgmma)) {
    case KernelSet::groups_of_mma:
      return {Family::none, Family::gather_groups};
    case KernelSet::e4m3:
      return {Family::fp8_groups, Family::element_groups};
    case KernelSet::groups_of_hopper:
      return {snaps ? Family::none : Family::groups, Family::gather_groups};
    default:
      return {Family::none, Family::simt_groups};
  }
}

/// By tiles on copies of a batch; no decision where copies do not help, or the workspace does not
/// hold them.
Choice choose_on_copies(const Problem& p, const LaunchOptions& options, const Question& q) {
  Choice none;
  none.why_not = "there are no copies";
  const GroupCopies copies = copies_for_tiles(p.gemms);
  if (!copies.any() || options.workspace_bytes < copies.bytes()) return none;
  Problem on = p;
  on.gemms = on_copies(p.gemms, copies, nullptr);
  Question about = q;
  about.problem = &on;
  Choice choice = row_of(Family::groups).choose(about);
  if (choice.why_not != nullptr) return none;
  choice.us += copies.predicted_time();
  choice.decision.steps.add({Step::copy, copies.a.count > 0, copies.b.count > 0, copies.bytes()});
  return choice;
}

/// Microseconds that a batch takes as launches of its single products. 128 short ones took 344, and
/// 24 that realign rows took 413, 17 each (bench/results/2026-11-23-h200-batched.md).
double predicted_loop_time(const Decision& one, std::int64_t groups) {
  constexpr double kMin = 2.7, kMinCopied = 17;
  const bool copied = one.family == Family::realign || one.steps.find(Step::pack) != nullptr;
  return static_cast<double>(groups) * std::max(one.us, copied ? kMinCopied : kMin);
}

Result<Decision> decide_groups(const Problem& p, const LaunchOptions& options) {
  const KernelInfo* const forced = forced_kernel(p, options);
  const auto may = [&](Family family) { return forced == nullptr || forced->family == family; };
  const Ways ways = ways_of(p, options);
  const Question q = question_of(p, options);
  const auto with_time = [](const Choice& choice) {
    Decision d = choice.decision;
    d.us = choice.us;
    return d;
  };
  if (ways.tiles != Family::none && may(ways.tiles)) {
    const Choice tiles = row_of(ways.tiles).choose(q);
    if (tiles.why_not == nullptr) return with_time(tiles);
    if (forced != nullptr) return refusal(*forced, tiles.why_not);
  }
  // Operands that are snapped first are left to the loop, which does it.
  const bool compares = ways.tiles == Family::groups && p.arithmetic == Arithmetic::hopper;
  const Choice all = row_of(ways.all).choose(q);
  Choice copied;
  copied.why_not = "no copies are considered";
  if (forced == nullptr && ways.tiles == Family::groups) copied = choose_on_copies(p, options, q);
  const auto copies_take_less = [&](double us) {
    return copied.why_not == nullptr && copied.us < us;
  };
  if (may(Family::loop) && p.gemms.kind == GroupKind::batched && p.gemms.groups <= kMaxLoop) {
    LaunchOptions alone = options;
    alone.forced = -1;
    auto one = decide(p.group(0), alone);
    if (!one) return one.status();
    const double loop_us = predicted_loop_time(*one, p.gemms.groups);
    if (copies_take_less(std::min(loop_us, all.us))) return with_time(copied);
    if (!compares || !may(ways.all) || loop_us <= all.us) {
      one->loop = p.gemms.groups;
      return one;
    }
  } else if (copies_take_less(all.us)) {
    return with_time(copied);
  }
  if (all.why_not == nullptr) return with_time(all);
  return unsupported("k is " + std::to_string(p.g().k) + ": " + all.why_not);
}

}  // namespace

Result<Decision> decide(const Problem& p, const LaunchOptions& options) {
  if (p.g().m == 0 || p.g().n == 0) return Decision{};
  static thread_local Recall recall;
  const Recall::Key key(p, options);
  if (const Decision* known = recall.find(key)) return *known;
  auto decision = p.is_grouped()                      ? decide_groups(p, options)
                  : arithmetic::is_snap(p.arithmetic) ? decide_snapped(p, options)
                                                      : multiplication(p, options);
  if (decision) recall.keep(key, *decision);
  return decision;
}

}  // namespace detgemm::cuda
