// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/soak/scene.hpp"

#include <cstdio>
#include <cstdlib>

#include "core/arithmetic/step.hpp"

namespace detgemm::soak {
namespace {

constexpr int kReplays = 2;

DType stored(DType input) { return input == DType::tf32 ? DType::fp32 : input; }

/// Elements of any type, among them NaN, Inf and subnormals where the draw says so.
std::vector<std::byte> elements(test::Random& random, DType type, std::int64_t count) {
  const auto data = test::kAllData[random.below(6)];
  std::vector<std::byte> bytes;
  const auto fill = [&]<DType T>() {
    const auto values = test::random_elements<T>(random, data, count);
    const auto* from = reinterpret_cast<const std::byte*>(values.data());
    bytes.assign(from, from + values.size() * sizeof values[0]);
  };
  switch (type) {
    case DType::bf16:
      fill.operator()<DType::bf16>();
      break;
    case DType::fp16:
      fill.operator()<DType::fp16>();
      break;
    case DType::e4m3:
      fill.operator()<DType::e4m3>();
      break;
    case DType::e5m2:
      fill.operator()<DType::e5m2>();
      break;
    default:
      fill.operator()<DType::fp32>();
      break;
  }
  return bytes;
}

constexpr DType kOutputs[] = {DType::bf16, DType::fp16, DType::fp32};

/// Row- or column-major with some padding; the elements that it spans.
struct Layout {
  bool by_row;
  std::int64_t ld, span;
};
Layout layout(test::Random& random, std::int64_t rows, std::int64_t cols) {
  const bool by_row = random.below(3) != 0;
  const std::int64_t ld = (by_row ? cols : rows) + (random.below(2) == 0 ? 0 : random.below(9)) + 1;
  return {by_row, ld, (by_row ? rows : cols) * ld};
}

ConstMatrix view(const void* data, std::int64_t rows, std::int64_t cols, DType type,
                 const Layout& layout) {
  return layout.by_row ? row_major(data, rows, cols, type, layout.ld)
                       : col_major(data, rows, cols, type, layout.ld);
}

/// A contract that the backend computes, with a random epilogue.
GemmSpec random_spec(const Backend& backend, test::Random& random) {
  for (int tries = 0; tries < 10000; ++tries) {
    GemmSpec spec;
    const auto base = base_contracts();
    const Contract& pair =
        base[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(base.size())))];
    Reduction reduction{static_cast<ReductionKind>(random.below(3)), 0};
    if (reduction.kind != ReductionKind::chain) {
      reduction.leaf_k = pair.k_block * (std::int64_t{16} << random.below(3)) / 16;
    }
    const auto contract =
        Contract::make(pair.arithmetic, pair.input, reduction, kOutputs[random.below(3)]);
    if (!contract) continue;
    spec.contract = *contract;
    spec.n = 1 + random.below(random.below(4) == 0 ? 300 : 70);
    spec.k = random.below(random.below(4) == 0 ? 400 : 120);
    spec.op_a = random.below(3) == 0 ? Op::transpose : Op::none;
    spec.op_b = random.below(2) == 0 ? Op::transpose : Op::none;
    if (random.below(2) == 0) {
      spec.alpha = static_cast<float>(random.below(9) - 4) / 4.0F;
      spec.activation = static_cast<Activation>(random.below(5));
      if (random.below(2) == 0) spec.bias = kOutputs[random.below(3)];
    }
    if (random.below(4) == 0 && reduction.kind != ReductionKind::tree) {
      spec.continue_from_c = true;
    } else if (random.below(3) == 0) {
      spec.beta = 0.5F;
    }
    if (validate(spec) && backend.supports(spec)) return spec;
  }
  stop(std::string(backend.name()) + " supports none of 10000 problems");
}

}  // namespace

void stop(const std::string& said) {
  std::fprintf(stderr, "soak: %s\n", said.c_str());
  std::_Exit(1);  // other threads are at work: no destructor may run under them
}

void need(const Status& status, const std::string& doing) {
  if (!status) stop(doing + ": " + status.message());
}

Memory::Memory(Device& device, std::size_t bytes)
    : device_(device), data_(need(device.allocate(bytes), "allocating")) {}
Memory::~Memory() { device_.release(data_); }

