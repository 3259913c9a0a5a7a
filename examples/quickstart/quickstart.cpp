// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A row of D = A*B has the same bits alone and in a batch of 257, because the contract fixes them
// and the plan never learns how many rows there are.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <detgemm/detgemm.hpp>
#include <vector>

namespace {

/// Numbers of mixed size as bf16.
std::vector<std::uint16_t> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint16_t> values(count);
  for (auto& value : values) {
    seed = seed * 1664525U + 1013904223U;
    const float x = (static_cast<float>(seed >> 8) / 8388608.0F - 1.0F) * ((seed & 15U) + 0.1F);
    value = detgemm::bf16_from_float(x);
  }
  return values;
}

int refused(const detgemm::Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main() {
  using detgemm::DType;
  constexpr std::int64_t m = 257, n = 192, k = 1000;

  const auto runtime = detgemm::Runtime::start();  // starts Kokkos unless the application has
  if (!runtime) return refused(runtime.status());

  // What decides the bits, and all that does: Hopper's fused steps over bf16, in leaves of 512
  // products that are joined as a balanced tree.
  const auto contract = detgemm::Contract::parse("hopper/bf16/tree:512->bf16");
  if (!contract) return refused(contract.status());

  detgemm::GemmSpec spec;  // has no m
  spec.n = n;
  spec.k = k;
  spec.contract = *contract;
  const auto backend = detgemm::first_backend(spec, detgemm::DeviceKind::host);
  if (!backend) return refused(backend.status());
  const auto plan = detgemm::Plan::create(**backend, spec);
  if (!plan) return refused(plan.status());

  const auto a = numbers(m * k, 1);
  const auto b = numbers(k * n, 2);
  std::vector<std::uint16_t> batch(m * n), alone(n);
  const auto multiply = [&](std::vector<std::uint16_t>& d, std::int64_t rows) -> detgemm::Status {
    const auto bytes = plan->workspace_bytes(rows);
    if (!bytes) return bytes.status();
    const auto scratch = detgemm::HostWorkspace::allocate(*bytes);  // aligned, and released with it
    if (!scratch) return scratch.status();
    return plan->run({}, detgemm::row_major(a.data(), rows, k, DType::bf16),
                     detgemm::row_major(b.data(), k, n, DType::bf16),
                     detgemm::row_major(d.data(), rows, n, DType::bf16), *scratch);
  };
  if (auto status = multiply(batch, m); !status) return refused(status);
  if (auto status = multiply(alone, 1); !status) return refused(status);

  const auto digest = detgemm::digest_matrix(detgemm::row_major(batch.data(), m, n, DType::bf16));
  std::printf("%sdigest of D: %s\n", plan->describe(m).c_str(), detgemm::hex(*digest).c_str());
  const bool same = std::memcmp(batch.data(), alone.data(), alone.size() * sizeof alone[0]) == 0;
  std::printf("row 0 %s in a batch of 1 and of 257\n", same ? "has the same bits" : "differs");
  return same ? 0 : 1;
}
