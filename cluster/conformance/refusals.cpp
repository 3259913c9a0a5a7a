// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/conformance/refusals.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>

namespace detgemm::cluster {
namespace {

using conformance::Cell;
using conformance::Verdict;

constexpr std::string_view kContract = "ieee_fma/bf16/tree:16->fp32";
constexpr std::int64_t kK = 128, kN = 8, kM = 5;

/// How one rank differs from the others when a plan is made.
struct Difference {
  std::string_view name;
  void (*make)(GemmSpec&, RowParallelOptions&);
};
constexpr std::array kDifferences{
    Difference{"another leaf",
               [](GemmSpec& s, RowParallelOptions&) { s.contract.reduction.leaf_k = 32; }},
    Difference{"another arithmetic",
               [](GemmSpec& s, RowParallelOptions&) {
                 s.contract = *Contract::parse("hopper/bf16/tree:16->fp32");
               }},
    Difference{"another n", [](GemmSpec& s, RowParallelOptions&) { s.n += 1; }},
    Difference{"another k", [](GemmSpec& s, RowParallelOptions&) { s.k += 1; }},
    Difference{"another alpha", [](GemmSpec& s, RowParallelOptions&) { s.alpha = 0.5F; }},
    Difference{"a bias", [](GemmSpec& s, RowParallelOptions&) { s.bias = DType::fp32; }},
    Difference{"another activation",
               [](GemmSpec& s, RowParallelOptions&) { s.activation = Activation::silu; }},
    Difference{"another algorithm",
               [](GemmSpec&, RowParallelOptions& o) { o.algorithm = Algorithm::gather; }},
    Difference{"another output",
               [](GemmSpec&, RowParallelOptions& o) { o.output = Placement::rows; }},
    Difference{"a kernel that is not there",
               [](GemmSpec&, RowParallelOptions& o) { o.plan.variant = "no such kernel"; }},
    Difference{"a contract without a tree",
               [](GemmSpec& s, RowParallelOptions&) {
                 s.contract = *Contract::parse("ieee_fma/bf16/chain->fp32");
               }},
};

GemmSpec spec_of() {
  GemmSpec spec;
  spec.n = kN;
  spec.k = kK;
  spec.contract = *Contract::parse(kContract);
  return spec;
}

/// Whether all ranks have been told the same.
Result<bool> same_everywhere(Transport& transport, const std::string& sentence,
                             std::chrono::milliseconds patience) {
  constexpr std::size_t kBytes = 512;
  std::vector<std::byte> mine(kBytes);
  std::memcpy(mine.data(), sentence.data(), std::min(sentence.size(), kBytes - 1));
  std::vector<std::byte> all(kBytes * static_cast<std::size_t>(transport.size()));
  if (Status s = transport.agree(mine, all, patience); !s) return s;
  for (std::size_t at = 0; at < all.size(); at += kBytes) {
    if (std::memcmp(all.data() + at, mine.data(), kBytes) != 0) return false;
  }
  return true;
}

/// Collects what the cases of a cell have shown.
class Check {
 public:
  Check(const std::shared_ptr<Transport>& transport, const JobOptions& options,
        std::string_view property, conformance::Report& report)
      : transport_(transport), options_(options), report_(report) {
    cell_.property = property;
    cell_.contract = kContract;
    cell_.digest = hex(Contract::parse(kContract)->digest());
  }
  ~Check() { report_.cells.push_back(std::move(cell_)); }
  Check(const Check&) = delete;

  /// The status of a collective call that must have been refused in the same words everywhere.
  void refused(const Status& status, const std::string& problem) {
    const std::int64_t index = cell_.cases++;
    ++cell_.runs;
    const auto same = same_everywhere(*transport_, status.message(), options_.patience);
    if (!same) return fail(index, problem, same.status().message());
    if (!*same) return fail(index, problem, "ranks have different sentences: " + status.message());
    if (status.ok()) return fail(index, problem, "it was accepted");
    if (Status s = transport_->health(); !s)
      fail(index, problem, "the ranks broke: " + s.message());
  }
  void fail(std::int64_t index, const std::string& problem, const std::string& what) {
    cell_.verdict = Verdict::failed;
    if (cell_.failures.empty()) cell_.reason = what;
    if (cell_.failures.size() >= conformance::kMaxFailures) return;
    cell_.failures.push_back(
        {index, what, problem, -1, -1, "", "", "detgemm conform " + options_.harness.engine_flag});
  }
  void count_outputs(std::int64_t outputs) { cell_.outputs += outputs; }

