// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/contract/gemm_arguments.hpp"
#include "cuda/driver.hpp"
#include "cuda/sm90/tile/raster.hpp"
#include "cuda/sm90/tile/tile.hpp"

/// The entry to the CUDA kernels for one product. Backends include the launch headers of cuda/,
/// which tests/layout/rules.py lists, and nothing else from there.
///
///     arguments, options -> decide -> Decision -> enqueue -> a launch on the stream
///                                            `-> name: what RunInfo::kernel reports
///
/// The kernels compute hopper/{bf16,fp16} (compute capability 9.0) and ieee_fma/{bf16,fp16,fp32}
/// (8.0 and above), each under chain, fold and tree. Under snap/bf16 and snap3/{bf16,fp32} a kernel
/// of its own snaps the operands into the workspace, and then those of hopper or ieee_fma multiply.
namespace detgemm::cuda {

/// No error where all kernels are compiled. Otherwise `unavailable`, with a sentence: a build with
/// DETGEMM_CUDA_KERNELS=sample may lack the one that a call needs, so it computes nothing at all.
Status whole_build();

/// Kernels that one function launches; cuda/families.hpp says what a family consists of.
enum class Family : std::uint8_t {
  none,     ///< nothing to launch: there are no outputs
  chain,    ///< wgmma on operands that TMA reads; one chain per output
  realign,  ///< the same for rows that start at any address
  leaves,   ///< wgmma under fold and tree
  gather,   ///< mma.sync on ordinary loads, for arrays that the others do not take
  simt,     ///< fma on CUDA cores
  snap,     ///< snaps operands, ahead of a kernel of another family or by itself
  split,    ///< splits operands into the parts of snap3, ahead of a kernel of another family
};

/// How one call is launched. Nothing in it changes a bit of the result.
struct LaunchOptions {
  cudaStream_t stream = nullptr;
  int sms = 0;               ///< multiprocessors of the device, or fewer if the caller wishes; >= 1
  int forced = -1;           ///< index into kernels(contract), or -1: chosen by shape
  bool a_is_stable = false;  ///< nothing that still runs on the stream writes A ...
  bool b_is_stable = false;  ///< ... or B: it may be read before that earlier work has ended
  bool overlap = true;       ///< programmatic dependent launch: the kernel starts during that work
  bool clusters = true;      ///< kernels that run in clusters may be chosen
  std::size_t workspace_bytes = 0;  ///< given to `enqueue`; fewer than needed counts as needed
  bool wgmma =
      true;  ///< snap: the device has compute capability 9.0; others multiply on CUDA cores
  bool a_is_snapped = false;  ///< snap: A is snapped already ...
  bool b_is_snapped = false;  ///< ... or B, so that nothing snaps it
};

/// A kernel that can be forced by its name. All kernels of a contract give the same bits for every
/// problem that they take.
struct KernelInfo {
  std::string name;
  Family family = Family::none;
  int index = 0;  ///< among the kernels of its family, whose tables say what each takes
};

/// The kernels that can be forced under a contract of these families; LaunchOptions::forced and
/// PlanOptions::variant count in this list. Empty for any other contract.
std::span<const KernelInfo> kernels(const Contract& contract);

/// Whether the kernel takes some arrays of this problem, with rows at multiples of 16 bytes where
/// it needs them and with few rows where it is made for few. Kernels that run in clusters are among
/// them; a context that has no room for a cluster refuses to run one. Pure; no device is needed.
bool takes(const KernelInfo& kernel, const GemmSpec& spec);

/// What runs. A plain value without addresses, made by `decide`.
struct Decision {
  Family family = Family::none;
  DType input = DType::bf16;
  sm90::Form form = sm90::Form::plain;  ///< SM90: what surrounds the chains
  int kernel = 0;                       ///< index into the family's geometries or tiles
  bool swapped = false;             ///< SM90: N takes the x side of the tensor core, M the y side
  bool x_mn = false, y_mn = false;  ///< majors: memory does not run along k (SIMT: x is A)
  bool leaves = false;              ///< there is more than one leaf, or C below the only one
  bool deep = false;                ///< SM90: sums of a tree wait outside of registers
  bool folds = false;               ///< SM90: one CTA per tile adds up a fold from +0
  int cluster = 1;                  ///< CTAs per cluster
  int grid = 0;                     ///< CTAs
  int shared_bytes = 0;             ///< SIMT: per CTA
  sm90::Raster raster;              ///< SM90: the order of the tiles
  bool packs_a = false, packs_b = false;  ///< SM90: it multiplies a copy of the operand ...
  std::size_t packed_bytes = 0;           ///< ... in workspace behind what every call may use
  bool snap = false;                      ///< under the arithmetic snap, and then whether ...
  bool snaps_a = false, snaps_b = false;  ///< ... the operand is snapped first, into workspace
  bool splits = false;                    ///< under snap3 ...
  DType operands = DType::bf16;           ///< ... whose operands have this type
  double us = 0;  ///< what the model of time expects of the multiplication, where it compares
};

/// The cheapest kernel that takes these arguments, or the forced one. `unsupported`, with a
/// sentence that names the variant and the rule, if and only if the forced kernel does not take
/// them. A pure function of shapes, strides, alignment, types and options: arrays are not read, and
/// a null pointer stands for an aligned address. Recent answers are remembered per thread, so that
/// repeated calls cost less than a launch and allocate nothing.
///
/// Preconditions: the arithmetic and input are among those above; m, n, k >= 0, any strides.
Result<Decision> decide(const GemmArguments& g, Arithmetic arithmetic, DType input,
                        const LaunchOptions& options);

/// One line that contains the kernel's name, for example "sm90/128x192/swapped". Allocates.
std::string name(const Decision& decision);

/// Bytes of workspace that `enqueue` may use for at most max_m rows, whatever is decided. It grows
/// with max_m.
std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, const LaunchOptions& options);

/// Bytes of workspace from which on `decide` answers as if there were any number of them.
std::size_t fast_workspace_bytes(const GemmArguments& g, Arithmetic arithmetic, DType input,
                                 const LaunchOptions& options);

/// The same or more for all arrays of at most max_m rows, however they lie. It grows with max_m.
std::size_t fast_workspace_bound(const Contract& contract, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, const LaunchOptions& options);

/// Loads the kernels of an arithmetic in the current context and raises their shared-memory limits,
/// unless that has been done. `enqueue` does so itself; calling this first keeps the work, some
/// milliseconds per context, out of the first launch and out of captures of graphs. `wgmma`: see
/// LaunchOptions.
cudaError_t prepare_kernels(Arithmetic arithmetic, bool wgmma = true);

/// Enqueues D = epilogue(A*B) on the current device as `decide` decided for the same arguments and
/// options. No allocation of device memory, no synchronisation; capturable.
///
/// Where the context cannot hold the decision's cluster, this decides again without clusters, which
/// gives the same bits; `decision` is then what was enqueued instead. A forced kernel is never
/// replaced: the error is then cudaErrorInvalidClusterSize, and `decide` without
/// LaunchOptions::clusters says in a sentence why.
///
/// `workspace` holds workspace_bytes or, where that is more, the number in the options, aligned to
/// 16 bytes, and no two calls that may run at the same time share it. Its contents mean nothing
/// before and after.
cudaError_t enqueue(Decision& decision, const GemmArguments& g, const LaunchOptions& options,
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
