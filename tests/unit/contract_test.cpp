// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What follows from a contract: its digest, its leaves and the shares of ranks.

#include "detgemm/contract.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "detgemm/version.hpp"

namespace detgemm {
namespace {

/// Golden values, computed apart from this library as FNV-1a of the canonical line. A contract
/// whose digest moves is another contract and needs another version.
struct Pinned {
  const char* text;
  const char* digest;
};
constexpr Pinned kPinned[] = {
    {"ieee_fma/bf16/chain->bf16", "0b7ac20f4185c5f4"},
    {"ieee_fma/fp32/chain->fp32", "12b77801c51f0978"},
    {"hopper/bf16/chain->bf16", "24f68fedb7bdc075"},
    {"hopper/bf16/tree:512->bf16", "762d74aba7f49e72"},
    {"hopper/tf32/chain->fp32", "66e712115b1a90c8"},
    {"hopper/e4m3/fold:1024->fp32", "7ed37418aaadd074"},
    {"ampere/bf16/fold:8->bf16", "8cc04a8cf36305ae"},
    {"ampere/tf32/chain->fp32", "367122596963c3b2"},
    {"blackwell/fp16/tree:64->fp16", "f5a4a217c311207d"},
    {"cdna3/fp16/tree:2147483648->fp16", "7c182706ba0a6155"},
    {"cdna2/bf16/chain->fp32", "7ceb513355c7c402"},
    {"hopper/e4m3/scaled:128->bf16", "dcdc56a7a7a964e1"},
    {"ieee_fma/bf16/scaled:64->fp32", "e5cfdeab9f8249e9"},
    {"snap/bf16/scaled:128->fp32", "92c212347e7e02c2"},
    {"snap/bf16/fold:128->fp32", "adc8f88d27bd20b9"},
    {"snap/bf16/tree:128->fp32", "dbb20b870f42dc74"},
    {"snap3/bf16/fold:128->bf16", "5cd0fb55c95be764"},
    {"snap3/fp32/tree:128->fp32", "2f205be17288b91d"},
};

TEST(Contract, DigestsArePinned) {
  for (const Pinned& row : kPinned) {
    const auto contract = Contract::parse(row.text);
    ASSERT_TRUE(contract) << contract.status().message();
    EXPECT_EQ(hex(contract->digest()), row.digest) << contract->canonical();
  }
}

TEST(Contract, CanonicalLineIsPinned) {
  EXPECT_EQ(Contract::parse("hopper/bf16/tree:512->fp32")->canonical(),
            "detgemm-contract version=1 arithmetic=hopper input=bf16 k_block=16 k_order=ascending "
            "reduction=tree leaf_k=512 rounding=nearest_even output=fp32");
}

TEST(Contract, DifferentContractsHaveDifferentDigests) {
  std::set<std::uint64_t> digests;
  std::size_t contracts = 0;
  for (const Contract& base : base_contracts()) {
    for (std::int64_t blocks = 1; blocks <= 64; ++blocks) {
      for (ReductionKind kind : {ReductionKind::fold, ReductionKind::tree, ReductionKind::scaled}) {
        const auto contract =
            Contract::make(base.arithmetic, base.input, {kind, blocks * base.k_block}, DType::fp32);
        digests.insert(contract->digest());
        ++contracts;
      }
    }
  }
  EXPECT_EQ(digests.size(), contracts);
}

TEST(Contract, HexHasSixteenDigits) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0xfedcba9876543210U), "fedcba9876543210");
}

TEST(Contract, LeavesCountRangesOfLeafK) {
  const Contract tree = *Contract::parse("hopper/bf16/tree:512");
  EXPECT_EQ(tree.leaves(0), 0);
  EXPECT_EQ(tree.leaves(-5), 0);
  EXPECT_EQ(tree.leaves(1), 1);
  EXPECT_EQ(tree.leaves(512), 1);
  EXPECT_EQ(tree.leaves(513), 2);
  EXPECT_EQ(tree.leaves(INT64_MAX), std::int64_t{1} << 54);
  EXPECT_EQ(Contract::parse("hopper/bf16/chain")->leaves(INT64_MAX), 1);
  Contract broken = tree;  // leaf_k = 0 divides nothing
  broken.reduction.leaf_k = 0;
  EXPECT_EQ(broken.leaves(512), 0);
}

TEST(RankShare, PartsCoverKAtLeaves) {
  const Contract tree = *Contract::parse("ieee_fma/bf16/tree:16");
  for (std::int64_t k = 1; k <= 600; ++k) {
    for (std::int64_t ranks = 1; ranks <= 64; ranks *= 2) {
      const bool possible = tree.leaves(k) % ranks == 0;
      std::int64_t at = 0;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const auto share = rank_share(tree, k, rank, ranks);
        ASSERT_EQ(share.ok(), possible) << "k " << k << ", ranks " << ranks;
        if (!possible) continue;
        EXPECT_EQ(share->begin, at);
        EXPECT_GT(share->end, share->begin);
        EXPECT_TRUE(share->end % 16 == 0 || share->end == k);
        EXPECT_EQ(tree.leaves(share->end - share->begin), tree.leaves(k) / ranks);
        at = share->end;
      }
      EXPECT_EQ(at, possible ? k : 0);
    }
  }
}

TEST(RankShare, TheGreatestKDoesNotOverflow) {
  const Contract tree = *Contract::parse("ieee_fma/bf16/tree:2147483648");
  const auto whole = rank_share(tree, INT64_MAX, 0, 1);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->begin, 0);
  EXPECT_EQ(whole->end, INT64_MAX);
  const auto last = rank_share(tree, INT64_MAX, 1, 2);
  ASSERT_TRUE(last) << last.status().message();
  EXPECT_EQ(last->begin, std::int64_t{1} << 62);
  EXPECT_EQ(last->end, INT64_MAX);
}

TEST(RankShare, RefusesWithASentence) {
  const Contract tree = *Contract::parse("ieee_fma/bf16/tree:16");
  const auto says = [](const Result<KRange>& share) { return share.status().message(); };
  EXPECT_EQ(says(rank_share(tree, 64, 0, 3)), "ranks is 3: it must be a power of two");
  EXPECT_EQ(says(rank_share(tree, 64, 0, 0)), "ranks is 0: it must be a power of two");
  EXPECT_EQ(says(rank_share(tree, 64, 0, INT64_MIN)),
            "ranks is -9223372036854775808: it must be a power of two");
  EXPECT_EQ(says(rank_share(tree, 64, 2, 2)), "rank is 2: it must be in [0, 2)");
  EXPECT_EQ(says(rank_share(tree, 64, -1, 2)), "rank is -1: it must be in [0, 2)");
  EXPECT_EQ(says(rank_share(tree, 0, 0, 1)), "k is 0: it must be at least 1");
  EXPECT_EQ(says(rank_share(tree, 48, 0, 2)), "ranks is 2: it must divide the 3 leaves of k = 48");
  EXPECT_EQ(rank_share(*Contract::parse("ieee_fma/bf16/fold:16"), 64, 0, 2).status().code(),
            Errc::unsupported);
}

TEST(Version, IsThatOfTheHeader) { EXPECT_STREQ(version(), DETGEMM_VERSION_STRING); }

}  // namespace
}  // namespace detgemm
