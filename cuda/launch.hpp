// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/contract/problem.hpp"
#include "cuda/driver.hpp"
#include "cuda/sm90/tile/raster.hpp"
#include "cuda/sm90/tile/tile.hpp"

/// The entry to the CUDA kernels that multiply. (Others: quantize/launch.hpp, log_prob/launch.hpp
/// and peers/launch.hpp.)
///
///     Problem, options -> decide -> Decision -> enqueue -> launches on the stream
///                                          `-> name: what RunInfo::kernel reports
///
/// The kernels compute hopper/{bf16,fp16} (compute capability 9.0), ieee_fma/{bf16,fp16,fp32} (8.0
/// and above) and, by mma.sync, ampere, hopper and blackwell of bf16, fp16 and tf32 (8.x, 9.0, 10.0
/// and 12.0), each under chain, fold and tree, and hopper/e4m3 under chain, fold and scaled where
/// DETGEMM_CUDA_FP8 is ON. Under snap/bf16 and snap3/{bf16,fp32} a kernel of its own snaps
/// the operands into the workspace, and then those of hopper or ieee_fma multiply. All but snap3 is
/// computed over groups too. Offsets of groups are read on the device alone.
namespace detgemm::cuda {

/// No error where all kernels are compiled. Otherwise `unavailable`, with a sentence: a build with
/// DETGEMM_CUDA_KERNELS=sample may lack the one that a call needs, so it computes nothing at all.
Status whole_build();

/// Kernels that one function launches; cuda/families.hpp says what a family consists of.
///
///   over groups     what runs                                         takes
///   groups          one launch, TMA and wgmma                         chains of hopper, after a
///                                                                     launch that copies lines of
///                                                                     a batch at odd addresses
///   loop            a launch per group, by the kernels of one         batches up to kMaxLoop
///   gather_groups   one launch of ordinary loads and mma.sync         all of hopper, ampere,
///                                                                     blackwell
///   simt_groups     one launch on CUDA cores                          all of ieee_fma
///   fp8_groups      one launch, TMA and wgmma over segments of rows   m_grouped and m_masked of
///                                                                     e4m3, up to 256 groups
///   element_groups  one launch, an output per thread and turn         all of e4m3
enum class Family : std::uint8_t {
  none,     ///< nothing to launch: there are no outputs
  chain,    ///< wgmma on operands that TMA reads; one chain per output
  realign,  ///< the same for rows that start at any address
  leaves,   ///< wgmma under fold and tree
  gather,   ///< mma.sync on ordinary loads, for arrays that the others do not take
  simt,     ///< fma on CUDA cores
  snap,     ///< snaps operands, ahead of a kernel of another family or by itself
  split,    ///< splits operands into the parts of snap3, ahead of a kernel of another family
  groups,
  gather_groups,
  simt_groups,
  mma,       ///< mma.sync of 8.0 and above: ampere, blackwell, and hopper where there is no wgmma
  fp8,       ///< wgmma of e4m3: K-major operands at multiples of 16 bytes, leaves of whole 128 k
  elements,  ///< e4m3 by the integer model, one output per thread: everything, and slow
  fp8_groups,
  element_groups,
  loop,  ///< no kernels of its own; only in KernelInfo
};

/// The most groups that a loop launches.
inline constexpr std::int64_t kMaxLoop = 1024;

/// How one call is launched. Nothing in it changes a bit of the result.
struct LaunchOptions {
  cudaStream_t stream = nullptr;
  int sms = 0;               ///< multiprocessors of the device, or fewer if the caller wishes; >= 1
  int forced = -1;           ///< index into kernels(contract, is_grouped), or -1: chosen by shape
  bool a_is_stable = false;  ///< nothing that still runs on the stream writes A ...
  bool b_is_stable = false;  ///< ... or B: it may be read before that earlier work has ended
  bool overlap = true;       ///< programmatic dependent launch: the kernel starts during that work
  bool clusters = true;      ///< kernels that run in clusters may be chosen
  std::size_t workspace_bytes = 0;  ///< given to `enqueue`; fewer than needed counts as needed
  /// The device has compute capability 9.0. Others multiply snap on CUDA cores, and hopper by
  /// Family::mma.
  bool wgmma = true;
  /// Without wgmma, single products of snap and snap3 are multiplied by Family::mma.
  bool mma = false;
  bool a_is_snapped = false;  ///< snap: A is snapped already ...
  bool b_is_snapped = false;  ///< ... or B, so that nothing snaps it
  /// As forced, of a single product and not of snap and snap3; where the kernel does not take the
  /// arrays, another one is chosen by shape.
  int preferred = -1;
};

/// Whether this build has the kernels of hopper/e4m3.
bool has_e4m3();

/// A kernel that can be forced by its name. All kernels of a contract give the same bits for every
/// problem that they take.
struct KernelInfo {
  std::string name;
  Family family = Family::none;
  int index = 0;  ///< among the kernels of its family, whose tables say what each takes
};

/// The kernels that can be forced under a contract of these families, for single products or for
/// groups; LaunchOptions::forced and PlanOptions::variant count in this list. Empty for any other
/// contract.
std::span<const KernelInfo> kernels(const Contract& contract, bool grouped = false);

/// Whether the kernel takes some arrays of this problem, with rows at multiples of 16 bytes where
/// it needs them and with few rows where it is made for few. Kernels that run in clusters are among
/// them; a context that has no room for a cluster refuses to run one. `wgmma`: see LaunchOptions.
/// Pure; no device is needed.
bool takes(const KernelInfo& kernel, const GemmSpec& spec, bool wgmma = true);
bool takes(const KernelInfo& kernel, const GroupedSpec& spec, bool wgmma = true);

/// A launch ahead of the kernel, which reads what it wrote into the workspace.
struct Step {
  enum Kind : std::uint8_t {
    snap,   ///< snaps operands
    split,  ///< splits operands into the parts of snap3
    pack,   ///< copies operands of one product that TMA cannot read
    copy,   ///< the same for those of a batch
  };
  Kind kind = snap;
  bool a = false, b = false;  ///< the operands
  std::size_t bytes = 0;      ///< pack: of workspace, after what every call may use
};

/// The steps of a call in order, at most two: an operand that is snapped needs no packing, but the
/// other one may.
class Steps {
 public:
  void add(const Step& step) { list_[count_++] = step; }
  const Step* begin() const { return list_; }
  const Step* end() const { return list_ + count_; }
  /// The step of that kind, or null.
  const Step* find(Step::Kind kind) const {
    for (const Step& step : *this) {
      if (step.kind == kind) return &step;
    }
    return nullptr;
  }

