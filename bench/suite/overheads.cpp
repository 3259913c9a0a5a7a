// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/overheads.hpp"

#include <chrono>
#include <filesystem>

#include "detgemm/plan.hpp"

namespace detgemm::bench {
namespace {

/// Median microseconds of a call on the host. The queue is emptied every few calls, so that its
/// depth is not what is measured.
double host_us(Queue& queue, int calls, const std::function<void()>& call) {
  constexpr int kBlock = 32;
  std::vector<double> us;
  for (int i = 0; i < calls; ++i) {
    if (i % kBlock == 0) queue.wait();
    const auto start = std::chrono::steady_clock::now();
    call();
    const auto end = std::chrono::steady_clock::now();
    us.push_back(std::chrono::duration<double, std::micro>(end - start).count());
  }
  queue.wait();
  return summarise(std::move(us)).median;
}

struct Freed {
  Memory& memory;
  void* data;
  ~Freed() { memory.release(data); }
};

void add_calls(BenchDevice& device, const GemmSpec& spec, Overheads& out) {
  constexpr std::int64_t kRows = 16;
  const std::string what = spec.contract.text() + ", 16 x 256 x 256";
  out.us.emplace_back("plan creation, " + what, host_us(device.queue(), 200, [&] {
                        check(Plan::create(device.backend(), spec).status(), "a plan");
                      }));
  const auto plan = Plan::create(device.backend(), spec);
  const std::int64_t bytes = 256 * 256 * 4;
  const std::size_t scratch = *plan->workspace_bytes(kRows);
  const Freed a{device.memory(), device.memory().allocate(bytes)};
  const Freed b{device.memory(), device.memory().allocate(bytes)};
  const Freed d{device.memory(), device.memory().allocate(bytes)};
  const Freed w{device.memory(),
                device.memory().allocate(static_cast<std::int64_t>(scratch) + 256)};
  device.memory().fill_zero(a.data, bytes);
  device.memory().fill_zero(b.data, bytes);
  const DType type = spec.contract.input;
  const Operands operands{row_major(static_cast<const void*>(a.data), kRows, 256, type),
                          row_major(static_cast<const void*>(b.data), 256, 256, type),
                          row_major(d.data, kRows, 256, spec.contract.output)};
  const auto run = [&] {
    check(plan->run(device.queue().stream(), operands, {w.data, scratch}), "a run");
  };
  const bool host = device.queue().stream().kind == DeviceKind::host;
  host_us(device.queue(), host ? 5 : 100, run);
  out.us.emplace_back((host ? "whole call, " : "call until it is enqueued, ") + what,
                      host_us(device.queue(), host ? 50 : 2000, run));
}

}  // namespace

Overheads measure_overheads(BenchDevice& device, Arithmetic native) {
  Overheads out;
  for (const Reduction reduction :
       {Reduction{}, Reduction{ReductionKind::fold, 128}, Reduction{ReductionKind::tree, 128}}) {
    GemmSpec spec;
    spec.n = 256;
    spec.k = 256;
    const auto contract = Contract::make(native, DType::bf16, reduction, DType::bf16);
    if (!contract) continue;
    spec.contract = *contract;
    spec.op_b = Op::transpose;
    if (!device.backend().supports(spec)) continue;
    add_calls(device, spec, out);
    GemmSpec large = spec;
    large.n = large.k = 4096;
    const auto plan = Plan::create(device.backend(), large);
    if (!plan) continue;
    for (const std::int64_t m : {16, 4096}) {
      out.bytes.emplace_back(
          "workspace, " + spec.contract.text() + ", M up to " + std::to_string(m) + ", 4096 x 4096",
          static_cast<double>(*plan->workspace_bytes(m)));
    }
  }
  std::error_code error;
  const auto size = std::filesystem::file_size("/proc/self/exe", error);
  if (!error) out.bytes.emplace_back("this program", static_cast<double>(size));
  return out;
}

}  // namespace detgemm::bench
