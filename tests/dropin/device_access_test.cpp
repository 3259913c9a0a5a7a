// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/device_access.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "dropin/scratch.hpp"

// Against a fake libcuda.so.1, which the dynamic linker finds before any other.

extern "C" {
int fake_driver_live(void);
int fake_driver_waits(void);
}

namespace detgemm::dropin {
namespace {

const Stream kFree{DeviceKind::cuda, nullptr};
const Stream kCaptured{DeviceKind::cuda, reinterpret_cast<void*>(0x20)};

TEST(DeviceAccess, AsksTheDriver) {
  const DeviceAccess& cuda = device_access(DeviceKind::cuda);
  EXPECT_EQ(cuda.current_device(), 3);
  const int number = 41;
  int read = 0;
  ASSERT_TRUE(cuda.read(&read, &number, sizeof read, kFree).ok());
  EXPECT_EQ(read, 41);
  EXPECT_EQ(fake_driver_waits(), 1);
  const Status refused = cuda.read(&read, &number, sizeof read, kCaptured);
  EXPECT_EQ(refused.code(), Errc::unsupported);
  EXPECT_NE(refused.message().find("captured"), std::string::npos);
  EXPECT_EQ(fake_driver_waits(), 1) << "a capture was waited for";
}

TEST(DeviceAccess, WithoutADriverSaysSo) {
  const DeviceAccess& hip = device_access(DeviceKind::hip);
  EXPECT_EQ(hip.current_device(), 0);
  const auto memory = hip.allocate(64, {});
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().message(), "libamdhip64.so is not there, or too old");
}

/// What the caller has is used where it suffices, else memory in the order of the stream.
TEST(Scratch, CallersFirst) {
  const DeviceAccess& cuda = device_access(DeviceKind::cuda);
  alignas(256) static char given[4096];
  Workspace out;
  {
    Scratch scratch(cuda, kFree);
    ASSERT_TRUE(scratch.find({given, 4096}, 100, 4096, out).ok());
    EXPECT_EQ(out.data, given);
    EXPECT_EQ(fake_driver_live(), 0);
  }
  {
    // One that does not begin where a workspace may is shortened to where it may.
    Scratch scratch(cuda, kFree);
    ASSERT_TRUE(scratch.find({given + 8, 4000}, 100, 3000, out).ok());
    EXPECT_EQ(out.data, given + 256);
    EXPECT_EQ(out.bytes, 4000U - 248U);
  }
  {
    Scratch scratch(cuda, kCaptured);
    ASSERT_TRUE(scratch.find({given, 64}, 100, 5000, out).ok());
    EXPECT_EQ(fake_driver_live(), 1);
    EXPECT_EQ(out.bytes, 5000U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(out.data) % kWorkspaceAlignment, 0U);
  }
  EXPECT_EQ(fake_driver_live(), 0) << "memory was not given back";
}

TEST(Scratch, TheLeastWillDoWhereThereIsNoMemory) {
  const DeviceAccess& cuda = device_access(DeviceKind::cuda);
  constexpr std::size_t kTooMuch = std::size_t{1} << 41;
  alignas(256) static char given[4096];
  Workspace out;
  Scratch scratch(cuda, kFree);
  ASSERT_TRUE(scratch.find({given, 4096}, 100, kTooMuch, out).ok());
  EXPECT_EQ(out.data, given);
  EXPECT_FALSE(scratch.find({given, 64}, 100, kTooMuch, out).ok());
  EXPECT_FALSE(scratch.find({}, 100, kTooMuch, out).ok());
  EXPECT_TRUE(scratch.find({}, 0, 0, out).ok());
}

}  // namespace
}  // namespace detgemm::dropin
