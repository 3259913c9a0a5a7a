// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/conformance/scripted.hpp"

#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"
#include "core/conformance/random.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::size_t kWorkspace = 96;

struct Stage {
  Script script;
  std::thread::id director;
  std::atomic<std::int64_t> calls{0};
  std::atomic<std::uint64_t> seen{0};
};
Stage stage;
thread_local std::int64_t calls_of_thread = 0;

/// Whether this is the call in which it happens.
bool is_the_one() {
  const std::int64_t number = stage.calls++;
  if (number == stage.script.exits_at) _exit(7);
  if (stage.script.nap.count() > 0) std::this_thread::sleep_for(stage.script.nap);
  if (stage.script.act == Act::none) return false;
  if (stage.script.at >= 0) return number == stage.script.at;
  if (stage.script.at == -3) return true;
  if (std::this_thread::get_id() == stage.director) return false;
  return stage.script.at == -1 || calls_of_thread++ > 0;
}

class CallDigest {
 public:
  void add(std::uint64_t value) { value_ = scramble(value_ ^ value) + 0x9e3779b97f4a7c15U; }
  void signed_one(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void number(float value) { add(std::bit_cast<std::uint32_t>(value)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};

std::uint32_t load(const void* data, std::int64_t at, std::size_t size) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(data) + at * static_cast<std::int64_t>(size), size);
  return bits;
}

void add_elements(CallDigest& d, const void* data, std::int64_t rows, std::int64_t cols, Strides s,
                  std::size_t size, bool corners) {
  d.signed_one(data == nullptr ? -1 : rows);
  d.signed_one(cols);
  if (data == nullptr || rows == 0 || cols == 0) return;
  for (std::int64_t i = 0; i < rows; i += corners ? std::max<std::int64_t>(rows - 1, 1) : 1) {
    for (std::int64_t j = 0; j < cols; j += corners ? std::max<std::int64_t>(cols - 1, 1) : 1) {
      d.add(load(data, i * s.row + j * s.col, size));
    }
  }
}

/// What decides about D's bits.
std::uint64_t problem_of(const GemmSpec& spec, const GemmArguments& g, const ScalePair& scales,
                         bool corners) {
  const Contract& contract = spec.contract;
  CallDigest d;
  d.add(contract.digest());
  d.signed_one(g.m), d.signed_one(g.n), d.signed_one(g.k);
  d.number(g.epilogue.alpha), d.number(g.epilogue.beta);
  d.add(static_cast<std::uint64_t>(g.epilogue.activation));
  d.add(g.continue_from_c ? 1 : 0);
  const std::size_t size = size_of(contract.input);
  add_elements(d, g.a, g.m, g.k, g.as, size, corners);
  add_elements(d, g.b, g.k, g.n, g.bs, size, corners);
  const bool reads_c = g.continue_from_c || g.epilogue.beta != 0.0F;
  add_elements(d, reads_c ? g.c : nullptr, g.m, g.n, g.cs, size_of(g.c_type), corners);
  add_elements(d, g.epilogue.has_bias ? g.bias : nullptr, 1, g.n, {0, 1}, size_of(g.bias_type),
               corners);
  const std::int64_t leaves = spec.reads_scales() && g.k > 0 ? contract.leaves(g.k) : 0;
  for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::int64_t i = 0; i < g.m; ++i) d.number(load_scale(scales.a, i, leaf));
    for (std::int64_t j = 0; j < g.n; ++j) d.number(load_scale(scales.b, j, leaf));
  }
  return d.value();
}

/// How the arrays of a call lie, which its bits must not depend on.
void note_layout(CallDigest& d, const GemmArguments& g, const PlanOptions& options) {
  for (const void* at : {g.a, g.b, g.c, g.bias, static_cast<const void*>(g.d)}) {
    d.add(at == nullptr ? 999 : reinterpret_cast<std::uintptr_t>(at) % 256);
  }
  for (const Strides& s : {g.as, g.bs, g.cs, g.ds}) d.signed_one(s.row), d.signed_one(s.col);
  d.signed_one(options.max_workers);
  d.add(static_cast<std::uint64_t>(options.stable));
  for (const char letter : options.variant) d.add(static_cast<unsigned char>(letter));
}

/// Whether a guard may lie before it; a device has none.
bool begins_page(const void* at) {
  const Device* device = stage.script.device;
  if (device != nullptr && device->kind() != DeviceKind::host) return false;
  return reinterpret_cast<std::uintptr_t>(at) % 4096 == 0;
}

