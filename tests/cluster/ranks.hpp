// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/cluster.hpp"

// A product drawn from a seed, the same on every rank, and its D as one rank computes it.

namespace detgemm::cluster {

/// `body(transport)` on a thread per rank.
inline void on_ranks(int ranks, const std::function<void(std::shared_ptr<Transport>)>& body) {
  std::vector<std::thread> all;
  for (const auto& transport : threads(ranks)) all.emplace_back(body, transport);
  for (std::thread& one : all) one.join();
}

struct Sample {
  GemmSpec spec;
  std::int64_t m = 0;
  std::vector<std::uint16_t> a, b;  ///< m x k and k x n, row-major
  std::vector<float> c, bias;
  std::vector<float> d;  ///< of one rank

  /// m is drawn too, unless it is given.
  Sample(const std::string& contract, std::uint64_t seed, std::int64_t rows = -1) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t limit) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    };
    spec.contract = *Contract::parse(contract);
    m = below(3) == 0 ? below(4) : 1 + below(90);
    if (rows >= 0) m = rows;
    spec.n = 1 + below(12);
    spec.k = below(8) == 0 ? below(20) : 1 + below(700);
    spec.alpha = 0.7F;
    spec.beta = below(2) == 0 ? 0.3F : 0.0F;
    if (below(2) == 0) spec.bias = DType::fp32;
    spec.activation = below(2) == 0 ? Activation::silu : Activation::none;
    const auto bf16 = [&] {  // normal numbers of many sizes, so that an order shows
      return static_cast<std::uint16_t>((random() & 0x807f) | ((117 + random() % 20) << 7));
    };
    for (std::int64_t i = 0; i < m * spec.k; ++i) a.push_back(bf16());
    for (std::int64_t i = 0; i < spec.k * spec.n; ++i) b.push_back(bf16());
    for (std::int64_t i = 0; i < m * spec.n; ++i)
      c.push_back(static_cast<float>(below(2000)) - 999);
    for (std::int64_t i = 0; i < spec.n; ++i) bias.push_back(static_cast<float>(below(100)) - 49);
    d.assign(c.size(), 0);
    const auto plan = Plan::create(skeleton_backend(), spec);
    Operands all = operands({0, spec.k}, {0, m}, d.data());
    whole = plan ? plan->run({}, all) : plan.status();
  }
  Status whole;

  /// The products of `range` and the rows of D, C that a rank has.
  Operands operands(KRange range, Range rows, float* to) const {
    const std::int64_t depth = range.end - range.begin;
    return {
        row_major(static_cast<const void*>(a.data() + range.begin), m, depth, DType::bf16, spec.k),
        row_major(static_cast<const void*>(b.data() + range.begin * spec.n), depth, spec.n,
                  DType::bf16),
        row_major(to, rows.size(), spec.n, DType::fp32),
        row_major(static_cast<const void*>(c.data() + rows.begin * spec.n), rows.size(), spec.n,
                  DType::fp32),
        {bias.data(), spec.n, DType::fp32}};
  }
};

/// Host scratch of a size, aligned as a workspace must be.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes)
      : bytes_(bytes), data_(*host_device().allocate(std::max<std::size_t>(bytes, 1))) {}
  Scratch(const Scratch&) = delete;
  ~Scratch() { host_device().release(data_); }
  operator Workspace() const { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// The roots that a rank has of a sample's tree, as it makes them from its share of the products.
struct Roots {
  std::vector<std::vector<float>> data;
  std::vector<ConstMatrix> views;

  Roots(const Sample& sample, const Shares& shares, int rank) {
    for (const LeafRange& node : shares.cover(rank)) {
      const KRange k = *k_of(sample.spec.contract, sample.spec.k, node);
      GemmSpec part;
      part.contract = sample.spec.contract;
      part.n = sample.spec.n;
      part.k = k.end - k.begin;
      data.emplace_back(sample.d.size());
      const auto all = sample.operands(k, {0, sample.m}, data.back().data());
      made = Plan::create(skeleton_backend(), part)->run({}, all.a, all.b, all.d);
      if (!made) return;
      views.push_back(all.d);
    }
  }
  Status made;
};

/// The sample on the ranks of a communicator: "" or what is wrong. `before` is done before the
/// call, when all ranks have made the plan.
inline std::string run_sample(const Communicator& communicator, const Sample& sample,
                              const RowParallelOptions& options,
                              const std::function<void()>& before = {}) {
  const auto plan = RowParallelPlan::create(communicator, skeleton_backend(), sample.spec, options);
  if (!plan) return plan.status().message();
  const bool in_rows = options.output == Placement::rows;
  const Range rows =
      in_rows ? rows_of(sample.m, communicator.rank(), communicator.size()) : Range{0, sample.m};
  std::vector<float> d(static_cast<std::size_t>(rows.size() * sample.spec.n) + 2, -7.0F);
  const Scratch scratch(*plan->workspace_bytes(sample.m));
  if (before) before();
  const Status ran =
      plan->run({}, sample.m, sample.operands(plan->k_range(), rows, d.data() + 1), scratch);
  if (!ran) return ran.message();
  if (d.front() != -7.0F || d.back() != -7.0F) return "wrote outside of D";
  if (d.size() == 2) return "";  // no rows here
  const auto* expected = sample.d.data() + rows.begin * sample.spec.n;
  if (std::memcmp(d.data() + 1, expected, (d.size() - 2) * sizeof(float)) != 0) return "other bits";
  return "";
}

}  // namespace detgemm::cluster
