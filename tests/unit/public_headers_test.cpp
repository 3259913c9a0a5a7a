// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What a backend's public header says it computes is what it computes: the comment of cuda.hpp
// names the arithmetics and the reductions that the cuda backend accepts, and no others.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "detgemm/backend.hpp"
#include "tests/support/finds.hpp"

namespace detgemm {
namespace {

using Names = std::set<std::string>;
constexpr ReductionKind kReductions[] = {ReductionKind::chain, ReductionKind::fold,
                                         ReductionKind::tree};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The comment in front of `NAME_backend()` in the header of that backend.
std::string comment_of(const std::string& header, const std::string& name) {
  const std::size_t end = header.find("DETGEMM_API const Backend& " + name + "_backend()");
  if (end == std::string::npos) return "";
  const std::size_t begin = header.rfind("\n\n", end);
  return header.substr(begin, end - begin);
}

std::string header_of(const std::string& name) {
  return text_of(DETGEMM_TEST_SOURCE "/core/include/detgemm/" + name + ".hpp");
}

bool names_word(const std::string& text, std::string_view word) {
  return test::finds(text, "\\b" + std::string(word) + "\\b");
}

/// The arithmetics and reductions that a text names.
Names named_in(const std::string& text) {
  Names names;
  for (const Arithmetic arithmetic : arithmetics()) {
    if (names_word(text, name(arithmetic))) names.emplace(name(arithmetic));
  }
  for (const ReductionKind kind : kReductions) {
    if (names_word(text, name(kind))) names.emplace(name(kind));
  }
  return names;
}

/// Those of the contracts that the backend promises anything for, on whatever device it may run.
Names computed_by(const Backend& backend) {
  Names names;
  for (Contract contract : base_contracts()) {
    for (const ReductionKind kind : kReductions) {
      contract.reduction = {kind, kind == ReductionKind::chain ? 0 : 512};
      if (!backend.guarantees(contract).run_to_run) continue;
      names.emplace(name(contract.arithmetic));
      names.emplace(name(kind));
    }
  }
  return names;
}

TEST(PublicHeaders, NameWhatTheBackendsOfThisBuildCompute) {
  for (const Backend* backend : backends()) {
    if (backend->name() == "reference-device") continue;  // described with the reference
    const std::string comment =
        comment_of(header_of(std::string(backend->name())), std::string(backend->name()));
    EXPECT_EQ(named_in(comment), computed_by(*backend)) << backend->name() << comment;
  }
}

// Without a compiler for its kernels a backend is not in the build, but its sources say in a
// refusal which arithmetics it computes.
TEST(PublicHeaders, NameTheArithmeticsThatTheRefusalsOfTheGpuBackendsName) {
  for (const std::string backend : {"cuda", "hip"}) {
    Names in_refusals;
    for (const auto& file :
         std::filesystem::directory_iterator(DETGEMM_TEST_SOURCE "/backends/" + backend)) {
      const std::string text = text_of(file.path());
      const std::size_t begin = text.find("this backend computes");
      if (begin == std::string::npos) continue;
      in_refusals.merge(named_in(text.substr(begin, text.find(';', begin) - begin)));
    }
    Names in_header = named_in(comment_of(header_of(backend), backend));
    for (const ReductionKind kind : kReductions) {
      EXPECT_EQ(in_header.erase(std::string(name(kind))), 1U) << backend << " " << name(kind);
    }
    EXPECT_FALSE(in_refusals.empty()) << backend;
    EXPECT_EQ(in_header, in_refusals) << backend;
  }
}

TEST(PublicHeaders, AStaleCommentIsFound) {
  const std::string stale =
      "\n\n/// The CUDA backend: hopper/{bf16,fp16}/chain on devices of compute capability 9.0.\n"
      "DETGEMM_API const Backend& cuda_backend() noexcept;\n";
  const Names now{"hopper", "ieee_fma", "chain", "fold", "tree"};
  EXPECT_EQ(named_in(comment_of(stale, "cuda")), (Names{"hopper", "chain"}));
  EXPECT_NE(named_in(comment_of(stale, "cuda")), now);
  EXPECT_TRUE(named_in(comment_of(stale, "hip")).empty()) << "another backend's comment was read";
}

}  // namespace
}  // namespace detgemm
