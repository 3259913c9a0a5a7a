// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "detgemm/hip.hpp"
#include "detgemm/plan.hpp"

namespace detgemm {
namespace {

GemmSpec spec_of(const char* contract) {
  GemmSpec spec;
  spec.n = 16;
  spec.k = 32;
  spec.contract = *Contract::parse(contract);
  return spec;
}

/// What is refused whatever the machine has.
TEST(HipBackend, OtherContractsAreRefusedByName) {
  for (const char* text : {"hopper/bf16/chain->bf16", "hopper/e4m3/chain->fp32",
                           "ampere/fp16/chain->fp32", "blackwell/tf32/tree:64->fp32"}) {
    const Status status = hip_backend().supports(spec_of(text));
    EXPECT_EQ(status.code(), Errc::unsupported) << text;
    EXPECT_NE(status.message().find(std::string("contract is ") + text), std::string::npos)
        << status.message();
    EXPECT_TRUE(hip_backend().variants(spec_of(text)).empty()) << text;
    EXPECT_FALSE(hip_backend().guarantees(spec_of(text).contract).run_to_run) << text;
  }
}

TEST(HipBackend, ItsContractsHaveKernelsAndPromises) {
  for (const char* text :
       {"cdna3/bf16/chain->bf16", "cdna3/fp16/tree:64->fp32", "cdna2/bf16/fold:12->fp16",
        "ieee_fma/fp32/tree:7->fp32", "snap/bf16/fold:128->bf16", "snap3/fp32/tree:64->fp32"}) {
    EXPECT_FALSE(hip_backend().variants(spec_of(text)).empty()) << text;
    EXPECT_TRUE(hip_backend().guarantees(spec_of(text).contract).backend_to_backend) << text;
  }
}

TEST(HipBackend, SaysThatNoAmdHardwareWasSeen) {
  EXPECT_NE(hip_backend().description().find("not run on AMD hardware"), std::string_view::npos);
}

/// Where there is no device everything says why, in one sentence, and nothing crashes.
TEST(HipBackend, AbsenceIsASentence) {
  const Backend& backend = hip_backend();
  const Status available = backend.available();
  if (available) GTEST_SKIP() << "there is a device: " << backend.device().description();
  EXPECT_EQ(available.code(), Errc::unavailable);
  EXPECT_EQ(available.message().find("hip: "), 0U) << available.message();
  EXPECT_FALSE(Plan::create(backend, spec_of("cdna3/bf16/chain->bf16")));
  EXPECT_FALSE(backend.supports(spec_of("cdna3/bf16/chain->bf16")));
  Device& device = backend.device();
  EXPECT_EQ(device.kind(), DeviceKind::hip);
  EXPECT_TRUE(device.list().empty());
  EXPECT_EQ(device.description().find("none: hip: "), 0U) << device.description();
  EXPECT_FALSE(device.allocate(1024));
  EXPECT_TRUE(device.allocate(0));
  EXPECT_FALSE(device.create_stream());
  EXPECT_FALSE(device.synchronize({DeviceKind::hip, nullptr}));
  device.release(nullptr);
}

}  // namespace
}  // namespace detgemm
