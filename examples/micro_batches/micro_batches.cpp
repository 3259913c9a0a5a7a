// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A gradient that is accumulated over micro-batches has the bits of the whole batch: K is the
// batch, cut at ends of leaves, and each product continues from the sums of the one before. A cut
// inside of a leaf is refused before anything is computed, and has other bits where it is made all
// the same.

#include <cstdint>
#include <cstdio>
#include <detgemm/detgemm.hpp>
#include <vector>

namespace {

using detgemm::DType;
using detgemm::Plan;
using detgemm::Status;
using Lengths = std::vector<std::int64_t>;

constexpr std::int64_t samples = 2500, outputs = 24, inputs = 40;

std::vector<std::uint16_t> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint16_t> values(count);
  for (auto& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = detgemm::bf16_from_float(static_cast<float>(seed >> 8) / 8388608.0F - 1.0F);
  }
  return values;
}

/// dW = dY^T X, both of them one row per sample.
struct Gradient {
  detgemm::Contract contract;
  std::vector<std::uint16_t> dy = numbers(samples * outputs, 1);
  std::vector<std::uint16_t> x = numbers(samples * inputs, 2);

  /// The product of the samples from `begin` on, added to dw, or in place of what is there.
  Status add(std::int64_t begin, std::int64_t length, bool first, std::vector<float>& dw) const {
    // The number of samples is the K of the product and part of its plan, and so is whether it
    // continues. A real program makes these plans once: one that starts, one that continues, and
    // one for a short last micro-batch.
    const detgemm::GemmSpec spec{.n = inputs,
                                 .k = length,
                                 .contract = contract,
                                 .op_a = detgemm::Op::transpose,
                                 .continue_from_c = !first};
    const auto backend = detgemm::first_backend(spec, detgemm::DeviceKind::host);
    if (!backend) return backend.status();
    const auto plan = Plan::create(**backend, spec);
    if (!plan) return plan.status();
    const auto bytes = plan->workspace_bytes(outputs);
    if (!bytes) return bytes.status();
    const auto scratch = detgemm::HostWorkspace::allocate(*bytes);
    if (!scratch) return scratch.status();
    const auto sums = detgemm::row_major(dw.data(), outputs, inputs, DType::fp32);
    const detgemm::Operands operands{
        .a = detgemm::row_major(dy.data() + begin * outputs, length, outputs, DType::bf16),
        .b = detgemm::row_major(x.data() + begin * inputs, length, inputs, DType::bf16),
        .d = sums,
        .c = sums};  // D may be C itself; the first product does not read it
    return plan->run({}, operands, *scratch);
  }

  /// All samples in micro-batches of these lengths.
  Status over(const Lengths& lengths, std::vector<float>& dw) const {
    std::int64_t at = 0;
    for (const std::int64_t length : lengths) {
      if (Status status = add(at, length, at == 0, dw); !status) return status;
      at += length;
    }
    return {};
  }
};

int refused(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main() {
  const auto runtime = detgemm::Runtime::start();
  if (!runtime) return refused(runtime.status());
  const auto contract = detgemm::Contract::parse("hopper/bf16/fold:512->fp32");
  if (!contract) return refused(contract.status());
  const Gradient gradient{*contract};

  std::vector<float> whole(outputs * inputs), cut(whole), wrong(whole);
  if (Status status = gradient.over({samples}, whole); !status) return refused(status);

  const Lengths lengths{1024, 1024, 452};  // the last one may have any length
  if (Status status = detgemm::check_cuts(*contract, lengths); !status) return refused(status);
  if (Status status = gradient.over(lengths, cut); !status) return refused(status);
  std::printf("micro-batches of 1024, 1024 and 452 samples: the gradient %s\n",
              cut == whole ? "has the bits of the whole batch" : "differs");

  const Lengths inside{1000, 1000, 500};
  const Status status = detgemm::check_cuts(*contract, inside);
  std::printf("%s\n", status.message().c_str());
  if (Status made = gradient.over(inside, wrong); !made) return refused(made);
  std::printf("made all the same, it %s\n",
              wrong == whole ? "has the same bits, which is wrong" : "has other bits, as it must");
  return cut == whole && !status && wrong != whole ? 0 : 1;
}
