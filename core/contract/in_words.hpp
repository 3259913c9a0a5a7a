// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <string>

#include "detgemm/contract.hpp"

namespace detgemm {

/// The pairs of arithmetic and input for which `computes(contract)` is true under some reduction:
/// "hopper/{bf16,fp16}, ieee_fma/fp32", or nothing. A backend's description is made of it, so that
/// the description says what the backend computes and nothing else.
template <class Computes>
std::string contracts_in_words(Computes&& computes) {
  constexpr std::array kReductions{
      Reduction{ReductionKind::chain, 0}, Reduction{ReductionKind::fold, 128},
      Reduction{ReductionKind::tree, 128}, Reduction{ReductionKind::scaled, 128}};
  std::string all;
  for (const Arithmetic arithmetic : arithmetics()) {
    std::string inputs;
    bool several = false;
    for (const DType input :
         {DType::bf16, DType::fp16, DType::fp32, DType::tf32, DType::e4m3, DType::e5m2}) {
      bool any = false;
      for (const Reduction& reduction : kReductions) {
        const auto contract = Contract::make(arithmetic, input, reduction, DType::fp32);
        any = any || (contract && computes(*contract));
      }
      if (!any) continue;
      several = !inputs.empty();
      inputs += (several ? "," : "") + std::string(name(input));
    }
    if (inputs.empty()) continue;
    all += (all.empty() ? "" : ", ") + std::string(name(arithmetic)) + "/" +
           (several ? "{" + inputs + "}" : inputs);
  }
  return all;
}

}  // namespace detgemm
