// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/sm90/fakes.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "cuda/mma/kernels.hpp"
#include "cuda/mma/tile.hpp"
#include "cuda/simt/grouped.hpp"
#include "cuda/simt/kernels.hpp"
#include "cuda/sm90/chain/kernels.hpp"
#include "cuda/sm90/fp8/kernels.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/grouped/kernels.hpp"
#include "cuda/sm90/leaves/kernels.hpp"
#include "cuda/sm90/leaves/tile.hpp"
#include "cuda/sm90/realign/realign.hpp"

namespace detgemm::test {
namespace {

Recorded recorded;

/// Kernels whose limits were raised, by context: a launch of any other kernel fails.
std::map<std::uint64_t, std::set<const void*>> raised_in;

/// One address per kernel, as the real ones have.
const void* address_of(const FakeKernel& kernel) {
  static std::map<std::string, std::unique_ptr<FakeKernel>> all;
  auto& known = all[kernel.text()];
  if (!known) known = std::make_unique<FakeKernel>(kernel);
  return known.get();
}

cuda::Kernel fake(const FakeKernel& kernel, int threads, int cluster) {
  return {address_of(kernel), threads, 1024, cluster};
}

}  // namespace

std::string FakeKernel::text() const {
  if (grouped) {
    FakeKernel single = *this;
    single.grouped = false;
    return "grouped " + single.text();
  }
  if (join >= 0) return "fp8 " + std::to_string(join) + " " + std::to_string(geometry);
  if (pack) return "pack";
  if (mma) {
    return "mma " + std::string(name(input)) + " " + std::to_string(geometry) +
           (leaves ? " leaves" : "");
  }
  if (snap >= 0) return "snap " + std::to_string(snap);
  if (split >= 0) return "split " + std::string(name(input)) + " " + std::to_string(split);
  if (simt)
    return "simt " + std::string(name(input)) + " " + std::to_string(geometry) +
           (x_mn ? " x-mn" : "") + (y_mn ? " y-mn" : "");
  constexpr const char* kPaths[] = {"plain ", "general ", "realign ", "gather "};
  return kPaths[static_cast<int>(path)] + std::string(name(input)) + " " +
         std::to_string(geometry) + (x_mn ? " x-mn" : "") + (y_mn ? " y-mn" : "") + " form " +
         std::to_string(static_cast<int>(form)) + (leaves ? " leaves" : "") +
         (deep ? " deep" : "") + (folds ? " folds" : "") + (from_c ? " from C" : "") +
         (trees ? " trees" : "");
}

Recorded& record() {
  recorded = {};
  return recorded;
}

std::uint64_t fresh_context() {
  static std::uint64_t last = 1;
  return ++last;
}

int forced_index(const Problem& problem, cuda::Family family, int index) {
  const auto all = cuda::kernels(problem.contract(), problem.is_grouped());
  const auto at = std::find_if(all.begin(), all.end(), [&](const cuda::KernelInfo& kernel) {
    return kernel.family == family && kernel.index == index;
  });
  return static_cast<int>(at - all.begin());
}

int forced_index(const Problem& problem, const std::string& name) {
  if (name.empty()) return -1;
  const auto all = cuda::kernels(problem.contract(), problem.is_grouped());
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const cuda::KernelInfo& kernel) { return kernel.name == name; });
  return static_cast<int>(at - all.begin());
}

Ran run(const Problem& problem, const cuda::LaunchOptions& options, void* workspace) {
  Ran ran;
  const auto decision = cuda::decide(problem, options);
  ran.refusal = decision.status();
  if (!decision) return ran;
  ran.decision = *decision;
  ran.error = cuda::enqueue(ran.decision, problem, options, workspace);
  return ran;
}

Ran run(const GemmArguments& g, DType input, const cuda::LaunchOptions& options, void* workspace,
        Arithmetic arithmetic) {
  return run({g, arithmetic, input}, options, workspace);
}

}  // namespace detgemm::test

