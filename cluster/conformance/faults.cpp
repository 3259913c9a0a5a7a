// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/conformance/faults.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>

#include "backends/skeleton/skeleton.hpp"
#include "cluster/common/state.hpp"
#include "cluster/conformance/job_backend.hpp"

namespace detgemm::cluster {
namespace {

/// Halves at the middle index, as the contract divides leaves.
float tree(std::span<const float> values) {
  if (values.empty()) return 0.0F;
  if (values.size() == 1) return values[0];
  const std::size_t half = values.size() / 2;
  const float left = tree(values.first(half));
  return left + tree(values.subspan(half));
}
float in_order(std::span<const float> values) {
  float sum = 0.0F;
  for (const float value : values) sum += value;
  return sum;
}

/// One number per rank that has pieces, each added up by `add`.
std::vector<float> rank_sums(const Pieces& p, float (*add)(std::span<const float>)) {
  std::vector<float> sums;
  for (std::size_t i = 0, end = 0; i < p.values.size(); i = end) {
    while (end < p.values.size() && p.owners[end] == p.owners[i]) ++end;
    sums.push_back(add(p.values.subspan(i, end - i)));
  }
  return sums;
}

/// The ranks' sums one after another, beginning with the given one.
float from(const Pieces& p, int first) {
  std::vector<float> sums = rank_sums(p, tree);
  if (sums.empty()) return 0.0F;
  const auto begin = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) % sums.size());
  std::rotate(sums.begin(), sums.begin() + begin, sums.end());
  return in_order(sums);
}

