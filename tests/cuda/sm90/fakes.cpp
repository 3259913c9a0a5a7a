// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/sm90/fakes.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "cuda/sm90/chain/kernels.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/leaves/geometry.hpp"
#include "cuda/sm90/leaves/kernels.hpp"
#include "cuda/sm90/realign/realign.hpp"

namespace detgemm::test {
namespace {

Recorded recorded;

/// One address a kernel, as the real ones have.
const void* address_of(const FakeKernel& kernel) {
  static std::map<std::string, std::unique_ptr<FakeKernel>> all;
  auto& known = all[kernel.text()];
  if (!known) known = std::make_unique<FakeKernel>(kernel);
  return known.get();
}

cuda::sm90::Kernel fake(const FakeKernel& kernel, int threads, int cluster) {
  return {address_of(kernel), threads, 1024, cluster};
}

}  // namespace

std::string FakeKernel::text() const {
  constexpr const char* kPaths[] = {"plain ", "general ", "realign ", "gather "};
  return kPaths[static_cast<int>(path)] + std::string(name(input)) + " " +
         std::to_string(geometry) + (x_mn ? " x-mn" : "") + (y_mn ? " y-mn" : "") + " form " +
         std::to_string(static_cast<int>(form)) + (leaves ? " leaves" : "") + (deep ? " deep" : "");
}

Recorded& record() {
  recorded = {};
  return recorded;
}

}  // namespace detgemm::test

namespace detgemm::cuda::sm90 {

using test::fake;
using test::recorded;

template <DType T, bool kXMn, bool kYMn>
Kernel plain_kernel(int geometry) {
  const Geometry& t = kPlainGeometries.at(static_cast<std::size_t>(geometry));
  if ((kXMn || kYMn) && !t.takes_mn_major()) return {};
  return fake({Path::plain, T, geometry, kXMn, kYMn, Form::plain}, 128 * (t.groups + 1), t.cluster);
}
template <DType T, bool kXMn, bool kYMn>
Kernel general_kernel(int geometry, Form form) {
  const Geometry& t = kGeneralGeometries.at(static_cast<std::size_t>(geometry));
  return fake({Path::general, T, geometry, kXMn, kYMn, form}, 128 * (t.groups + 1), t.cluster);
}
template <DType T, bool kXMn, bool kYMn>
Kernel realign_kernel_of(int geometry, Form form) {
  const Geometry& t = kRealignGeometries.at(static_cast<std::size_t>(geometry));
  if ((kXMn || kYMn) && !t.takes_mn_major()) return {};
  return fake({Path::realign, T, geometry, kXMn, kYMn, form}, 128 * (t.groups + 1), t.cluster);
}

template Kernel plain_kernel<DType::bf16, false, false>(int);
template Kernel plain_kernel<DType::bf16, false, true>(int);
template Kernel plain_kernel<DType::bf16, true, false>(int);
template Kernel plain_kernel<DType::bf16, true, true>(int);
template Kernel plain_kernel<DType::fp16, false, false>(int);
template Kernel plain_kernel<DType::fp16, false, true>(int);
template Kernel plain_kernel<DType::fp16, true, false>(int);
template Kernel plain_kernel<DType::fp16, true, true>(int);
template Kernel general_kernel<DType::bf16, false, false>(int, Form);
template Kernel general_kernel<DType::bf16, false, true>(int, Form);
template Kernel general_kernel<DType::bf16, true, false>(int, Form);
template Kernel general_kernel<DType::bf16, true, true>(int, Form);
template Kernel general_kernel<DType::fp16, false, false>(int, Form);
template Kernel general_kernel<DType::fp16, false, true>(int, Form);
template Kernel general_kernel<DType::fp16, true, false>(int, Form);
template Kernel general_kernel<DType::fp16, true, true>(int, Form);
template Kernel realign_kernel_of<DType::bf16, false, false>(int, Form);
template Kernel realign_kernel_of<DType::bf16, false, true>(int, Form);
template Kernel realign_kernel_of<DType::bf16, true, false>(int, Form);
template Kernel realign_kernel_of<DType::bf16, true, true>(int, Form);
template Kernel realign_kernel_of<DType::fp16, false, false>(int, Form);
template Kernel realign_kernel_of<DType::fp16, false, true>(int, Form);
template Kernel realign_kernel_of<DType::fp16, true, false>(int, Form);
template Kernel realign_kernel_of<DType::fp16, true, true>(int, Form);

template <DType T, bool kXMn, bool kYMn>
Kernel leaf_kernel_of(int geometry, Form form, bool deep) {
  const Geometry& t = kLeafGeometries.at(static_cast<std::size_t>(geometry));
  if ((kXMn || kYMn) && !t.takes_mn_major()) return {};
  if (form != Form::plain && !takes_general_leaves(t)) return {};
  const Path path = form == Form::plain ? Path::plain : Path::general;
  return fake({path, T, geometry, kXMn, kYMn, form, true, deep}, 128 * (t.groups + 1), t.cluster);
}
template Kernel leaf_kernel_of<DType::bf16, false, false>(int, Form, bool);
template Kernel leaf_kernel_of<DType::bf16, false, true>(int, Form, bool);
template Kernel leaf_kernel_of<DType::bf16, true, false>(int, Form, bool);
template Kernel leaf_kernel_of<DType::bf16, true, true>(int, Form, bool);
template Kernel leaf_kernel_of<DType::fp16, false, false>(int, Form, bool);
template Kernel leaf_kernel_of<DType::fp16, false, true>(int, Form, bool);
template Kernel leaf_kernel_of<DType::fp16, true, false>(int, Form, bool);
template Kernel leaf_kernel_of<DType::fp16, true, true>(int, Form, bool);

Kernel gather_kernel(DType type, bool leaves) {
  return fake({Path::gather, type, -1, false, false, Form::general, leaves}, 256, 1);
}
int gather_grid(const GemmArguments& g, int sms) {
  const std::int64_t tiles = ((g.m + 127) / 128) * ((g.n + 127) / 128);
  return static_cast<int>(std::min<std::int64_t>(tiles, 2 * sms));
}

cudaError_t find_tensor_map_encoder() { return cudaSuccess; }
cudaError_t encode(const TensorShape& shape, CUtensorMap* map) {
  *map = {};
  if (static_cast<int>(recorded.maps.size()) == recorded.fail_map) return cudaErrorInvalidValue;
  recorded.maps.push_back(shape);
  return cudaSuccess;
}

}  // namespace detgemm::cuda::sm90