 private:
  Step list_[2];
  int count_ = 0;
};

/// What runs: steps, then one kernel, or, in a loop, both once per group. A plain value without
/// addresses, made by `decide`.
struct Decision {
  Steps steps;
  std::int64_t loop = 0;  ///< groups of a loop, of which this is the decision for the first; or 0
  Family family = Family::none;
  DType input = DType::bf16;
  sm90::Form form = sm90::Form::plain;  ///< SM90: what surrounds the chains
  sm90::Join join = sm90::Join::add;    ///< e4m3: how its leaves join
  int kernel = 0;                       ///< index into the family's geometries or tiles
  bool swapped = false;             ///< SM90: N takes the x side of the tensor core, M the y side
  bool x_mn = false, y_mn = false;  ///< majors: memory does not run along k (SIMT: x is A)
  bool leaves = false;              ///< there is more than one leaf, or C below the only one
  bool deep = false;                ///< SM90: sums of a tree wait outside of registers
  bool folds = false;               ///< SM90: one CTA per tile adds up a fold in a straight line
  bool from_c = false;              ///< SM90: and starts it from C
  bool trees = false;               ///< SM90: one CTA per wide tile adds up a tree
  int cluster = 1;                  ///< CTAs per cluster
  int grid = 0;                     ///< CTAs
  int across = 0;                   ///< elements over groups: of these, CTAs per group
                                    ///< mma.sync: columns of D from one tile to the next
  int levels = 0;                   ///< gather and SIMT over groups: sums that may wait
  int shared_bytes = 0;             ///< SIMT: per CTA
  sm90::Raster raster;              ///< SM90: the order of the tiles
  double us = 0;  ///< what the model of time expects of the multiplication, where it compares
};

/// The cheapest launches that compute the problem, or the forced kernel. `unsupported`, with a
/// sentence that names the variant and the rule, if and only if the forced kernel does not take
/// the arrays. A pure function of shapes, strides, alignment, types and options: arrays and offsets
/// are not read, and a null pointer stands for an aligned address. Recent answers are remembered
/// per thread, so that repeated calls cost less than a launch and allocate nothing.
///
/// Preconditions: the arithmetic and input are among those above; m, n, k >= 0, any strides.
Result<Decision> decide(const Problem& problem, const LaunchOptions& options);

/// One line that contains the kernel's name, for example "sm90/128x192/swapped" or "loop of 8:
/// sm90/fp8/128x128". Allocates.
std::string name(const Decision& decision);

/// Bytes of workspace that `enqueue` may use for at most max_m rows, whatever is decided. It grows
/// with max_m.
std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, const LaunchOptions& options);
/// The same over groups, with up to max_k products of k_grouped. It grows with both.
std::size_t workspace_bytes(const GroupedSpec& spec, std::int64_t max_m, std::int64_t max_k,
                            const LaunchOptions& options);

