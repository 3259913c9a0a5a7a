// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/overheads.hpp"

#include <chrono>
#include <filesystem>

#include "detgemm/grouped.hpp"
#include "detgemm/plan.hpp"

namespace detgemm::bench {
namespace {

constexpr std::int64_t kRows[] = {1, 16, 256};
constexpr std::int64_t kSide = 256;  // n and k

/// One thing to time on the host.
struct Timed {
  std::string what;
  std::function<void()> call;
  std::vector<double> us{};
};

/// Memory of the device, zeroed.
struct Block {
  Block(Memory& from, std::int64_t bytes) : memory(from), data(from.allocate(bytes)) {
    memory.fill_zero(data, bytes);
  }
  ~Block() { memory.release(data); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  Memory& memory;
  void* data;
};

/// Times everything in turn, so that a host that slows down or warms up does so for all of it.
/// Calls come in blocks with a wait between them that is not counted: the depth of the queue is not
/// what is measured.
void time_in_turn(Queue& queue, std::vector<Timed>& all, int rounds, int calls) {
  using Clock = std::chrono::steady_clock;
  for (int round = -1; round < rounds; ++round) {
    for (Timed& timed : all) {
      if (round == 0) timed.us.clear();  // the first round warms up
      for (int i = 0; i < calls; ++i) {
        const auto start = Clock::now();
        timed.call();
        timed.us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
      }
      queue.wait();
    }
  }
}

/// What the calls of all contracts read and write.
struct Arrays {
  explicit Arrays(Memory& memory)
      : a(memory, kBytes),
        b(memory, kBytes),
        d(memory, kBytes),
        zeros(memory, kBytes),
        workspace(memory, kWorkspace) {}
  static constexpr std::int64_t kBytes = kSide * kSide * 4;
  static constexpr std::int64_t kWorkspace = std::int64_t{16} << 20;
  Block a, b, d;
  Block zeros;  ///< scales, and offsets of groups without rows
  Block workspace;

