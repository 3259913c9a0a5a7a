// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "detgemm/cuda.hpp"
#include "detgemm/plan.hpp"
#include "tests/cuda/device/own_stream.hpp"
#include "tests/cuda/kernels.hpp"

namespace detgemm::test {

/// Device memory that begins as NaN: whoever reads it before it is written shows it.
class Array {
 public:
  explicit Array(std::size_t bytes) : bytes_(bytes) {
    EXPECT_EQ(cudaMalloc(&data_, bytes), cudaSuccess);
    poison();
  }
  Array(Array&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  Array& operator=(Array&&) = delete;
  ~Array() { cudaFree(data_); }

  void poison() const {
    EXPECT_EQ(cudaMemset(data_, 0xff, bytes_), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> host(bytes_);
    EXPECT_EQ(cudaMemcpy(host.data(), data_, bytes_, cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

inline GemmSpec spec_of(const char* contract, std::int64_t n, std::int64_t k) {
  GemmSpec spec;
  spec.n = n;
  spec.k = k;
  spec.contract = *Contract::parse(contract);
  return spec;
}

/// Waits until a packed matrix of 16-bit numbers or fp32 is filled.
inline void fill_normal(const Array& array, std::int64_t rows, std::int64_t cols, DType type,
                        std::uint64_t key) {
  EXPECT_EQ(fill({array.data(), {cols, 1}, rows, cols}, {Data::normal, type, key}, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/// A packed row-major problem with its data, and the oracle's answer.
struct Product {
  GemmSpec spec;
  std::int64_t m;
  Array a, b, d;

  Product(const GemmSpec& problem, std::int64_t rows, std::uint64_t key)
      : spec(problem),
        m(rows),
        a(bytes_of(rows * spec.k, spec.contract.input)),
        b(bytes_of(spec.k * spec.n, spec.contract.input)),
        d(bytes_of(rows * spec.n, spec.contract.output)) {
    fill_normal(a, m, spec.k, spec.contract.input, key);
    fill_normal(b, spec.k, spec.n, spec.contract.input, key + 1);
  }
  static std::size_t bytes_of(std::int64_t elements, DType type) {
    return static_cast<std::size_t>(elements) * size_of(type);
  }
  Operands operands(void* out) const {
    const bool stored_n_by_k = spec.op_b == Op::transpose;
    return {row_major(static_cast<const void*>(a.data()), m, spec.k, spec.contract.input),
            row_major(static_cast<const void*>(b.data()), stored_n_by_k ? spec.n : spec.k,
                      stored_n_by_k ? spec.k : spec.n, spec.contract.input),
            row_major(out, m, spec.n, spec.contract.output)};
  }
  Operands operands() const { return operands(d.data()); }
  Array output() const { return Array(bytes_of(m * spec.n, spec.contract.output)); }
  std::vector<std::uint8_t> expected() const {
    const Array out = output();
    EXPECT_EQ(oracle(flatten(spec, operands(out.data())), spec.contract.input, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return out.bytes();
  }
};

inline Plan plan_of(const GemmSpec& spec, const PlanOptions& options = {}) {
  auto plan = Plan::create(cuda_backend(), spec, options);
  EXPECT_TRUE(plan) << plan.status().message();
  return *std::move(plan);
}

#define EXPECT_OK(expression)                                 \
  do {                                                        \
    const ::detgemm::Status status_of_it = (expression);      \
    EXPECT_TRUE(status_of_it.ok()) << status_of_it.message(); \
  } while (false)

}  // namespace detgemm::test