/// Bytes of workspace from which on `decide` answers as if there were any number of them. Of a
/// single product.
std::size_t fast_workspace_bytes(const Problem& problem, const LaunchOptions& options);

/// The same or more for all arrays of at most max_m rows, however they are laid out. It grows with
/// max_m.
std::size_t fast_workspace_bound(const Contract& contract, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, const LaunchOptions& options);

/// Loads the kernels of a contract in the current context, for single products or for groups of a
/// kind, and raises their shared-memory limits, unless that has been done. `enqueue` does so
/// itself; calling this first keeps the work, some milliseconds per context, out of the first
/// launch and out of captures of graphs. `wgmma`: see LaunchOptions.
cudaError_t prepare_kernels(const Contract& contract, bool wgmma = true, bool mma = false);
cudaError_t prepare_kernels(const GroupedSpec& spec, bool wgmma = true);

/// Enqueues D = epilogue(A*B), of all groups, on the current device as `decide` decided for the
/// same problem and options. No allocation of device memory, no synchronisation; capturable.
///
/// Where the context cannot hold the decision's cluster, this decides again without clusters, which
/// gives the same bits; `decision` is then what was enqueued instead. A forced kernel is never
/// replaced: the error is then cudaErrorInvalidClusterSize, and `decide` without
/// LaunchOptions::clusters says in a sentence why.
///
/// `workspace` holds workspace_bytes or, where that is more, the number in the options, aligned to
/// 16 bytes, and no two calls that may run at the same time share it. Its contents mean nothing
/// before and after.
cudaError_t enqueue(Decision& decision, const Problem& problem, const LaunchOptions& options,
                    void* workspace);

/// The fp32 root of a node, and how many nodes of the tree end with it (core/contract/cover.hpp).
struct Root {
  const float* data = nullptr;
  Strides strides;
  int closes = 0;
};
/// Roots that one call can join: they travel as the kernel's argument.
inline constexpr std::size_t kMaxRoots = 1024;
/// Sums that wait at one time: the depth of a tree over 2^31 leaves.
inline constexpr int kMaxWaiting = 32;

/// Enqueues D = epilogue(the tree over the roots), whichever arithmetic made them: at most
/// kMaxRoots, which leave one sum on the stack and never more than kMaxWaiting, else
/// cudaErrorInvalidValue. A, B and k of `g` are not looked at.
/// Any device of compute capability 8.0 and above; capturable.
cudaError_t combine_roots(const GemmArguments& g, std::span<const Root> roots,
                          const LaunchOptions& options);

/// Snaps `from` into `to`, which may be `from` itself: vectors of k bf16 numbers, cut into leaves
/// of leaf_k, at the strides of (vector, number along k). Any device of compute capability 8.0 and
/// above; capturable. Of the options only stream, sms and overlap count.
cudaError_t snap_operand(const void* from, Strides from_strides, void* to, Strides to_strides,
                         std::int64_t vectors, std::int64_t k, std::int64_t leaf_k,
                         const LaunchOptions& options);

}  // namespace detgemm::cuda
