// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cluster/nccl.hpp"
#include "bench/cluster/ranks.hpp"
#include "bench/suite/device.hpp"
#include "detgemm/cluster.hpp"

namespace detgemm::bench {

/// What one rank works with.
struct RankKit {
  Ranks& ranks;
  std::unique_ptr<BenchDevice> device;
  std::unique_ptr<Nccl> nccl;  ///< null where there is none ...
  std::string why_no_nccl;     ///< ... and why
  void* comm = nullptr;        ///< of NCCL
  std::optional<cluster::Communicator> communicator;
  std::optional<cluster::Communicator> peers;  ///< with windows on the devices; empty where none
  std::vector<Baseline> products;              ///< the device's baselines: the product of one rank
};

/// An arm of a case whose K is spread, and whom it is compared with.
struct ClusterArm {
  std::string name;
  Role role = Role::detgemm;
  bool in_rows = false;   ///< every rank has rows of D in the end, and not all of it
  bool fp32 = false;      ///< the partial products and what is sent are fp32: a baseline
  bool peers = false;     ///< joins through windows in the memory of devices
  bool stable = false;    ///< B is promised to be stable, as engines promise it of weights
  bool one_leaf = false;  ///< each rank's share is one leaf, in place of the case's tree
};

/// detgemm's arms first. Whether there are libraries for the others, `baselines_of` says.
inline const std::vector<ClusterArm>& cluster_arms() {
  static const std::vector<ClusterArm> all{
      {"tree", Role::detgemm, false, false},
      {"tree+rows", Role::detgemm, true, false},
      {"tree+peers", Role::detgemm, false, false, true},
      {"tree+peers+rows", Role::detgemm, true, false, true},
      {"tree+peers+stable", Role::detgemm, false, false, true, true},
      {"tree+peers+rows+stable", Role::detgemm, true, false, true, true},
      {"leaf+peers+stable", Role::detgemm, false, false, true, true, true},
      {"leaf+peers+rows+stable", Role::detgemm, true, false, true, true, true},
      {"cublaslt+allreduce", Role::baseline, false, false},
      {"cublaslt+allreduce-fp32", Role::baseline, false, true},
      {"cublaslt+reducescatter", Role::baseline, true, false}};
  return all;
}

/// The baselines as a result names them: what they are, or why they are absent.
std::vector<Baseline> baselines_of(const RankKit& kit);

/// The contract of one of detgemm's arms. Throws where shares are not one leaf each.
Contract contract_of(const RankKit& kit, const ClusterArm& arm, const Case& c);

/// The part of a problem that a rank multiplies. Throws where a rank has none.
Problem share_of(const RankKit& kit, const Case& c);

/// The arm on this rank; throws with a sentence. `workspace_bytes` may be null.
Arm make_arm(const RankKit& kit, const ClusterArm& arm, const Case& c, const Buffers& buffers,
             std::size_t* workspace_bytes);

}  // namespace detgemm::bench