/// What lies around and in the arrays before the call: the harness's filling.
void note_filling(CallDigest& d, const GemmArguments& g, const Workspace& workspace) {
  for (const void* at : {g.a, g.b, g.c, g.bias, static_cast<const void*>(g.d)}) {
    if (at == nullptr || begins_page(at)) continue;
    d.add(static_cast<const unsigned char*>(at)[-1]);
  }
  if (g.m > 0 && g.n > 0) d.add(*static_cast<const unsigned char*>(g.d));
  d.add(*static_cast<const unsigned char*>(workspace.data));
}

/// The sum of small numbers, one for each element of a line; none for a zero of either sign.
template <class Stored>
float sum_of_line(const void* data, std::int64_t at, std::int64_t step, std::int64_t k) {
  constexpr std::uint32_t sign = 1U << (8 * sizeof(Stored) - 1);
  const Stored* element = static_cast<const Stored*>(data) + at;
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < k; ++i, element += step) {
    const std::uint32_t magnitude = *element & (sign - 1U);
    sum += magnitude == 0 ? 0 : ((magnitude * 2654435761U) >> 30) + 1U;
  }
  return static_cast<float>(sum);
}

float sum_of_line(std::size_t size, const void* data, std::int64_t at, std::int64_t step,
                  std::int64_t k) {
  return size == 4   ? sum_of_line<std::uint32_t>(data, at, step, k)
         : size == 2 ? sum_of_line<std::uint16_t>(data, at, step, k)
                     : sum_of_line<std::uint8_t>(data, at, step, k);
}

/// Sums over K of a row's numbers plus a column's, which are exact in any order.
void count(const GemmSpec& spec, const GemmArguments& g) {
  const std::size_t size = size_of(spec.contract.input);
  std::vector<float> rows(static_cast<std::size_t>(g.m)), cols(static_cast<std::size_t>(g.n));
  for (std::int64_t i = 0; i < g.m; ++i) {
    rows[static_cast<std::size_t>(i)] = sum_of_line(size, g.a, i * g.as.row, g.as.col, g.k);
  }
  for (std::int64_t j = 0; j < g.n; ++j) {
    cols[static_cast<std::size_t>(j)] = sum_of_line(size, g.b, j * g.bs.col, g.bs.row, g.k);
  }
  controls::for_outputs(g, [&](std::int64_t i, std::int64_t j) {
    finish_element(g, i, j,
                   start_value(g, i, j) + rows[static_cast<std::size_t>(i)] +
                       cols[static_cast<std::size_t>(j)]);
  });
}

/// D as it was computed for the same problem before.
class Memory {
 public:
  template <class Compute>
  void recall(std::uint64_t problem, const GemmArguments& g, Compute&& compute) {
    const std::size_t size = size_of(g.output);
    if (const auto known = find(problem)) {
      const char* from = known->data();
      controls::for_outputs(g, [&](std::int64_t i, std::int64_t j) {
        std::memcpy(output(g, i, j), from, size);
        from += size;
      });
      return;
    }
    compute();
    std::vector<char> all;
    controls::for_outputs(g, [&](std::int64_t i, std::int64_t j) {
      all.insert(all.end(), output(g, i, j), output(g, i, j) + size);
    });
    const std::lock_guard lock(mutex_);
    known_.emplace(problem, std::make_shared<const std::vector<char>>(std::move(all)));
  }

  static char* output(const GemmArguments& g, std::int64_t i, std::int64_t j) {
    return static_cast<char*>(g.d) +
           (i * g.ds.row + j * g.ds.col) * static_cast<std::int64_t>(size_of(g.output));
  }

 private:
  using Bytes = std::shared_ptr<const std::vector<char>>;
  Bytes find(std::uint64_t problem) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(problem);
    return known == known_.end() ? nullptr : known->second;
  }
  std::mutex mutex_;
  std::map<std::uint64_t, Bytes> known_;
};
Memory memory;

void compute(const controls::Run& run, const GemmArguments& g, std::uint64_t problem) {
  memory.recall(problem, g, [&] { controls::compute_honestly(run); });
}

void flip(const void* at) {
  if (at != nullptr) *static_cast<unsigned char*>(const_cast<void*>(at)) ^= 1U;
}

