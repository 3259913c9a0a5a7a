// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/tensor_map.hpp"
#include "cuda/sm90/leaves/shape.hpp"
#include "cuda/sm90/realign/tile.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::test {

/// Which kernel a fake stands for.
struct FakeKernel {
  cuda::sm90::Path path = cuda::sm90::Path::gather;
  DType input = DType::bf16;
  int geometry = -1;
  bool x_mn = false, y_mn = false;
  cuda::sm90::Form form = cuda::sm90::Form::plain;
  bool leaves = false, deep = false;

  std::string text() const;
};

/// What reached the CUDA runtime since record().
struct Recorded {
  std::vector<cuda::sm90::TensorShape> maps;
  std::vector<std::string> raised;  ///< kernels whose shared memory was raised
  int launches = 0;
  FakeKernel kernel;
  unsigned grid = 0, cluster = 1;
  bool overlap = false;
  cuda::sm90::LaunchShape shape;     ///< not of gather
  cuda::sm90::RealignShifts shifts;  ///< of realign
  GemmArguments arguments;
  cuda::sm90::LeafShape leaf;              ///< of fold and tree
  cuda::sm90::GatherLeaves gather_leaves;  ///< of gather
  int fail_map = -1;                       ///< index of a map whose encoding fails
  bool fail_raise = false;                 ///< raising shared memory fails
};

/// Forgets everything and returns where the next calls are written down.
Recorded& record();

}  // namespace detgemm::test
