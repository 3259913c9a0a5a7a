// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The host as a device: what tools rely on when they know nothing of where they work.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "detgemm/device.hpp"

namespace detgemm {
namespace {

TEST(HostDevice, MemoryIsAlignedAndWhole) {
  Device& host = host_device();
  EXPECT_EQ(host.kind(), DeviceKind::host);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{255}, std::size_t{256},
                                  std::size_t{257}, std::size_t{100000}}) {
    const auto memory = host.allocate(bytes);
    ASSERT_TRUE(memory) << memory.status().message();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*memory) % 256, 0U) << bytes;
    std::memset(*memory, 0x5a, bytes);
    host.release(*memory);
  }
  const auto none = host.allocate(0);
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
  host.release(nullptr);
}

TEST(HostDevice, TooMuchIsRefusedInASentence) {
  for (const std::size_t bytes : {SIZE_MAX, static_cast<std::size_t>(PTRDIFF_MAX),
                                  static_cast<std::size_t>(PTRDIFF_MAX) - 256}) {
    const auto memory = host_device().allocate(bytes);
    ASSERT_FALSE(memory) << bytes;
    EXPECT_EQ(memory.status().code(), Errc::internal);
    EXPECT_NE(memory.status().message().find(std::to_string(bytes)), std::string::npos)
        << memory.status().message();
  }
}

TEST(HostDevice, CopiesGoThereAndBackByteForByte) {
  Device& host = host_device();
  std::vector<std::uint8_t> from(300), back(300, 0xee);
  std::iota(from.begin(), from.end(), std::uint8_t{1});
  const auto memory = host.allocate(from.size());
  ASSERT_TRUE(memory);
  std::memset(*memory, 0x77, from.size());
  EXPECT_TRUE(host.to_device(*memory, from.data(), 200));
  EXPECT_TRUE(host.to_host(back.data(), *memory, 250));
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i], i < 200 ? from[i] : i < 250 ? 0x77 : 0xee) << i;
  }
  EXPECT_TRUE(host.to_device(nullptr, nullptr, 0));
  EXPECT_TRUE(host.to_host(nullptr, nullptr, 0));
  host.release(*memory);
}

TEST(HostDevice, StreamsAreEmptyAndThereAreNoGraphs) {
  Device& host = host_device();
  const auto stream = host.create_stream();
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->kind, DeviceKind::host);
  EXPECT_TRUE(host.synchronize(*stream));
  host.destroy_stream(*stream);
  EXPECT_TRUE(host.list().empty());
  EXPECT_FALSE(host.has_graphs());
  int calls = 0;
  const Status replayed = host.replay(
      *stream, [&](Stream) { return ++calls, Status{}; }, 1);
  EXPECT_EQ(replayed.code(), Errc::unsupported);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace detgemm