// The two calls of the CUDA runtime that a launch makes; the runtime itself is not linked.
extern "C" cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute,
                                            int value) {
  using detgemm::test::recorded;
  if (recorded.fail_raise || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize ||
      value < 0) {
    return cudaErrorInvalidValue;
  }
  recorded.raised.push_back(static_cast<const detgemm::test::FakeKernel*>(function)->text());
  return cudaSuccess;
}

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                           void** arguments) {
  using namespace detgemm::cuda::sm90;
  using detgemm::test::recorded;
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;  // a kernel that does not exist
  recorded.kernel = *static_cast<const detgemm::test::FakeKernel*>(function);
  recorded.launches += 1;
  recorded.grid = config->gridDim.x;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& a = config->attrs[i];
    if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization) {
      recorded.overlap = a.val.programmaticStreamSerializationAllowed != 0;
    }
    if (a.id == cudaLaunchAttributeClusterDimension) recorded.cluster = a.val.clusterDim.x;
  }
  // Behind the maps: shifts where rows are realigned, the shape of a launch, the arguments.
  void** rest = arguments;
  if (recorded.kernel.path != Path::gather) ++rest;
  if (recorded.kernel.path == Path::realign) {
    recorded.shifts = *static_cast<const RealignShifts*>(*rest++);
  }
  if (recorded.kernel.path != Path::gather) {
    recorded.shape = *static_cast<const LaunchShape*>(*rest++);
  }
  recorded.arguments = *static_cast<const detgemm::GemmArguments*>(*rest++);
  if (recorded.kernel.path == Path::gather) {
    recorded.gather_leaves = *static_cast<const GatherLeaves*>(*rest);
  } else if (recorded.kernel.leaves) {
    recorded.leaf = *static_cast<const LeafShape*>(*rest);
  }
  return cudaSuccess;
}
