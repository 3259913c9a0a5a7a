// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// detgemm::gemm, the one-call form, in C++ and in C: what it says before a Runtime is started, and
// that the options it shares with a plan reach the plan. The tests run in the order they stand in.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "detgemm/detgemm.h"
#include "detgemm/plan.hpp"
#include "detgemm/runtime.hpp"
#include "detgemm/workspace.hpp"

namespace detgemm {
namespace {

constexpr std::array<float, 4> kA{1, 2, 3, 4};
constexpr std::array<float, 4> kB{5, 6, 7, 8};
constexpr std::array<float, 4> kProduct{19, 22, 43, 50};
constexpr std::array<float, 4> kUntouched{7, 7, 7, 7};

Contract contract() { return *Contract::parse("ieee_fma/fp32/chain->fp32"); }

/// A 2 x 2 product in C++, on the host.
Status call(const GemmOptions& options, std::array<float, 4>& d) {
  return gemm({}, row_major(kA.data(), 2, 2, DType::fp32), row_major(kB.data(), 2, 2, DType::fp32),
              row_major(d.data(), 2, 2, DType::fp32), contract(), options);
}

detgemm_gemm_options_t c_options() {
  detgemm_gemm_options_t options{};
  EXPECT_EQ(detgemm_gemm_options_init(&options, sizeof options), DETGEMM_OK);
  return options;
}

/// The same product in C.
detgemm_status_t call(const detgemm_gemm_options_t& options, std::array<float, 4>& d) {
  detgemm_contract_t c{};
  EXPECT_EQ(detgemm_contract_init(&c, sizeof c), DETGEMM_OK);
  EXPECT_EQ(detgemm_contract_parse("ieee_fma/fp32/chain->fp32", &c), DETGEMM_OK);
  const detgemm_const_matrix_t a{sizeof a, DETGEMM_FP32, kA.data(), 2, 2, 2, 1};
  const detgemm_const_matrix_t b{sizeof b, DETGEMM_FP32, kB.data(), 2, 2, 2, 1};
  const detgemm_matrix_t out{sizeof out, DETGEMM_FP32, d.data(), 2, 2, 2, 1};
  return detgemm_gemm(nullptr, &a, &b, &out, &c, &options);
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// The backend that computes on the host, if this build has it.
const Backend* host_backend() {
  for (const Backend* backend : backends()) {
    if (backend->device().kind() == DeviceKind::host) return backend;
  }
  return nullptr;
}

TEST(OneCall, IsUnavailableBeforeARuntimeIsStarted) {
  auto d = kUntouched;
  const Status status = call(GemmOptions{}, d);
  EXPECT_EQ(name(status.code()), "unavailable") << status.message();
  EXPECT_EQ(call(c_options(), d), DETGEMM_UNAVAILABLE);
  EXPECT_EQ(std::string(detgemm_last_error()), status.message());
  EXPECT_EQ(d, kUntouched);
  if (host_backend() == nullptr) {
    EXPECT_TRUE(contains(status.message(), "this build has none")) << status.message();
    return;
  }
  EXPECT_TRUE(contains(status.message(), "detgemm::Runtime")) << status.message();
  EXPECT_TRUE(contains(status.message(), "detgemm_runtime_start")) << status.message();
}

/// What follows needs a started runtime; without a host backend every call stays unavailable.
class OneCallStarted : public testing::Test {
 protected:
  static void SetUpTestSuite() { runtime().emplace(*Runtime::start({1})); }
  static void TearDownTestSuite() { runtime().reset(); }
  static std::optional<Runtime>& runtime();

  /// Expects these options to be refused with this sentence, in C++ and in C.
  static void refuse(const GemmOptions& cpp, const detgemm_gemm_options_t& c,
                     const char* sentence) {
    const bool here = host_backend() != nullptr;
    auto d = kUntouched;
    const Status status = call(cpp, d);
    EXPECT_EQ(name(status.code()), here ? "invalid_argument" : "unavailable");
    EXPECT_TRUE(!here || contains(status.message(), sentence)) << status.message();
    EXPECT_EQ(call(c, d), here ? DETGEMM_INVALID_ARGUMENT : DETGEMM_UNAVAILABLE);
    EXPECT_EQ(std::string(detgemm_last_error()), status.message());
    EXPECT_EQ(d, kUntouched);
  }
};

std::optional<Runtime>& OneCallStarted::runtime() {
  static std::optional<Runtime> kept;
  return kept;
}

TEST_F(OneCallStarted, PassesMaxWorkersOn) {
  GemmOptions cpp;
  auto c = c_options();
  EXPECT_EQ(c.max_workers, 0);
  cpp.max_workers = c.max_workers = -2;
  refuse(cpp, c, "max_workers is -2: it must be 0 (all) or positive");
}

TEST_F(OneCallStarted, PassesStableOn) {
  GemmOptions cpp;
  auto c = c_options();
  EXPECT_EQ(c.stable, DETGEMM_STABLE_NONE);
  cpp.stable = static_cast<Stable>(3);
  c.stable = 3;
  refuse(cpp, c, "stable is unknown (3): it must be none (0), a (1) or b (2)");
}

/// `first_backend` gives what `gemm` would use, in C++ and in C, and refuses in the same words.
TEST_F(OneCallStarted, FirstBackendIsTheOneThatGemmTakes) {
  GemmSpec spec{.n = 2, .k = 2, .contract = contract()};
  const auto first = first_backend(spec, DeviceKind::host);
  if (host_backend() == nullptr) {
    EXPECT_EQ(first.status().code(), Errc::unavailable);
    EXPECT_TRUE(contains(first.status().message(), "this build has none"));
    return;
  }
  ASSERT_TRUE(first) << first.status().message();
  EXPECT_EQ(*first, host_backend());
  detgemm_contract_t c{};
  detgemm_gemm_spec_t c_spec{};
  ASSERT_EQ(detgemm_contract_init(&c, sizeof c), DETGEMM_OK);
  ASSERT_EQ(detgemm_contract_parse("ieee_fma/fp32/chain->fp32", &c), DETGEMM_OK);
  ASSERT_EQ(detgemm_gemm_spec_init(&c_spec, sizeof c_spec), DETGEMM_OK);
  c_spec.n = c_spec.k = 2;
  c_spec.contract = &c;
  const detgemm_backend_t* c_first = nullptr;
  ASSERT_EQ(detgemm_backend_first(&c_spec, DETGEMM_HOST, &c_first), DETGEMM_OK);
  EXPECT_EQ(detgemm_backend_name(c_first), host_backend()->name());
  // With the plan of the example of Plan: one for the backend, one for the scratch memory.
  const auto plan = Plan::create(**first, spec);
  ASSERT_TRUE(plan) << plan.status().message();
  const auto scratch = HostWorkspace::allocate(plan->workspace_bytes(2).value());
  ASSERT_TRUE(scratch) << scratch.status().message();
  auto d = kUntouched;
  const Status status = plan->run({}, row_major(kA.data(), 2, 2, DType::fp32),
                                  row_major(kB.data(), 2, 2, DType::fp32),
                                  row_major(d.data(), 2, 2, DType::fp32), *scratch);
  EXPECT_TRUE(status) << status.message();
  EXPECT_EQ(d, kProduct);
}

TEST_F(OneCallStarted, FirstBackendListsWhyEachWasPassedOver) {
  GemmSpec spec{.n = 2, .k = 2, .contract = contract()};
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::hip}) {
    const auto none = first_backend(spec, kind);
    if (none) continue;  // this machine has one
    EXPECT_EQ(none.status().code(), Errc::unavailable) << none.status().message();
    const std::string where = "no backend on " + std::string(name(kind)) + " is available";
    EXPECT_TRUE(contains(none.status().message(), where.c_str())) << none.status().message();
    for (const Backend* backend : backends()) {
      if (backend->device().kind() != kind) continue;
      const std::string said = std::string(backend->name()) + ": ";
      EXPECT_TRUE(contains(none.status().message(), said.c_str())) << none.status().message();
    }
  }
  spec.k = -1;
  const auto bad = first_backend(spec, DeviceKind::host);
  EXPECT_EQ(bad.status().message(), "k is -1: it must not be negative");
  spec.k = 2;
  const auto strange = first_backend(spec, static_cast<DeviceKind>(77));
  EXPECT_EQ(strange.status().message(),
            "kind is unknown (77): it must be host (0), cuda (1) or hip (2)");
}

TEST_F(OneCallStarted, GivesTheSameBitsWithEveryOption) {
  const bool here = host_backend() != nullptr;
  for (const int workers : {0, 1, 2}) {
    for (const Stable stable : {Stable::none, Stable::a, Stable::b}) {
      GemmOptions cpp;
      auto c = c_options();
      cpp.max_workers = c.max_workers = workers;
      cpp.stable = stable;
      c.stable = static_cast<detgemm_stable_t>(stable);
      auto d = kUntouched;
      EXPECT_EQ(call(cpp, d).ok(), here);
      EXPECT_EQ(d, here ? kProduct : kUntouched);
      d = kUntouched;
      EXPECT_EQ(call(c, d) == DETGEMM_OK, here);
      EXPECT_EQ(d, here ? kProduct : kUntouched);
    }
  }
}

TEST_F(OneCallStarted, OlderCOptionsEndBeforeMaxWorkers) {
  auto c = c_options();
  c.max_workers = -2;  // the caller's own memory behind an older struct: not a field of it
  c.stable = 77;
  c.struct_size = offsetof(detgemm_gemm_options_t, max_workers);
  const bool here = host_backend() != nullptr;
  auto d = kUntouched;
  EXPECT_EQ(call(c, d) == DETGEMM_OK, here) << detgemm_last_error();
  EXPECT_EQ(d, here ? kProduct : kUntouched);
}

}  // namespace
}  // namespace detgemm
