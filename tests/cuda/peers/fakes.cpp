// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/peers/fakes.hpp"

#include <cuda_runtime_api.h>

#include "cuda/launch.hpp"
#include "cuda/peers/launch.hpp"

namespace detgemm::test {

FakeCuda& fake_cuda() {
  static FakeCuda one;
  return one;
}

void wait_until_ahead(int kernels) {
  const auto from = std::chrono::steady_clock::now();
  while (fake_cuda().ahead < kernels &&
         std::chrono::steady_clock::now() - from < std::chrono::seconds(10)) {
    std::this_thread::yield();
  }
}

namespace {

thread_local int current = 0;

/// Kernels are told apart by addresses: 2 * vectors + deep, and the early ones, of which the second
/// lets the next one in.
char kernels[6];
constexpr int kEarly = 4;

std::mutex memory_mutex;
std::map<void*, std::size_t> sizes;

fake::WorkerStream& stream_of(cudaStream_t stream) {
  return fake::FakeDevice::of({DeviceKind::cuda, stream});
}

void run_kernel(cuda::peers::Job job, int kernel, int ctas, int threads) {
  FakeCuda& cuda = fake_cuda();
  const PeerFault planted = cuda.fault;
  const bool here = job.rank == 0 || planted == PeerFault::epilogue_per_rank;
  const PeerFault fault = here ? planted : PeerFault::none;
  plant(fault, job);
  std::atomic<int> passed{0};
  std::vector<std::thread> all;
  for (int c = 0; c < ctas; ++c) {
    HostCta cta;
    cta.at = c;
    cta.ctas = ctas;
    cta.threads = threads;
    cta.fault = fault;
    const auto pass = [&] {
      if (++passed == ctas) ++cuda.ahead;
    };
    const bool at_end = !job.two_shot || fault == PeerFault::no_second_wait;
    if (job.rank == 0 && !at_end) cta.passed = pass;
    if (job.rank == job.ranks - 1 && planted == PeerFault::no_second_wait) {
      cta.after_met = [] { wait_until_ahead(1); };
    }
    all.emplace_back([&job, kernel, cta, pass, at_end] {
      if (kernel >= kEarly) {
        run_early_on_host(job, cta);
      } else {
        run_on_host(job, kernel / 2 != 0, kernel % 2 != 0, cta);
      }
      if (job.rank == 0 && at_end) pass();
    });
  }
  for (std::thread& one : all) one.join();
}

}  // namespace

const Backend& peer_backend() {
  static const WrappedSkeleton inner("cuda-stand-in", fake::device(), [](auto plan) {
    return std::make_shared<fake::StreamPlan>(std::move(plan));
  });
  class WithPeers final : public Backend {
   public:
    std::string_view name() const noexcept override { return inner.name(); }
    std::string_view description() const noexcept override { return inner.description(); }
    Status available() const override { return {}; }
    Status supports(const GemmSpec& spec) const override { return inner.supports(spec); }
    Guarantees guarantees(const Contract& c) const override { return inner.guarantees(c); }
    std::vector<std::string> variants(const GemmSpec& s) const override {
      return inner.variants(s);
    }
    Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& s,
                                                      const PlanOptions& o) const override {
      return inner.make_plan(s, o);
    }
    Device& device() const noexcept override { return inner.device(); }
    const PeerEngine* peers() const noexcept override { return &cuda::peer_engine(); }
  };
  static const WithPeers one;
  return one;
}

}  // namespace detgemm::test

using detgemm::test::current;
using detgemm::test::fake_cuda;
using detgemm::test::memory_mutex;
using detgemm::test::sizes;

