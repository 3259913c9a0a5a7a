// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/bits.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "detgemm/plan.hpp"

namespace detgemm::bench {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
T required(Result<T> result) {
  if (!result) throw std::runtime_error(result.status().message());
  return std::move(result).value();
}

std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count); }

/// Up to `count` indices below `extent`, spread evenly; the first and the last are among them.
std::vector<std::int64_t> spread(std::int64_t extent, std::int64_t count) {
  std::set<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.insert(i * (extent - 1) / (count - 1));
  return {indices.begin(), indices.end()};
}

/// Vectors along K, one per index, packed one behind the other. A vector is contiguous in memory,
/// or its elements are `pitch` elements apart.
Bytes gather(Device& device, const void* from, const std::vector<std::int64_t>& indices,
             std::int64_t k, bool contiguous, std::int64_t pitch, std::int64_t size) {
  Bytes out(bytes(static_cast<std::int64_t>(indices.size()) * k * size));
  const auto* at = static_cast<const std::byte*>(from);
  if (contiguous) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      check(device.to_host(out.data() + bytes(k * size) * i, at + indices[i] * k * size,
                           bytes(k * size)),
            "reading an operand");
    }
    return out;
  }
  Bytes row(bytes(pitch * size));
  for (std::int64_t kk = 0; kk < k; ++kk) {
    check(device.to_host(row.data(), at + kk * pitch * size, row.size()), "reading an operand");
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::memcpy(out.data() + (bytes(k) * i + bytes(kk)) * bytes(size),
                  row.data() + indices[i] * size, bytes(size));
    }
  }
  return out;
}

}  // namespace

void run_over_poison(BenchDevice& device, const Arm& arm, const Problem& problem,
                     const Buffers& buffers) {
  const Gemm g = gemm_of(problem);
  const std::int64_t size = arm.d_size != 0 ? arm.d_size : g.d_size;
  const Bytes poison(bytes(size * g.m * g.n), std::byte{0xff});
  check(device.backend().device().to_device(buffers.at(problem, 0).d, poison.data(), poison.size()),
        "poison");
  check(arm.enqueue(device.queue().stream(), 0), arm.name);
  device.queue().wait();
}

Bytes read_output(BenchDevice& device, const Problem& problem, const Buffers& buffers,
                  std::int64_t d_size) {
  const Gemm g = gemm_of(problem);
  Bytes out(bytes(g.m * g.n * d_size));
  check(device.backend().device().to_host(out.data(), buffers.at(problem, 0).d, out.size()),
        "reading D");
  return out;
}

BitsCheck check_with_backend(const Backend& host_backend, BenchDevice& device,
                             const Problem& problem, const Contract& contract,
                             const Buffers& buffers) {
  const Gemm g = gemm_of(problem);
  const auto rows = spread(g.m, 4);
  const auto cols = spread(g.n, 48);
  const auto m = static_cast<std::int64_t>(rows.size());
  const auto n = static_cast<std::int64_t>(cols.size());
  GemmSpec spec = spec_of(problem, contract);
  spec.n = n;
  spec.op_a = Op::none;
  spec.op_b = Op::transpose;
  const auto variants = host_backend.variants(spec);
  const std::string variant = variants.empty() ? "" : variants.back();  // the plainest one
  const Plan plan = required(Plan::create(host_backend, spec, {variant, 0, Stable::none}));

  Device& memory = device.backend().device();
  const Buffers::Call at = buffers.at(problem, 0);
  const Bytes a = gather(memory, at.a, rows, g.k, !g.a_transposed, g.m, g.size);
  const Bytes b = gather(memory, at.b, cols, g.k, g.b_transposed, g.n, g.size);
  Bytes d(bytes(m * n * g.d_size));
  Bytes scratch(required(plan.workspace_bytes(m)) + kWorkspaceAlignment);
  void* workspace = scratch.data();
  std::size_t room = scratch.size();
  std::align(kWorkspaceAlignment, scratch.size() - kWorkspaceAlignment, workspace, room);
  const DType type = problem.type == DType::tf32 ? DType::fp32 : problem.type;
  Operands operands{row_major(static_cast<const void*>(a.data()), m, g.k, type),
                    row_major(static_cast<const void*>(b.data()), n, g.k, type),
                    row_major(static_cast<void*>(d.data()), m, n, contract.output)};
  // Columns of one row of the bias, and of rows of C.
  Bytes bias, c;
  if (at.bias != nullptr) {
    bias = gather(memory, at.bias, cols, 1, true, 1, g.d_size);
    operands.bias = {bias.data(), n, contract.output};
  }
  if (at.c != nullptr) {
    for (const std::int64_t row : rows) {
      const auto* from = static_cast<const std::byte*>(at.c) + row * g.n * g.d_size;
      const Bytes part = gather(memory, from, cols, 1, true, 1, g.d_size);
      c.insert(c.end(), part.begin(), part.end());
    }
    operands.c = row_major(static_cast<const void*>(c.data()), m, n, contract.output);
  }
  std::vector<float> row_scales, col_scales;  // of the leaves of each row, of each column
  if (spec.reads_scales()) {
    const std::int64_t leaves = contract.leaves(g.k);
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
      for (const std::int64_t i : rows) row_scales.push_back(bench_scale(i, leaf));
      for (const std::int64_t j : cols) col_scales.push_back(bench_scale(j / 128, leaf));
    }
    operands.scale_a = {row_scales.data(), ScaleType::fp32, 1, m, leaves, 1, m};
    operands.scale_b = {col_scales.data(), ScaleType::fp32, 1, n, leaves, 1, n};
  }
  check(plan.run({}, operands, {workspace, room}), "recomputing a part of D");

  BitsCheck found{std::string(host_backend.name()) + " backend" +
                  (variant.empty() ? "" : ", " + variant)};
  Bytes row(bytes(g.n * g.d_size));
  for (std::int64_t i = 0; i < m; ++i) {
    check(memory.to_host(row.data(),
                         static_cast<const std::byte*>(at.d) + rows[bytes(i)] * g.n * g.d_size,
                         row.size()),
          "reading D");
    for (std::int64_t j = 0; j < n; ++j) {
      ++found.outputs;
      found.different += std::memcmp(row.data() + cols[bytes(j)] * g.d_size,
                                     d.data() + (i * n + j) * g.d_size, bytes(g.d_size)) != 0;
    }
  }
  return found;
}

BitsCheck check_contract(BenchDevice& device, const Problem& problem, const Contract& contract,
                         const Buffers& buffers) {
  if (auto found = device.check_bits(problem, contract, buffers, 0)) return *found;
  const auto reference = find_backend("reference");
  if (!reference)
    throw std::runtime_error("no backend to compare with: " + reference.status().message());
  return check_with_backend(**reference, device, problem, contract, buffers);
}

BitsCheck compare_outputs(const std::string& against, const Bytes& x, const Bytes& y,
                          std::int64_t d_size) {
  BitsCheck found{against, static_cast<std::int64_t>(x.size()) / d_size};
  if (x.size() == y.size() && x == y) return found;
  for (std::size_t at = 0; at + bytes(d_size) <= std::min(x.size(), y.size());
       at += bytes(d_size)) {
    found.different += std::memcmp(x.data() + at, y.data() + at, bytes(d_size)) != 0;
  }
  return found;
}

}  // namespace detgemm::bench