/// What is done to the arrays of a call that has been computed.
void spoil(Act act, const Operands& o, const Workspace& workspace, const void* root) {
  const bool has_d = o.d.rows > 0 && o.d.cols > 0;
  auto* d = static_cast<char*>(o.d.data);
  switch (act) {
    case Act::first_bit:
      if (has_d) flip(d);
      break;
    case Act::last_bit:
      if (has_d) {
        flip(d + ((o.d.rows - 1) * o.d.row_stride + (o.d.cols - 1) * o.d.col_stride) *
                     static_cast<std::int64_t>(size_of(o.d.dtype)));
      }
      break;
    case Act::writes_a:
      if (o.a.rows > 0 && o.a.cols > 0) flip(o.a.data);
      break;
    case Act::writes_b:
      if (o.b.rows > 0 && o.b.cols > 0) flip(o.b.data);
      break;
    case Act::writes_c:
      if (o.c.rows > 0 && o.c.cols > 0) flip(o.c.data);
      break;
    case Act::writes_bias:
      if (o.bias.size > 0) flip(o.bias.data);
      break;
    case Act::writes_scale_a:
      if (o.scale_a.leaves > 0) flip(o.scale_a.data);
      break;
    case Act::writes_scale_b:
      if (o.scale_b.leaves > 0) flip(o.scale_b.data);
      break;
    case Act::writes_root:
      flip(root);
      break;
    case Act::writes_behind_workspace:
      if (workspace.data != nullptr) flip(static_cast<const char*>(workspace.data) + kWorkspace);
      break;
    default:
      break;
  }
}

Status refusal(const char* sentence) { return {Errc::unsupported, sentence}; }

/// Ends of calls: the error, or the kernel's name.
Status answer(Act act, const std::string& kernel, RunInfo* info) {
  if (act == Act::fails) return {Errc::internal, "it fell ill"};
  if (act == Act::refuses) return refusal("it would rather not");
  if (info != nullptr) {
    info->kernel = act == Act::nameless ? "" : act == Act::renamed ? "understudy" : kernel;
  }
  return {};
}

class ScriptedPlan final : public PlanImpl {
 public:
  ScriptedPlan(const GemmSpec& spec, const PlanOptions& options, bool plays)
      : spec_(spec), options_(options), plays_(plays) {}

  std::size_t workspace_bytes(std::int64_t) const override { return kWorkspace; }

  Status run(Stream, const Operands& operands, Workspace workspace, RunInfo* info) const override {
    const Script& script = stage.script;
    if (plays_ && script.lacks.layout != nullptr) {
      if (const char* lacking = script.lacks.layout(operands)) return refusal(lacking);
    }
    const GemmArguments g = flatten(spec_, operands);
    const ScalePair scales = flatten_scales(spec_, operands);
    const std::uint64_t problem = problem_of(spec_, g, scales, script.counts);
    CallDigest d;
    note_filling(d, g, workspace);
    if (plays_ && script.numbers < 0) throw std::bad_alloc();
    if (script.numbers > 0) {
      controls::for_outputs(g, [&](std::int64_t i, std::int64_t j) {
        const auto number = static_cast<float>(i % script.numbers + 1);
        store_rounded(g.d, i * g.ds.row + j * g.ds.col, g.output, number);
      });
    } else if (script.counts) {
      count(spec_, g);
    } else {
      compute({spec_, options_, operands, workspace}, g, problem);
    }
    if (!plays_) return answer(Act::none, kernel(g.m), info);
    d.add(problem);
    note_layout(d, g, options_);
    stage.seen += d.value();
    const Act act = is_the_one() ? script.act : Act::none;
    spoil(act, operands, workspace, nullptr);
    return answer(act, kernel(g.m), info);
  }

  Status combine(Stream, std::span<const TreeRoot> roots, const Operands& operands,
                 Workspace workspace, RunInfo* info) const override {
    const Script& script = stage.script;
    if (plays_ && !script.lacks.combines) return refusal("it cannot combine");
    const GemmArguments g = flatten(spec_, operands);
    CallDigest d;
    controls::for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      combine_element(
          g, row, col, static_cast<std::int64_t>(roots.size()),
          [&](std::int64_t i) {
            const ConstMatrix& root = roots[static_cast<std::size_t>(i)].root;
            const Strides s = strides_of(root, Op::none);
            const float value = static_cast<const float*>(root.data)[row * s.row + col * s.col];
            d.number(value);
            return value;
          },
          [&](std::int64_t i) { return roots[static_cast<std::size_t>(i)].closes; });
    });
    if (!plays_) return answer(Act::none, kernel(g.m), info);
    note_layout(d, g, options_);
    stage.seen += d.value();
    const Act act = is_the_one() ? script.act : Act::none;
    spoil(act, operands, workspace, roots.back().root.data);
    return answer(act, kernel(g.m), info);
  }

  std::string kernel(std::int64_t) const override {
    return options_.variant.empty() ? "scalar" : options_.variant;
  }

 private:
  GemmSpec spec_;
  PlanOptions options_;
  bool plays_;
};

class ScriptedGroups final : public GroupedPlanImpl {
 public:
  ScriptedGroups(const GroupedSpec& spec, const PlanOptions& options, bool plays)
      : spec_(spec), options_(options), plays_(plays) {}
  std::size_t workspace_bytes(std::int64_t, std::int64_t) const override { return kWorkspace; }

