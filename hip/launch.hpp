// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/contract/problem.hpp"
#include "hip/arguments.hpp"
#include "hip/kernel_names.hpp"

/// The interface of the HIP kernels: backends include this header and nothing else of hip/. What
/// lies behind it decides which kernel runs and with which arguments, and holds the compiled code;
/// it knows nothing of the HIP runtime. None of it was run on AMD hardware.
///
///   kernels  ->  decide  ->  Decision  ->  launch_of  ->  Launch  ->  the runtime
namespace detgemm::hip {

/// A chip's compiled kernels: an ELF code object inside this library.
struct CodeObject {
  Chip chip;
  const void* data;
  std::size_t bytes;
  std::string_view compiler;  ///< whose text it was assembled from: "clang 19.1.7"
};
/// Empty where the build found no compiler for them.
std::span<const CodeObject> code_objects();
const CodeObject* code_object_of(Chip chip);
/// The chips that the build had no compiler for, "gfx950"; empty where all were compiled.
std::string_view left_out();
/// The compiler whose text the tests of this project execute, "clang 19".
std::string_view tested_compiler();
/// Whether a compiler, "clang 19.1.7", is of a version, "clang 19". ROCm's own, "AMD clang 19.0.0",
/// is another compiler.
inline bool is_of(std::string_view compiler, std::string_view version) {
  return compiler.substr(0, version.size()) == version && compiler.substr(version.size(), 1) == ".";
}

/// Whether the chip has kernels for the contract: cdna3 on gfx942 and cdna2 on gfx90a (bf16, fp16),
/// ieee_fma (bf16, fp16, fp32) on all; every reduction. snap (bf16) under fold and tree on all: its
/// sums are exact, so matrix cores and vector instructions give the same. snap3 (bf16, fp32) in the
/// same way. No contract describes the matrix cores of the other chips.
bool computes(Chip chip, const Contract& contract);

/// A kernel that can be forced.
struct KernelInfo {
  std::string_view name;  ///< for example "128x128"
  Variant variant;
  bool any_strides;  ///< takes arrays however they lie; others refuse some, see hip/choose.hpp
  bool parts;        ///< spreads K over workgroups (hip/parts.hpp); needs more than one leaf
};
/// The kernels that can be forced for a contract, whatever the shapes. All give the same bits.
std::span<const KernelInfo> kernels(Arithmetic arithmetic, ReductionKind reduction);
inline std::span<const KernelInfo> kernels(const Contract& contract) {
  return kernels(contract.arithmetic, contract.reduction.kind);
}

/// How one call is launched. Everything in it is bit-neutral.
struct LaunchOptions {
  Chip chip = Chip::gfx942;
  int units = 1;      ///< compute units of the device
  int xcds = 0;       ///< dies with an L2 each, to which workgroups go in turn; 0: not known
  int max_units = 0;  ///< use no more of them; 0: all
  int forced = -1;    ///< index into `kernels`, or -1: by shape
};

/// Outputs per workgroup at a time, how many workgroups share a compute unit, and how the waves lie
/// over a tile's outputs.
struct Shape {
  int m, n;
  int threads;
  int per_unit;
  int waves_m = 1, waves_n = 1;
  bool phased = false;  ///< one half of the waves moves data while the other multiplies
  int depth = 0;        ///< stages of a stream that are in flight or being multiplied
};

/// What runs for one problem: a value that knows no array.
struct Decision {
  Chip chip = Chip::gfx942;
  KernelKey key;
  int kernel = 0;  ///< index into kernel_names
  Shape shape{};
  Raster raster;
  int blocks = 1;                 ///< workgroups
  int parts = 1;                  ///< into which K is spread
  std::int64_t roots_offset = 0;  ///< where the parts' roots begin in the workspace, in bytes
  std::int64_t workspace = 0;     ///< bytes in all
};

/// What runs for D = epilogue(A*B) with m, n >= 1, k >= 0, any strides and alignment, in so many
/// bytes of workspace; a pure function of shapes, strides, pointer alignment, types and options: of
/// all kernels that take the problem, the one with the shortest predicted time (hip/cost.hpp).
/// Refuses where the forced kernel does not take the problem, or where D has more tiles than
/// 2^31 - 1 (more elements than any memory).
Result<Decision> decide(const GemmArguments& g, Arithmetic arithmetic, DType input,
                        const LaunchOptions& options, std::size_t workspace);

/// One line that contains the kernel's name in `kernels`: "gfx942/64x64/any-strides".
std::string name(const Decision& decision);

/// Bytes of scratch that suffice for any m up to max_m, however the arrays lie, and for combining
/// as many roots as the contract has. K is spread over workgroups only where that kernel is forced.
std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, const LaunchOptions& options);

/// The same with room for spreading K over workgroups, which is faster where outputs are few. It
/// suffices for what `decide` picks for any m up to max_m.
std::size_t fast_workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, const LaunchOptions& options);

