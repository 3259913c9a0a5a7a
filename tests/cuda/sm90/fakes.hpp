// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/contract/group_arguments.hpp"
#include "core/contract/leaf_scales.hpp"
#include "cuda/launch.hpp"
#include "cuda/mma/params.hpp"
#include "cuda/simt/params.hpp"
#include "cuda/sm90/fp8/segments.hpp"
#include "cuda/sm90/fp8/tile.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/grouped/tile.hpp"
#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/leaves/shape.hpp"
#include "cuda/sm90/pack/pack.hpp"
#include "cuda/sm90/realign/tile.hpp"
#include "cuda/sm90/tile/tile.hpp"
#include "cuda/snap/snap.hpp"
#include "cuda/snap/split.hpp"
#include "tests/cuda/sm90/problems.hpp"

namespace detgemm::test {

/// Which kernel a fake stands for.
struct FakeKernel {
  Path path = Path::gather;
  DType input = DType::bf16;
  int geometry = -1;
  bool x_mn = false, y_mn = false;
  cuda::sm90::Form form = cuda::sm90::Form::plain;
  bool leaves = false, deep = false, folds = false, from_c = false, trees = false;
  bool simt = false;     ///< of ieee_fma; `geometry` is then the tile
  bool mma = false;      ///< of Family::mma; `geometry` is then the tile
  bool pack = false;     ///< copies operands
  int snap = -1;         ///< snaps an operand: its variant
  int split = -1;        ///< splits an operand: its kernel; `input` is then the operand's type
  bool grouped = false;  ///< over groups; `geometry` counts in kGroupedGeometries
  int join = -1;         ///< of e4m3: how leaves join, or kJoins for one output per thread

  std::string text() const;
};

/// What reached the CUDA runtime since record(), and how the fake device behaves.
struct Recorded {
  std::vector<cuda::sm90::TensorShape> maps;
  std::vector<std::string> raised;  ///< kernels whose shared-memory limit was raised
  int launches = 0;                 ///< that succeeded
  int failed_launches = 0;
  int fits_asked = 0;  ///< times that the driver was asked whether a cluster fits
  FakeKernel kernel;
  unsigned grid = 0, cluster = 1;
  std::size_t shared_bytes = 0;
  bool overlap = false;
  cuda::sm90::LaunchShape shape;     ///< not of gather
  cuda::sm90::RealignShifts shifts;  ///< of realign
  GemmArguments arguments;
  cuda::sm90::LeafShape leaf;              ///< of fold and tree
  cuda::sm90::GatherLeaves gather_leaves;  ///< of gather
  cuda::simt::Params params{};             ///< of ieee_fma
  cuda::mma::Params mma;                   ///< of Family::mma
  /// Called at each launch of Family::mma: (kernel, its argument, grid).
  std::function<void(const FakeKernel&, const cuda::mma::Params&, unsigned)> run_mma;
  int packs = 0;               ///< launches that copied operands, counted apart
  cuda::sm90::PackJob pack{};  ///< the last of them
  unsigned pack_grid = 0;
  std::vector<cuda::snap::Operand> snaps;  ///< launches that snapped an operand, counted apart
  std::vector<int> snap_variants;
  std::vector<unsigned> snap_grids;
  std::vector<cuda::snap::SplitOperand> splits;  ///< the same for snap3
  std::vector<FakeKernel> split_kernels;
  int snaps_overlapping = 0;               ///< of these, with programmatic dependent launch
  GroupedArguments groups;                 ///< of launches over groups ...
  cuda::sm90::GroupedShape grouped_shape;  ///< ... and of those by tiles
  cuda::sm90::Fp8Shape fp8;                ///< of e4m3 by tiles ...
  ScalePair scales;                        ///< ... and by elements
  cuda::sm90::SegmentShape segments;       ///< of e4m3 over segments of rows
  int overlapping = 0;  ///< launches, of all kinds, with programmatic dependent launch

  int fail_map = -1;       ///< index of a map whose encoding fails
  bool refuse_3d = false;  ///< the encoder takes no map of three dimensions
  int refused_maps = 0;
  bool fail_raise = false;    ///< raising a shared-memory limit fails
  int clusters_held = 30;     ///< at a time, of those that fit
  unsigned max_cluster = 16;  ///< CTAs of the largest cluster that the device has room for
  bool knows_fits = true;     ///< the driver says so when asked; else the launch alone fails
  std::uint64_t context =
      1;  ///< number of the current context; 0: none, until the runtime makes one
};

/// Forgets everything and returns where the next calls are written down.
Recorded& record();

/// The number of a context in which nothing has been prepared.
std::uint64_t fresh_context();

/// Prepares the kernels of an arithmetic for bf16.
inline cudaError_t prepare(Arithmetic arithmetic, bool wgmma = true) {
  Contract contract;
  contract.arithmetic = arithmetic;
  return cuda::prepare_kernels(contract, wgmma);
}

/// Whether a step of a decision works on an operand.
inline bool on_a(const cuda::Decision& d, cuda::Step::Kind kind) {
  const cuda::Step* const step = d.steps.find(kind);
  return step != nullptr && step->a;
}
inline bool on_b(const cuda::Decision& d, cuda::Step::Kind kind) {
  const cuda::Step* const step = d.steps.find(kind);
  return step != nullptr && step->b;
}
inline bool packs_a(const cuda::Decision& d) { return on_a(d, cuda::Step::pack); }
inline bool packs_b(const cuda::Decision& d) { return on_b(d, cuda::Step::pack); }
inline bool snaps_a(const cuda::Decision& d) { return on_a(d, cuda::Step::snap); }
inline bool snaps_b(const cuda::Decision& d) { return on_b(d, cuda::Step::snap); }

/// How groups are computed: the family, or a loop over kernels of single products.
inline cuda::Family way_of(const cuda::Decision& d) {
  return d.loop > 0 ? cuda::Family::loop : d.family;
}

/// The kernels that can be forced but for those of Family::mma, which are the last of the list.
inline std::span<const cuda::KernelInfo> kernels_of_wgmma(const Contract& contract) {
  const auto all = cuda::kernels(contract);
  std::size_t count = 0;
  while (count < all.size() && all[count].family != cuda::Family::mma) ++count;
  return all.first(count);
}

/// Where a kernel is in the list of those that can be forced.
int forced_index(const Problem& problem, cuda::Family family, int index = 0);
/// The same by its name; -1 for an empty one.
int forced_index(const Problem& problem, const std::string& name);

/// What decide and enqueue made of a call.
struct Ran {
  Status refusal;  ///< from decide
  cudaError_t error = cudaSuccess;
  cuda::Decision decision;  ///< as enqueue left it

  bool ok() const { return refusal.ok() && error == cudaSuccess; }
};
Ran run(const Problem& problem, const cuda::LaunchOptions& options, void* workspace = nullptr);
Ran run(const GemmArguments& g, DType input, const cuda::LaunchOptions& options,
        void* workspace = nullptr, Arithmetic arithmetic = Arithmetic::hopper);

}  // namespace detgemm::test
