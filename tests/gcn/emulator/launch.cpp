// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gcn/emulator/launch.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "core/arithmetic/floating_point_mode.hpp"
#include "tests/gcn/emulator/global.hpp"
#include "tests/gcn/emulator/lds.hpp"

namespace detgemm::gcn {

namespace {

/// A wave that runs longer than this does not end.
constexpr u64 kEndless = u64{1} << 30;
constexpr u32 kMaxThreads = 1024;

/// Waves and local memory of a workgroup, reused for one workgroup after the other.
class Workgroup {
 public:
  Workgroup(const Kernel& kernel, const Launch& launch, const MemoryMap& memory,
            GlobalShadow& shadow)
      : kernel_(kernel), launch_(launch), global_(shadow) {
    if (threads() > kMaxThreads) throw std::runtime_error("gcn: more threads than a workgroup has");
    while (waves_.size() * kLanes < threads()) {
      waves_.push_back(std::make_unique<Wave>());
      Wave& w = *waves_.back();
      w.lds = &lds_;
      w.global = &global_;
      w.memory = &memory;
      w.adverse = launch.adverse;
      w.step = launch.step ? &launch.step : nullptr;
      w.fp8_step = launch.fp8_step ? &launch.fp8_step : nullptr;
      w.index = static_cast<int>(waves_.size()) - 1;
      w.spread_exec();
    }
  }

  void run(const std::array<u32, 3>& id) {
    id_ = id;
    const auto& g = launch_.grid;
    global_.start((u64{id[2]} * g[1] + id[1]) * g[0] + id[0]);
    lds_.reset(kernel_.text.descriptor("group_segment_fixed_size") + launch_.dynamic_lds);
    for (auto& w : waves_) start(*w);
    for (bool running = true; running;) {
      running = false;
      for (auto& w : waves_) {
        if (w->ended) continue;
        w->at_barrier = false;
        until_barrier(*w);
        running = running || !w->ended;
      }
      lds_.barrier(waves_);
      global_.barrier(waves_);
    }
    for (const auto& w : waves_) totals_.add({0, 1, w->instructions, w->mfmas});
    ++totals_.workgroups;
  }

  const Totals& totals() const { return totals_; }

 private:
  u32 threads() const { return launch_.block[0] * launch_.block[1] * launch_.block[2]; }

  /// Registers as the hardware sets them up: v0 holds the thread's index, 10 bits per dimension;
  /// scalar registers hold what the descriptor asks for, in this order.
  void start(Wave& w) const {
    w.reset();
    const auto& d = kernel_.text;
    const u32 first = static_cast<u32>(w.index) * kLanes;
    const u32 lanes = std::min<u32>(kLanes, threads() - first);
    w.set(kExec, 2, lanes == kLanes ? ~u64{0} : (u64{1} << lanes) - 1);
    const auto& b = launch_.block;
    for (u32 l = 0; l < lanes; ++l) {
      const u32 t = first + l;
      w.v[0][l] = t % b[0] | t / b[0] % b[1] << 10 | t / b[0] / b[1] << 20;
    }
    w.define(0, 1, ~u64{0});
    // What the descriptor may put before the pointer to the arguments, and its words.
    const std::pair<const char*, int> before[] = {{"user_sgpr_private_segment_buffer", 4},
                                                  {"user_sgpr_dispatch_ptr", 2},
                                                  {"user_sgpr_queue_ptr", 2}};
    int s = 0;
    for (const auto& [name, words] : before) s += d.descriptor(name) != 0 ? words : 0;
    if (d.descriptor("user_sgpr_kernarg_segment_ptr") != 0) {
      w.set(s, 2, reinterpret_cast<u64>(launch_.arguments.data()));
      // Arguments that the descriptor asks for in registers are behind the pointer to all of them.
      const u32 first_word = d.descriptor("user_sgpr_kernarg_preload_offset");
      for (u32 i = 0; i < d.descriptor("user_sgpr_kernarg_preload_length"); ++i) {
        u32 word = 0;
        std::memcpy(&word, launch_.arguments.data() + std::size_t{4} * (first_word + i), 4);
        w.set(s + 2 + static_cast<int>(i), 1, word);
      }
    }
    w.pc = kernel_.entry;
    s = static_cast<int>(d.descriptor("user_sgpr_count"));
    for (std::size_t i = 0; i < 3; ++i) {
      const bool wanted = d.descriptor(std::string("system_sgpr_workgroup_id_") + "xyz"[i]) != 0;
      if (wanted) w.set(s++, 1, id_[i]);
    }
  }

