// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/guarded_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "core/conformance/buffer.hpp"

namespace detgemm::conformance {
namespace {

// Not inlined and not instrumented: to touch what must not be touched is the test.
__attribute__((noinline, no_sanitize("address", "undefined"))) unsigned char read_at(
    const volatile unsigned char* at) {
  return *at;
}
__attribute__((noinline, no_sanitize("address", "undefined"))) void write_at(
    volatile unsigned char* at) {
  *at = 1;
}

TEST(GuardedMemory, ATouchOfAGuardIsRecordedAndTheProgramGoesOn) {
  for (const bool behind : {false, true}) {
    for (const bool writes : {false, true}) {
      auto memory = GuardedMemory::map(100);
      ASSERT_TRUE(memory.ok());
      EXPECT_EQ(memory->bytes(), GuardedMemory::page());
      EXPECT_EQ(memory->touched(), 0U);
      unsigned char* at = behind ? memory->data() + memory->bytes() + 5000 : memory->data() - 1;
      writes ? write_at(at) : static_cast<void>(read_at(at));
      EXPECT_EQ(memory->touched(), reinterpret_cast<std::uintptr_t>(at));
    }
  }
}

TEST(GuardedMemory, TheInsideIsFree) {
  auto memory = GuardedMemory::map(10'000);
  ASSERT_TRUE(memory.ok());
  for (std::size_t i = 0; i < memory->bytes(); ++i) memory->data()[i] = 7;
  EXPECT_EQ(memory->touched(), 0U);
}

TEST(GuardedMemory, AWriteToAFrozenPageIsRecordedAndTheProgramGoesOn) {
  auto memory = GuardedMemory::map(3 * GuardedMemory::page());
  ASSERT_TRUE(memory.ok());
  memory->data()[7] = 3;
  ASSERT_TRUE(memory->freeze(GuardedMemory::page(), 2 * GuardedMemory::page() + 5).ok());
  write_at(memory->data() + 7);
  write_at(memory->data() + 2 * GuardedMemory::page());
  EXPECT_EQ(memory->written(), 0U) << "those pages are not frozen";
  static_cast<void>(read_at(memory->data() + GuardedMemory::page()));
  EXPECT_EQ(memory->written(), 0U);
  for (const std::size_t at : {9U, 9U, 1U}) write_at(memory->data() + GuardedMemory::page() + at);
  EXPECT_EQ(memory->written(),
            reinterpret_cast<std::uintptr_t>(memory->data()) + GuardedMemory::page() + 9);
  memory->thaw();
  EXPECT_EQ(memory->written(), 0U);
}

TEST(GuardedMemoryDeathTest, WhatLiesBeyondTheGuardsEndsTheProcess) {
  EXPECT_DEATH(
      {
        auto memory = GuardedMemory::map(1);
        write_at(reinterpret_cast<unsigned char*>(std::uintptr_t{64}));
      },
      "");
}

TEST(Gate, HoldsEveryThreadUntilAllHaveCome) {
  constexpr int kThreads = 6;
  Gate gate(kThreads);
  std::vector<GuardedMemory> arrays;
  for (int i = 0; i < kThreads; ++i) {
    arrays.push_back(std::move(GuardedMemory::map(64)).value());
    arrays.back().data()[3] = 9;
    ASSERT_TRUE(arrays.back().close(gate).ok());
  }
  std::atomic<int> inside{0};
  std::atomic<int> fewest{kThreads};
  std::vector<std::thread> threads;
  for (auto& array : arrays) {
    threads.emplace_back([&] {
      gate.start();
      ++inside;
      EXPECT_EQ(read_at(array.data() + 3), 9);
      for (int now = inside, low = fewest; now < low; low = fewest) fewest = now;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(gate.held(), kThreads);
  EXPECT_EQ(fewest, kThreads) << "one went on before the others had come";
}

TEST(Gate, HoldsTheFirstWritesOfCallsThatShareAnArrayAndNoRead) {
  for (int round = 0; round < 20; ++round) {
    Gate gate(2);
    auto array = GuardedMemory::map(64);
    array->data()[3] = 9;
    ASSERT_TRUE(array->close_to_writes(gate).ok());
    std::atomic<int> old{0};
    const auto call = [&] {
      gate.start();
      old += read_at(array->data() + 3);
      write_at(array->data() + 3);
    };
    std::thread other(call);
    call();
    other.join();
    EXPECT_EQ(old, 18) << "one wrote before the other had read";
    EXPECT_EQ(gate.held(), 2);
    EXPECT_FALSE(gate.lapsed());
    EXPECT_EQ(array->data()[3], 1);
  }
}

TEST(Gate, OpensWhereCallsWaitForEachOther) {
  Gate gate(2, std::chrono::milliseconds{20});
  auto first = GuardedMemory::map(64);
  auto second = GuardedMemory::map(64);
  ASSERT_TRUE(first->close(gate).ok());
  ASSERT_TRUE(second->close(gate).ok());
  std::mutex one_at_a_time;
  const auto call = [&](GuardedMemory& array) {
    gate.start();
    const std::lock_guard lock(one_at_a_time);
    read_at(array.data());
  };
  std::thread other([&] { call(*second); });
  call(*first);
  other.join();
  EXPECT_TRUE(gate.lapsed());
}

TEST(Gate, WaitsForOneThatTheMachineHasNoTimeFor) {
  Gate gate(2);
  auto prompt = GuardedMemory::map(64);
  auto late = GuardedMemory::map(64);
  ASSERT_TRUE(prompt->close(gate).ok());
  ASSERT_TRUE(late->close(gate).ok());
  std::thread other([&] {
    gate.start();
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    read_at(late->data());
  });
  gate.start();
  read_at(prompt->data());
  other.join();
  EXPECT_FALSE(gate.lapsed());
  EXPECT_EQ(gate.held(), 2);
}

TEST(Buffer, SaysHowFarOutsideAGuardWasTouched) {
  for (const bool front : {false, true}) {
    Elements e(DType::bf16, 16, 8);  // 256 bytes: flush with either guard
    auto buffer = Buffer::holding(host_device(), e, false, {false, 0, 0, front}, 0xff);
    ASSERT_TRUE(buffer.ok());
    auto* data = static_cast<unsigned char*>(buffer->data());
    EXPECT_EQ(buffer->touched(), "");
    write_at(front ? data - 3 : data + 256 + 2);
    EXPECT_EQ(buffer->touched(),
              front ? "3 bytes before its first element" : "2 bytes after its last element");
  }
}

}  // namespace
}  // namespace detgemm::conformance
