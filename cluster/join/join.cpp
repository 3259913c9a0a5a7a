// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/join/join.hpp"

namespace detgemm::cluster {

Range Join::rows(std::int64_t m) const {
  return output() == Placement::rows ? rows_of(m, rank(), ranks()) : Range{0, m};
}

std::size_t Join::root_bytes(std::int64_t rows) const {
  return gather_bytes(rows, spec().n, DType::fp32);
}

std::size_t Join::d_bytes(std::int64_t rows) const {
  return gather_bytes(rows, spec().n, spec().contract.output);
}

std::size_t Join::foreign_nodes() const {
  std::size_t nodes = 0;
  for (int r = 0; r < ranks(); ++r) nodes += r == rank() ? 0 : shares().cover(r).size();
  return nodes;
}

ConstMatrix Join::empty_input(bool by_columns, std::int64_t extent) const {
  const void* const none = nullptr;
  const DType type = spec().contract.input == DType::tf32 ? DType::fp32 : spec().contract.input;
  return by_columns ? row_major(none, extent, 0, type) : row_major(none, 0, extent, type);
}

Status Join::check(Stream stream, std::int64_t m, const Operands& local) const {
  if (m < 0) return invalid("m is " + std::to_string(m) + ": it must not be negative");
  const DeviceKind kind = device().kind();
  if (stream.kind != kind) {
    return invalid("stream.kind is " + std::string(name(stream.kind)) + ": backend " +
                   std::string(plan().backend().name()) + " needs " + std::string(name(kind)));
  }
  const Range own = rows(m);
  if (local.d.rows != own.size()) {
    return invalid("d has " + std::to_string(local.d.rows) + " rows: this rank has " +
                   std::to_string(own.size()) + " of m = " + std::to_string(m));
  }
  // With k = 0 only C, the bias and D are left to check.
  GemmSpec outputs = spec();
  outputs.k = 0;
  Operands arrays = local;
  arrays.a = empty_input(spec().op_a == Op::none, own.size());
  arrays.b = empty_input(spec().op_b == Op::transpose, spec().n);
  return validate(outputs, arrays);
}

Status Join::agree_on_call(std::int64_t m, const Status& mine) const {
  if (!state().options.check_calls) return mine;
  return agree(state(), mine, facts_of_call(number_, m));
}

Status Join::run(const JoinCall& call) const {
  if (call.m > 0 && spec().n > 0) return join(call);
  if (call.info != nullptr) call.info->kernel = "none (no outputs)";
  return {};
}

Operands Join::part_of(const JoinCall& call, Range range) const {
  const std::int64_t first = rows(call.m).begin;
  const Block block{{range.begin - first, range.end - first}, {0, spec().n}};
  Operands part = call.local;
  part.d = block_of(part.d, block);
  if (spec().reads_c()) part.c = block_of(part.c, block);
  return part;
}

Status Join::combine(const JoinCall& call, Range range,
                     const std::function<const void*(int rank, std::size_t node)>& received) const {
  std::vector<NodeRoot> roots;
  for (int r = 0; r < ranks(); ++r) {
    const auto cover = shares().cover(r);
    for (std::size_t i = 0; i < cover.size(); ++i) {
      const void* const data =
          r == rank() ? static_cast<const std::byte*>(call.roots[i]) + root_bytes(range.begin)
                      : received(r, i);
      roots.push_back({row_major(data, range.size(), spec().n, DType::fp32), cover[i]});
    }
  }
  return plan().combine(call.stream, roots, part_of(call, range), call.workspace, call.info);
}

std::size_t Join::received_bytes(std::int64_t m) const {
  if (!scatters(m)) return foreign_nodes() * root_bytes(m);
  const std::int64_t mine = rows_of(m, rank(), ranks()).size();
  const std::size_t roots = foreign_nodes() * root_bytes(mine);
  return output() == Placement::rows ? roots : roots + d_bytes(m - mine);
}

std::string Join::describe(std::int64_t m) const {
  const auto bytes = [this](std::int64_t rows) { return received_bytes(rows); };
  return "join       " + way(m) + ", output " + std::string(name(output())) + ", " +
         std::to_string(shares().cover(rank()).size()) + " nodes here, " +
         std::to_string(foreign_nodes()) + " elsewhere\n" + describe_received(m, spec().n, bytes) +
         "ranks      " + what_.communicator.describe() + "\n";
}

}  // namespace detgemm::cluster