 private:
  const std::shared_ptr<Transport>& transport_;
  const JobOptions& options_;
  conformance::Report& report_;
  Cell cell_;
};

void check_agreement(Check& check, const Communicator& ranks, const Backend& backend) {
  for (int odd = 0; odd < ranks.size(); ++odd) {
    for (const Difference& one : kDifferences) {
      GemmSpec spec = spec_of();
      RowParallelOptions options;
      if (ranks.rank() == odd) one.make(spec, options);
      // A rank alone disagrees with no other.
      const auto plan = RowParallelPlan::create(ranks, backend, spec, options);
      const std::string problem =
          "rank " + std::to_string(odd) + " brings " + std::string(one.name);
      if (ranks.size() == 1 && plan) continue;
      check.refused(plan.status(), problem);
    }
  }
}

/// Arrays of a call in the backend's memory, all bytes 0 but D's.
class Arrays {
 public:
  Arrays(const Backend& backend, const RowParallelPlan& plan, std::size_t workspace)
      : device_(backend.device()), k_(plan.k_range()), bytes_(workspace) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      auto memory = device_.allocate(kRoom + workspace);
      if (!memory) continue;
      memory_[i] = *memory;
      const std::vector<std::byte> fill(kRoom,
                                        std::byte{static_cast<unsigned char>(i == 2 ? 7 : 0)});
      if (!device_.to_device(memory_[i], fill.data(), fill.size())) memory_[i] = nullptr;
    }
  }
  Arrays(const Arrays&) = delete;
  ~Arrays() {
    for (void* memory : memory_) device_.release(memory);
  }

  Operands operands(std::int64_t m) const {
    return {row_major(static_cast<const void*>(memory_[0]), m, k_.end - k_.begin, DType::bf16),
            row_major(static_cast<const void*>(memory_[1]), k_.end - k_.begin, kN, DType::bf16),
            row_major(memory_[2], m, kN, DType::fp32)};
  }
  Workspace workspace() const { return {memory_[3], bytes_}; }
  bool d_is_untouched() const {
    std::vector<std::byte> now(kRoom);
    if (!device_.to_host(now.data(), memory_[2], kRoom)) return false;
    return std::all_of(now.begin(), now.end(), [](std::byte b) { return b == std::byte{7}; });
  }

 private:
  static constexpr std::size_t kRoom = 4096;
  Device& device_;
  KRange k_;
  std::size_t bytes_;
  std::array<void*, 4> memory_{};
};

/// One rank's arguments are bad, or its m is another one, where the communicator checks calls.
void check_calls(Check& check, const Communicator& ranks, const RowParallelPlan& plan,
                 const Backend& backend) {
  auto stream = backend.device().create_stream();
  const auto bytes = plan.workspace_bytes(kM + 1);
  if (!stream || !bytes) return check.fail(0, "a stream and a workspace", "there are none");
  const std::array<std::string_view, 4> faults{"another m", "no D", "a short A", "no workspace"};
  for (int odd = 0; odd < ranks.size(); ++odd) {
    for (std::size_t fault = ranks.size() == 1 ? 1 : 0; fault < faults.size(); ++fault) {
      const Arrays arrays(backend, plan, *bytes);
      const bool here = ranks.rank() == odd;
      const std::int64_t m = here && fault == 0 ? kM + 1 : kM;
      Operands operands = arrays.operands(m);
      Workspace workspace = arrays.workspace();
      if (here && fault == 1) operands.d.data = nullptr;
      if (here && fault == 2) operands.a.rows -= 1;
      if (here && fault == 3) workspace = {nullptr, 0};
      // A rank without products looks at no A, and a job of one rank needs no workspace.
      const bool nothing_wrong =
          (fault == 2 && plan.shares().cover(odd).empty()) || (fault == 3 && *bytes == 0);
      if (nothing_wrong) continue;
      const std::string problem =
          "rank " + std::to_string(odd) + " calls with " + std::string(faults[fault]);
      check.refused(plan.run(*stream, m, operands, workspace), problem);
      if (!arrays.d_is_untouched()) check.fail(0, problem, "D was written");
      check.count_outputs(kM * kN);
    }
  }
  backend.device().destroy_stream(*stream);
}

}  // namespace

Result<conformance::Report> run_refusals(const std::shared_ptr<Transport>& transport,
                                         const JobOptions& options, conformance::Report like) {
  conformance::Report report = std::move(like);
  report.cells.clear();
  report.cut_short.clear();
  report.engine = "refusals of " + options.backends;
  report.oracle = "none";
  const auto start = std::chrono::steady_clock::now();
  Options choices;
  choices.patience = options.patience;
  const auto ranks = Communicator::create(transport, choices);
  if (!ranks) return ranks.status();
  {
    Check check(transport, options, "agreement", report);
    check_agreement(check, *ranks, *options.backend);
  }
  choices.check_calls = true;
  const auto checking = Communicator::create(transport, choices);
  if (!checking) return checking.status();
  const auto plan = RowParallelPlan::create(*checking, *options.backend, spec_of());
  if (!plan) return plan.status();
  {
    Check check(transport, options, "calls", report);
    check_calls(check, *checking, *plan, *options.backend);
  }
  report.planned = report.cells.size();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace detgemm::cluster
