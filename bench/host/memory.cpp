// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/host/memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <stdexcept>

#include "detgemm/device.hpp"

namespace detgemm::bench {
namespace {

/// A number from fp32 bits to those of a narrower type. fp16 and the 8-bit types get an exponent
/// near 1 in place of their own: numbers of a magnitude that occurs, none special.
std::uint32_t narrowed(DType type, std::uint32_t bits) {
  switch (type) {
    case DType::bf16:
      return bits >> 16;
    case DType::fp16:
      return (bits >> 16 & 0x8000U) | (14 + bits % 3) << 10 | (bits >> 13 & 0x3ffU);
    case DType::e4m3:
      return (bits >> 24 & 0x80U) | (6 + bits % 3) << 3 | (bits >> 20 & 7U);
    case DType::e5m2:
      return (bits >> 24 & 0x80U) | (14 + bits % 3) << 2 | (bits >> 21 & 3U);
    default:
      return bits;
  }
}

}  // namespace

std::vector<unsigned char> normal_elements(DType type, std::int64_t elements, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<unsigned char> data(static_cast<std::size_t>(elements) * size);
  for (std::size_t at = 0; at < data.size(); at += size) {
    const float value = normal(engine);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    bits = narrowed(type, bits);
    std::memcpy(data.data() + at, &bits, size);
  }
  return data;
}

void* HostMemory::allocate(std::int64_t bytes) {
  auto memory = host_device().allocate(static_cast<std::size_t>(bytes));
  if (!memory) throw std::runtime_error(memory.status().message());
  return *memory;
}

void HostMemory::release(void* memory) noexcept { host_device().release(memory); }

void HostMemory::fill_normal(void* memory, std::int64_t bytes, DType type, std::uint64_t seed) {
  // An odd number of elements, so that no row of a power of two meets itself in the next one.
  constexpr std::int64_t kBlock = (std::int64_t{1} << 20) + 17;
  const auto block = normal_elements(type, kBlock, seed);
  auto* out = static_cast<unsigned char*>(memory);
  for (std::int64_t at = 0; at < bytes;) {
    const auto part = std::min<std::int64_t>(bytes - at, static_cast<std::int64_t>(block.size()));
    std::memcpy(out + at, block.data(), static_cast<std::size_t>(part));
    at += part;
  }
}

void HostMemory::fill_zero(void* memory, std::int64_t bytes) {
  std::memset(memory, 0, static_cast<std::size_t>(bytes));
}

}  // namespace detgemm::bench
