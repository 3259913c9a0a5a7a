// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>

#include "cuda/launch.hpp"
#include "tests/cuda/sm90/fakes.hpp"

// Which kernels can be forced for a spec. Conformance, benchmarks and users force them by name, so
// the lists are pinned: they may grow with kernels, but must not change by accident.

namespace detgemm::test {
namespace {

using namespace cuda;

struct Pinned {
  const char* contract;
  int kernels;           ///< in the lists of all specs below together
  std::uint64_t digest;  ///< FNV-1a of the lists, one line per spec, " name" per kernel
};
constexpr Pinned kPinned[] = {
    {"hopper/bf16/chain->bf16", 12496, 0xdcbf9fddc00b3277},
    {"hopper/fp16/chain->fp32", 12496, 0xdcbf9fddc00b3277},
    {"hopper/bf16/fold:16->fp32", 0, 0xb3c5a6dbaf9c4565},
    {"hopper/bf16/fold:64->bf16", 3921, 0x42da7df47d8e0285},
    {"hopper/fp16/fold:512->fp16", 4920, 0x57438b1644c35d82},
    {"hopper/bf16/tree:64->fp32", 6165, 0xa84f4c31de53d2f9},
    {"hopper/bf16/tree:128->bf16", 6252, 0x9d7954065bc77d62},
    {"hopper/fp16/tree:512->fp32", 6075, 0xad7d94f6fb0e111f},
    {"hopper/bf16/tree:48->bf16", 0, 0xb3c5a6dbaf9c4565},
    {"ieee_fma/fp32/chain->fp32", 6480, 0x8e4e24d7ef3dbd15},
    {"ieee_fma/bf16/chain->bf16", 2592, 0x87749c6942bbcda5},
    {"ieee_fma/fp16/fold:1->fp32", 2232, 0xedee17595bd63d95},
    {"ieee_fma/fp32/fold:100->fp32", 5040, 0x5894c15084fed8fd},
    {"ieee_fma/bf16/tree:1->bf16", 1584, 0x4e23cee50063c125},
    {"ieee_fma/fp32/tree:512->fp32", 4320, 0x3d19d63dcb1dbfcd},
};

GemmSpec spec_of(const char* contract, std::int64_t n, std::int64_t k) {
  GemmSpec spec;
  spec.contract = *Contract::parse(contract);
  spec.n = n;
  spec.k = k;
  return spec;
}

std::vector<std::string> list_of(const GemmSpec& spec) {
  std::vector<std::string> list;
  for (const KernelInfo& kernel : kernels_of_wgmma(spec.contract)) {
    if (takes(kernel, spec)) list.push_back(kernel.name);
  }
  return list;
}

TEST(CudaKernels, ListsPerSpecAreAsPinned) {
  for (const Pinned& pinned : kPinned) {
    int count = 0;
    std::uint64_t digest = 0xcbf29ce484222325;
    const auto put = [&](const std::string& text) {
      for (const char c : text) {
        digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      }
    };
    for (const std::int64_t n : {0, 1, 8, 33, 256, 4096, 128256}) {
      for (const std::int64_t k : {0, 1, 64, 100, 2048, 1 << 30}) {
        for (int ops = 0; ops < 4; ++ops) {
          for (int extra = 0; extra < 3; ++extra) {
            GemmSpec spec = spec_of(pinned.contract, n, k);
            if ((ops & 1) != 0) spec.op_a = Op::transpose;
            if ((ops & 2) != 0) spec.op_b = Op::transpose;
            if (extra == 1) spec.bias = DType::fp32;
            spec.continue_from_c = extra == 2;
            const auto list = list_of(spec);
            count += static_cast<int>(list.size());
            for (const std::string& kernel : list) put(" " + kernel);
            put("\n");
          }
        }
      }
    }
    EXPECT_EQ(count, pinned.kernels) << pinned.contract;
    EXPECT_EQ(digest, pinned.digest) << pinned.contract;
  }
}

/// What a list says is what happens: with usual arrays, a listed kernel is not refused, and one
/// that is not listed is.
TEST(CudaKernels, ListsAgreeWithDecisions) {
  int listed = 0, others = 0;
  for (const char* contract :
       {"hopper/bf16/chain->bf16", "hopper/fp16/fold:512->fp16", "hopper/bf16/tree:64->fp32",
        "ieee_fma/fp32/tree:512->fp32", "ieee_fma/bf16/chain->bf16", "snap/bf16/fold:128->bf16",
        "snap/bf16/tree:256->fp32", "snap3/bf16/tree:64->fp32", "snap3/fp32/fold:128->fp32"}) {
    for (const std::int64_t n : {8, 33, 256, 4096}) {
      const GemmSpec spec = spec_of(contract, n, 2048);
      const auto all = kernels(spec.contract);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto refused = [&](std::int64_t m) {
          GemmArguments g;  // null: aligned
          g.m = m;
          g.n = n;
          g.k = 2048;
          const std::int64_t pitch = (n + 7) / 8 * 8;
          g.as = {2048, 1};
          g.bs = {pitch, 1};
          // Some tiles of mma.sync take B along k alone.
          if (all[i].family == Family::mma) g.bs = {1, 2048};
          g.ds = {pitch, 1};
          g.reduction = spec.contract.reduction;
          g.output = spec.contract.output;
          LaunchOptions options;
          options.sms = 1024;
          options.forced = static_cast<int>(i);
          return !decide({g, spec.contract.arithmetic, spec.contract.input}, options).ok();
        };
        const bool few = spec.contract.reduction.kind != ReductionKind::chain;
        ASSERT_EQ(takes(all[i], spec), !refused(64) || (few && !refused(8)))
            << contract << " n " << n << " " << all[i].name;
        (takes(all[i], spec) ? listed : others)++;
      }
    }
  }
  EXPECT_GE(listed, 200);
  EXPECT_GE(others, 200);
}

TEST(CudaKernels, NamesOfAContractDiffer) {
  for (const Pinned& pinned : kPinned) {
    std::set<std::string> names;
    const auto all = kernels(*Contract::parse(pinned.contract));
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(names.insert(all[i].name).second) << all[i].name;
      const bool of_mma = all[i].family == Family::mma;
      const std::size_t first =
          of_mma ? kernels_of_wgmma(*Contract::parse(pinned.contract)).size() : 0;
      EXPECT_EQ(all[i].index, static_cast<int>(i - first));
    }
    EXPECT_GE(all.size(), 8U) << pinned.contract;
  }
}

TEST(CudaKernels, OtherContractsHaveNone) {
  for (const char* contract :
       {"hopper/e4m3/tree:128->fp32", "blackwell/e4m3/chain->bf16", "cdna3/bf16/chain->bf16"}) {
    EXPECT_TRUE(kernels(*Contract::parse(contract)).empty()) << contract;
  }
}

}  // namespace
}  // namespace detgemm::test
