// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "core/contract/gemm_arguments.hpp"

/// Products by one form of a tensor-core instruction at a time, with nothing of the library's
/// kernels around it: what every tile relies on is that the form does not matter.
namespace detgemm::test {

enum class Form {
  wgmma,            ///< A and B in shared memory; A's M or B's N may run along memory
  wgmma_registers,  ///< A in registers, n = 8, 16 or 64
  mma_sync,         ///< mma.sync.m16n8k16
  descending,       ///< wgmma with the k16 steps from last to first: must be seen to differ
};

struct Instruction {
  Form form = Form::wgmma;
  int n = 64;  ///< columns, which one instruction covers where it is a wgmma
  bool a_mn = false, b_mn = false;
};

/// D, 64 x n of fp32 and row-major, = A * B of bf16 or fp16, as g says; K is padded with zeros to a
/// multiple of 64. cudaErrorNotSupported: the library has no instruction of that n.
cudaError_t run_instruction(const Instruction& which, const GemmArguments& g, DType input,
                            cudaStream_t stream);

}  // namespace detgemm::test
