// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "core/conformance/properties/crossing.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// A plan predicts its kernel for packed, row-major, aligned arrays; others may get another one.
bool is_predictable(const Request& r) {
  return r.a_layout == Layout{} && r.b_layout == Layout{} && r.c_layout == Layout{} &&
         r.d_layout == Layout{};
}

bool as_predicted(Case& c, const Output& output) {
  // An engine from a shared object has no function that predicts its kernel.
  if (output.predicted_kernel.empty() || output.kernel == output.predicted_kernel) return true;
  c.fail("the plan named kernel \"" + output.predicted_kernel + "\" and \"" + output.kernel +
         "\" ran");
  return false;
}

/// The variants, where their names and their number are of a size to be tested.
std::vector<std::string> listed(Case& c, const Request& request) {
  std::vector<std::string> list = c.engine().variants(sized(request));
  if (list.size() > kMaxVariants) {
    c.fail("the engine lists more than " + std::to_string(kMaxVariants) +
           " variants: the rest was not run");
    list.resize(kMaxVariants);
  }
  std::size_t number = 0;
  for (const std::string& variant : list) {
    if (variant.size() > kMaxVariantName) {
      c.fail("variant " + std::to_string(number) + " has a name of more than " +
             std::to_string(kMaxVariantName) + " bytes: those were not run");
    }
    ++number;
  }
  std::erase_if(list, [](const std::string& one) { return one.size() > kMaxVariantName; });
  return list;
}

/// Every kernel on a row of the covering design, as `wanted` has it: strides, operations, C and the
/// epilogue are of each kernel by itself. False once something has failed.
template <class Wanted>
bool crossed_variants(Case& c, Wanted&& wanted) {
  const auto& rows = crossing(Level::quick);
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t start = c.random().below(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const Crossed row(c, rows[static_cast<std::size_t>((start + i) % count)]);
    if (!wanted(row)) continue;
    Shape shape = row.draw_shape(c);
    shape.k = std::max<std::int64_t>(shape.k, c.stretch() + 1);
    Request request = c.draw(shape, Distribution::residue);
    row.apply(c, request);
    const DType c_type = request.spec.continue_from_c ? DType::fp32 : request.spec.contract.output;
    if (row.c_use() != CUse::absent) {
      request.c = draw_normal(c.random(), c_type, shape.m, shape.n, 0x1p-8);
    }
    if (request.spec.bias) {
      request.bias = draw_normal(c.random(), *request.spec.bias, 1, shape.n, 0x1p-8);
    }
    const std::string what = describe(request);
    c.log(what);
    const auto expected = c.has_oracle() ? c.run_oracle(plain(request)) : c.run(plain(request));
    if (!expected) return true;
    for (const std::string& variant : listed(c, request)) {
      request.options.variant = variant;
      const auto forced = c.run(request);
      if (!forced) continue;
      if (is_predictable(request) && !as_predicted(c, *forced)) return false;
      if (!c.same(expected->d, forced->d, "variant " + variant + ", " + what)) return false;
    }
    return true;
  }
  return true;
}

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
  if (!as_predicted(c, *chosen)) return;
  for (const std::string& variant : listed(c, request)) {
    request.options = {variant, 0};
    const auto forced = c.run(request);
    if (!forced) continue;  // noted: a kernel may refuse how the arrays lie
    if (!as_predicted(c, *forced)) return;
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
  request.options = {};
  c.check_order_matters(request, chosen->d);
  if (!crossed_variants(c, [](const Crossed& row) { return row.starts_from_c(); })) return;
  if (!crossed_variants(c, [](const Crossed& row) {
        return row.level(Factor::op_b) == 1 && row.level(Factor::padding_b) != 0;
      })) {
    return;
  }
  crossed_variants(c, [](const Crossed& row) {
    return row.level(Factor::op_a) == 1 && row.level(Factor::padding_a) != 0;
  });
}

}  // namespace detgemm::conformance