  void until_barrier(Wave& w) const {
    const Instruction* code = kernel_.code.data();
    const u32 size = static_cast<u32>(kernel_.code.size());
    try {
      while (!w.at_barrier && !w.ended) {
        if (w.pc >= size) throw Fault("runs past the end of the kernel");
        const Instruction& in = code[w.pc++];
        if (++w.instructions == kEndless) throw Fault("does not end");
        in.operation(w, in);
      }
    } catch (const Fault& f) {
      const Statement& s = kernel_.text.code[std::min(w.pc, size) - 1];
      std::string where = "gcn: " + kernel_.text.name + " line " + std::to_string(s.line) + ": " +
                          s.text + ": " + f.what() + " [workgroup " + std::to_string(id_[0]) + "," +
                          std::to_string(id_[1]) + "," + std::to_string(id_[2]) + " wave " +
                          std::to_string(w.index);
      if (f.lane >= 0) where += " lane " + std::to_string(f.lane);
      throw std::runtime_error(where + "]");
    }
  }

  const Kernel& kernel_;
  const Launch& launch_;
  std::array<u32, 3> id_{};
  Lds lds_;
  GlobalAccess global_;
  std::vector<std::unique_ptr<Wave>> waves_;
  Totals totals_;
};

}  // namespace

void Totals::add(const Totals& t) {
  workgroups += t.workgroups, waves += t.waves, instructions += t.instructions, mfmas += t.mfmas;
}

Totals run(const Kernel& kernel, const Launch& launch, const MemoryMap& memory, int threads) {
  MemoryMap map = memory;
  map.add(launch.arguments.data(), launch.arguments.size());
  const u64 count = u64{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  GlobalShadow shadow(threads > 1);
  std::atomic<u64> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  Totals totals;
  const auto work = [&] {
    const arithmetic::FloatingPointMode ieee;
    try {
      const auto group = std::make_unique<Workgroup>(kernel, launch, map, shadow);
      for (u64 i = next++; i < count; i = next++) {
        group->run({static_cast<u32>(i % launch.grid[0]),
                    static_cast<u32>(i / launch.grid[0] % launch.grid[1]),
                    static_cast<u32>(i / launch.grid[0] / launch.grid[1])});
      }
      const std::lock_guard lock(mutex);
      totals.add(group->totals());
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  if (error) std::rethrow_exception(error);
  return totals;
}

std::vector<u8> pack_arguments(const KernelText& text, const void* const* values,
                               const Launch& launch) {
  std::vector<u8> out((text.descriptor("kernarg_size") + 15) / 16 * 16, 0);
  for (const Argument& a : text.arguments) {
    if (a.kind.rfind("hidden_", 0) != 0) {
      std::memcpy(out.data() + a.offset, *values++, a.size);
      continue;
    }
    const std::string what = a.kind.substr(0, a.kind.size() - 1);
    const std::size_t which = static_cast<std::size_t>(a.kind.back() - 'x') % 3;
    u64 value = 0;  // of global offsets and of remainders, which HIP's launches do not have
    if (what == "hidden_block_count_") value = launch.grid[which];
    if (what == "hidden_group_size_") value = launch.block[which];
    if (a.kind == "hidden_grid_dims") value = 3;
    if (a.kind == "hidden_dynamic_lds_size") value = launch.dynamic_lds;
    if (value == 0 && what != "hidden_global_offset_" && what != "hidden_remainder_" &&
        a.kind != "hidden_dynamic_lds_size") {
      throw std::runtime_error("gcn: " + text.name + " wants " + a.kind +
                               ", which is not modelled");
    }
    std::memcpy(out.data() + a.offset, &value, std::min<std::size_t>(a.size, sizeof value));
  }
  return out;
}

}  // namespace detgemm::gcn