void* Scene::keep(const Backend& backend, const void* host, std::size_t bytes) {
  memory_.push_back(std::make_unique<Memory>(backend.device(), bytes));
  need(backend.device().to_device(memory_.back()->data(), host, bytes), "copying an operand");
  return memory_.back()->data();
}

Scene::Scene(const Backend& backend, test::Random& random) : spec_(random_spec(backend, random)) {
  m_ = 1 + random.below(random.below(4) == 0 ? 200 : 40);
  const DType input = stored(spec_.contract.input);
  const DType output = spec_.contract.output;
  const auto matrix = [&](std::int64_t rows, std::int64_t cols, DType type) {
    const Layout how = layout(random, rows, cols);
    const auto bytes = elements(random, type, how.span);
    return view(keep(backend, bytes.data(), bytes.size()), rows, cols, type, how);
  };
  const bool ta = spec_.op_a == Op::transpose, tb = spec_.op_b == Op::transpose;
  operands_.a = matrix(ta ? spec_.k : m_, ta ? m_ : spec_.k, input);
  operands_.b = matrix(tb ? spec_.n : spec_.k, tb ? spec_.k : spec_.n, input);
  if (spec_.reads_c()) {
    operands_.c = matrix(m_, spec_.n, spec_.continue_from_c ? DType::fp32 : output);
  }
  if (spec_.bias) {
    const auto bytes = elements(random, *spec_.bias, spec_.n);
    operands_.bias = {keep(backend, bytes.data(), bytes.size()), spec_.n, *spec_.bias};
  }
  d_bytes_ = static_cast<std::size_t>(m_ * spec_.n) * size_of(output);
  operands_.d = row_major(static_cast<void*>(nullptr), m_, spec_.n, output);
  variants_ = backend.variants(spec_);
  auto first =
      answer(backend, need(Plan::create(backend, spec_), "a first plan"), Stream{}, Way::run);
  if (!first) stop("a plan that forces nothing refused " + spec_.contract.text());
  first_ = std::move(*first);
}

std::optional<std::vector<std::byte>> Scene::answer(const Backend& backend, const Plan& plan,
                                                    Stream stream, Way way) const {
  Device& device = backend.device();
  stream.kind = device.kind();
  const std::size_t scratch = need(plan.workspace_bytes(m_), "the workspace");
  const Memory workspace(device, scratch);
  const Memory d(device, d_bytes_);
  std::vector<std::byte> bytes(d_bytes_, std::byte{0x5a});
  need(device.to_device(d.data(), bytes.data(), d_bytes_), "spoiling D");
  Operands operands = operands_;
  operands.d.data = d.data();
  const Workspace lent{workspace.data(), scratch};
  Status status;
  if (way == Way::replay && device.has_graphs()) {
    status = device.replay(
        stream, [&](Stream s) { return plan.run(s, operands, lent); }, kReplays);
  } else if (way == Way::one_call) {
    GemmOptions o;
    o.op_a = spec_.op_a;
    o.op_b = spec_.op_b;
    o.alpha = spec_.alpha;
    o.beta = spec_.beta;
    o.activation = spec_.activation;
    o.continue_from_c = spec_.continue_from_c;
    o.c = operands.c;
    o.bias = operands.bias;
    o.backend = backend.name();
    o.variant = plan.options().variant;
    o.max_workers = plan.options().max_workers;
    o.stable = plan.options().stable;
    o.workspace = lent;
    status = gemm(stream, operands.a, operands.b, operands.d, spec_.contract, o);
  } else {
    status = plan.run(stream, operands, lent);
  }
  const bool forced = !plan.options().variant.empty() || plan.options().max_workers != 0;
  const bool refused =
      status.code() == Errc::unsupported && forced && device.kind() != DeviceKind::host;
  if (!refused) need(status, "running " + spec_.contract.text());
  need(device.synchronize(stream), "waiting");
  need(device.to_host(bytes.data(), d.data(), d_bytes_), "copying D");
  if (!refused) return bytes;
  if (bytes != std::vector<std::byte>(d_bytes_, std::byte{0x5a})) {
    stop("a refused run wrote D: " + status.message());
  }
  return std::nullopt;
}

}  // namespace detgemm::soak
