// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "cuda/families.hpp"
#include "cuda/sample.hpp"
#include "cuda/simt/tile.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "cuda/sm90/leaves/geometry.hpp"
#include "cuda/sm90/realign/realign.hpp"
#include "detgemm/cuda.hpp"
#include "detgemm/plan.hpp"

namespace detgemm::cuda {
namespace {

constexpr const char* kLeftOut = DETGEMM_TEST_LEFT_OUT;

/// Whether a build with all kernels has this one, by the rules of the tables.
bool exists(const Decision& d) {
  const auto i = static_cast<std::size_t>(d.kernel);
  const auto takes = [&](const sm90::Geometry& g) {
    return g.takes_mn_major() || (!d.x_mn && !d.y_mn);
  };
  if (d.family == Family::chain) return takes(sm90::kPlainGeometries[i]);
  if (d.family == Family::leaves) return takes(sm90::kLeafGeometries[i / sm90::kSharings.size()]);
  if (d.family == Family::realign) {
    const sm90::Geometry& g = sm90::kRealignGeometries[i];
    return takes(g) && (d.form != sm90::Form::from_c || sm90::starts_from_c(g));
  }
  return d.family == Family::mma || simt::has_tile(d.input, d.kernel);
}

/// For example "chain of bf16, X along k, Y across k".
std::string table_of(const Decision& d) {
  constexpr const char* kNames[] = {"none", "chain", "realign", "leaves", "gather", "simt"};
  const std::string family = d.family == Family::mma ? (d.leaves ? "mma, leaves," : "mma, chains,")
                                                     : kNames[static_cast<int>(d.family)];
  return family + " of " + std::string(name(d.input)) + ", X " + (d.x_mn ? "across" : "along") +
         " k, Y " + (d.y_mn ? "across" : "along") + " k";
}

/// The table of a sample that stands for this one: with one operand across k bf16's for fp16's.
std::string stand_in(std::string table) {
  const std::size_t across = table.find("across"), fp16 = table.find("fp16");
  const bool mixed = across != std::string::npos && across == table.rfind("across");
  if (mixed && fp16 != std::string::npos) table.replace(fp16, 4, "bf16");
  return table;
}

/// The kernels of every table: those that this build has, and those that it lacks.
struct Tables {
  std::map<std::string, std::set<std::string>> built, left_out;

  Tables() {
    for (const FamilyRow& row : families()) {
      const bool of_products = row.set == KernelSet::hopper || row.set == KernelSet::ieee_fma ||
                               row.set == KernelSet::mma;
      if (!of_products || row.family == Family::gather) continue;  // always whole, or not told here
      for (Decision d : row.compiled(row.family)) {
        d.family = row.family;
        if (!exists(d)) continue;
        const bool has = row.kernel(d).function != nullptr;
        (has ? built : left_out)[table_of(d)].insert(row.name(d));
      }
    }
  }
};

std::size_t count(const std::map<std::string, std::set<std::string>>& tables) {
  std::size_t all = 0;
  for (const auto& [table, names] : tables) all += names.size();
  return all;
}

/// The names of what is left out, for whoever reads what this test says.
TEST(CudaBuild, HasEveryKernelOrSaysWhichItLacks) {
  const Tables tables;
  std::ofstream file(kLeftOut);
  file << count(tables.left_out) << " of " << count(tables.left_out) + count(tables.built)
       << " CUDA kernels\n";
  for (const auto& [table, names] : tables.left_out) {
    file << table << ":";
    for (const std::string& each : names) file << " " << each;
    file << "\n";
  }
  file.close();
  ASSERT_TRUE(file);
  std::cout << "left out of this build: " << std::ifstream(kLeftOut).rdbuf();
  EXPECT_EQ(tables.left_out.empty(), !kSampleAlone);
  EXPECT_GE(count(tables.built) + count(tables.left_out), 500U);
  for (const auto& [table, names] : tables.left_out) {
    EXPECT_TRUE(tables.built.contains(table) || tables.built.contains(stand_in(table)))
        << "no kernel of " << table << " is compiled";
  }
}

TEST(CudaBuild, ASampleIsOfEveryTableAndHasTheLargest) {
  constexpr std::array<int, 20> kTable{0, 5, 0, 9, 1, 1, 1, 1, 9, 1, 0, 2, 3, 4, 5, 6, 7, 8, 8, 9};
  std::set<std::size_t> bf16, fp16;
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (in_sample(kTable, i, DType::bf16)) bf16.insert(i);
    if (in_sample(kTable, i, DType::fp16)) fp16.insert(i);
  }
  EXPECT_EQ(bf16, (std::set<std::size_t>{1, 3}));
  EXPECT_EQ(fp16, (std::set<std::size_t>{1}));
  EXPECT_EQ(sampled_as(DType::bf16, true, true), DType::bf16);
  EXPECT_EQ(sampled_as(DType::bf16, true, false), DType::fp16);
  EXPECT_EQ(sampled_as(DType::fp16, false, true), std::nullopt);
}

/// It may lack the kernel of the next M, so nothing is planned.
TEST(CudaBuild, ASampleRefusesToPlan) {
  if (!kSampleAlone) {
    EXPECT_TRUE(whole_build());
    return;
  }
  const Backend& backend = cuda_backend();
  GemmSpec spec;
  spec.n = 16;
  spec.k = 32;
  for (const char* contract : {"hopper/bf16/chain->bf16", "ieee_fma/fp32/chain->fp32"}) {
    spec.contract = *Contract::parse(contract);
    const Status status = Plan::create(backend, spec).status();
    EXPECT_EQ(status.code(), Errc::unavailable);
    EXPECT_NE(status.message().find("DETGEMM_CUDA_KERNELS is sample where it must be all"),
              std::string::npos)
        << status.message();
  }
  EXPECT_EQ(backend.available().code(), Errc::unavailable);
}

}  // namespace
}  // namespace detgemm::cuda
