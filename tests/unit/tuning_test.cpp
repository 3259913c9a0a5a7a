// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Tuning files: what is read is what was written, whatever is damaged is refused in a sentence, and
// no bit depends on what a file holds. The kernels are those of a backend made here.

#include "detgemm/tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/plan.hpp"

namespace detgemm {
namespace {

constexpr std::int64_t kN = 6, kK = 32, kMaxM = 40;
const char* const kContract = "hopper/bf16/chain->bf16";

/// Runs the skeleton, and says by which of its kernels. "odd" is listed for odd N alone, and
/// "planted", where it is listed, flips a bit of D.
class TunedPlan final : public PlanImpl {
 public:
  TunedPlan(std::shared_ptr<const PlanImpl> inner, const TuningEngine& engine, const GemmSpec& spec,
            const PlanOptions& options)
      : inner_(std::move(inner)), engine_(engine), spec_(spec), options_(options) {}
  std::size_t workspace_bytes(std::int64_t) const override { return 0; }
  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    if (Status s = inner_->run(stream, operands, workspace, nullptr); !s) return s;
    const std::string name = kernel(operands.d.rows);
    if (name == "planted") static_cast<std::uint16_t*>(operands.d.data)[0] ^= 1;
    if (info != nullptr) info->kernel = name;
    return {};
  }
  Status combine(Stream, std::span<const TreeRoot>, const Operands&, Workspace,
                 RunInfo*) const override {
    return unsupported("no roots");
  }
  std::string kernel(std::int64_t m) const override {
    const TunedProduct* rows = options_.tuning == nullptr ? nullptr : options_.tuning->find(spec_);
    const TunedRange* row = rows == nullptr ? nullptr : rows->find(m);
    return row == nullptr ? engine_.ranked(spec_, m).front() : row->kernel;
  }

 private:
  std::shared_ptr<const PlanImpl> inner_;
  const TuningEngine& engine_;
  GemmSpec spec_;
  PlanOptions options_;
};

class TunedBackend final : public Backend, public TuningEngine {
 public:
  bool has_planted = false;
  TuningTarget here{"tuned", "0.1.0", 0x1234, "a device", 7};

  std::string_view name() const noexcept override { return "tuned"; }
  std::string_view description() const noexcept override { return "kernels by name"; }
  Status available() const override { return {}; }
  Status supports(const GemmSpec&) const override { return {}; }
  Guarantees guarantees(const Contract&) const override { return {}; }
  std::vector<std::string> variants(const GemmSpec& spec) const override { return ranked(spec, 1); }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    auto inner = skeleton_backend().make_plan(spec, {});
    return std::shared_ptr<const PlanImpl>(
        std::make_shared<TunedPlan>(*inner, *this, spec, options));
  }
  Device& device() const noexcept override { return host_device(); }
  const TuningEngine* tuning() const noexcept override { return this; }

  Result<TuningTarget> target() const override { return here; }
  std::int32_t number(const GemmSpec& spec, std::string_view kernel) const override {
    const auto names = ranked(spec, 1);
    const auto at = std::find(names.begin(), names.end(), kernel);
    return at == names.end() ? -1 : static_cast<std::int32_t>(at - names.begin());
  }
  std::vector<std::string> ranked(const GemmSpec& spec, std::int64_t) const override {
    std::vector<std::string> names{"wide", "narrow"};
    if (spec.n % 2 != 0) names.emplace_back("odd");
    if (has_planted) names.emplace_back("planted");
    return names;
  }
};

TunedProduct product(std::vector<TunedRange> ranges) {
  return {*Contract::parse(kContract), kN, kK, Op::none, Op::transpose, std::move(ranges)};
}

std::string with_digest(const std::string& body) {
  return body + "digest " + hex(digest_bytes(body.data(), body.size())) + "\n";
}

const std::string kHead =
    "detgemm-tuning 1\nbackend tuned\nversion 0.1.0\nkernels 0000000000001234\ndevice a device\n"
    "processors 7\n";
const std::string kProduct = std::string("product ") + kContract + " n 6 k 32 a none b transpose\n";

