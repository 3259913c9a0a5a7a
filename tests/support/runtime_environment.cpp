// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <optional>

#include "detgemm/runtime.hpp"

namespace {

/// Keeps the built-in backends started while tests run: add this file to a test's sources.
class RuntimeEnvironment final : public testing::Environment {
  void SetUp() override {
    auto runtime = detgemm::Runtime::start({2});
    ASSERT_TRUE(runtime) << runtime.status().message();
    runtime_.emplace(std::move(*runtime));
  }
  void TearDown() override { runtime_.reset(); }

  std::optional<detgemm::Runtime> runtime_;
};

[[maybe_unused]] testing::Environment* const kEnvironment =
    testing::AddGlobalTestEnvironment(new RuntimeEnvironment);

}  // namespace
