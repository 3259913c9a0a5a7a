// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/verify.hpp"

#include <chrono>
#include <ctime>

#include "backends/cuda/devices.hpp"
#include "backends/cuda/pinned_products.hpp"
#include "cuda/launch.hpp"

namespace detgemm::cuda {
namespace {

/// Memory on the current device.
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t bytes) : error_(cudaMalloc(&data_, bytes)), bytes_(bytes) {}
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  cudaError_t error() const { return error_; }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  cudaError_t load(const void* from, cudaStream_t stream) const {
    return cudaMemcpyAsync(data_, from, bytes_, cudaMemcpyHostToDevice, stream);
  }

 private:
  void* data_ = nullptr;
  cudaError_t error_;
  std::size_t bytes_;
};

std::size_t array_bytes(std::int64_t elements, std::size_t size) {
  return static_cast<std::size_t>(elements) * size;
}

/// D of a product in host memory, by the kernels of this device.
cudaError_t multiply_on(const DeviceFacts& device, Arithmetic arithmetic, DType input,
                        const GemmArguments& host, cudaStream_t stream) {
  LaunchOptions options;
  options.stream = stream;
  options.sms = device.sms;
  options.wgmma = device.has_wgmma();
  options.overlap = false;
  Problem problem(host, arithmetic, input);
  options.workspace_bytes = workspace_bytes(problem.contract(), host.m, host.n, host.k, options);
  const std::size_t size = size_of(input);
  const DeviceArray a(array_bytes(host.m * host.k, size)), b(array_bytes(host.n * host.k, size));
  const DeviceArray c(array_bytes(host.m * host.n, 4)), d(array_bytes(host.m * host.n, 4));
  const DeviceArray workspace(options.workspace_bytes + 16);
  for (const DeviceArray* array : {&a, &b, &c, &d, &workspace}) {
    if (array->error() != cudaSuccess) return array->error();
  }
  GemmArguments& g = problem.gemms.all;
  g.a = a.data();
  g.b = b.data();
  g.c = c.data();
  g.d = d.data();
  cudaError_t error = a.load(host.a, stream);
  if (error == cudaSuccess) error = b.load(host.b, stream);
  if (error == cudaSuccess) error = c.load(host.c, stream);
  if (error == cudaSuccess) {
    auto decision = decide(problem, options);
    error =
        decision ? enqueue(*decision, problem, options, workspace.data()) : cudaErrorInvalidValue;
  }
  if (error == cudaSuccess) {
    error = cudaMemcpyAsync(host.d, d.data(), d.bytes(), cudaMemcpyDeviceToHost, stream);
  }
  const cudaError_t ended = cudaStreamSynchronize(stream);
  return error == cudaSuccess ? ended : error;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts)};
}

/// The pinned products on `device`, which is the current one.
Result<Verification> compare_on(const DeviceFacts& device, Arithmetic arithmetic, DType input) {
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) return failed("creating a stream", error);
  const auto compared = compare_pinned(arithmetic, input, [&](const GemmArguments& g) -> Status {
    error = multiply_on(device, arithmetic, input, g, stream);
    if (error == cudaSuccess) return {};
    return failed("computing pinned products on device " + std::to_string(device.ordinal), error);
  });
  cudaStreamDestroy(stream);
  if (!compared) return compared.status();
  Verification v{false, compared->outputs, compared->different, Cuda::text(device), {}};
  v.text = v.different == 0
               ? "verified here on " + today()
               : "cuda: device " + std::to_string(device.ordinal) + " (" + device.name +
                     ") has compute capability " + device.capability() + " and " +
                     std::to_string(v.different) + " of " + std::to_string(v.outputs) +
                     " pinned outputs of " + std::string(name(arithmetic)) + "/" +
                     std::string(name(input)) + " differ: " + compared->first +
                     "; nothing is computed under this arithmetic here";
  return v;
}

}  // namespace

bool has_mma_of(Arithmetic arithmetic, const DeviceFacts& device) {
  const bool blackwell = device.major == 10 || device.major == 12;
  switch (arithmetic) {
    case Arithmetic::ampere:
      return device.major == 8;
    case Arithmetic::hopper:
      return device.has_wgmma() || blackwell;
    case Arithmetic::blackwell:
      return blackwell;
    default:
      return false;
  }
}

bool is_measured(Arithmetic arithmetic, const DeviceFacts& device) {
  return device.has_wgmma() && arithmetic != Arithmetic::ampere &&
         arithmetic != Arithmetic::blackwell;
}

bool must_be_verified(Arithmetic arithmetic, const DeviceFacts& device) {
  return has_mma_of(arithmetic, device) && !is_measured(arithmetic, device);
}

Result<Verification> Verdicts::get(const Key& key,
                                   const std::function<Result<Verification>()>& compare) {
  const std::lock_guard lock(mutex_);
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  auto found = compare();
  if (found) known_.emplace(key, *found);
  return found;
}

Result<Verification> verify_on(const DeviceFacts& device, Arithmetic arithmetic, DType input) {
  if (is_measured(arithmetic, device)) {
    return Verification{true, 0, 0, Cuda::text(device), "measured by the project"};
  }
  if (!must_be_verified(arithmetic, device) || !has_pinned_products(input)) {
    return unsupported("cuda: contract is " + std::string(name(arithmetic)) + "/" +
                       std::string(name(input)) + ": there are no pinned products for it on " +
                       "compute capability " + device.capability());
  }
  static Verdicts verdicts;
  return verdicts.get({device.ordinal, arithmetic, input},
                      [&] { return compare_on(device, arithmetic, input); });
}

}  // namespace detgemm::cuda
