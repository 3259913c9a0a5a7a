// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/contract/gemm_arguments.hpp"
#include "hip/arguments.hpp"

/// The door of the HIP kernels: backends include this and nothing else of hip/. What lies behind
/// decides which kernel runs and with which arguments, and holds the compiled code; it knows
/// nothing of the HIP runtime. None of it was run on AMD hardware.
namespace detgemm::hip {

/// The chips that kernels are compiled for.
enum class Chip { gfx90a, gfx942, gfx1100 };
std::string_view name(Chip chip);
/// From the runtime's name of an architecture, "gfx942:sramecc+:xnack-"; features do not matter.
std::optional<Chip> chip_of(std::string_view architecture);

/// A chip's compiled kernels: an ELF code object inside this library.
struct CodeObject {
  Chip chip;
  const void* data;
  std::size_t bytes;
};
/// Empty where the build found no compiler for them.
std::span<const CodeObject> code_objects();
const CodeObject* code_object_of(Chip chip);

/// Names of all kernels of a chip; `Launch::kernel` counts in this list.
const std::vector<std::string>& kernel_names(Chip chip);

/// Whether the chip has kernels for the contract: cdna3 on gfx942 and cdna2 on gfx90a (bf16, fp16),
/// ieee_fma (bf16, fp16, fp32) on all; every reduction.
bool computes(Chip chip, const Contract& contract);

/// The kernels that can be forced for a contract that the chip computes; all give the same bits.
std::vector<std::string> variants_of(const Contract& contract);

/// How one call is launched. Everything in it is bit-neutral.
struct LaunchOptions {
  Chip chip = Chip::gfx942;
  int units = 1;       ///< compute units of the device
  int most_units = 0;  ///< use no more of them; 0: all
  std::string forced;  ///< one of `variants_of`, or empty: by shape
};

/// A kernel and its arguments.
struct Launch {
  int kernel = 0;  ///< index into kernel_names
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  std::size_t bytes = 0;  ///< of the arguments
  alignas(16) std::byte arguments[1536];
};

/// What `prepare_gemm` would launch, in one line that contains the variant's name; "none" if and
/// only if `options.forced` does not take this problem. A pure function of shapes, strides, pointer
/// alignment, types and options.
std::string describe(const GemmArguments& g, Arithmetic arithmetic, DType input,
                     const LaunchOptions& options);

/// Scratch that `prepare_gemm` needs for any m up to max_m, however the arrays lie, and
/// `prepare_combine` for as many roots as the contract has.
std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, const LaunchOptions& options);

/// D = epilogue(A*B) for m, n >= 1, k >= 0, any strides and alignment. False if and only if
/// `options.forced` does not take this problem.
bool prepare_gemm(const GemmArguments& g, Arithmetic arithmetic, DType input,
                  const LaunchOptions& options, void* workspace, Launch& out);

/// The launches, in order, that combine fp32 roots in tree order and apply the epilogue.
std::vector<Launch> prepare_combine(const GemmArguments& g, std::span<const Root> roots,
                                    const LaunchOptions& options, void* workspace);

}  // namespace detgemm::hip
