// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Which arithmetic does this chip's matrix core compute? Groups of single steps, one MFMA at a
// time, are chosen so that each stage of the published models shows. The results are compared with
// the model of the contract, with other units' arithmetics, and with a family of steps; what gives
// every result is the winner. The output is meant to be sent back: the first difference is printed
// bit by bit.

#include <cstdio>
#include <string>
#include <vector>

#include "core/arithmetic/formats.hpp"
#include "core/conformance/request.hpp"
#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"
#include "tests/hip/identify_fp32.hpp"
#include "tests/hip/probe/probe.hpp"
#include "tests/hip/step_groups.hpp"

namespace detgemm::test {
namespace {

using arithmetic::bits_of;
using conformance::Elements;

constexpr int kDepth = 8;

/// The steps as a GEMM that continues from C.
conformance::Request request_of(const Steps& steps, Arithmetic arithmetic) {
  conformance::Request request;
  request.spec.contract = *Contract::make(arithmetic, DType::bf16, {}, DType::fp32);
  request.spec.continue_from_c = true;
  request.spec.op_b = Op::transpose;
  request.a = Elements(DType::bf16, kSide, steps.count);
  request.b = Elements(DType::bf16, steps.count, kSide);
  request.c = Elements(DType::fp32, kSide, kSide);
  for (int i = 0; i < kSide; ++i) {
    for (int k = 0; k < steps.count; ++k) {
      request.a.set(i, k, steps.a_of(i)[k]);
      request.b.set(k, i, steps.b_of(i)[k]);
    }
    for (int j = 0; j < kSide; ++j) request.c.set(i, j, bits_of(steps.c_of(i, j)));
  }
  return request;
}

/// The operands of one step, and what became of them.
std::string bit_by_bit(const Steps& steps, int i, int j, std::uint32_t chip, std::uint32_t model) {
  char word[24];
  std::string line = "a";
  const auto put = [&](const std::uint16_t* row) {
    for (int k = 0; k < steps.count; ++k) {
      std::snprintf(word, sizeof word, " %04x", row[k]);
      line += word;
    }
  };
  put(steps.a_of(i));
  line += "  b";
  put(steps.b_of(j));
  char rest[64];
  std::snprintf(rest, sizeof rest, "  c %08x: chip %08x, model %08x", bits_of(steps.c_of(i, j)),
                chip, model);
  return line + rest;
}

/// Prints how many results of each named model are equal, and the first step that is not those of
/// `model`, where there is one. Returns whether all are.
bool judge(const Steps& steps, const char* shape, const std::vector<std::uint32_t>& got,
           const StepModel* model) {
  std::printf("%-18s %-8s %s:", steps.name.c_str(), shape, steps.shows.c_str());
  std::string first;
  for (const StepModel& candidate : named_models()) {
    int equal = 0;
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        const std::uint32_t d = got[static_cast<std::size_t>(i * kSide + j)];
        const std::uint32_t expected =
            bits_of(candidate.compute(steps.a_of(i), steps.b_of(j), steps.count, steps.c_of(i, j)));
        equal += expected == d ? 1 : 0;
        if (model == &candidate && expected != d && first.empty())
          first = bit_by_bit(steps, i, j, d, expected);
      }
    }
    std::printf(" %s %d", candidate.name.c_str(), equal);
  }
  std::printf(" of %d%s\n", kSide * kSide, first.empty() ? "" : "  DIFFERS");
  if (!first.empty()) std::printf("  first: %s\n", first.c_str());
  return first.empty();
}

/// By the library's own kernels, with both shapes of the instruction, which must agree as well.
int identify_kernels(Arithmetic arithmetic) {
  const StepModel* const model = &named_models()[arithmetic == Arithmetic::cdna3 ? 0 : 1];
  bool same = true;
  Fit fit(kDepth);
  for (const Steps& steps : draw_groups(kDepth, 1)) {
    for (const char* variant : {"64x64", "stream"}) {
      conformance::Request forced = request_of(steps, arithmetic);
      forced.options.variant = variant;
      const auto got = conformance::run_once(hip_backend(), std::move(forced));
      if (!got) {
        std::printf("%s: %s\n", steps.name.c_str(), got.status().message().c_str());
        return 1;
      }
      std::vector<std::uint32_t> results;
      for (int i = 0; i < kSide * kSide; ++i) results.push_back(got->d.get(i / kSide, i % kSide));
      same = judge(steps, *variant == '6' ? "32x32x8" : "16x16x16", results, model) && same;
      fit.add(steps, results);
    }
  }
  std::printf("%s\n", fit.sentence().c_str());
  std::printf("%s\n", same ? ("This device computes the " + std::string(name(arithmetic)) +
                              " model in every group.")
                                 .c_str()
                           : "THIS DEVICE DIFFERS FROM THE MODEL where a line above says so.");
  return same ? 0 : 1;
}

/// By kernels of one instruction each, what no contract describes.
int identify_probes() {
  const auto probes = Probes::load();
  if (!probes) {
    std::printf("skipped: %s\n", probes.status().message().c_str());
    return 77;
  }
  for (const ProbeShape& shape : probes->shapes()) {
    Fit fit(shape.count, shape.input);
    for (const Steps& steps : draw_groups(shape.count, 1, shape.input)) {
      const auto results = probes->run(shape, steps);
      if (!results) {
        std::printf("%s: %s\n", shape.name, results.status().message().c_str());
        return 1;
      }
      judge(steps, shape.name, *results, nullptr);
      fit.add(steps, *results);
    }
    std::printf("%s: %s\n", shape.name, fit.sentence().c_str());
  }
  std::printf(
      "No contract describes these instructions; the lines \"winner\" say what they compute.\n");
  return 0;
}

int run() {
  if (const Status s = hip_backend().available(); !s) {
    std::printf("skipped: %s\n", s.message().c_str());
    return 77;
  }
  std::printf("device %s\n", hip_backend().device().description().c_str());
  for (const Arithmetic arithmetic : {Arithmetic::cdna3, Arithmetic::cdna2}) {
    GemmSpec spec;
    spec.n = spec.k = 8;
    spec.contract = *Contract::make(arithmetic, DType::bf16, {}, DType::fp32);
    if (!hip_backend().supports(spec)) continue;
    const int fp32 = identify_fp32();
    const int fp8 = probe_shapes(current_chip()).empty() ? 0 : identify_probes();
    const int steps = identify_kernels(arithmetic);
    return steps != 0 ? steps : fp32 != 0 ? fp32 : fp8;
  }
  return identify_probes();
}

}  // namespace
}  // namespace detgemm::test

int main() {
  const auto runtime = detgemm::Runtime::start();
  return runtime ? detgemm::test::run() : 1;
}
