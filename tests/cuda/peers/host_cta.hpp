// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "cuda/peers/early.hpp"
#include "tests/cuda/peers/planted.hpp"

/// CTAs of the kernels of peers on a host: a thread of the host is a CTA, whose threads are a loop.
/// The code over them is that of cuda/peers/join.cu.
namespace detgemm::test {

struct HostMachine {
  std::uint64_t acquire(const std::uint64_t* from) const {
    std::this_thread::yield();  // ranks share the cores
    return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(from))
        .load(std::memory_order_acquire);
  }
  void put(std::uint64_t* to, std::uint64_t value) const { release(to, value); }
  std::uint64_t relaxed(const std::uint64_t* from) const { return acquire(from); }
  void release(std::uint64_t* to, std::uint64_t value) const {
    std::atomic_ref<std::uint64_t>(*to).store(value, std::memory_order_release);
  }
  std::uint64_t now_ns() const {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
};

struct HostCta : HostMachine {
  int at = 0, ctas = 1, threads = 32;
  PeerFault fault = PeerFault::none;
  std::function<void()> passed;     ///< called when a CTA with a fault has read what it should not
  std::uint64_t expected = 0;       ///< the signal of the call
  std::function<void()> after_met;  ///< called between the first meeting and what follows
  std::function<void()> lets_next_in;
  std::function<void()> product_ended;  ///< waits for what is before the kernel on its stream

  int index() const { return at; }
  int count() const { return ctas; }
  template <class F>
  void each(const F& f) const {
    for (int thread = 0; thread < threads; ++thread) f(thread, threads);
  }
  void sync() const {}
  template <int kRun>
  void load(const float* from, float* to) const {
    for (int i = 0; i < kRun; ++i) {  // a product may store an element for the second time
      to[i] = std::atomic_ref<float>(const_cast<float&>(from[i])).load(std::memory_order_relaxed);
    }
  }
  /// Until the product has stored them, or waiting is given up for its end.
  template <int kRun>
  bool await(const float* from) const {
    for (int round = 0; round < 1000; ++round) {
      const auto is_there = [&](int i) {
        const float x = std::atomic_ref<float>(const_cast<float&>(from[i])).load();
        return std::bit_cast<std::uint32_t>(x) != cuda::peers::kBlank;
      };
      bool all = true;
      for (int i = 0; i < kRun; ++i) all = all && is_there(i);
      if (all) return true;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return false;
  }
  template <int kRun>
  void blank(float* to) const {
    if (fault == PeerFault::not_blanked) return;
    for (int i = 0; i < kRun; ++i) {
      std::atomic_ref<float>(to[i]).store(std::bit_cast<float>(cuda::peers::kBlank));
    }
  }
  void wait_for_earlier_work() const {
    if (product_ended) product_ended();
  }
  void let_next_in() const {
    if (lets_next_in) lets_next_in();
  }
  template <int kRun>
  void store(void* to, DType type, const float* v) const {
    for (int i = 0; i < kRun; ++i) store_rounded(to, i, type, v[i]);
  }
  template <bool kVectors>
  void copy(void* to, const void* from, int size) const {
    std::memcpy(to, from, kVectors ? 16 : static_cast<std::size_t>(size));
  }
  /// A host stores 16 bytes in two pieces: the signal is the second, and is looked at first.
  void post(cuda::peers::MailWord* to, const cuda::peers::MailWord& word) const {
    if (fault == PeerFault::torn_word) {
      release(&to->signal, word.signal);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    std::atomic_ref<std::uint64_t>(*values_of(to))
        .store(std::bit_cast<std::uint64_t>(std::array{word.value[0], word.value[1]}),
               std::memory_order_relaxed);
    release(&to->signal, word.signal);
  }
  cuda::peers::MailWord look(const cuda::peers::MailWord* from) const {
    cuda::peers::MailWord word{};
    // Whoever waits yields from time to time (wait_until); a yield for every word takes seconds on
    // a machine that is busy.
    word.signal = std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(from->signal))
                      .load(std::memory_order_acquire);
    const auto values = std::bit_cast<std::array<float, 2>>(
        std::atomic_ref<std::uint64_t>(*values_of(from)).load());
    word.value[0] = values[0];
    word.value[1] = values[1];
    if (fault == PeerFault::no_wait || (fault == PeerFault::stale_epoch && word.signal != 0)) {
      word.signal = expected;
    }
    return word;
  }
  bool any(bool yes) const { return yes; }
  bool goes_on(const cuda::peers::Job& j, std::uint64_t why) const {
    if (why != 0) give_up(j, static_cast<const HostMachine&>(*this), why);
    return why == 0;
  }
  bool meet(const cuda::peers::Job& j, std::uint64_t call, int meeting) const {
    using namespace cuda::peers;
    if (meeting == 1 && fault == PeerFault::gone_between) return true;
    if (meeting == 1 && fault != PeerFault::no_second_wait && passed) passed();
    const int place = place_of(call, meeting);
    const std::uint64_t signal = signal_of(call, j.step);
    for (int r = 0; r < j.ranks; ++r) {
      if (r != j.rank) release(&j.header[r]->signal[place][j.rank][at], signal);
    }
    if (fault == (meeting == 0 ? PeerFault::no_wait : PeerFault::no_second_wait)) return true;
    for (int r = 0; r < j.ranks; ++r) {
      if (r == j.rank) continue;
      const std::uint64_t* const from = &j.header[j.rank]->signal[place][r][at];
      const HostMachine& machine = *this;
      if (fault == PeerFault::stale_epoch && meeting == 0 && acquire(from) != 0) continue;
      const std::uint64_t why = wait_for(j, machine, from, signal, r);
      if (why != 0) return goes_on(j, why);
    }
    if (meeting == 0 && after_met) after_met();
    return true;
  }

 private:
  static std::uint64_t* values_of(const cuda::peers::MailWord* word) {
    return reinterpret_cast<std::uint64_t*>(const_cast<float*>(word->value));
  }
};

/// What the kernel does that cuda::peers::kernel(vectors, deep) gives.
inline void run_on_host(const cuda::peers::Job& job, bool vectors, bool deep, HostCta cta) {
  using namespace cuda::peers;
  cta.expected = signal_of(cta.relaxed(&job.header[job.rank]->calls[cta.at]), job.step);
  if (vectors) {
    deep ? run_call<4, kMaxWaiting>(job, cta) : run_call<4, kShallow>(job, cta);
  } else {
    deep ? run_call<1, kMaxWaiting>(job, cta) : run_call<1, kShallow>(job, cta);
  }
}

/// What the kernels do that cuda::peers::early_kernel gives.
inline void run_early_on_host(const cuda::peers::Job& job, const HostCta& cta) {
  cuda::peers::run_early<4, cuda::peers::kFlat, true>(job, cta);
}

}  // namespace detgemm::test
