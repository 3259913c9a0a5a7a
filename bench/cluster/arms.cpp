// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cluster/arms.hpp"

namespace detgemm::bench {
namespace {

template <class T>
T required(Result<T> result) {
  if (!result) throw std::runtime_error(result.status().message());
  return std::move(result).value();
}

/// The vendor's product of one rank; null where there is none.
const Baseline* vendor(const RankKit& kit) {
  for (const Baseline& baseline : kit.products) {
    if (baseline.name == "cublaslt") return &baseline;
  }
  return nullptr;
}

Arm own_arm(const RankKit& kit, const ClusterArm& arm, const Case& c, const Buffers& buffers,
            std::size_t* workspace_bytes) {
  if (arm.peers && !kit.peers) throw std::runtime_error("absent");
  const ContractArm& what = c.contract_arms.front();
  const Backend& backend = kit.device->backend();
  cluster::RowParallelOptions options;
  options.output = arm.in_rows ? cluster::Placement::rows : cluster::Placement::replicated;
  options.plan.stable = arm.stable ? Stable::b : what.stable;
  const Contract contract = contract_of(kit, arm, c);
  const auto plan = required(cluster::RowParallelPlan::create(
      arm.peers ? *kit.peers : *kit.communicator, backend, spec_of(c.problem, contract), options));
  const Problem share = share_of(kit, c);
  const Gemm g = gemm_of(share);
  const std::int64_t rows =
      arm.in_rows ? cluster::rows_of(g.m, kit.ranks.rank(), kit.ranks.size()).size() : g.m;
  const std::size_t bytes = required(plan.workspace_bytes(g.m));
  if (workspace_bytes != nullptr) *workspace_bytes = bytes;
  Device& memory = backend.device();
  const std::shared_ptr<void> scratch(required(memory.allocate(bytes)),
                                      [&memory](void* p) { memory.release(p); });
  Arm made;
  made.name = arm.name;
  for (const char c : plan.describe(g.m))
    made.detail += c == '\n' ? std::string("; ") : std::string(1, c);
  made.enqueue = [=, &buffers](Stream stream, int call) {
    const Buffers::Call at = buffers.at(share, call);
    const Operands operands{row_major(at.a, g.m, g.k, share.type),
                            row_major(at.b, g.n, g.k, share.type),
                            row_major(at.d, rows, g.n, contract.output)};
    return plan.run(stream, g.m, operands, {scratch.get(), bytes});
  };
  return made;
}

Arm vendor_arm(const RankKit& kit, const ClusterArm& arm, const Case& c, const Buffers& buffers) {
  const Baseline* const product = vendor(kit);
  if (product == nullptr || !product->present || kit.nccl == nullptr) {
    throw std::runtime_error("absent");
  }
  auto share = std::make_shared<Problem>(share_of(kit, c));
  if (arm.fp32) share->output = DType::fp32;
  const Gemm g = gemm_of(*share);
  const auto count = static_cast<std::size_t>(g.m * g.n);
  const int size = kit.ranks.size();
  const int rank = kit.ranks.rank();
  if (arm.in_rows && count % static_cast<std::size_t>(size) != 0) {
    throw std::runtime_error("its reduce-scatter needs equal parts of D");
  }
  if (share->type != DType::bf16) throw std::runtime_error("it is asked for bf16 alone");
  const Arm multiply = product->make({*share, buffers, 0});
  Arm made;
  made.name = arm.name;
  made.detail = multiply.detail;
  made.enqueue = [=, &buffers, nccl = kit.nccl.get(), comm = kit.comm](Stream stream,
                                                                       int call) -> Status {
    if (Status s = multiply.enqueue(stream, call); !s) return s;
    void* const d = buffers.at(*share, call).d;
    const int type = arm.fp32 ? kNcclFloat32 : kNcclBfloat16;
    return arm.in_rows ? nccl->reduce_scatter(d, count, type, comm, rank, size, stream)
                       : nccl->all_reduce(d, count, type, comm, stream);
  };
  return made;
}

}  // namespace

std::vector<Baseline> baselines_of(const RankKit& kit) {
  std::vector<Baseline> all;
  for (const ClusterArm& arm : cluster_arms()) {
    if (arm.role != Role::baseline) continue;
    Baseline& baseline = all.emplace_back();
    baseline.name = arm.name;
    const Baseline* const product = vendor(kit);
    const bool multiplies = product != nullptr && product->present;
    baseline.present = multiplies && kit.nccl != nullptr;
    if (!multiplies) {
      baseline.what = product != nullptr ? product->what : "there is no cuBLASLt for this device";
    } else if (kit.nccl == nullptr) {
      baseline.what = kit.why_no_nccl;
    } else {
      baseline.what = product->what + ", then NCCL " + kit.nccl->version();
    }
  }
  return all;
}

Contract contract_of(const RankKit& kit, const ClusterArm& arm, const Case& c) {
  Contract contract = c.contract_arms.front().contract;
  if (!arm.one_leaf) return contract;
  const std::int64_t k = gemm_of(c.problem).k, ranks = kit.ranks.size();
  if (contract.leaves(k) % ranks != 0) throw std::runtime_error("absent");
  contract.reduction.leaf_k *= contract.leaves(k) / ranks;
  return contract;
}

Problem share_of(const RankKit& kit, const Case& c) {
  const auto shares = required(cluster::Shares::even(c.contract_arms.front().contract,
                                                     gemm_of(c.problem).k, kit.ranks.size()));
  const KRange range = shares.k_range(kit.ranks.rank());
  if (range.begin == range.end) throw std::runtime_error("a rank has no products");
  Problem share = c.problem;
  share.k = range.end - range.begin;
  return share;
}

Arm make_arm(const RankKit& kit, const ClusterArm& arm, const Case& c, const Buffers& buffers,
             std::size_t* workspace_bytes) {
  return arm.role == Role::detgemm ? own_arm(kit, arm, c, buffers, workspace_bytes)
                                   : vendor_arm(kit, arm, c, buffers);
}

}  // namespace detgemm::bench