namespace detgemm::cuda {
Status whole_build() { return {}; }
namespace peers {
Kernel kernel(bool vectors, bool deep) {
  return {&test::kernels[(vectors ? 2 : 0) + (deep ? 1 : 0)], kMaxThreads};
}
Kernel early_kernel(bool lets_next_in) {
  return {&test::kernels[test::kEarly + (lets_next_in ? 1 : 0)], kMaxThreadsEarly};
}
}  // namespace peers
}  // namespace detgemm::cuda

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) { return *count = fake_cuda().devices, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = current, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return current = device, cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  std::strcpy(properties->name, "stand-in");
  properties->uuid.bytes[0] = static_cast<char>(device + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = which == cudaDevAttrMultiProcessorCount ? fake_cuda().sms : fake_cuda().major;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  return *can = fake_cuda().peer_access ? 1 : 0, cudaSuccess;
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int, int) {
  if (which != cudaDevP2PAttrNativeAtomicSupported) return cudaErrorInvalidValue;
  return *value = fake_cuda().atomic_links ? 1 : 0, cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return cudaErrorPeerAccessAlreadyEnabled;  // as for every communicator but the first
}
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  if (fake_cuda().out_of_memory) return cudaErrorMemoryAllocation;
  *memory = std::aligned_alloc(256, bytes);
  const std::scoped_lock lock(memory_mutex);
  const auto old = fake_cuda().freed.find(bytes);
  if (old == fake_cuda().freed.end()) {
    std::memset(*memory, 0xa5, bytes);
  } else {
    std::memcpy(*memory, old->second.data(), bytes);
  }
  sizes[*memory] = bytes;
  ++fake_cuda().allocated;
  detgemm::fake::device().know(*memory, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  // A kernel has left the windows a moment before its threads have ended here.
  for (int i = 0; i < 50 && fake_cuda().pending[current] > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (fake_cuda().pending[current] > 0) ++fake_cuda().freed_early;
  detgemm::fake::device().forget(memory);
  --fake_cuda().allocated;
  const std::scoped_lock lock(memory_mutex);
  const auto* const bytes = static_cast<const std::byte*>(memory);
  fake_cuda().freed[sizes[memory]].assign(bytes, bytes + sizes[memory]);
  return std::free(memory), cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  if (fake_cuda().dirty_windows) bytes = std::min(bytes, sizeof(detgemm::cuda::peers::Header));
  return std::memset(memory, value, bytes), cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  detgemm::test::stream_of(stream).enqueue([=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64), cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return std::free(memory), cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  ++fake_cuda().plain_copies;
  if (fake_cuda().lost_writes) return cudaSuccess;
  if (bytes != 8) return std::memmove(to, from, bytes), cudaSuccess;
  std::uint64_t value = 0;
  value =
      std::atomic_ref<std::uint64_t>(*static_cast<std::uint64_t*>(const_cast<void*>(from))).load();
  std::atomic_ref<std::uint64_t>(*static_cast<std::uint64_t*>(to)).store(value);
  return cudaSuccess;
}
/// With CUDA's rules.
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t lines, cudaMemcpyKind, cudaStream_t) {
  constexpr size_t kMaxPitch = 0x7fffffff;
  if (width > std::min(to_pitch, from_pitch) || std::max(to_pitch, from_pitch) > kMaxPitch) {
    return cudaErrorInvalidPitchValue;
  }
  for (size_t i = 0; i < lines; ++i) {
    std::memcpy(static_cast<std::byte*>(to) + i * to_pitch,
                static_cast<const std::byte*>(from) + i * from_pitch, width);
  }
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const bool captured = detgemm::test::stream_of(stream).recording();
  *status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) {
  return *device = current, cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  *attributes = {};
  const bool known = detgemm::fake::device().check("", data).ok();
  attributes->type = known ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->device = current;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult*) {
  return cudaErrorNotSupported;
}
cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  if (!fake_cuda().ipc) return cudaErrorNotSupported;
  std::memcpy(handle, &memory, sizeof memory);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  if (!fake_cuda().ipc) return cudaErrorInvalidValue;
  std::memcpy(memory, &handle, sizeof *memory);
  ++fake_cuda().opened;
  return cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void*) { return --fake_cuda().opened, cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "a planted error"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorPlanted"; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) { return cudaSuccess; }
cudaError_t cudaGetFuncBySymbol(cudaFunction_t*, const void*) { return cudaErrorNotSupported; }

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  if (current == fake_cuda().launch_error_of) {
    const int error = fake_cuda().launch_error.exchange(0);
    if (error != 0) return static_cast<cudaError_t>(error);
  }
  const auto job = *static_cast<const detgemm::cuda::peers::Job*>(arguments[0]);
  const auto kernel = static_cast<int>(static_cast<const char*>(function) - detgemm::test::kernels);
  const int ctas = static_cast<int>(config->gridDim.x);
  const int threads = static_cast<int>(config->blockDim.x);
  fake_cuda().most_ctas = std::max(fake_cuda().most_ctas.load(), ctas);
  ++fake_cuda().launches;
  fake_cuda().overlapping += config->numAttrs == 1 ? 1 : 0;
  fake_cuda().early += kernel >= detgemm::test::kEarly ? 1 : 0;
  fake_cuda().lets_next_in += kernel > detgemm::test::kEarly ? 1 : 0;
  const int device = current;
  auto& stream = detgemm::test::stream_of(config->stream);
  const int counted = stream.recording() ? 0 : 1;
  fake_cuda().pending[device] += counted;
  stream.enqueue([=] {
    if (device == fake_cuda().slow_device) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    detgemm::test::run_kernel(job, kernel, ctas, threads);
    fake_cuda().pending[device] -= counted;
  });
  return cudaSuccess;
}

}  // extern "C"
