// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Memory that the HIP runtime did not allocate, on a device that shares the host's memory (an APU
// with HSA_XNACK=1) and on one that does not. DETGEMM_FAKE_HOST_MEMORY says which one the stand-in
// runtime is.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "detgemm/hip.hpp"
#include "detgemm/plan.hpp"
#include "tests/hip/fake/steering.hpp"

namespace detgemm {
namespace {

constexpr std::int64_t kSide = 16;

class HipHostMemory : public testing::Test {
 protected:
  void SetUp() override {
    void* const library = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    fake_ = static_cast<test::Steering*>(dlsym(library, "detgemm_fake_hip"));
    ASSERT_NE(fake_, nullptr) << "another runtime was found first";
    const char* variable = std::getenv("DETGEMM_FAKE_HOST_MEMORY");
    apu_ = variable != nullptr && std::string_view(variable) == "apu";
  }
  /// A product with malloc'ed B and D, and A at this address.
  Status run(const void* a) {
    GemmSpec spec;
    spec.n = spec.k = kSide;
    spec.contract = *Contract::parse("cdna3/bf16/chain->fp32");
    const auto plan = Plan::create(hip_backend(), spec);
    if (!plan) return plan.status();
    return plan->run({DeviceKind::hip, nullptr}, row_major(a, kSide, kSide, DType::bf16),
                     row_major(b_.data(), kSide, kSide, DType::bf16),
                     row_major(d_.data(), kSide, kSide, DType::fp32));
  }

  test::Steering* fake_ = nullptr;
  bool apu_ = false;
  std::vector<std::uint16_t> a_ = std::vector<std::uint16_t>(kSide * kSide);
  std::vector<std::uint16_t> b_ = a_;
  std::vector<float> d_ = std::vector<float>(kSide * kSide);
};

TEST_F(HipHostMemory, IsAcceptedWhereTheDeviceSharesIt) {
  for (const int type : {0, 1}) {  // malloc'ed, and pinned
    fake_->memory_type = type;
    const int before = fake_->launches;
    const Status status = run(a_.data());
    EXPECT_EQ(status.ok(), apu_) << type << ": " << status.message();
    EXPECT_EQ(fake_->launches, before + (apu_ ? 1 : 0)) << type;
    if (apu_) continue;
    const std::string where =
        type == 0 ? "memory that HIP has not allocated" : "pinned host memory";
    EXPECT_EQ(status.code(), Errc::invalid_argument);
    EXPECT_NE(status.message().find(where), std::string::npos) << status.message();
  }
}

TEST_F(HipHostMemory, IsRefusedWhereNothingIsMapped) {
  constexpr std::size_t kPage = 1 << 16;
  void* const hole = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(hole, MAP_FAILED);
  ASSERT_EQ(munmap(hole, kPage), 0);
  fake_->memory_type = 0;
  const int before = fake_->launches;
  const Status status = run(hole);
  EXPECT_EQ(status.code(), Errc::invalid_argument) << status.message();
  EXPECT_EQ(status.message().rfind("a.data is 0x", 0), 0U) << status.message();
  EXPECT_EQ(fake_->launches, before) << "nothing is launched";
}

}  // namespace
}  // namespace detgemm
