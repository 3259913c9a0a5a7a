// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "detgemm/conformance.hpp"
#include "detgemm/plan.hpp"

// An engine's table in C: what is refused of it, and what its callbacks are handed.

namespace detgemm::conformance {
namespace {

detgemm_engine_spec spec_seen;
std::string contract_seen, arithmetic_seen, variant_seen;
detgemm_engine_call call_seen;
std::vector<detgemm_engine_matrix> roots_seen;
int answer = 0;
std::string sentence_said, kernel_said;

void see(const detgemm_engine_spec* spec) {
  spec_seen = *spec;
  contract_seen = spec->contract;
  arithmetic_seen = spec->arithmetic;
  variant_seen = spec->variant;
}
int supports(const detgemm_engine_spec* spec, char* sentence, std::size_t size) {
  see(spec);
  std::memcpy(sentence, sentence_said.data(), std::min(sentence_said.size(), size));
  return answer;
}
int run(const detgemm_engine_spec* spec, const detgemm_engine_call* call) {
  see(spec);
  call_seen = *call;
  std::memcpy(call->kernel, kernel_said.data(), std::min(kernel_said.size(), call->kernel_size));
  std::memcpy(call->sentence, sentence_said.data(),
              std::min(sentence_said.size(), call->sentence_size));
  return answer;
}
int combine(const detgemm_engine_spec* spec, const detgemm_engine_matrix* roots, std::size_t count,
            const detgemm_engine_call* call) {
  roots_seen.assign(roots, roots + count);
  return run(spec, call);
}
std::size_t workspace_bytes(const detgemm_engine_spec*, std::int64_t max_m) {
  return static_cast<std::size_t>(max_m) * 100;
}
const char* three_variants(const detgemm_engine_spec*, std::size_t index) {
  constexpr const char* names[]{"one", "two", "three"};
  return index < 3 ? names[index] : nullptr;
}
const char* endless_variants(const detgemm_engine_spec*, std::size_t) { return "again"; }
void* allocate(std::size_t) { return nullptr; }
void release(void*) {}
int to_device(void*, const void*, std::size_t) { return 0; }
int to_host(void*, const void*, std::size_t) { return 0; }
int create_stream(void**) { return 0; }
void destroy_stream(void*) {}
int synchronize(void*) { return 0; }

detgemm_engine whole() {
  detgemm_engine e{};
  e.struct_size = sizeof e;
  e.abi_version = DETGEMM_ENGINE_ABI_VERSION;
  e.name = "table";
  e.supports = supports, e.run = run;
  return e;
}

class EngineTable : public testing::Test {
 protected:
  void SetUp() override {
    answer = 0;
    sentence_said.clear();
    kernel_said = "loops";
    roots_seen.clear();
  }
  std::string refusal() const {
    const auto wrapped = wrap_engine(&table_);
    return wrapped.ok() ? "" : wrapped.status().message();
  }
  std::unique_ptr<Backend> wrapped() const { return std::move(wrap_engine(&table_)).value(); }

