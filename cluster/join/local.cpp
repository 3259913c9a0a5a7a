// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/join/join.hpp"

namespace detgemm::cluster {
namespace {

/// One rank, which has all roots, or no products, whose sum is +0 on every rank.
class LocalJoin final : public Join {
 public:
  using Join::Join;

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    return padded(*plan().workspace_bytes(max_m));
  }

 private:
  Status join(const JoinCall& call) const override {
    const Range mine = rows(call.m);
    if (spec().k > 0) {
      return combine(call, mine, [](int, std::size_t) { return nullptr; });
    }
    Operands empty = call.local;  // no leaves: the epilogue of +0
    empty.a = empty_input(spec().op_a == Op::none, mine.size());
    empty.b = empty_input(spec().op_b == Op::transpose, spec().n);
    return plan().run(call.stream, empty, call.workspace, call.info);
  }

  std::string way(std::int64_t) const override { return "local"; }
  bool scatters(std::int64_t) const override { return false; }
};

}  // namespace

std::unique_ptr<Join> join_locally(JoinSpec spec) {
  return std::make_unique<LocalJoin>(std::move(spec));
}

}  // namespace detgemm::cluster