float as_written(const Pieces& p) { return tree(p.values); }
float own_first(const Pieces& p) { return from(p, p.rank); }
float slice_first(const Pieces& p) { return from(p, p.row_owner); }
float ranks_folded(const Pieces& p) { return in_order(rank_sums(p, tree)); }
float leaves_folded(const Pieces& p) { return tree(rank_sums(p, in_order)); }
float rounded(const Pieces& p) {
  std::vector<float> sums = rank_sums(p, tree);
  for (float& sum : sums) {
    const auto bits = std::bit_cast<std::uint32_t>(sum);
    sum = std::bit_cast<float>((bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U);
  }
  return tree(sums);
}
float by_rank(const Pieces& p) { return tree(rank_sums(p, tree)); }

constexpr std::array kFaults{
    Fault{"own_first", "every rank adds its own sum first, then the others in order of arrival",
          "reference", own_first},
    Fault{"ranks_folded", "the ranks' sums are added one after another", "reference", ranks_folded},
    Fault{"leaves_folded", "a rank adds its leaves one after another", "reference", leaves_folded},
    Fault{"bf16_roots", "what ranks send is rounded to bf16", "reference", rounded},
    Fault{"slice_first", "rows are added beginning with the rank that owns them", "batch",
          slice_first},
    Fault{"element_shares", "K is cut in equal parts, not at leaves", "reference", by_rank, false,
          true},
    Fault{"shifted_leaf", "one rank's share is off by one leaf", "reference", as_written, true},
    Fault{"stale_slot", "one rank's numbers are those of the call before", "run_to_run", as_written,
          false, false, true},
    Fault{"early_epilogue", "every rank applies the epilogue, and the results are added",
          "epilogue", as_written, false, false, false, true},
    Fault{kNoFault, "none: the same code without a fault, which must pass", "reference",
          as_written},
};

/// A run of one job with a fault: host memory, every number sent to all ranks.
class FaultyRun {
 public:
  FaultyRun(const Communicator& ranks, const Fault& fault, const GemmSpec& spec,
            std::shared_ptr<std::vector<float>> before)
      : ranks_(ranks), fault_(fault), spec_(spec), before_(std::move(before)) {
    const std::int64_t leaf = spec.contract.reduction.leaf_k;
    const std::int64_t leaves = spec.contract.leaves(spec.k);
    if (fault.by_elements) {
      for (int r = 0; r < ranks.size() && spec.k > 0; ++r) {
        const std::int64_t begin = spec.k * r / ranks.size();
        const std::int64_t end = spec.k * (r + 1) / ranks.size();
        if (begin < end) add_piece({begin, end}, r);
      }
      return;
    }
    for (std::int64_t i = 0; i < leaves; ++i) {
      add_piece({i * leaf, std::min(spec.k, (i + 1) * leaf)},
                static_cast<int>(i * ranks.size() / leaves));
    }
  }

  Status operator()(const Operands& whole) const {
    const std::int64_t m = whole.d.rows;
    const auto outputs = static_cast<std::size_t>(m * spec_.n);
    std::vector<float> all(outputs * pieces_.size());
    if (Status s = compute(whole, m, all); !s) return s;
    if (Status s = share(outputs, all); !s) return s;
    if (fault_.stale) make_stale(outputs, all);
    return fault_.early_epilogue ? finish_apart(whole, m, all) : finish(whole, m, all);
  }

 private:
  void add_piece(KRange range, int owner) {
    pieces_.push_back(range);
    owners_.push_back(owner);
  }

  Status compute(const Operands& whole, std::int64_t m, std::vector<float>& all) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (owners_[i] != ranks_.rank()) continue;
      const bool shift = fault_.shifted && ranks_.rank() == 1;
      const KRange range = pieces_[shift ? std::min(i + 1, pieces_.size() - 1) : i];
      const auto plan = Plan::create(skeleton_backend(), root_spec(spec_, range.end - range.begin));
      if (!plan) return plan.status();
      Operands part = share_of(spec_, whole, range);
      part.d = row_major(static_cast<void*>(at(all, i, m)), m, spec_.n, DType::fp32);
      if (Status s = plan->run({}, part); !s) return s;
    }
    return {};
  }
  float* at(std::vector<float>& all, std::size_t piece, std::int64_t m) const {
    return all.data() + piece * static_cast<std::size_t>(m * spec_.n);
  }

  Status share(std::size_t outputs, std::vector<float>& all) const {
    std::vector<Send> sends;
    std::vector<Receive> receives;
    const std::size_t bytes = outputs * sizeof(float);
    for (int r = 0; r < ranks_.size(); ++r) {
      if (r == ranks_.rank()) continue;
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        if (owners_[i] == ranks_.rank()) sends.push_back({r, all.data() + i * outputs, bytes});
        if (owners_[i] == r) receives.push_back({r, all.data() + i * outputs, bytes});
      }
    }
    auto& state = ranks_.state();
    return state.after(state.transport->exchange({}, sends, receives, state.options.patience));
  }

  void make_stale(std::size_t outputs, std::vector<float>& all) const {
    const std::vector<float> now = all;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (owners_[i] != owners_.back()) continue;
      for (std::size_t j = i * outputs; j < (i + 1) * outputs; ++j) {
        all[j] = j < before_->size() ? (*before_)[j] : 0.0F;
      }
    }
    // What a call leaves behind is not what the next one of these bits would need.
    *before_ = now;
    std::reverse(before_->begin(), before_->end());
  }

  /// The sum of every output, and then the epilogue: a join of the one root over all leaves.
  Status finish(const Operands& whole, std::int64_t m, const std::vector<float>& all) const {
    const std::size_t outputs = static_cast<std::size_t>(m * spec_.n);
    std::vector<float> sums(outputs);
    std::vector<float> values(pieces_.size());
    for (std::size_t j = 0; j < outputs; ++j) {
      for (std::size_t i = 0; i < pieces_.size(); ++i) values[i] = all[i * outputs + j];
      const auto row = static_cast<std::int64_t>(j) / spec_.n;
      int owner = 0;
      while (row >= rows_of(m, owner, ranks_.size()).end) ++owner;
      sums[j] = fault_.add({values, owners_, ranks_.rank(), ranks_.size(), owner});
    }
    return end(whole, sums);
  }
  Status end(const Operands& whole, const std::vector<float>& sums) const {
    auto plan = Plan::create(skeleton_backend(), spec_);
    if (!plan) return plan.status();
    const std::int64_t leaves = spec_.contract.leaves(spec_.k);
    if (leaves == 0) return plan->run({}, whole);
    const std::array root{NodeRoot{
        row_major(static_cast<const void*>(sums.data()), whole.d.rows, spec_.n, DType::fp32),
        {0, leaves}}};
    return plan->combine({}, root, whole);
  }

  /// Each rank's part gets alpha, C, bias and activation; the parts are added in D.
  Status finish_apart(const Operands& whole, std::int64_t m, const std::vector<float>& all) const {
    const std::size_t outputs = static_cast<std::size_t>(m * spec_.n);
    std::vector<float> total(outputs, 0.0F);
    for (int r = 0; r < ranks_.size(); ++r) {
      std::vector<float> part(outputs), done(outputs);
      for (std::size_t j = 0; j < outputs; ++j) {
        std::vector<float> values;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
          if (owners_[i] == r) values.push_back(all[i * outputs + j]);
        }
        part[j] = tree(values);
      }
      Operands to = whole;
      to.d = row_major(static_cast<void*>(done.data()), m, spec_.n, DType::fp32);
      if (Status s = end(to, part); !s) return s;
      for (std::size_t j = 0; j < outputs; ++j) total[j] += done[j];
    }
    for (std::size_t j = 0; j < outputs; ++j) {
      const auto row = static_cast<std::int64_t>(j) / spec_.n;
      const auto col = static_cast<std::int64_t>(j) % spec_.n;
      static_cast<float*>(whole.d.data)[row * whole.d.row_stride + col * whole.d.col_stride] =
          total[j];
    }
    return {};
  }

  Communicator ranks_;
  const Fault& fault_;
  GemmSpec spec_;
  std::shared_ptr<std::vector<float>> before_;
  std::vector<KRange> pieces_;
  std::vector<int> owners_;
};

}  // namespace

std::span<const Fault> faults() { return kFaults; }

std::unique_ptr<Backend> make_faulty_job(const Communicator& communicator, const Fault& fault) {
  const auto before = std::make_shared<std::vector<float>>();
  return std::make_unique<JobBackend>(
      "job:" + std::string(fault.name), communicator.describe(), host_device(),
      [communicator, &fault, before](const GemmSpec& spec, const PlanOptions&,
                                     std::uint64_t) -> Result<std::shared_ptr<const PlanImpl>> {
        if (spec.continue_from_c) return unsupported("a tree does not continue");
        const auto run = std::make_shared<const FaultyRun>(communicator, fault, spec, before);
        return std::shared_ptr<const PlanImpl>(std::make_shared<JobPlan>(
            "job", [](std::int64_t) { return std::size_t{0}; },
            [run](Stream, const Operands& whole, Workspace) { return (*run)(whole); }));
      });
}

}  // namespace detgemm::cluster