  detgemm_engine table_ = whole();
};

TEST_F(EngineTable, ReachesToRunAtLeast) {
  table_.struct_size = offsetof(detgemm_engine, variant);
  EXPECT_EQ(refusal(), "");
  --table_.struct_size;
  EXPECT_EQ(refusal(), "engine.struct_size is 47: it must be at least 48, up to run");
  EXPECT_EQ(wrap_engine(nullptr).status().message(),
            "detgemm_engine_query returned NULL: the engine does not have ABI version 1");
  table_ = whole();
  table_.abi_version = 2;
  EXPECT_EQ(refusal(), "engine.abi_version is 2: this harness uses 1");
}

TEST_F(EngineTable, WhatAShortTableLacksIsNotThere) {
  table_.variant = endless_variants;
  table_.workspace_bytes = workspace_bytes;
  table_.struct_size = offsetof(detgemm_engine, variant);
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/fp32/chain->fp32");
  spec.n = spec.k = 4;
  const auto engine = wrapped();
  EXPECT_TRUE(engine->variants(spec).empty());
  EXPECT_EQ(*Plan::create(*engine, spec)->workspace_bytes(3), 0U);
}

TEST_F(EngineTable, NamesWhatIsMissing) {
  table_.name = "";
  EXPECT_EQ(refusal(), "engine.name is missing: name it");
  table_ = whole();
  table_.supports = nullptr;
  EXPECT_EQ(refusal(), "engine \"table\" has no supports callback: it needs one");
  table_ = whole();
  table_.run = nullptr;
  EXPECT_EQ(refusal(), "engine \"table\" has no run callback: it needs one");
  for (const int device : {-1, 3}) {
    table_ = whole();
    table_.device = device;
    EXPECT_EQ(refusal(), "engine \"table\" has device " + std::to_string(device) +
                             ": it must be 0 (host), 1 (cuda) or 2 (hip)");
  }
}

TEST_F(EngineTable, ADeviceNeedsAllSeven) {
  const auto on_device = [&](int device) {
    table_ = whole();
    table_.device = device;
    table_.allocate = allocate, table_.release = release;
    table_.to_device = to_device, table_.to_host = to_host;
    table_.create_stream = create_stream, table_.destroy_stream = destroy_stream;
    table_.synchronize = synchronize;
  };
  const std::function<void()> without[] = {
      [&] { table_.allocate = nullptr; },      [&] { table_.release = nullptr; },
      [&] { table_.to_device = nullptr; },     [&] { table_.to_host = nullptr; },
      [&] { table_.create_stream = nullptr; }, [&] { table_.destroy_stream = nullptr; },
      [&] { table_.synchronize = nullptr; }};
  for (const int device : {0, 1, 2}) {
    on_device(device);
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(wrapped()->device().kind(), static_cast<DeviceKind>(device));
    for (const auto& take_away : without) {
      on_device(device);
      take_away();
      EXPECT_EQ(refusal(),
                device == 0 ? ""
                            : "engine \"table\" computes on a device: it needs allocate, release, "
                              "to_device, to_host, create_stream, destroy_stream and synchronize");
    }
  }
}

GemmSpec everything() {
  GemmSpec spec;
  spec.contract = *Contract::parse("hopper/bf16/tree:64->fp16");
  spec.n = 5, spec.k = 130;
  spec.op_a = Op::transpose, spec.op_b = Op::none;
  spec.alpha = 0.5F, spec.beta = 0.25F;
  spec.bias = DType::fp32;
  spec.activation = Activation::gelu;
  return spec;
}

TEST_F(EngineTable, TheSpecIsHandedOver) {
  table_.variant = three_variants;
  const auto engine = wrapped();
  GemmSpec spec = everything();
  const auto plan = Plan::create(*engine, spec, {"two", 7});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  float a[130 * 2]{}, b[130 * 5]{}, c[10]{}, d[10]{}, bias[5]{};
  Operands o{col_major(a, 130, 2, DType::bf16), row_major(b, 130, 5, DType::bf16),
             row_major(d, 2, 5, DType::fp16, 6)};
  o.c = row_major(c, 2, 5, DType::fp16);
  o.bias = {bias, 5, DType::fp32};
  RunInfo info;
  kernel_said = "loops two";
  const Status ran = plan->run({}, o, {}, &info);
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_EQ(info.kernel, "loops two");
  const detgemm_engine_spec& s = spec_seen;
  EXPECT_EQ(s.struct_size, sizeof s);
  EXPECT_EQ(s.n, 5);
  EXPECT_EQ(s.k, 130);
  EXPECT_EQ(contract_seen, "hopper/bf16/tree:64->fp16");
  EXPECT_EQ(arithmetic_seen, "hopper");
  EXPECT_EQ(s.input, 0);
  EXPECT_EQ(s.output, 1);
  EXPECT_EQ(s.k_block, 16);
  EXPECT_EQ(s.reduction, 2);
  EXPECT_EQ(s.leaf_k, 64);
  EXPECT_EQ(s.op_a, 1);
  EXPECT_EQ(s.op_b, 0);
  EXPECT_EQ(s.alpha, 0.5F);
  EXPECT_EQ(s.beta, 0.25F);
  EXPECT_EQ(s.bias, 2);
  EXPECT_EQ(s.activation, 2);
  EXPECT_EQ(s.continue_from_c, 0);
  EXPECT_EQ(s.max_workers, 7);
  EXPECT_EQ(variant_seen, "two");
  const detgemm_engine_call& x = call_seen;
  EXPECT_EQ(x.struct_size, sizeof x);
  EXPECT_EQ(x.a.data, a);
  EXPECT_EQ(x.a.rows, 130);
  EXPECT_EQ(x.a.cols, 2);
  EXPECT_EQ(x.a.row_stride, 1);
  EXPECT_EQ(x.a.col_stride, 130);
  EXPECT_EQ(x.a.dtype, 0);
  EXPECT_EQ(x.a.reserved, 0);
  EXPECT_EQ(x.b.data, b);
  EXPECT_EQ(x.c.data, c);
  EXPECT_EQ(x.d.data, d);
  EXPECT_EQ(x.d.row_stride, 6);
  EXPECT_EQ(x.bias, bias);
  EXPECT_EQ(x.stream, nullptr);
  EXPECT_EQ(x.workspace, nullptr);
  EXPECT_EQ(x.workspace_bytes, 0U);
  EXPECT_EQ(x.kernel_size, 512U);
  EXPECT_EQ(x.sentence_size, 512U);
}

TEST_F(EngineTable, WhatIsLeftOutOfTheSpecIsSaidToBe) {
  const auto engine = wrapped();
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/fp32/fold:32->fp32");
  spec.n = 1, spec.k = 1;
  spec.op_b = Op::transpose;
  spec.continue_from_c = true;
  EXPECT_TRUE(engine->supports(spec).ok());
  EXPECT_EQ(spec_seen.bias, -1);
  EXPECT_EQ(spec_seen.continue_from_c, 1);
  EXPECT_EQ(spec_seen.op_a, 0);
  EXPECT_EQ(spec_seen.op_b, 1);
  EXPECT_EQ(spec_seen.input, 2);
  EXPECT_EQ(spec_seen.reduction, 1);
  EXPECT_EQ(spec_seen.max_workers, 0);
  EXPECT_EQ(variant_seen, "");
}

TEST_F(EngineTable, ARefusalIsTheEnginesSentenceOrSaysThatThereIsNone) {
  const auto engine = wrapped();
  GemmSpec spec = everything();
  answer = 3;
  EXPECT_EQ(engine->supports(spec).message(), "the engine refused without a sentence");
  sentence_said = std::string(1000, 'x');  // without a final 0 that fits
  EXPECT_EQ(engine->supports(spec).message(), std::string(511, 'x'));
  answer = 0;
  EXPECT_TRUE(engine->supports(spec).ok());
  spec.contract = *Contract::parse("hopper/bf16/scaled:64->fp16");
  EXPECT_EQ(
      engine->supports(spec).message(),
      "engine \"table\": contract is hopper/bf16/scaled:64->fp16, which reads scales, and its "
      "table's takes lacks DETGEMM_ENGINE_SCALES");
}

TEST_F(EngineTable, AnErrorOfARunIsItsSentenceAndNumber) {
  const auto engine = wrapped();
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/fp32/chain->fp32");
  spec.n = spec.k = 1;
  const auto plan = Plan::create(*engine, spec);
  float one[3]{};
  const Operands o{row_major(one, 1, 1, DType::fp32), row_major(one + 1, 1, 1, DType::fp32),
                   row_major(one + 2, 1, 1, DType::fp32)};
  EXPECT_TRUE(plan->run({}, o).ok()) << "info may be null";
  RunInfo info;
  kernel_said.clear();
  EXPECT_TRUE(plan->run({}, o, {}, &info).ok());
  EXPECT_EQ(info.kernel, "");
  EXPECT_EQ(call_seen.bias, nullptr);
  EXPECT_EQ(plan->kernel(1), "");
  answer = 4;
  EXPECT_EQ(plan->run({}, o).message(), "the engine returned 4: it gave no sentence");
  sentence_said = "no more paper";
  EXPECT_EQ(plan->run({}, o).message(), "the engine returned 4: no more paper");
}

TEST_F(EngineTable, VariantsEndAtTheFirstThatIsNullOrAtALimit) {
  const GemmSpec spec = everything();
  EXPECT_TRUE(wrapped()->variants(spec).empty());
  table_.variant = three_variants;
  EXPECT_EQ(wrapped()->variants(spec), (std::vector<std::string>{"one", "two", "three"}));
  table_.variant = endless_variants;
  EXPECT_EQ(wrapped()->variants(spec).size(), 257U) << "one too many, so that it is seen";
  static const std::string long_name(1'000'000, 'x');
  table_.variant = [](const detgemm_engine_spec*, std::size_t) { return long_name.c_str(); };
  EXPECT_EQ(wrapped()->variants(spec).back(), std::string(256, 'x'))
      << "cut, and seen to be too long";
}

TEST_F(EngineTable, RootsAreHandedOverWhereRangesAreEqual) {
  GemmSpec spec;
  spec.contract = *Contract::parse("hopper/bf16/tree:64->fp32");
  spec.n = 2, spec.k = 256;
  float root[4]{}, d[2]{};
  const Matrix one = row_major(root, 1, 2, DType::fp32);
  const ConstMatrix roots[]{one, one};
  Operands o;
  o.d = row_major(d, 1, 2, DType::fp32);
  const auto refused = wrapped();
  EXPECT_EQ(Plan::create(*refused, spec)->combine({}, roots, o).message(),
            "engine \"table\" has no combine callback");
  table_.combine = combine;
  table_.workspace_bytes = workspace_bytes;
  table_.description = "of C";
  const auto engine = wrapped();
  EXPECT_EQ(engine->description(), "of C");
  EXPECT_EQ(engine->name(), "table");
  const auto plan = Plan::create(*engine, spec);
  EXPECT_EQ(*plan->workspace_bytes(3), 300U);
  alignas(256) char scratch[128];
  ASSERT_TRUE(plan->combine({}, roots, o, {scratch, 100}).ok());
  ASSERT_EQ(roots_seen.size(), 2U);
  EXPECT_EQ(roots_seen[1].data, root);
  EXPECT_EQ(roots_seen[1].dtype, 2);
  EXPECT_EQ(call_seen.workspace, scratch);
  EXPECT_EQ(call_seen.workspace_bytes, 100U);
  const NodeRoot uneven[]{{one, {0, 2}}, {one, {2, 3}}, {one, {3, 4}}};
  EXPECT_EQ(plan->combine({}, uneven, o, {scratch, 100}).message(),
            "engine \"table\" joins the roots of equal ranges alone");
}

TEST(EngineFile, IsLookedForInThisFolder) {
  const std::unique_ptr<char, void (*)(void*)> before(getcwd(nullptr, 0), std::free);
  ASSERT_EQ(chdir(DETGEMM_TEST_ENGINES), 0);
  const auto engine = load_engine("libengine_GOOD.so");
  const auto none = load_engine("no_such_file.so");
  ASSERT_EQ(chdir(before.get()), 0);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(none.status().code(), Errc::io);
  EXPECT_EQ(none.status().message().find("engine \"no_such_file.so\" cannot be opened: "), 0U);
}

}  // namespace
}  // namespace detgemm::conformance
