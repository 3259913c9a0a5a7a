// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// The epilogue is part of what a kernel does, so every kernel gets one too.
void add_epilogue(Case& c, Request& request) {
  request.spec.alpha = 1.1F;
  request.spec.bias = DType::fp32;
  request.bias = draw_normal(c.random(), DType::fp32, 1, request.b.cols);
}

}  // namespace

/// Every kernel that the backend lists, forced, any number of workers and either operand promised
/// to be stable: one result. The run
/// must record the kernel that was forced, and the plan must have said so beforehand.
void variants(Case& c) {
  Request request = c.draw(c.draw_shape());
  if (c.index() % 2 != 0) add_epilogue(c, request);
  const auto chosen = c.run(request);
  if (!chosen) return;
  const auto as_predicted = [&](const Output& output) {
    // A third party's engine is not asked beforehand.
    if (output.predicted_kernel.empty() || output.kernel == output.predicted_kernel) return true;
    c.fail("the plan said kernel \"" + output.predicted_kernel + "\" and \"" + output.kernel +
           "\" ran");
    return false;
  };
  if (!as_predicted(*chosen)) return;
  for (const std::string& variant : c.engine().variants(sized(request))) {
    request.options = {variant, 0};
    const auto forced = c.run(request);
    if (!forced) continue;  // noted: a kernel may refuse how the arrays lie
    if (!as_predicted(*forced)) return;
    if (!c.same(chosen->d, forced->d, "variant " + variant)) return;
  }
  for (const std::int32_t workers : {1, 2, 3}) {
    request.options = {"", workers};
    const auto few = c.run(request);
    if (!few) continue;  // noted: a backend may refuse a number of workers
    if (!c.same(chosen->d, few->d, "at most " + std::to_string(workers) + " workers")) return;
  }
  for (const Stable stable : {Stable::a, Stable::b}) {
    request.options = {"", 0, stable};
    const auto early = c.run(request);
    if (!early) return;
    if (!c.same(chosen->d, early->d, "stable " + std::string(name(stable)))) return;
  }
  c.look_for_order(request, chosen->d);
}

}  // namespace detgemm::conformance