/// A kernel and its arguments, ready for the runtime.
struct Launch {
  int kernel = 0;  ///< index into kernel_names
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  std::size_t bytes = 0;  ///< of the arguments
  alignas(16) std::byte arguments[1536];

  /// Copies the argument of the kernel, which travels to the device as bytes.
  template <class Arguments>
  void pack(const Arguments& from) {
    static_assert(sizeof(Arguments) <= sizeof(arguments), "a Launch has room for the arguments");
    static_assert(std::is_trivially_copyable_v<Arguments>, "arguments are plain data");
    std::memcpy(arguments, &from, sizeof(Arguments));
    bytes = sizeof(Arguments);
  }
};

/// The launches, in order, of `decision` for the problem that it was made for: the kernel, and
/// where it spreads K the one that joins the parts.
std::vector<Launch> launches_of(const Decision& decision, const GemmArguments& g,
                                const LaunchOptions& options, void* workspace);

// Many products in one launch: its workgroups read the offsets and share out the tiles of all
// groups (hip/group_walk.hpp), so nothing waits for the offsets, and a captured graph reads them
// again.

/// Whether there are kernels over groups for a problem: those of `computes`, except that operands
/// of snap must be promised to be snapped and that snap3 has none.
bool computes_groups(Chip chip, const GroupedSpec& spec);

/// The kernels over groups that can be forced. All give the bits of single products.
std::span<const KernelInfo> group_kernels(Arithmetic arithmetic, ReductionKind reduction);
inline std::span<const KernelInfo> group_kernels(const Contract& contract) {
  return group_kernels(contract.arithmetic, contract.reduction.kind);
}

/// What runs for all groups; a pure function of everything but the offsets. `options.forced` is an
/// index into group_kernels. Refuses as `decide` does.
Result<Decision> decide_groups(const Problem& problem, const LaunchOptions& options);

/// Bytes of workspace that suffice for any number of rows up to max_m and of products of k_grouped
/// up to max_k.
std::size_t group_workspace_bytes(const GroupedSpec& spec, std::int64_t max_m, std::int64_t max_k,
                                  const LaunchOptions& options);

/// The one launch of a Decision over groups.
Launch group_launch(const Decision& decision, const GroupedArguments& groups, void* workspace);

/// The launches, in order, that combine fp32 roots in tree order and apply the epilogue.
std::vector<Launch> combine_launches(const GemmArguments& g, std::span<const Root> roots,
                                     const LaunchOptions& options, void* workspace);

// What a product of `snap` does before it multiplies: each operand that its caller does not
// promise to be snapped is rounded into a copy in the workspace, and the copies are multiplied in
// its place. A copy has K contiguous, in rows of whole cache lines, whichever way the operand
// lies, so that every kernel takes it.
//
//   workspace:  | A, M x K | B, N x K | what the product itself needs |

/// The operands that are snapped first.
struct Snapping {
  bool a = false;
  bool b = false;
};

/// Bytes of the copies for m rows, a multiple of 256; SIZE_MAX where no memory is as large.
std::size_t copies_bytes(Snapping which, std::int64_t m, std::int64_t n, std::int64_t k);

/// The same problem with copies at the start of `workspace` in place of the operands.
GemmArguments with_copies(const GemmArguments& g, Snapping which, void* workspace);

/// The launches that write the copies that `with_copies` has.
std::vector<Launch> copy_launches(const GemmArguments& g, Snapping which, void* workspace,
                                  const LaunchOptions& options);

/// A matrix of `rows` vectors of k bf16 numbers; strides in elements.
struct SnapOperand {
  const void* data;
  std::int64_t row_stride, k_stride;
};
/// Snaps `from` into `to` by leaves of leaf_k, rows >= 1, k >= 1. `to` may be `from`.
Launch snap_launch(const SnapOperand& from, const SnapOperand& to, std::int64_t rows,
                   std::int64_t k, std::int64_t leaf_k, const LaunchOptions& options);

// A product of `snap3` splits both operands into copies of three times the leaves, and is from
// there on a product of `snap` over operands that are snapped (core/contract/snap3_copies.hpp).
//
//   workspace:  | A, M x K' | B, N x K' | what the product over K' itself needs |

/// What is multiplied: under snap3 the product over the copies, otherwise the one that is asked
/// for.
struct Multiplied {
  Contract contract;
  std::int64_t k;  ///< K', or the largest integer where no memory is as large
};
Multiplied multiplied(const Contract& contract, std::int64_t k);

/// The problem over the copies at the start of `workspace`, of copies_bytes with both operands and
/// the K' of `multiplied`. With k = 0 there are no copies.
GemmArguments with_parts(const GemmArguments& g, void* workspace);

/// The launches that write these copies, from operands of `input`: bf16 or fp32.
std::vector<Launch> split_launches(const GemmArguments& g, DType input, void* workspace,
                                   const LaunchOptions& options);

}  // namespace detgemm::hip