TEST(Tuning, WhatIsWrittenIsRead) {
  const TunedBackend backend;
  const auto made =
      Tuning::make(backend, {product({{1, 8, "narrow", 9.5, 10.25}, {20, 24, "wide", 11, 12}})});
  ASSERT_TRUE(made) << made.status().message();
  EXPECT_EQ((*made)->text(),
            with_digest(kHead + kProduct +
                        "m 1 8 narrow us 9.5 chosen 10.25\nm 20 24 wide us 11 chosen 12\n"));
  const auto again = Tuning::parse(backend, (*made)->text());
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_EQ((*again)->text(), (*made)->text());
  const TunedProduct& rows = (*again)->products().at(0);
  EXPECT_EQ(rows.find(8)->number, 1);
  EXPECT_EQ(rows.find(20)->kernel, "wide");
  for (const std::int64_t none : {0, 9, 19, 25}) EXPECT_EQ(rows.find(none), nullptr) << none;

  const auto path = std::filesystem::temp_directory_path() / "detgemm_tuning_test.txt";
  std::ofstream(path) << (*made)->text();
  const auto loaded = Tuning::load(backend, path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ((*loaded)->text(), (*made)->text());
}

struct Bad {
  std::string text;
  Errc code;
  const char* said;
};

TEST(Tuning, WhatIsWrongIsRefusedInASentence) {
  const TunedBackend backend;
  const auto head = [](const std::string& from, const std::string& to) {
    std::string text = kHead;
    text.replace(text.find(from), from.size(), to);
    return with_digest(text);
  };
  const auto row = [](const std::string& line) { return with_digest(kHead + kProduct + line); };
  using enum Errc;
  const Bad all[] = {
      {"", invalid_argument, "the last line is not \"digest\""},
      {kHead, invalid_argument, "the last line is not \"digest\""},
      {with_digest(kHead) + "\n", invalid_argument, "the last line is not \"digest\""},
      {kHead + "digest 0123456789abcdef\n", invalid_argument, "it was changed or damaged"},
      {with_digest("detgemm-tuning 2\n"), invalid_argument,
       "line 1 is \"detgemm-tuning 2\": it must"},
      {with_digest("detgemm-tuning 1\n"), invalid_argument,
       "line 2 is \"\": it must be \"backend \""},
      {head("backend tuned", "backend cuda"), unavailable,
       "backend is \"cuda\": here it is \"tuned\""},
      {head("0.1.0", "0.0.9"), unavailable, "version is \"0.0.9\": here it is \"0.1.0\""},
      {head("1234", "4321"), unavailable, "kernels is \"0000000000004321\": here it is"},
      {head("a device", "another"), unavailable, "device is \"another\": here it is \"a device\""},
      {head("processors 7", "processors 8"), unavailable, "processors is \"8\": here it is \"7\""},
      {with_digest(kHead + "m 1 8 wide us 1 chosen 1\n"), invalid_argument, "it must be \"product"},
      {with_digest(kHead + "product hopper/bf16/sum n 6 k 32 a none b none\n"), invalid_argument,
       "a product of a contract"},
      {with_digest(kHead + "product " + kContract + " n 0 k 32 a none b none\n"), invalid_argument,
       "it must be \"product"},
      {with_digest(kHead + "product " + kContract + " n 6 k 32 a none b maybe\n"), invalid_argument,
       "it must be \"product"},
      {with_digest(kHead + kProduct + kProduct), invalid_argument, "is there twice"},
      {row("m 1 8 wide\n"), invalid_argument, "it must be \"m FIRST LAST"},
      {row("m 0 8 wide us 1 chosen 1\n"), invalid_argument, "it must be \"m FIRST LAST"},
      {row("m 9 8 wide us 1 chosen 1\n"), invalid_argument, "it must be \"m FIRST LAST"},
      {row("m 1 8 wide us 1 chosen 1 2\n"), invalid_argument, "it must be \"m FIRST LAST"},
      {row("m 1 99999999999999999999 wide us 1 chosen 1\n"), invalid_argument, "it must be \"m F"},
      {row("m 1 8 wide us 1 chosen 1\nm 8 9 wide us 1 chosen 1\n"), invalid_argument, "line 9 is"},
      {row("m 1 8 huge us 1 chosen 1\n"), not_found,
       "kernel is \"huge\": tuned has no such kernel"},
      {row("m 1 8 odd us 1 chosen 1\n"), not_found, "kernel is \"odd\": tuned has no such kernel"},
  };
  for (const Bad& bad : all) {
    const auto read = Tuning::parse(backend, bad.text);
    ASSERT_FALSE(read) << bad.text;
    EXPECT_EQ(read.status().code(), bad.code) << read.status().message();
    EXPECT_NE(read.status().message().find(bad.said), std::string::npos) << read.status().message();
  }
  EXPECT_EQ(Tuning::load(backend, "/nowhere/at/all").status().code(), io);
  const auto none = Tuning::parse(skeleton_backend(), with_digest(kHead));
  EXPECT_EQ(none.status().code(), unavailable);  // it is of another backend
  const auto no_engine = Tuning::make(skeleton_backend(), {});
  EXPECT_EQ(no_engine.status().code(), unsupported);
  EXPECT_NE(no_engine.status().message().find("it takes no tuning"), std::string::npos);
}

/// A changed byte anywhere is found by the digest.
TEST(Tuning, EveryByteCounts) {
  const TunedBackend backend;
  const std::string whole = with_digest(kHead + kProduct + "m 1 8 narrow us 9.5 chosen 10.25\n");
  ASSERT_TRUE(Tuning::parse(backend, whole));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    EXPECT_FALSE(Tuning::parse(backend, changed)) << i;
    EXPECT_FALSE(Tuning::parse(backend, whole.substr(0, i))) << i;
  }
}

