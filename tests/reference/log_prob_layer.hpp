// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/arithmetic/formats.hpp"
#include "detgemm/log_prob.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/reference.hpp"
#include "detgemm/workspace.hpp"
#include "tests/support/random_bits.hpp"

// A linear layer with random rows, and its results as bytes: what the tests of log-probabilities
// compare.

namespace detgemm::test {

inline Contract contract_of(const char* text) { return *Contract::parse(text); }

/// Numbers about sigma, as bf16.
inline std::uint16_t normal_bf16(Random& random, double sigma) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(random.next() >> 11) * 0x1p-53 - 0.5;
  return arithmetic::to_bf16(static_cast<float>(sum * sigma * 1.7));
}

struct Results {
  std::vector<float> logp, target_logit, lse, entropy, saved_r;
  std::vector<std::int32_t> saved_k;

  Results() = default;
  Results(std::int64_t t, std::int64_t per_row) {
    const auto rows = static_cast<std::size_t>(t);
    logp.assign(rows * static_cast<std::size_t>(per_row), -7.0F);
    target_logit = logp;
    lse.assign(rows, -7.0F);
    entropy = saved_r = lse;
    saved_k.assign(rows, -7);
  }
  LogProbOutputs outputs() {
    return {logp.data(),    target_logit.data(), lse.data(),
            entropy.data(), saved_k.data(),      saved_r.data()};
  }
  /// Results without the entropy.
  LogProbOutputs without_entropy() {
    LogProbOutputs out = outputs();
    out.entropy = nullptr;
    return out;
  }
};

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline void expect_same(const Results& a, const Results& b, const std::string& what) {
  EXPECT_TRUE(same_bytes(a.logp, b.logp)) << what << ": logp";
  EXPECT_TRUE(same_bytes(a.target_logit, b.target_logit)) << what << ": target_logit";
  EXPECT_TRUE(same_bytes(a.lse, b.lse)) << what << ": lse";
  EXPECT_TRUE(same_bytes(a.entropy, b.entropy)) << what << ": entropy";
  EXPECT_TRUE(same_bytes(a.saved_k, b.saved_k)) << what << ": saved_k";
  EXPECT_TRUE(same_bytes(a.saved_r, b.saved_r)) << what << ": saved_r";
}

/// A layer of V x K bf16 weights and T rows.
struct Layer {
  std::int64_t t, v, k, per_row = 1;
  std::vector<std::uint16_t> x, w, bias;
  std::vector<std::int64_t> targets;
  std::vector<float> scale;
  LogProbSpec spec;

  Layer(std::int64_t rows, std::int64_t vocabulary, std::int64_t hidden, const char* contract,
        std::uint64_t seed = 1, std::int64_t ids = 1)
      : t(rows), v(vocabulary), k(hidden), per_row(ids) {
    Random random(seed);
    for (std::int64_t i = 0; i < t * k; ++i) x.push_back(normal_bf16(random, 1));
    for (std::int64_t i = 0; i < v * k; ++i) w.push_back(normal_bf16(random, 1.2));
    for (std::int64_t i = 0; i < v; ++i) bias.push_back(normal_bf16(random, 1));
    for (std::int64_t i = 0; i < t * ids; ++i) {
      targets.push_back(i % 7 == 5 ? -100 : random.below(v));
    }
    for (std::int64_t i = 0; i < t; ++i) scale.push_back(i % 2 == 0 ? 1.0F : 1 / 0.7F);
    spec.n = v;
    spec.k = k;
    spec.contract = contract_of(contract);
    spec.entropy = true;
  }

  LogProbRows rows() const {
    return {{targets.data(), t, per_row, per_row, OffsetType::i64}, scale.data()};
  }
  LogProbOperands operands() const {
    LogProbOperands operands;
    operands.x = row_major(static_cast<const void*>(x.data()), t, k, DType::bf16);
    operands.w = row_major(static_cast<const void*>(w.data()), spec.n, k, DType::bf16);
    if (spec.bias) operands.bias = {bias.data(), spec.n, DType::bf16};
    operands.rows = rows();
    return operands;
  }

  Results run(const Backend& backend = reference_backend()) const {
    Results results(t, per_row);
    run(backend, operands(), results.outputs());
    return results;
  }
  void run(const Backend& backend, const LogProbOperands& operands,
           const LogProbOutputs& out) const {
    const auto plan = LogProbPlan::create(backend, spec);
    ASSERT_TRUE(plan) << plan.status().message();
    const auto bytes = plan->workspace_bytes(operands.x.rows);
    ASSERT_TRUE(bytes);
    const auto workspace = HostWorkspace::allocate(*bytes);
    const Status status = plan->run({}, operands, out, *workspace);
    ASSERT_TRUE(status) << status.message();
  }

  /// The logits, stored with rows `ld` apart.
  std::vector<std::uint8_t> logits(std::int64_t ld) const {
    const DType type = spec.contract.output;
    std::vector<std::uint8_t> stored(static_cast<std::size_t>(t * ld) * size_of(type), 0xff);
    GemmOptions options;
    options.op_b = Op::transpose;
    options.alpha = spec.alpha;
    options.backend = "reference";
    const LogProbOperands from = operands();
    options.bias = from.bias;
    const Status status =
        gemm({}, from.x, from.w, row_major(stored.data(), t, v, type, ld), spec.contract, options);
    EXPECT_TRUE(status) << status.message();
    return stored;
  }
};

/// The same from stored logits.
inline Results of_logits(const ConstMatrix& logits, std::int64_t vocabulary,
                         const LogProbRows& rows, const Backend& backend = reference_backend()) {
  Results results(logits.rows, rows.targets.per_row);
  const auto workspace =
      HostWorkspace::allocate(*log_prob_workspace_bytes(logits.rows, vocabulary));
  const Status status =
      log_prob_of_logits(backend, {}, logits, vocabulary, rows, results.outputs(), *workspace);
  EXPECT_TRUE(status) << status.message();
  return results;
}

}  // namespace detgemm::test