  Operands operands(std::int64_t m, const Contract& c) const {
    Operands o{row_major(static_cast<const void*>(a.data), m, kSide, c.input),
               row_major(static_cast<const void*>(b.data), kSide, kSide, c.input),
               row_major(d.data, m, kSide, c.output)};
    if (c.reduction.kind == ReductionKind::scaled) {
      const std::int64_t leaves = kSide / c.reduction.leaf_k;
      o.scale_a = {zeros.data, ScaleType::fp32, 1, m, leaves, leaves};
      o.scale_b = {zeros.data, ScaleType::fp32, 128, kSide / 128, leaves, leaves};
    }
    return o;
  }
};

/// Making a plan, and runs of it.
void add_contract(BenchDevice& device, const GemmSpec& spec, const Arrays& arrays,
                  std::vector<Timed>& out) {
  const Backend& backend = device.backend();
  Queue& queue = device.queue();
  const bool host = device.calls_wait();
  const std::string& contract = spec.contract.text();
  const bool chain = spec.contract.reduction.kind == ReductionKind::chain;
  out.push_back({"plan creation, " + contract + ", 16 x 256 x 256",
                 [&backend, spec] { check(Plan::create(backend, spec).status(), "a plan"); }});
  for (const Stable stable : {Stable::none, Stable::b}) {
    if (stable != Stable::none && (host || !chain)) continue;
    auto plan = Plan::create(backend, spec, {"", 0, stable});
    check(plan.status(), "a plan");
    for (const std::int64_t m : kRows) {
      // On the host a call is the whole product: one size says what there is to say.
      if (m != 16 && (host || !chain)) continue;
      const std::size_t bytes = *plan->workspace_bytes(m);
      if (bytes > static_cast<std::size_t>(Arrays::kWorkspace)) continue;
      out.push_back({std::string(host ? "whole call, " : "call until it is enqueued, ") + contract +
                         (stable == Stable::b ? ", B stable, " : ", ") + std::to_string(m) +
                         " x 256 x 256",
                     [&queue, plan = *plan, o = arrays.operands(m, spec.contract), bytes,
                      workspace = arrays.workspace.data] {
                       check(plan.run(queue.stream(), o, {workspace, bytes}), "a run");
                     }});
    }
  }
  if (chain) {
    out.push_back({"part: validate, " + contract, [spec, o = arrays.operands(16, spec.contract)] {
                     check(validate(spec, o), "the rules");
                   }});
  }
}

/// A call over two groups, which are empty here: the host does not see how many rows they have. Not
/// of backends that wait to read it.
void add_groups(BenchDevice& device, const GemmSpec& spec, const Arrays& arrays,
                std::vector<Timed>& out) {
  constexpr std::int64_t kGroups = 2, kRowsOfAll = 32;
  Queue& queue = device.queue();
  const auto plan = GroupedPlan::create(device.backend(), {spec, GroupKind::m_grouped, kGroups});
  if (!plan || plan->waits_for_offsets()) return;
  const std::size_t bytes = *plan->workspace_bytes(kRowsOfAll);
  if (bytes > static_cast<std::size_t>(Arrays::kWorkspace)) return;
  GroupedOperands o;
  o.arrays = arrays.operands(kRowsOfAll, spec.contract);
  o.group.b = kSide * kSide;
  o.group.scale_b = static_cast<std::int64_t>(o.arrays.scale_b.blocks * o.arrays.scale_b.leaves);
  o.offsets = {arrays.zeros.data, kGroups};
  const bool host = device.calls_wait();
  out.push_back({std::string(host ? "whole call, " : "call until it is enqueued, ") +
                     spec.contract.text() + ", 2 groups, 32 x 256 x 256",
                 [&queue, plan = *plan, o, bytes, workspace = arrays.workspace.data] {
                   check(plan.run(queue.stream(), o, {workspace, bytes}), "a run of groups");
                 }});
}

void add_workspaces(const Backend& backend, GemmSpec spec, Overheads& out) {
  spec.n = spec.k = 4096;
  const auto plan = Plan::create(backend, spec);
  if (!plan) return;
  for (const std::int64_t m : {16, 4096}) {
    out.bytes.emplace_back(
        "workspace, " + spec.contract.text() + ", M up to " + std::to_string(m) + ", 4096 x 4096",
        static_cast<double>(*plan->workspace_bytes(m)));
  }
}

}  // namespace

Overheads measure_overheads(BenchDevice& device, Arithmetic native) {
  Overheads out;
  const Arrays arrays(device.memory());
  std::vector<Timed> all;
  const bool host = device.calls_wait();
  struct Measured {
    DType input;
    Reduction reduction;
  };
  for (const Measured& each : {Measured{DType::bf16, {}},
                               {DType::bf16, {ReductionKind::fold, 128}},
                               {DType::bf16, {ReductionKind::tree, 128}},
                               {DType::e4m3, {ReductionKind::scaled, 128}}}) {
    GemmSpec spec;
    spec.n = kSide;
    spec.k = kSide;
    const auto contract = Contract::make(native, each.input, each.reduction, DType::bf16);
    if (!contract) continue;
    spec.contract = *contract;
    spec.op_b = Op::transpose;
    if (!device.backend().supports(spec)) continue;
    add_contract(device, spec, arrays, all);
    add_groups(device, spec, arrays, all);
    if (each.input == DType::bf16) add_workspaces(device.backend(), spec, out);
  }
  for (auto& [what, part] : device.host_parts()) all.push_back({what, part});
  all.push_back({"part: the clock itself", [] {}});
  time_in_turn(device.queue(), all, host ? 5 : 60, host ? 8 : 32);
  for (Timed& timed : all) {
    const Stats us = summarise(std::move(timed.us));
    out.us.emplace_back(timed.what, us.median);
    out.us_p90.emplace_back(timed.what, us.p90);
  }
  std::error_code error;
  const auto size = std::filesystem::file_size("/proc/self/exe", error);
  if (!error) out.bytes.emplace_back("this program", static_cast<double>(size));
  return out;
}

}  // namespace detgemm::bench
