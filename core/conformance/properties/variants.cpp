// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// The epilogue is part of a kernel's work, so every kernel is tested with one too.
void add_epilogue(Case& c, Request& request) {
  request.spec.alpha = 1.1F;
  request.spec.bias = DType::fp32;
  request.bias = draw_normal(c.random(), DType::fp32, 1, request.b.cols);
}

}  // namespace

/// Every kernel that the backend lists, when it is forced, gives one result, with any number of
/// workers and with either operand promised to be stable. The run must record the kernel that was
/// forced, and the plan must have predicted it.
void variants(Case& c) {
  Request request = c.draw(c.draw_shape());
  if (c.index() % 2 != 0) add_epilogue(c, request);
  const auto chosen = c.run(request);
  if (!chosen) return;
  const auto as_predicted = [&](const Output& output) {
    // An engine from a shared object has no function that predicts its kernel.
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
  c.check_order_matters(request, chosen->d);
}

}  // namespace detgemm::conformance
