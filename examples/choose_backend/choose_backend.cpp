// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// One source for every backend; the build says which (BACKEND). The contract stays the same, so
// the digest does too. A backend that cannot run says why; nothing else is tried in its place.

#include <cstdint>
#include <cstdio>
#include <detgemm/detgemm.hpp>
#include <vector>

namespace {

using detgemm::DType;
constexpr std::int64_t m = 64, n = 48, k = 100;

/// bf16 numbers from 1 to 2, in steps of 1/128.
std::vector<std::uint16_t> numbers(std::size_t count) {
  std::vector<std::uint16_t> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = static_cast<std::uint16_t>(0x3f80 + i % 129);
  return list;
}

/// Multiplies on the backend's device and prints the digest of what came back.
detgemm::Status multiply(const detgemm::Backend& backend, const detgemm::Contract& contract) {
  if (auto status = backend.available(); !status) return status;

  const auto a = numbers(m * k), b = numbers(k * n);
  std::vector<float> d(m * n);

  detgemm::Device& device = backend.device();
  const auto on_device = [&](const auto& host) -> detgemm::Result<void*> {
    const std::size_t bytes = host.size() * sizeof(host[0]);
    auto memory = device.allocate(bytes);
    if (!memory) return memory.status();
    if (auto status = device.to_device(*memory, host.data(), bytes); !status) return status;
    return memory;
  };
  const auto stream = device.create_stream();
  const auto da = on_device(a), db = on_device(b), dd = on_device(d);
  for (const auto& status : {stream.status(), da.status(), db.status(), dd.status()}) {
    if (!status) return status;
  }

  detgemm::GemmOptions options;
  options.backend = backend.name();
  auto status = detgemm::gemm(*stream, detgemm::row_major(*da, m, k, DType::bf16),
                              detgemm::row_major(*db, k, n, DType::bf16),
                              detgemm::row_major(*dd, m, n, DType::fp32), contract, options);
  if (status) status = device.synchronize(*stream);
  if (status) status = device.to_host(d.data(), *dd, d.size() * sizeof(float));
  device.destroy_stream(*stream);
  for (void* memory : {*da, *db, *dd}) device.release(memory);
  if (!status) return status;

  const auto digest = detgemm::digest_matrix(detgemm::row_major(d.data(), m, n, DType::fp32));
  if (!digest) return digest.status();
  std::printf("%s: digest of D is %s\n", BACKEND, detgemm::hex(*digest).c_str());
  return {};
}

}  // namespace

int main() {
  const auto runtime = detgemm::Runtime::start();
  const auto contract = detgemm::Contract::parse("hopper/bf16/chain->fp32");
  const auto backend = detgemm::find_backend(BACKEND);
  for (const auto& status : {runtime.status(), contract.status(), backend.status()}) {
    if (!status) return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  }
  const auto status = multiply(**backend, *contract);
  if (!status) std::fprintf(stderr, "%s: %s\n", BACKEND, status.message().c_str());
  return status ? 0 : 1;
}
