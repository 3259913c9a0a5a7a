// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <optional>

#include "detgemm/runtime.hpp"

namespace {

// ThreadSanitizer does not see the synchronisation inside OpenMP's own library, so there the
// reference runs in the threads that call it.
#if defined(__SANITIZE_THREAD__)
constexpr int kThreads = 1;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr int kThreads = 1;
#else
constexpr int kThreads = 2;
#endif
#else
constexpr int kThreads = 2;
#endif

/// Keeps the built-in backends started while tests run: add this file to a test's sources.
class RuntimeEnvironment final : public testing::Environment {
  void SetUp() override {
    auto runtime = detgemm::Runtime::start({kThreads});
    ASSERT_TRUE(runtime) << runtime.status().message();
    runtime_.emplace(std::move(*runtime));
  }
  void TearDown() override { runtime_.reset(); }

  std::optional<detgemm::Runtime> runtime_;
};

[[maybe_unused]] testing::Environment* const kEnvironment =
    testing::AddGlobalTestEnvironment(new RuntimeEnvironment);

}  // namespace
