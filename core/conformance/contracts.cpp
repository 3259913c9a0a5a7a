// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "detgemm/conformance.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::array kLeaves{64, 32, 128, 256, 512, 1024, 2048, 4096};

/// A short leaf that the engine accepts, so that small problems have many leaves; otherwise 512. 64
/// is tried before 32, because kernels load 64 products at a time.
Contract with_leaf(const Backend& engine, const Contract& base, ReductionKind kind, DType output) {
  Contract last = base;
  for (const std::int64_t leaf : kLeaves) {
    auto contract = Contract::make(base.arithmetic, base.input, {kind, leaf}, output);
    if (!contract) continue;
    GemmSpec spec;
    spec.n = 8;
    spec.k = 8 * leaf;
    spec.contract = *contract;
    if (engine.supports(spec)) return *contract;
    if (leaf <= 512) last = *contract;
  }
  return last;
}

}  // namespace

std::vector<Contract> default_contracts(const Backend& engine) {
  std::vector<Contract> list;
  std::size_t turn = 0;
  for (const Contract& base : base_contracts()) {
    // Models use narrow outputs, and fp32 shows every bit: both appear under each reduction in the
    // list, and every pair of input and output appears somewhere.
    const std::array outputs{DType::fp32, base.input == DType::fp16 ? DType::fp16 : DType::bf16,
                             turn % 2 == 0 ? DType::fp16 : DType::bf16};
    Contract chain = base;
    chain.output = outputs[turn % 3];
    list.push_back(chain);
    list.push_back(with_leaf(engine, base, ReductionKind::fold, outputs[(turn + 1) % 3]));
    list.push_back(with_leaf(engine, base, ReductionKind::tree, outputs[(turn + 2) % 3]));
    ++turn;
  }
  const Contract snap = *Contract::make(Arithmetic::snap, DType::bf16, {ReductionKind::fold, 128},
                                        DType::fp32);  // has no chain
  list.push_back(with_leaf(engine, snap, ReductionKind::fold, DType::fp32));
  list.push_back(with_leaf(engine, snap, ReductionKind::tree, DType::bf16));
  // Scales join leaves of any arithmetic in the same way: the one they are made for, and one other.
  const Contract fp8 = *Contract::make(Arithmetic::hopper, DType::e4m3, {}, DType::bf16);
  const Contract plain = *Contract::make(Arithmetic::ieee_fma, DType::bf16, {}, DType::fp32);
  list.push_back(with_leaf(engine, fp8, ReductionKind::scaled, DType::bf16));
  list.push_back(with_leaf(engine, plain, ReductionKind::scaled, DType::fp32));
  for (const DType input : {DType::bf16, DType::fp32}) {
    const Contract snap3 =
        *Contract::make(Arithmetic::snap3, input, {ReductionKind::fold, 128}, DType::fp32);
    const bool narrow = input == DType::bf16;
    list.push_back(
        with_leaf(engine, snap3, ReductionKind::fold, narrow ? DType::bf16 : DType::fp32));
    list.push_back(
        with_leaf(engine, snap3, ReductionKind::tree, narrow ? DType::fp32 : DType::fp16));
  }
  return list;
}

}  // namespace detgemm::conformance