/// D of m rows, by a plan with this tuning.
std::vector<std::uint16_t> multiply(const Backend& backend, std::int64_t m,
                                    std::shared_ptr<const Tuning> tuning, std::string* kernel) {
  std::vector<std::uint16_t> a(static_cast<std::size_t>(m * kK)), b(kN * kK);
  std::mt19937 random(static_cast<unsigned>(m));
  for (auto* x : {&a, &b}) {
    for (auto& v : *x)
      v = static_cast<std::uint16_t>(0x3f00 + random() % 256 + (random() % 2 << 15));
  }
  std::vector<std::uint16_t> d(static_cast<std::size_t>(m * kN), 0xffff);
  GemmSpec spec;
  spec.n = kN;
  spec.k = kK;
  spec.op_b = Op::transpose;
  spec.contract = *Contract::parse(kContract);
  PlanOptions options;
  options.tuning = std::move(tuning);
  const auto plan = Plan::create(backend, spec, options);
  EXPECT_TRUE(plan) << plan.status().message();
  RunInfo info;
  const Status ran = plan->run({},
                               {row_major(static_cast<const void*>(a.data()), m, kK, DType::bf16),
                                row_major(static_cast<const void*>(b.data()), kN, kK, DType::bf16),
                                row_major(d.data(), m, kN, DType::bf16)},
                               {}, &info);
  EXPECT_TRUE(ran) << ran.message();
  if (kernel != nullptr) *kernel = info.kernel;
  return d;
}

std::shared_ptr<const Tuning> random_tuning(const TunedBackend& backend, unsigned seed) {
  std::mt19937 random(seed);
  const auto names = backend.ranked({}, 1);
  std::vector<TunedRange> ranges;
  for (std::int64_t m = 1; m <= kMaxM;) {
    const std::int64_t first = m + static_cast<std::int64_t>(random() % 4);
    const std::int64_t last = first + static_cast<std::int64_t>(random() % 9);
    ranges.push_back({first, last, names[random() % names.size()], 1, 1});
    m = last + 1;
  }
  const auto made = Tuning::make(backend, {product(std::move(ranges))});
  EXPECT_TRUE(made) << made.status().message();
  return *Tuning::parse(backend, (*made)->text());
}

/// How many products of random files differ from those without one, and the kernels that ran.
int different(const TunedBackend& backend, int files, std::vector<std::string>* ran) {
  int count = 0;
  for (int file = 0; file < files; ++file) {
    const auto tuning = random_tuning(backend, static_cast<unsigned>(file));
    for (std::int64_t m = 1; m <= kMaxM; m += 3) {
      std::string kernel;
      count +=
          multiply(backend, m, tuning, &kernel) != multiply(backend, m, nullptr, nullptr) ? 1 : 0;
      if (ran != nullptr) ran->push_back(kernel);
    }
  }
  return count;
}

TEST(Tuning, RandomFilesChangeNoBit) {
  const TunedBackend backend;
  std::vector<std::string> ran;
  EXPECT_EQ(different(backend, 30, &ran), 0);
  EXPECT_GT(std::count(ran.begin(), ran.end(), "narrow"), 50);  // files did choose
  // The control: a backend that lists a kernel of other bits is found out.
  TunedBackend planted;
  planted.has_planted = true;
  EXPECT_GT(different(planted, 10, nullptr), 10);
}

TEST(Tuning, IsOfThePlanOrOfTheProcess) {
  const TunedBackend backend;
  const auto tuning = *Tuning::make(backend, {product({{1, 8, "narrow", 1, 1}})});
  const auto kernel = [&](std::int64_t m, std::shared_ptr<const Tuning> own) {
    std::string name;
    multiply(backend, m, std::move(own), &name);
    return name;
  };
  EXPECT_EQ(kernel(8, nullptr), "wide");
  EXPECT_EQ(kernel(8, tuning), "narrow");
  EXPECT_EQ(kernel(9, tuning), "wide");  // no row
  use_tuning(*Tuning::make(backend, {product({{9, 9, "narrow", 1, 1}})}));
  EXPECT_EQ(kernel(9, nullptr), "narrow");
  EXPECT_EQ(kernel(8, nullptr), "wide");
  EXPECT_EQ(kernel(8, tuning), "narrow");  // a plan's own alone
  EXPECT_EQ(kernel(9, tuning), "wide");
  // Another backend takes none of it, and refuses one that it is given.
  GemmSpec spec;
  spec.n = kN;
  spec.k = kK;
  spec.contract = *Contract::parse(kContract);
  EXPECT_TRUE(Plan::create(skeleton_backend(), spec));
  PlanOptions options;
  options.tuning = tuning;
  const auto refused = Plan::create(skeleton_backend(), spec, options);
  EXPECT_EQ(refused.status().code(), Errc::invalid_argument);
  EXPECT_EQ(refused.status().message(),
            "tuning.backend is tuned: it must be the plan's own, skeleton");
  use_tuning(nullptr);
  EXPECT_EQ(kernel(9, nullptr), "wide");
}

}  // namespace
}  // namespace detgemm
