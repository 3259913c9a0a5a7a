// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The gradient of the weights of 3 experts over 4 samples, one sample at a time and all at once.
//
// The rows of an expert are the tokens of sample 0, then those of sample 1, and so on. Within each
// expert every sample is padded with rows of zeros to a multiple of LEAF, so that leaves begin at
// the same tokens however the samples are packed into calls. Without padding they do not, and then
// the packing changes the gradients.

#include <cstdint>
#include <cstdio>
#include <detgemm/detgemm.hpp>
#include <vector>

namespace {

using detgemm::DType;
using detgemm::Status;

constexpr std::int64_t kExperts = 3, kSamples = 4, kTokens = 50, kIn = 24, kOut = 16, kLeaf = 32;

/// bf16 of either sign, from 2^-15 to 2, by token and column: sums of numbers of one size would be
/// exact, and then no order would matter.
std::uint16_t number(std::int64_t token, std::int64_t column) {
  const std::int64_t mix = (token * 7919 + column * 104729) % 1000003;
  return static_cast<std::uint16_t>(0x3f80 + mix % 128 - mix / 128 % 16 * 0x80 +
                                    (mix / 2048 % 2) * 0x8000);
}

/// The arrays of one micro-batch.
struct Batch {
  std::vector<std::uint16_t> inputs, gradients;  // rows x kIn, rows x kOut
  std::vector<std::int32_t> ends;                // of each expert's rows
};

/// Samples [first, first + count): token t goes to expert t % 3 or, if t < 9, to expert 0.
Batch pack(std::int64_t first, std::int64_t count, std::int64_t pad) {
  Batch batch;
  std::int64_t rows = 0;
  const auto add_row = [&](std::int64_t token) {  // -1: zeros
    for (std::int64_t i = 0; i < kIn; ++i) batch.inputs.push_back(token < 0 ? 0 : number(token, i));
    for (std::int64_t i = 0; i < kOut; ++i) {
      batch.gradients.push_back(token < 0 ? 0 : number(token, kIn + i));
    }
    ++rows;
  };
  for (std::int64_t expert = 0; expert < kExperts; ++expert) {
    for (std::int64_t sample = first; sample < first + count; ++sample) {
      for (std::int64_t t = 0; t < kTokens; ++t) {
        if ((t < 9 ? 0 : t % kExperts) == expert) add_row(sample * kTokens + t);
      }
      while (rows % pad != 0) add_row(-1);
    }
    batch.ends.push_back(static_cast<std::int32_t>(rows));
  }
  return batch;
}

/// Adds a micro-batch to `sums` (kExperts x kIn x kOut), inside of the fold.
Status add(const detgemm::GroupedPlan& plan, const Batch& batch, std::vector<float>& sums) {
  const auto rows = static_cast<std::int64_t>(batch.inputs.size()) / kIn;
  detgemm::GroupedOperands x;
  x.arrays.a = detgemm::row_major(batch.inputs.data(), rows, kIn, DType::bf16);
  x.arrays.b = detgemm::row_major(batch.gradients.data(), rows, kOut, DType::bf16);
  x.arrays.d = detgemm::row_major(sums.data(), kIn, kOut, DType::fp32);
  x.arrays.c = x.arrays.d;
  x.group.c = x.group.d = kIn * kOut;
  x.offsets = {batch.ends.data(), kExperts, detgemm::OffsetType::i32};
  const auto bytes = plan.workspace_bytes(kIn, rows);
  if (!bytes) return bytes.status();
  const auto scratch = detgemm::HostWorkspace::allocate(*bytes);
  if (!scratch) return scratch.status();
  return plan.run({}, x, *scratch);
}

/// The digest of all gradients with so many samples at a time.
detgemm::Result<std::uint64_t> gradients(const detgemm::GroupedPlan& plan, std::int64_t at_a_time,
                                         std::int64_t pad) {
  std::vector<float> sums(kExperts * kIn * kOut);
  for (std::int64_t first = 0; first < kSamples; first += at_a_time) {
    if (Status s = add(plan, pack(first, at_a_time, pad), sums); !s) return s;
  }
  return detgemm::digest_bytes(sums.data(), sums.size() * sizeof(float));
}

}  // namespace

int main() {
  const auto runtime = detgemm::Runtime::start();
  const auto backend = detgemm::find_backend("reference");
  const auto contract = detgemm::Contract::parse("hopper/bf16/fold:32->fp32");
  if (!runtime || !backend || !contract) return 1;

  detgemm::GroupedSpec spec;
  spec.gemm.contract = *contract;
  spec.gemm.n = kOut;
  spec.gemm.op_a = detgemm::Op::transpose;  // the inputs lie token by token
  spec.gemm.continue_from_c = true;
  spec.kind = detgemm::GroupKind::k_grouped;
  spec.groups = kExperts;
  const auto plan = detgemm::GroupedPlan::create(**backend, spec);
  if (!plan) return std::puts(plan.status().message().c_str()), 1;

  for (const std::int64_t pad : {kLeaf, std::int64_t{1}}) {
    const auto one = gradients(*plan, 1, pad);
    const auto all = gradients(*plan, kSamples, pad);
    if (!one || !all) return std::puts((one ? all : one).status().message().c_str()), 1;
    const bool same = *one == *all;
    if (pad == 1) {
      std::printf("without padding: %s\n", same ? "the same" : "others, as they must be");
    } else {
      std::printf("4 micro-batches of 1 sample and 1 of 4: %s gradients, %s\n",
                  same ? "the same" : "other", detgemm::hex(*one).c_str());
    }
  }
}