namespace detgemm::cuda::sm90 {

using test::fake;
using test::Path;
using test::recorded;

template <DType T, bool kXMn, bool kYMn>
Kernel plain_kernel(int geometry) {
  const Geometry& t = kPlainGeometries.at(static_cast<std::size_t>(geometry));
  if ((kXMn || kYMn) && !t.takes_mn_major()) return {};
  return fake({Path::plain, T, geometry, kXMn, kYMn, Form::plain}, 128 * (t.groups + 1), t.cluster);
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
template Kernel realign_kernel_of<DType::bf16, false, false>(int, Form);
template Kernel realign_kernel_of<DType::bf16, false, true>(int, Form);
template Kernel realign_kernel_of<DType::bf16, true, false>(int, Form);
template Kernel realign_kernel_of<DType::bf16, true, true>(int, Form);
template Kernel realign_kernel_of<DType::fp16, false, false>(int, Form);
template Kernel realign_kernel_of<DType::fp16, false, true>(int, Form);
template Kernel realign_kernel_of<DType::fp16, true, false>(int, Form);
template Kernel realign_kernel_of<DType::fp16, true, true>(int, Form);

template <DType T, bool kXMn, bool kYMn>
Kernel leaf_kernel_of(int geometry, bool deep) {
  const Geometry& t = kLeafGeometries.at(static_cast<std::size_t>(geometry));
  if ((kXMn || kYMn) && !t.takes_mn_major()) return {};
  return fake({Path::plain, T, geometry, kXMn, kYMn, Form::plain, true, deep}, 128 * (t.groups + 1),
              t.cluster);
}
template Kernel leaf_kernel_of<DType::bf16, false, false>(int, bool);
template Kernel leaf_kernel_of<DType::bf16, false, true>(int, bool);
template Kernel leaf_kernel_of<DType::bf16, true, false>(int, bool);
template Kernel leaf_kernel_of<DType::bf16, true, true>(int, bool);
template Kernel leaf_kernel_of<DType::fp16, false, false>(int, bool);
template Kernel leaf_kernel_of<DType::fp16, false, true>(int, bool);
template Kernel leaf_kernel_of<DType::fp16, true, false>(int, bool);
template Kernel leaf_kernel_of<DType::fp16, true, true>(int, bool);

template <DType T, bool kXMn, bool kYMn>
Kernel fold_kernel_of(int geometry, bool from_c) {
  const Geometry& t = kLeafGeometries.at(static_cast<std::size_t>(geometry));
  const bool exists = from_c ? has_fold_from_c(t, kXMn, kYMn) : has_fold(t);
  if (!exists || ((kXMn || kYMn) && !t.takes_mn_major())) return {};
  test::FakeKernel kernel{Path::plain, T, geometry, kXMn, kYMn, Form::plain, true};
  kernel.folds = true;
  kernel.from_c = from_c;
  return fake(kernel, 128 * (t.groups + 1), t.cluster);
}
template <DType T, bool kXMn, bool kYMn>
Kernel tree_kernel_of(int geometry) {
  const Geometry& t = kLeafGeometries.at(static_cast<std::size_t>(geometry));
  if (!has_tree(t) || ((kXMn || kYMn) && !t.takes_mn_major())) return {};
  test::FakeKernel kernel{Path::plain, T, geometry, kXMn, kYMn, Form::plain, true};
  kernel.trees = true;
  return fake(kernel, 128 * (t.groups + 1), t.cluster);
}
template Kernel tree_kernel_of<DType::bf16, false, false>(int);
template Kernel tree_kernel_of<DType::bf16, false, true>(int);
template Kernel tree_kernel_of<DType::bf16, true, false>(int);
template Kernel tree_kernel_of<DType::bf16, true, true>(int);
template Kernel tree_kernel_of<DType::fp16, false, false>(int);
template Kernel tree_kernel_of<DType::fp16, false, true>(int);
template Kernel tree_kernel_of<DType::fp16, true, false>(int);
template Kernel tree_kernel_of<DType::fp16, true, true>(int);
template Kernel fold_kernel_of<DType::bf16, false, false>(int, bool);
template Kernel fold_kernel_of<DType::bf16, false, true>(int, bool);
template Kernel fold_kernel_of<DType::bf16, true, false>(int, bool);
template Kernel fold_kernel_of<DType::bf16, true, true>(int, bool);
template Kernel fold_kernel_of<DType::fp16, false, false>(int, bool);
template Kernel fold_kernel_of<DType::fp16, false, true>(int, bool);
template Kernel fold_kernel_of<DType::fp16, true, false>(int, bool);
template Kernel fold_kernel_of<DType::fp16, true, true>(int, bool);

namespace {

Kernel fp8_fake(int join, int geometry, int threads, int shared_bytes, int cluster = 1) {
  test::FakeKernel kernel;
  kernel.join = join;
  kernel.input = DType::e4m3;
  kernel.geometry = geometry;
  return {test::address_of(kernel), threads, shared_bytes, cluster};
}

}  // namespace

template <Join kJoin>
Kernel fp8_kernel_of(int geometry) {
  const Geometry& t = kFp8Geometries.at(static_cast<std::size_t>(geometry));
  if (!has_join(t, kJoin)) return {};
  return fp8_fake(static_cast<int>(kJoin), geometry, 128 * (t.groups + 1), 1024, t.cluster);
}
template Kernel fp8_kernel_of<Join::add>(int);
template Kernel fp8_kernel_of<Join::one>(int);
template Kernel fp8_kernel_of<Join::columns>(int);
template <Join kJoin>
Kernel fp8_group_kernel_of(int geometry) {
  const auto index = static_cast<std::size_t>(geometry);
  if (!has_group_join(index, kJoin)) return {};
  test::FakeKernel kernel;
  kernel.join = static_cast<int>(kJoin);
  kernel.input = DType::e4m3;
  kernel.geometry = geometry;
  kernel.grouped = true;
  return {test::address_of(kernel), 128 * (kFp8Geometries.at(index).groups + 1), 1024, 1};
}
template Kernel fp8_group_kernel_of<Join::add>(int);
template Kernel fp8_group_kernel_of<Join::one>(int);
template Kernel fp8_group_kernel_of<Join::columns>(int);
Kernel fp8_group_element_kernel() { return fp8_fake(kJoins + 1, -1, 128, 0); }
Kernel fp8_element_kernel() { return fp8_fake(kJoins, -1, 128, 0); }

Kernel gather_kernel(DType type, bool leaves) {
  Kernel kernel = fake({Path::gather, type, -1, false, false, Form::general, leaves}, 256, 1);
  kernel.shared_bytes = 0;
  return kernel;
}
Kernel grouped_gather_kernel(DType type, bool leaves) {
  test::FakeKernel fake{Path::gather, type, -1, false, false, Form::general, leaves};
  fake.grouped = true;
  return {test::address_of(fake), 256, 0, 1};
}
template <DType T, bool kXMn, bool kYMn>
Kernel grouped_kernel_of(int geometry) {
  const Geometry& t = kGroupedGeometries.at(static_cast<std::size_t>(geometry));
  if ((kXMn || kYMn) && !t.takes_mn_major()) return {};
  test::FakeKernel fake{Path::plain, T, geometry, kXMn, kYMn};
  fake.grouped = true;
  return {test::address_of(fake), 128 * (t.groups + 1), 1024, 1};
}
template Kernel grouped_kernel_of<DType::bf16, false, false>(int);
template Kernel grouped_kernel_of<DType::bf16, false, true>(int);
template Kernel grouped_kernel_of<DType::bf16, true, false>(int);
template Kernel grouped_kernel_of<DType::bf16, true, true>(int);
template Kernel grouped_kernel_of<DType::fp16, true, true>(int);
template Kernel grouped_kernel_of<DType::fp16, false, false>(int);
template Kernel grouped_kernel_of<DType::fp16, false, true>(int);
template Kernel grouped_kernel_of<DType::fp16, true, false>(int);
Kernel pack_kernel() {
  test::FakeKernel kernel;
  kernel.pack = true;
  return {test::address_of(kernel), 256, 0, 1};
}
/// The driver's own rules, without its limits of the elements in a box.
bool is_legal(const TensorShape& shape) {
  bool legal = reinterpret_cast<std::uintptr_t>(shape.data) % 16 == 0;
  for (int i = 0; i < shape.rank; ++i) {
    legal &= shape.extent[i] >= 1 && shape.extent[i] <= std::uint64_t{1} << 32;
    legal &= shape.box[i] >= 1 && shape.box[i] <= 256;
    if (i > 0)
      legal &= shape.stride[i - 1] % 16 == 0 && shape.stride[i - 1] < std::uint64_t{1} << 40;
  }
  return legal;
}

cudaError_t encode(const TensorShape& shape, CUtensorMap* map) {
  *map = {};
  if (!is_legal(shape)) return cudaErrorInvalidValue;
  if (recorded.refuse_3d && shape.rank == 3) {
    ++recorded.refused_maps;
    return cudaErrorNotSupported;
  }
  if (static_cast<int>(recorded.maps.size()) == recorded.fail_map) return cudaErrorInvalidValue;
  recorded.maps.push_back(shape);
  return cudaSuccess;
}

}  // namespace detgemm::cuda::sm90

namespace detgemm::cuda::simt {

template <bool kAlongA, bool kAlongB>
const void* large_kernel(int tile) {
  if (tile >= kLargeTiles) return nullptr;
  test::FakeKernel kernel;
  kernel.simt = true;
  kernel.input = DType::fp32;
  kernel.geometry = tile;
  kernel.x_mn = !kAlongA;
  kernel.y_mn = !kAlongB;
  return test::address_of(kernel);
}
template const void* large_kernel<false, false>(int);
template const void* large_kernel<false, true>(int);
template const void* large_kernel<true, false>(int);
template const void* large_kernel<true, true>(int);

template <DType T>
const void* kernel_of_type(int tile) {
  if (!has_tile(T, tile) || (T == DType::fp32 && tile < kLargeTiles)) return nullptr;
  if (kTiles[static_cast<std::size_t>(tile)].lines) return nullptr;
  test::FakeKernel kernel;
  kernel.simt = true;
  kernel.input = T;
  kernel.geometry = tile;
  return test::address_of(kernel);
}
template const void* kernel_of_type<DType::bf16>(int);
template const void* kernel_of_type<DType::fp16>(int);
template const void* kernel_of_type<DType::fp32>(int);

Kernel grouped_kernel(DType type) {
  test::FakeKernel kernel;
  kernel.simt = kernel.grouped = true;
  kernel.input = type;
  return {test::address_of(kernel), 64, kMaxShared, 1};
}

template <int kPart>
const void* line_kernel(int tile) {
  if (!kTiles[static_cast<std::size_t>(tile)].lines || tile % kLineParts != kPart) return nullptr;
  test::FakeKernel kernel;
  kernel.simt = true;
  kernel.input = DType::fp32;
  kernel.geometry = tile;
  return test::address_of(kernel);
}
template const void* line_kernel<0>(int);
template const void* line_kernel<1>(int);
template const void* line_kernel<2>(int);

}  // namespace detgemm::cuda::simt

namespace detgemm::cuda::mma {

template <DType T, bool kLeaves, bool kAlong>
const void* kernel_of_type(int tile) {
  if (!has_kernel(kTiles.at(static_cast<std::size_t>(tile)), T, kLeaves, kAlong)) return nullptr;
  test::FakeKernel kernel;
  kernel.mma = true;
  kernel.input = T;
  kernel.geometry = tile;
  kernel.leaves = kLeaves;
  return test::address_of(kernel);
}
template const void* kernel_of_type<DType::bf16, false, false>(int);
template const void* kernel_of_type<DType::bf16, false, true>(int);
template const void* kernel_of_type<DType::bf16, true, false>(int);
template const void* kernel_of_type<DType::bf16, true, true>(int);
template const void* kernel_of_type<DType::fp16, false, false>(int);
template const void* kernel_of_type<DType::fp16, false, true>(int);
template const void* kernel_of_type<DType::fp16, true, false>(int);
template const void* kernel_of_type<DType::fp16, true, true>(int);
template const void* kernel_of_type<DType::tf32, false, false>(int);
template const void* kernel_of_type<DType::tf32, false, true>(int);
template const void* kernel_of_type<DType::tf32, true, false>(int);
template const void* kernel_of_type<DType::tf32, true, true>(int);

}  // namespace detgemm::cuda::mma

namespace detgemm::cuda::snap {

Kernel kernel(int variant) {
  if (variant < 0 || variant >= kVariantCount) return {};
  test::FakeKernel kernel;
  kernel.snap = variant;
  return {test::address_of(kernel), kThreads, 0, 1};
}

Kernel split_kernel(int index, bool wide) {
  if (index < 0 || index >= kSplitCount) return {};
  test::FakeKernel kernel;
  kernel.split = index;
  kernel.input = wide ? DType::fp32 : DType::bf16;
  return {test::address_of(kernel), kThreads, 0, 1};
}

}  // namespace detgemm::cuda::snap

// The calls of the CUDA runtime that a launch makes; the runtime itself is not linked.
extern "C" cudaError_t cudaGetLastError() { return cudaSuccess; }
extern "C" cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
/// Of null: makes a context where there is none.
extern "C" cudaError_t cudaFree(void* memory) {
  if (memory != nullptr) return cudaErrorInvalidValue;
  if (detgemm::test::recorded.context == 0) {
    detgemm::test::recorded.context = detgemm::test::fresh_context();
  }
  return cudaSuccess;
}

namespace {

CUresult context_id(CUcontext context, unsigned long long* id) {
  const std::uint64_t current = detgemm::test::recorded.context;
  if (context != nullptr || current == 0) return CUDA_ERROR_INVALID_CONTEXT;
  *id = current;
  return CUDA_SUCCESS;
}

unsigned cluster_of(const cudaLaunchConfig_t* config) {
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& a = config->attrs[i];
    if (a.id == cudaLaunchAttributeClusterDimension) cluster = a.val.clusterDim.x;
  }
  return cluster;
}

}  // namespace

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                        unsigned long long,
                                                        cudaDriverEntryPointQueryResult* result) {
  if (std::string(name) != "cuCtxGetId") return cudaErrorInvalidValue;
  *function = reinterpret_cast<void*>(&context_id);
  *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

/// The driver of this fake launches nothing, so that all launches are the runtime's.
extern "C" cudaError_t cudaGetFuncBySymbol(cudaFunction_t*, const void*) {
  return cudaErrorNotSupported;
}

extern "C" cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute,
                                            int value) {
  using namespace detgemm::test;
  if (recorded.fail_raise || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize ||
      value < 0) {
    return cudaErrorInvalidValue;
  }
  raised_in[recorded.context].insert(function);
  recorded.raised.push_back(static_cast<const FakeKernel*>(function)->text());
  return cudaSuccess;
}

