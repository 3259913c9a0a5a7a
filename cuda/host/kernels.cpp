// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/arithmetic/step.hpp"
#include "core/contract/forced_kernel.hpp"
#include "core/contract/snap3_copies.hpp"
#include "cuda/families.hpp"
#include "cuda/host/snapped.hpp"
#include "cuda/sm90/host/groups.hpp"

// Which kernels can be forced for which problem.
namespace detgemm::cuda {
namespace {

std::vector<KernelInfo> kernels_of(Family family) {
  if (family == Family::loop) return {{"loop", Family::loop, 0}};
  if (!has_row(family)) return {};
  const auto list = row_of(family).kernels();
  return {list.begin(), list.end()};
}

/// The kernels of some families, one after the other.
template <Family... kFamilies>
std::span<const KernelInfo> list_of() {
  static const auto all = [] {
    std::vector<KernelInfo> list;
    for (const Family family : {kFamilies...}) {
      for (const KernelInfo& kernel : kernels_of(family)) list.push_back(kernel);
    }
    return list;
  }();
  return all;
}

bool is_any_of(DType type, std::initializer_list<DType> types) {
  for (const DType each : types) {
    if (type == each) return true;
  }
  return false;
}

std::span<const KernelInfo> kernels_of_groups(const Contract& c) {
  using enum Family;
  if (c.input == DType::e4m3) return list_of<loop, element_groups, fp8_groups>();
  if (c.arithmetic == Arithmetic::ieee_fma) return list_of<loop, simt_groups>();
  if (c.arithmetic == Arithmetic::snap) return list_of<loop, gather_groups, simt_groups>();
  const bool by_tiles = c.arithmetic == Arithmetic::hopper && c.input != DType::tf32;
  if (by_tiles && c.reduction.kind == ReductionKind::chain) {
    return list_of<loop, gather_groups, groups>();
  }
  return list_of<loop, gather_groups>();
}

}  // namespace

std::span<const KernelInfo> kernels(const Contract& c, bool grouped) {
  using enum Family;
  const bool is_chain = c.reduction.kind == ReductionKind::chain;
  bool computed = false;
  switch (c.arithmetic) {
    case Arithmetic::hopper:
      computed =
          is_any_of(c.input, {DType::bf16, DType::fp16, DType::tf32}) ||
          (c.input == DType::e4m3 && has_row(fp8) && c.reduction.kind != ReductionKind::tree);
      break;
    case Arithmetic::ampere:
    case Arithmetic::blackwell:
      computed = is_any_of(c.input, {DType::bf16, DType::fp16, DType::tf32});
      break;
    case Arithmetic::ieee_fma:
      computed = is_any_of(c.input, {DType::bf16, DType::fp16, DType::fp32});
      break;
    case Arithmetic::snap:
      computed = !is_chain && c.input == DType::bf16;
      break;
    case Arithmetic::snap3:
      computed = !is_chain && !grouped && is_any_of(c.input, {DType::bf16, DType::fp32});
      break;
    default:
      break;
  }
  if (!computed) return {};
  if (grouped) return kernels_of_groups(c);
  if (c.input == DType::e4m3) return list_of<fp8, elements>();
  if (c.arithmetic == Arithmetic::ieee_fma) return list_of<simt>();
  if (arithmetic::is_snap(c.arithmetic)) return list_of<leaves, simt>();
  if (c.arithmetic != Arithmetic::hopper || c.input == DType::tf32) return list_of<mma>();
  return is_chain ? list_of<chain, mma>() : list_of<leaves, mma>();
}

bool takes(const KernelInfo& kernel, const GemmSpec& problem, bool wgmma) {
  GemmSpec spec = problem;
  const FamilyRow& row = row_of(kernel.family);
  if (!wgmma && row.set == KernelSet::hopper) return false;
  if (row.usual == nullptr) return true;
  if (spec.contract.arithmetic == Arithmetic::snap3) {  // what is multiplied
    const snap::Copied on_copies = snap::copied(Arithmetic::snap3, spec.contract.reduction, spec.k);
    spec.contract.input = DType::bf16;
    spec.contract.reduction = on_copies.reduction;
    spec.k = on_copies.k;
    spec.op_a = Op::none;
    spec.op_b = Op::transpose;
  }
  // A usual number of rows, or so few that CTAs share the leaves of a tile.
  const auto takes_rows = [&](std::int64_t m) {
    Question q = row.usual(spec, m);
    q.forced = kernel.index;
    return row_of(q.family).why_not(q) == nullptr;
  };
  return spec.n > 0 && (takes_rows(64) || (kernel.family == Family::leaves && takes_rows(8)));
}

bool takes(const KernelInfo& kernel, const GroupedSpec& spec, bool wgmma) {
  const GemmSpec& one = spec.gemm;
  const bool snaps = one.contract.arithmetic == Arithmetic::snap;
  if (kernel.family == Family::loop) {
    return spec.kind == GroupKind::batched && spec.groups <= kMaxLoop;
  }
  if (snaps && !(one.a_snapped && one.b_snapped)) return false;
  const KernelSet set =
      set_of(multiplies(one.contract.arithmetic, wgmma), one.contract.input, true, wgmma);
  const bool by_gather = kernel.family == Family::gather_groups;
  if (row_of(kernel.family).set != set && !(by_gather && set == KernelSet::groups_of_hopper)) {
    return false;
  }
  if (kernel.family == Family::fp8_groups) {
    return spec.kind == GroupKind::m_grouped || spec.kind == GroupKind::m_masked;
  }
  return kernel.family != Family::groups || sm90::takes_groups(kernel.index, spec);
}

const KernelInfo* forced_kernel(const Problem& p, const LaunchOptions& options) {
  if (options.forced < 0) return nullptr;
  return &kernels(p.contract(), p.is_grouped())[static_cast<std::size_t>(options.forced)];
}

Status refusal(const KernelInfo& forced, const char* why) {
  return forced_kernel_refuses(forced.name, why);
}

}  // namespace detgemm::cuda
