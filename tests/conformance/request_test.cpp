// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/request.hpp"

#include <gtest/gtest.h>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"
#include "tests/conformance/fake_gpu.hpp"

// A call by itself: which arrays have gates, and what is said of arrays that were touched.

namespace detgemm::conformance {
namespace {

const Backend& honest() { return controls::honest(); }

Request request(std::int64_t m, std::int64_t n, std::int64_t k) {
  Request r;
  r.spec.contract = *Contract::parse("hopper/bf16/tree:64->fp32");
  r.a = Elements(DType::bf16, m, k);
  r.b = Elements(DType::bf16, k, n);
  return r;
}

bool gated(const Backend& backend, const Request& r) {
  auto prepared = Prepared::make(backend, r);
  EXPECT_TRUE(prepared.ok()) << prepared.status().message();
  return prepared->has_gates();
}

TEST(Request, HasGatesWhereThereAreElementsOnAHost) {
  EXPECT_TRUE(gated(honest(), request(1, 1, 1)));
  EXPECT_FALSE(gated(honest(), request(0, 1, 1)));
  EXPECT_FALSE(gated(honest(), request(1, 0, 1)));
  EXPECT_FALSE(gated(honest(), request(1, 1, 0)));
  Request join = request(1, 1, 64);
  join.roots = {Elements(DType::fp32, 1, 1)};
  EXPECT_FALSE(gated(honest(), join));
  static FakeGpu gpu;
  controls::Fault none{"no_gates", controls::compute_honestly};
  none.device = &gpu;
  EXPECT_FALSE(gated(*controls::make_backend(none), request(1, 1, 1)));
}

std::string said_of(void (*run)(const controls::Run&), const Request& r) {
  controls::Fault fault{"touches", run};
  fault.workspace = 256;
  const auto output = run_once(*controls::make_backend(fault), r);
  EXPECT_TRUE(output.ok()) << output.status().message();
  return output->violation;
}

__attribute__((noinline, no_sanitize("address", "undefined"))) void touch(const void* at,
                                                                          std::int64_t bytes) {
  static_cast<void>(static_cast<const volatile char*>(at)[bytes]);
}

TEST(Request, NamesTheArrayWhoseGuardWasTouched) {
  Request r = request(2, 64, 64);
  r.spec.beta = 1.0F;
  r.c = Elements(DType::fp32, 2, 64);
  r.spec.bias = DType::fp32;
  r.bias = Elements(DType::fp32, 1, 64);  // 256 bytes, as all others a multiple of that
  EXPECT_EQ(said_of([](const controls::Run& x) { touch(x.operands.a.data, 256); }, r),
            "A was read or written 0 bytes after its last element");
  EXPECT_EQ(said_of([](const controls::Run& x) { touch(x.operands.b.data, 8195); }, r),
            "B was read or written 3 bytes after its last element");
  EXPECT_EQ(said_of([](const controls::Run& x) { touch(x.operands.c.data, 512); }, r),
            "C was read or written 0 bytes after its last element");
  EXPECT_EQ(said_of([](const controls::Run& x) { touch(x.operands.d.data, 513); }, r),
            "D was read or written 1 bytes after its last element");
  EXPECT_EQ(said_of([](const controls::Run& x) { touch(x.operands.bias.data, 256); }, r),
            "the bias was read or written 0 bytes after its last element");
  EXPECT_EQ(said_of([](const controls::Run& x) { touch(x.workspace.data, 256); }, r),
            "the workspace was read or written 0 bytes after its last element");
}

TEST(Request, AForcedKernelMustRunWhereThereAreOutputs) {
  for (const bool some : {false, true}) {
    for (const bool wide : {false, true}) {
      Request r = request(some ? 1 : 0, wide ? 1 : 0, 4);
      controls::Fault fault{"other_kernel", controls::compute_honestly};
      fault.variants = {"scalar", "forced"};
      r.options.variant = "forced";
      const auto output = run_once(*controls::make_backend(fault), r);
      ASSERT_TRUE(output.ok()) << output.status().message();
      EXPECT_EQ(output->violation,
                some && wide ? "variant \"forced\" was forced and kernel \"scalar\" ran" : "");
    }
  }
}

}  // namespace
}  // namespace detgemm::conformance
