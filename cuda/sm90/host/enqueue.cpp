// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/enqueue.hpp"

namespace detgemm::cuda::sm90 {

LaunchShape shape_of(const GemmArguments& g, const Problem& p, const Raster& raster) {
  LaunchShape s;
  s.raster = raster;
  s.x_rows = static_cast<int>(p.x.rows);
  s.y_rows = static_cast<int>(p.y.rows);
  s.k_blocks = static_cast<int>((g.k + kBlockK - 1) / kBlockK);
  s.whole_blocks = g.k % kBlockK == 0;
  s.x_stable = p.x_stable;
  s.y_stable = p.y_stable;
  s.d_x_contiguous = p.d_x_contiguous();
  s.swapped = p.swapped;
  s.output = g.output;
  return s;
}

cudaError_t enqueue(const Kernel& kernel, int grid, const LaunchOptions& options,
                    void** arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(static_cast<unsigned>(kernel.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(kernel.shared_bytes);
  config.stream = options.stream;
  cudaLaunchAttribute attributes[2]{};
  config.attrs = attributes;
  if (options.overlap) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (kernel.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(kernel.cluster), 1, 1};
  }
  return cudaLaunchKernelExC(&config, kernel.function, arguments);
}

}  // namespace detgemm::cuda::sm90