extern "C" cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrMaxSharedMemoryPerBlockOptin) return cudaErrorInvalidValue;
  *value = 227 * 1024;
  return cudaSuccess;
}

extern "C" cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                      const cudaLaunchConfig_t* config) {
  using namespace detgemm::test;
  ++recorded.fits_asked;
  if (!raised_in[recorded.context].contains(function)) return cudaErrorInvalidValue;
  const bool fits = !recorded.knows_fits || cluster_of(config) <= recorded.max_cluster;
  *clusters = fits ? recorded.clusters_held : 0;
  return cudaSuccess;
}

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                           void** arguments) {
  using namespace detgemm::cuda::sm90;
  using detgemm::test::Path;
  using detgemm::test::recorded;
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;  // a kernel that does not exist
  const auto& kernel = *static_cast<const detgemm::test::FakeKernel*>(function);
  cudaError_t error = cudaSuccess;
  if (cluster_of(config) > recorded.max_cluster) error = cudaErrorInvalidClusterSize;
  if (config->dynamicSmemBytes > 0 &&
      !detgemm::test::raised_in[recorded.context].contains(function)) {
    error = cudaErrorInvalidValue;
  }
  recorded.failed_launches += error != cudaSuccess;
  if (error != cudaSuccess) return error;
  bool overlap = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& a = config->attrs[i];
    if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization) {
      overlap = a.val.programmaticStreamSerializationAllowed != 0;
    }
  }
  recorded.overlapping += overlap;
  if (kernel.snap >= 0) {
    recorded.snaps.push_back(*static_cast<const detgemm::cuda::snap::Operand*>(arguments[0]));
    recorded.snap_variants.push_back(kernel.snap);
    recorded.snap_grids.push_back(config->gridDim.x);
    recorded.snaps_overlapping += overlap;
    return cudaSuccess;
  }
  if (kernel.split >= 0) {
    recorded.splits.push_back(*static_cast<const detgemm::cuda::snap::SplitOperand*>(arguments[0]));
    recorded.split_kernels.push_back(kernel);
    return cudaSuccess;
  }
  if (kernel.pack) {
    recorded.packs += 1;
    recorded.pack = *static_cast<const PackJob*>(arguments[0]);
    recorded.pack_grid = config->gridDim.x;
    return cudaSuccess;
  }
  recorded.overlap = overlap;
  recorded.kernel = kernel;
  recorded.launches += 1;
  recorded.grid = config->gridDim.x;
  recorded.cluster = cluster_of(config);
  recorded.shared_bytes = config->dynamicSmemBytes;
  if (kernel.join == kJoins) {
    recorded.arguments = *static_cast<const detgemm::GemmArguments*>(arguments[0]);
    recorded.scales = *static_cast<const detgemm::ScalePair*>(arguments[1]);
    return cudaSuccess;
  }
  if (kernel.join == kJoins + 1) {
    recorded.groups = *static_cast<const detgemm::GroupedArguments*>(arguments[0]);
    recorded.scales = *static_cast<const detgemm::ScalePair*>(arguments[1]);
    return cudaSuccess;
  }
  if (kernel.join >= 0 && kernel.grouped) {
    recorded.shape = *static_cast<const LaunchShape*>(arguments[1]);
    recorded.groups = *static_cast<const detgemm::GroupedArguments*>(arguments[2]);
    recorded.fp8 = *static_cast<const Fp8Shape*>(arguments[3]);
    recorded.segments = *static_cast<const SegmentShape*>(arguments[4]);
    return cudaSuccess;
  }
  if (kernel.join >= 0) {
    recorded.shape = *static_cast<const LaunchShape*>(arguments[1]);
    recorded.arguments = *static_cast<const detgemm::GemmArguments*>(arguments[2]);
    recorded.fp8 = *static_cast<const Fp8Shape*>(arguments[3]);
    return cudaSuccess;
  }
  if (kernel.grouped) {
    const bool tiles = !kernel.simt && kernel.path != Path::gather;
    void** at = arguments + (tiles ? 2 : 0);
    if (tiles) recorded.shape = *static_cast<const LaunchShape*>(arguments[1]);
    recorded.groups = *static_cast<const detgemm::GroupedArguments*>(*at++);
    if (tiles) recorded.grouped_shape = *static_cast<const GroupedShape*>(*at);
    if (kernel.path == Path::gather && !kernel.simt) {
      recorded.gather_leaves = *static_cast<const GatherLeaves*>(*at);
    }
    return cudaSuccess;
  }
  if (kernel.mma) {
    recorded.mma = *static_cast<const detgemm::cuda::mma::Params*>(arguments[0]);
    if (recorded.run_mma) recorded.run_mma(kernel, recorded.mma, recorded.grid);
    return cudaSuccess;
  }
  if (kernel.simt) {
    recorded.params = *static_cast<const detgemm::cuda::simt::Params*>(arguments[0]);
    return cudaSuccess;
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
