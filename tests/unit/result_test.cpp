// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Result and Status: every way to the value, of temporaries too.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "detgemm/runtime.hpp"

namespace detgemm {
namespace {

/// Moves alone, as a Runtime does.
using Owner = std::unique_ptr<int>;
Result<Owner> make(int value) { return std::make_unique<int>(value); }

// Every overload of std::optional, with its type.
using R = Result<Owner>;
static_assert(std::is_same_v<decltype(*std::declval<R&>()), Owner&>);
static_assert(std::is_same_v<decltype(*std::declval<const R&>()), const Owner&>);
static_assert(std::is_same_v<decltype(*std::declval<R>()), Owner&&>);
static_assert(std::is_same_v<decltype(*std::declval<const R>()), const Owner&&>);
static_assert(std::is_same_v<decltype(std::declval<R>().value()), Owner&&>);
static_assert(std::is_same_v<decltype(std::declval<const R>().value()), const Owner&&>);
static_assert(std::is_constructible_v<Runtime, decltype(*Runtime::start())>);

TEST(Result, ATemporaryGivesItsValueAway) {
  const Owner direct = *make(7);
  EXPECT_EQ(*direct, 7);
  Result<Owner> named = make(8);
  EXPECT_EQ(**named, 8);
  const Owner moved = *std::move(named);
  EXPECT_EQ(*moved, 8);
  ASSERT_TRUE(named) << "a value that was moved from is still a value";  // NOLINT
  EXPECT_EQ(*named, nullptr);                                            // NOLINT
}

TEST(Result, AConstantOneIsCopied) {
  const Result<std::string> kept = std::string("text");
  const std::string copy = *std::move(kept);  // NOLINT: a constant cannot be moved from
  EXPECT_EQ(copy, "text");
  EXPECT_EQ(*kept, "text");
}

TEST(Result, WithoutAValueEveryWayThrows) {
  const auto refused = [] { return Result<Owner>(invalid("no")); };
  EXPECT_THROW((void)*refused(), std::bad_variant_access);
  EXPECT_THROW((void)refused().value(), std::bad_variant_access);
  EXPECT_EQ(refused().status().message(), "no");
}

TEST(Result, ARuntimeIsTakenOutOfIt) {
  // Without a reference there is nothing to start, and a Runtime all the same.
  const Runtime runtime = *Runtime::start({1});
  (void)runtime;
}

}  // namespace
}  // namespace detgemm
