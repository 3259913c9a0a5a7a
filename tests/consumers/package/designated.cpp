// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <detgemm/detgemm.hpp>

/// Names the fields that it sets and leaves the others out, which must not warn: compiled with
/// -Wall -Wextra -Werror.
int main() {
  const auto contract = detgemm::Contract::parse("ieee_fma/fp32/fold:4->fp32");
  if (!contract) return 1;
  const detgemm::GemmSpec spec{.n = 64, .k = 64, .contract = *contract};
  const detgemm::PlanOptions choices{.max_workers = 1};
  const detgemm::GemmOptions options{.beta = 0.0F};
  const detgemm::GemmOptions named{.backend = "reference"};
  const detgemm::GroupedSpec groups{.gemm = spec, .groups = 2};
  const detgemm::Operands operands{.a = {}, .b = {}, .d = {}};
  const detgemm::RuntimeOptions threads{};
  const detgemm::SnapSpec snap{.leaf_k = 64};
  const detgemm::QuantizeSpec quantize{.per = 128};
  const detgemm::Workspace none{};
  const detgemm::RunInfo info{};
  if (spec.bias || !choices.variant.empty() || !options.backend.empty() || named.beta != 0.0F) {
    return 2;
  }
  if (groups.groups != 2 || operands.c.data != nullptr || threads.threads != 0) return 3;
  if (snap.leaf_k != 64 || quantize.per != 128 || none.bytes != 0 || !info.kernel.empty()) return 4;
  if (!detgemm::validate(spec)) return 5;
  std::puts(detgemm::version());
  return 0;
}