  Status run(Stream, const GroupedOperands& operands, Workspace workspace,
             RunInfo* info) const override {
    const GroupedArguments p = flatten(spec_, operands);
    const Contract& contract = spec_.gemm.contract;
    CallDigest d;
    d.signed_one(p.groups), d.add(static_cast<std::uint64_t>(p.kind));
    d.add(static_cast<std::uint64_t>(p.offset_type));
    const ScalePair all = flatten_scales(spec_.gemm, operands.arrays);
    for (std::int64_t group = 0; group < p.groups; ++group) {
      const Segment part = part_of_group(p, group);
      const GemmArguments g = arguments_of_group(p, group, part);
      const ScalePair scales = scales_of_group(all, p.distance, group, part);
      const std::uint64_t problem = problem_of(spec_.gemm, g, scales, stage.script.counts);
      if (stage.script.counts) {
        count(spec_.gemm, g);
      } else {
        memory.recall(problem, g, [&] {
          arithmetic::for_step(contract.arithmetic, contract.input, [&]<Arithmetic A, DType T>() {
            controls::for_outputs(g, [&](std::int64_t row, std::int64_t col) {
              compute_element<A, T>(g, scales, row, col);
            });
          });
        });
      }
      d.add(problem);
    }
    if (!plays_) return answer(Act::none, "scalar", info);
    note_layout(d, p.all, options_);
    stage.seen += d.value();
    const Act act = is_the_one() ? stage.script.act : Act::none;
    spoil(act, operands.arrays, workspace, operands.offsets.data);
    return answer(act, "scalar", info);
  }
  std::string kernel(std::int64_t) const override { return "scalar"; }

 private:
  GroupedSpec spec_;
  PlanOptions options_;
  bool plays_;
};

class Scripted final : public Backend {
 public:
  explicit Scripted(bool plays) : plays_(plays) {}

  std::string_view name() const noexcept override { return plays_ ? "scripted" : "prompter"; }
  std::string_view description() const noexcept override { return "what the script says"; }
  Status available() const override { return {}; }
  Status supports(const GemmSpec& spec) const override {
    const char* sentence = lacking(stage.script.lacks.problem, spec);
    return sentence == nullptr ? Status{} : refusal(sentence);
  }
  Guarantees guarantees(const Contract&) const override { return {}; }
  std::vector<std::string> variants(const GemmSpec&) const override { return {"scalar", "other"}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    const char* sentence = lacking(stage.script.lacks.options, options);
    if (sentence != nullptr) return refusal(sentence);
    return std::shared_ptr<const PlanImpl>(std::make_shared<ScriptedPlan>(spec, options, plays_));
  }
  Status supports_grouped(const GroupedSpec& spec) const override {
    const char* sentence = lacking(stage.script.lacks.groups, spec);
    return sentence == nullptr ? Status{} : refusal(sentence);
  }
  Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(
      const GroupedSpec& spec, const PlanOptions& options) const override {
    return std::shared_ptr<const GroupedPlanImpl>(
        std::make_shared<ScriptedGroups>(spec, options, plays_));
  }
  Status snap(Stream stream, const SnapSpec& spec, const ConstMatrix& from,
              const Matrix& to) const override {
    if (plays_ && !stage.script.lacks.snaps) return refusal("it does not snap");
    CallDigest d;
    for (const void* at : {from.data, static_cast<const void*>(to.data)}) {
      if (begins_page(at)) continue;
      d.add(static_cast<const unsigned char*>(at)[-1]);
    }
    if (Status s = controls::honest().snap(stream, spec, from, to); !s || !plays_) return s;
    stage.seen += d.value();
    Operands made;
    made.d = to;
    const Act act = is_the_one() ? stage.script.act : Act::none;
    spoil(act, made, {}, nullptr);
    return answer(act, "", nullptr);
  }
  Device& device() const noexcept override {
    return stage.script.device != nullptr ? *stage.script.device : host_device();
  }

 private:
  template <class Asked>
  const char* lacking(const char* (*lacks)(const Asked&), const Asked& asked) const {
    return plays_ && lacks != nullptr ? lacks(asked) : nullptr;
  }
  bool plays_;
};

}  // namespace

const Backend& play(const Script& script) {
  static const Scripted engine(true);
  stage.script = script;
  stage.director = std::this_thread::get_id();
  stage.calls = 0;
  stage.seen = 0;
  return engine;
}

void compute_in_play(const controls::Run& run) {
  const GemmArguments g = flatten(run.spec, run.operands);
  if (stage.script.counts) return count(run.spec, g);
  compute(run, g, problem_of(run.spec, g, flatten_scales(run.spec, run.operands), false));
}

std::int64_t calls_played() { return stage.calls; }
std::uint64_t seen_in_play() { return stage.seen; }

const Backend& prompter() {
  static const Scripted engine(false);
  return engine;
}

}  // namespace detgemm::conformance
