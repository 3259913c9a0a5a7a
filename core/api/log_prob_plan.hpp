// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <optional>

#include "core/api/log_prob_checks.hpp"
#include "detgemm/plan.hpp"

namespace detgemm {

/// A block of logits that exists at a time: rows, and columns where the caller does not choose.
struct LogBlock {
  std::int64_t rows, columns;
};
/// On a host a block stays near its core; on a device it fills the machine, and 16-bit logits stay
/// in a level-2 cache.
inline LogBlock log_block(const Backend& backend) {
  if (backend.device().kind() == DeviceKind::host) return {256, 4096};
  return {2048, 8192};
}

/// Rows first .. first + count - 1 of a view.
template <class View>
View rows_of(View view, std::int64_t first, std::int64_t count) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(view.data)>>,
                                  const std::byte, std::byte>;
  const std::int64_t stride = view.rows > 1 ? view.row_stride : 0;
  if (view.data != nullptr) {
    view.data = static_cast<Byte*>(view.data) +
                first * stride * static_cast<std::int64_t>(size_of(view.dtype));
  }
  view.rows = count;
  return view;
}

/// Columns first .. first + count - 1 of a view.
template <class View>
View cols_of(View view, std::int64_t first, std::int64_t count) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(view.data)>>,
                                  const std::byte, std::byte>;
  const std::int64_t stride = view.cols > 1 ? view.col_stride : 0;
  view.data = static_cast<Byte*>(view.data) +
              first * stride * static_cast<std::int64_t>(size_of(view.dtype));
  view.cols = count;
  return view;
}

/// A piece of a vocabulary's shard: columns first .. first + count - 1 of it.
struct LogPiece {
  std::int64_t first, count;
};

/// What a plan keeps.
struct LogProbPlan::State {
  const Backend* backend = nullptr;
  const LogProbEngine* engine = nullptr;
  LogProbSpec spec;
  PlanOptions options;
  std::int64_t vocabulary = 0;       ///< its end
  std::int64_t existing = 0;         ///< columns of the shard before it
  std::int64_t stripe_rows = 0;      ///< of logits that exist at a time
  std::int64_t chunk = 0;            ///< columns of them
  std::optional<Plan> chunks, tail;  ///< logits of a whole chunk, and of the last one

  std::int64_t end() const { return spec.begin + existing; }
  std::int64_t pieces() const { return chunk == 0 ? 0 : (existing + chunk - 1) / chunk; }
  LogPiece piece(std::int64_t i) const {
    return {i * chunk, std::min(chunk, existing - i * chunk)};
  }
  const Plan& product(const LogPiece& piece) const {
    return piece.count == chunk ? *chunks : *tail;
  }
  std::size_t logit_bytes() const { return size_of(spec.contract.output); }

  /// The parts of a forward workspace for `t` rows at a time.
  struct Layout {
    std::size_t product = 0, logits = 0, nodes = 0;
    std::size_t layer = 0;  ///< what the engine's own kernel of a layer needs instead
    std::size_t all() const { return std::max(product + logits + nodes, layer); }
  };
  Result<Layout> layout(std::int64_t t) const;
  bool is_whole() const { return spec.begin == 0 && end() == vocabulary; }
  /// Whether an engine's kernel of a whole layer may run: not where the caller chose how products
  /// are computed.
  bool may_be_layer() const { return is_whole() && spec.chunk == 0 && options.variant.empty(); }
  /// Logits of a stripe of rows and a piece of columns.
  Status logits(Stream stream, const LogProbOperands& operands, std::int64_t row, std::int64_t t,
                const LogPiece& piece, const Matrix& to, Workspace workspace) const;
  /// ok, or the rule that kept logits of `t` rows break.
  Status check_kept(const ConstMatrix& kept, std::int64_t t, bool written,
                    NamedArrays& arrays) const;
  /// A run that keeps the logits: a stripe of them, then its rows' results.
  Status run_kept(Stream stream, const LogProbOperands& operands, const LogProbOutputs& outputs,
                  Workspace workspace) const;
  /// Nodes of a stripe of rows, piece by piece: `shards` gets one per piece.
  Status stripe(Stream stream, const LogProbOperands& operands, std::int64_t row, std::int64_t t,
                float* target_logit, bool entropy, std::byte* memory,
                std::vector<LogShard>& shards) const;
  /// What every run checks of its operands.
  Status check(const LogProbOperands& operands, NamedArrays& arrays) const;
  Status check_place(Stream stream, const LogProbRows& rows, std::int64_t t) const;
};

/// The memory type of a contract's operands.
inline DType operand_type(DType input) { return input == DType::tf32 ? DType::fp32 : input; }

}  // namespace detgemm
