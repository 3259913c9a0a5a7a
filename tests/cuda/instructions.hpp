// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "core/contract/gemm_arguments.hpp"

/// Products by one form of a tensor-core instruction at a time, with nothing of the library's
/// kernels around it. Every tile relies on the fact that the form does not matter.
namespace detgemm::test {

/// The widths N of wgmma that kernels use.
inline constexpr int kWidths[] = {8,   16,  24,  32,  40,  48,  56,  64,  72,  80,  88,
                                  96,  104, 112, 120, 128, 136, 144, 152, 160, 168, 176,
                                  184, 192, 200, 208, 216, 224, 232, 240, 248, 256};

enum class Form {
  wgmma,            ///< A and B in shared memory; A's M or B's N may run along memory
  wgmma_registers,  ///< wgmma with A in registers; n = 8, 16 or 64
  mma_sync,         ///< mma.sync.m16n8k16
  descending,       ///< wgmma with the k16 steps from last to first: the test must see a difference
};

struct Instruction {
  Form form = Form::wgmma;
  int n = 64;                       ///< columns; one wgmma covers all of them
  bool a_mn = false, b_mn = false;  ///< the operand's M or N, instead of K, runs along memory
};

/// D = A * B as g describes it, where A is 64 x K and B is K x n of `input` (bf16 or fp16), and D
/// is 64 x n of fp32, packed and row-major. K is padded with zeros to a multiple of 64. Returns
/// cudaErrorNotSupported where no kernel uses an instruction of that form and n.
cudaError_t run_instruction(const Instruction& which, const GemmArguments& g, DType input,
                            cudaStream_t stream);

}  // namespace detgemm::test
