// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/families.hpp"
#include "cuda/sample.hpp"

namespace detgemm::cuda {
namespace {

/// For example "/pack-a", and "/pack" for both operands.
std::string suffix(const Step* step, const char* what) {
  if (step == nullptr) return "";
  return std::string("/") + what + (!step->b ? "-a" : !step->a ? "-b" : "");
}

}  // namespace

std::string name(const Decision& d) {
  if (d.family == Family::none) return "none (no outputs)";
  const FamilyRow& row = row_of(d.family);
  const std::string text =
      row.name(d) + suffix(d.steps.find(Step::pack), "pack") +
      suffix(d.steps.find(Step::copy), "pack") + (row.groups ? "/grouped" : "") +
      suffix(d.steps.find(Step::snap), "snap") + suffix(d.steps.find(Step::split), "snap3");
  return d.loop == 0 ? text : "loop of " + std::to_string(d.loop) + ": " + text;
}

Status whole_build() {
  if (!kSampleAlone) return {};
  return {Errc::unavailable,
          "cuda: this build has a sample of the kernels, to show that they compile, and computes "
          "nothing: DETGEMM_CUDA_KERNELS is sample where it must be all"};
}

}  // namespace detgemm::cuda
