// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// cuda_choices: reads problems, one per line, and prints what the choosers of an H200 take for each
// and the microseconds that they expect (0 where a chooser has no such figure). A line is
//
//   ARITHMETIC INPUT OUTPUT REDUCTION KIND M N K      hopper bf16 bf16 tree:512 forward 100 4096
//   7168
//
// where KIND says how the operands of an (M, K) x (K, N) product lie: forward (both along K), dA (B
// along N), dB (A along M and B along N), and with "+c" behind it the sums go on from C.
//
// With --kernels it prints the names of all kernels of chains, of leaves and of ieee_fma instead.
// bench/fit/replay.py compares the answers with recorded times.
#include <iostream>
#include <sstream>
#include <string>

#include "cuda/families.hpp"
#include "cuda/simt/tile.hpp"
#include "tests/cuda/sm90/problems.hpp"

namespace {

using namespace detgemm;

Reduction reduction_of(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return {};
  const std::int64_t leaf = std::stoll(text.substr(colon + 1));
  return {text.substr(0, colon) == "fold" ? ReductionKind::fold : ReductionKind::tree, leaf};
}

DType type_of(const std::string& text) {
  return text == "fp32" ? DType::fp32 : text == "fp16" ? DType::fp16 : DType::bf16;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--kernels") {
    for (const auto& t : cuda::sm90::kPlainGeometries) std::cout << name(t) << "\n";
    for (std::size_t i = 0; i < cuda::sm90::kLeafKernels; ++i) {
      std::cout << cuda::sm90::leaf_kernel_name(i) << "\n";
    }
    for (const auto& t : cuda::simt::kTiles) std::cout << name(t) << "\n";
    return 0;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string arithmetic, input, output, reduction, kind;
    test::Layout l;
    if (!(words >> arithmetic >> input >> output >> reduction >> kind >> l.m >> l.n >> l.k)) {
      std::cerr << "cuda_choices: \"" << line
                << "\" must be ARITHMETIC INPUT OUTPUT REDUCTION KIND M N K\n";
      return 2;
    }
    l.a_mn = kind.starts_with("dB");
    l.b_mn = kind.starts_with("dA") || l.a_mn;
    l.output = type_of(output);
    GemmArguments g = test::arguments(l);
    g.reduction = reduction_of(reduction);
    if (kind.ends_with("+c")) {
      g.continue_from_c = true;
      g.c = reinterpret_cast<const void*>(l.address);
      g.cs = g.ds;
      g.c_type = l.output;
    }
    cuda::LaunchOptions options;
    options.sms = 132;
    const auto by = arithmetic == "hopper" ? Arithmetic::hopper : Arithmetic::ieee_fma;
    const cuda::Question q = cuda::question_of({g, by, type_of(input)}, options);
    const cuda::FamilyRow& row = cuda::row_of(q.family);
    const cuda::Choice choice = row.choose(q);
    if (choice.why_not != nullptr) {
      std::cerr << "cuda_choices: \"" << line << "\": " << choice.why_not << "\n";
      return 1;
    }
    std::cout << row.name(choice.decision) << " " << choice.us << "\n";
  }
  return 0;
}
