// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/detgemm.h"

namespace detgemm::torch_ops {

/// Whose GPUs PyTorch computes on in this process. PyTorch for ROCm calls its devices and its
/// functions "cuda" as well; which of its libraries is loaded is the difference.
struct Platform {
  detgemm_device_kind_t kind;  ///< DETGEMM_CUDA or DETGEMM_HIP
  void* library;               ///< that of PyTorch with the streams, null where there is none
};

/// HIP where libtorch_hip.so is loaded; otherwise CUDA, with libtorch_cuda.so if that is.
Platform platform();

/// Refuses a call of an operator that writes into a given tensor while any thread is inside of a
/// level of forward-mode derivatives: the tensor would lose its tangent without a word. Below
/// autograd, where these operators are called, a tensor no longer shows whether it has one.
void refuse_forward_level(const char* name);

}  // namespace detgemm::torch_ops
