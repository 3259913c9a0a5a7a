// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "core/conformance/guarded_memory.hpp"

// Guards to their last byte, mappings that are used again, and gates one after the other.

namespace detgemm::conformance {
namespace {

__attribute__((noinline, no_sanitize("address", "undefined"))) void touch(
    const volatile unsigned char* at) {
  static_cast<void>(*at);
}

GuardedMemory mapped(std::size_t bytes) {
  auto memory = GuardedMemory::map(bytes);
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  return std::move(memory).value();
}

bool is_mapped(void* at) { return msync(at, GuardedMemory::page(), MS_ASYNC) == 0; }

TEST(GuardedPool, IsWholePages) {
  const std::size_t page = GuardedMemory::page();
  EXPECT_EQ(mapped(0).bytes(), page);
  EXPECT_EQ(mapped(1).bytes(), page);
  EXPECT_EQ(mapped(page).bytes(), page);
  EXPECT_EQ(mapped(page + 1).bytes(), 2 * page);
}

TEST(GuardedPool, GuardsReachAsFarAsTheySay) {
  for (const bool behind : {false, true}) {
    for (const bool far : {false, true}) {
      const GuardedMemory memory = mapped(100);
      const std::size_t away = far ? GuardedMemory::kGuard - 1 : 0;
      unsigned char* at = behind ? memory.data() + memory.bytes() + away : memory.data() - 1 - away;
      touch(at);
      EXPECT_EQ(memory.touched(), reinterpret_cast<std::uintptr_t>(at));
    }
  }
}

TEST(GuardedPool, TheFirstTouchIsKeptAndTheOtherGuardOpensToo) {
  const GuardedMemory memory = mapped(100);
  unsigned char* first = memory.data() - 7;
  touch(first);
  touch(memory.data() + memory.bytes() + 7);
  touch(memory.data() - GuardedMemory::kGuard);
  EXPECT_EQ(memory.touched(), reinterpret_cast<std::uintptr_t>(first));
}

TEST(GuardedPool, AMappingIsUsedAgainUnlessItWasTouched) {
  constexpr std::size_t kBytes = 123 * 4096;
  unsigned char* clean = mapped(kBytes).data();
  EXPECT_TRUE(is_mapped(clean));
  EXPECT_EQ(mapped(kBytes).data(), clean);
  {
    const GuardedMemory memory = mapped(kBytes);
    ASSERT_EQ(memory.data(), clean);
    touch(memory.data() - 1);
  }
  const GuardedMemory next = mapped(kBytes);
  EXPECT_EQ(next.touched(), 0U);
  touch(next.data() + next.bytes());
  EXPECT_NE(next.touched(), 0U);
}

TEST(GuardedPool, KeepsNoMoreThanAQuarterOfAGigabyte) {
  constexpr std::size_t kBytes = std::size_t{120} << 20;
  unsigned char* at = nullptr;
  for (int again = 0; again < 4; ++again) {
    const GuardedMemory memory = mapped(kBytes);
    if (again > 0) {
      EXPECT_EQ(memory.data(), at) << "what is used again is not kept twice";
    }
    at = memory.data();
  }
  EXPECT_TRUE(is_mapped(at));
  unsigned char* places[3];
  {
    const GuardedMemory all[]{mapped(kBytes), mapped(kBytes), mapped(kBytes)};
    for (int i = 0; i < 3; ++i) places[i] = all[i].data();
  }  // destroyed from the last one
  EXPECT_TRUE(is_mapped(places[2]));
  EXPECT_FALSE(is_mapped(places[0]));
  unsigned char* huge = mapped((std::size_t{1} << 28) + 4096).data();
  EXPECT_FALSE(is_mapped(huge));
}

TEST(GuardedPool, ThereIsAnEndToArrays) {
  std::vector<GuardedMemory> all;
  for (int i = 0; i < 10000; ++i) {
    auto memory = GuardedMemory::map(1);
    if (!memory) {
      EXPECT_EQ(memory.status().message(), "too many arrays at the same time");
      break;
    }
    all.push_back(std::move(memory).value());
  }
  EXPECT_GT(all.size(), 7000U);
  EXPECT_LT(all.size(), 8193U);
  for (const GuardedMemory& one : all) touch(one.data() - 1);  // given back for good
  all.pop_back();
  EXPECT_TRUE(GuardedMemory::map(1).ok());
}

TEST(GuardedPoolDeathTest, WhatTheSystemRefusesIsASentence) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const auto refused = [](int resource, const std::string& sentence) {
    const rlimit little{1 << 20, 1 << 20};
    setrlimit(static_cast<__rlimit_resource>(resource), &little);
    for (int again = 0; again < 3; ++again) {
      const auto memory = GuardedMemory::map(std::size_t{64} << 20);
      if (memory.ok() || memory.status().message() != sentence) {
        std::fprintf(stderr, "%s\n", memory.status().message().c_str());
        std::_Exit(1);
      }
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(refused(RLIMIT_AS,
                      "mapping host memory of 69206016 bytes failed: Cannot allocate "
                      "memory"),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(refused(RLIMIT_DATA,
                      "opening host memory of 67108864 bytes failed: Cannot allocate "
                      "memory"),
              testing::ExitedWithCode(0), "");
#endif
}

TEST(GuardedPool, TheHandlerRunsOnAnyStackAndWithinItself) {
  mapped(1);
  struct sigaction action {};
  ASSERT_EQ(sigaction(SIGSEGV, nullptr, &action), 0);
  for (const int flag : {SA_SIGINFO, SA_ONSTACK, SA_NODEFER}) EXPECT_NE(action.sa_flags & flag, 0);
}

using Clock = std::chrono::steady_clock;

TEST(Gates, AreTakenAwayAndComeAgain) {
  GuardedMemory memory = mapped(64);
  memory.data()[5] = 3;
  for (int round = 0; round < 2; ++round) {
    Gate gate(1);
    ASSERT_TRUE(memory.close(gate).ok());
    EXPECT_EQ(gate.held(), 0);
    gate.start();
    touch(memory.data());
    EXPECT_EQ(gate.held(), 1) << "round " << round;
    EXPECT_FALSE(gate.lapsed());
    memory.open();
  }
  Gate nobody(2);
  ASSERT_TRUE(memory.close(nobody).ok());
  memory.open();
  const auto start = Clock::now();
  EXPECT_EQ(memory.data()[5], 3);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds{2}) << "nobody is to be waited for";
  EXPECT_EQ(nobody.held(), 0);
}

TEST(Gates, AnotherThreadOfACallDoesNotCount) {
  GuardedMemory memory = mapped(2 * GuardedMemory::page());
  Gate gate(2, std::chrono::milliseconds{100});
  ASSERT_TRUE(memory.close(gate).ok());
  gate.start();
  gate.start();
  std::thread other([&] { touch(memory.data()); });
  touch(memory.data() + GuardedMemory::page());
  other.join();
  EXPECT_EQ(gate.held(), 1);
  EXPECT_TRUE(gate.lapsed());
}

TEST(Gates, NobodyWaitsBehindOneThatLapsed) {
  GuardedMemory first = mapped(64);
  GuardedMemory second = mapped(64);
  Gate inputs(2, std::chrono::milliseconds{10});
  Gate outputs(2, std::chrono::hours{1}, &inputs);
  ASSERT_TRUE(first.close(inputs).ok());
  ASSERT_TRUE(second.close(outputs).ok());
  for (int i = 0; i < 2; ++i) inputs.start(), outputs.start();
  touch(first.data());
  EXPECT_TRUE(inputs.lapsed());
  const auto start = Clock::now();
  touch(second.data());
  EXPECT_LT(Clock::now() - start, std::chrono::seconds{10});
  EXPECT_FALSE(outputs.lapsed());
}

TEST(Gates, WaitForAllToStartAndThenForTheirPatience) {
  GuardedMemory memory = mapped(64);
  Gate gate(2, std::chrono::milliseconds{50});
  ASSERT_TRUE(memory.close(gate).ok());
  gate.start();
  const auto start = Clock::now();
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{400});
    gate.start();
  });
  touch(memory.data());
  late.join();
  const auto waited = Clock::now() - start;
  EXPECT_TRUE(gate.lapsed());
  EXPECT_GE(waited, std::chrono::milliseconds{440});
  EXPECT_LT(waited, std::chrono::seconds{8});
}

TEST(Gates, EveryArrivalRenewsThePatience) {
  constexpr std::chrono::milliseconds kGap{600};
  GuardedMemory arrays[]{mapped(64), mapped(64), mapped(64)};
  Gate gate(3, kGap * 7 / 4);
  for (GuardedMemory& one : arrays) {
    ASSERT_TRUE(one.close(gate).ok());
    gate.start();
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      std::this_thread::sleep_for(i * kGap);
      touch(arrays[i].data());
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_FALSE(gate.lapsed());
  EXPECT_EQ(gate.held(), 3);
}

TEST(Gates, AnEmptyMemoryHasNone) {
  GuardedMemory none;
  none.open();
  EXPECT_EQ(none.touched(), 0U);
}

}  // namespace
}  // namespace detgemm::conformance
