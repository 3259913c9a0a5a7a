// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <vector>

#include "core/contract/gemm_arguments.hpp"
#include "core/contract/log_leaves.hpp"
#include "core/contract/log_nodes.hpp"
#include "core/contract/log_results.hpp"
#include "detgemm/log_prob.hpp"

// LogProbEngine for host memory, row by row: all of it but the loop over rows and the kernels.

namespace detgemm {

/// One slot of a shard: leaves begin .. begin + 2^level - 1.
struct LogSlot {
  std::int64_t begin;
  int level;
};

/// The slots of a shard, ascending.
inline std::vector<LogSlot> slots_of(const LogShard& shard) {
  std::vector<LogSlot> slots;
  const std::int64_t end = log_leaves(shard.end);
  for (std::int64_t at = shard.begin / arithmetic::kLogLeaf; at < end;) {
    slots.push_back({at, node_level(at, end)});
    at += std::int64_t{1} << slots.back().level;
  }
  return slots;
}

/// The planes of a shard's nodes, for T rows.
class LogPlanes {
 public:
  LogPlanes(const LogShard& shard, std::int64_t t)
      : words_(static_cast<std::uint32_t*>(shard.nodes)),
        slots_(slots_of(shard)),
        t_(t),
        entropy_(shard.entropy) {}

  const std::vector<LogSlot>& slots() const { return slots_; }
  arithmetic::LogNode get(std::size_t slot, std::int64_t row) const {
    return {static_cast<std::int32_t>(word(0, slot, row)), arithmetic::float_of(word(1, slot, row)),
            entropy_ ? arithmetic::float_of(word(2, slot, row)) : -0.0F};
  }
  void put(std::size_t slot, std::int64_t row, const arithmetic::LogNode& node) const {
    word(0, slot, row) = static_cast<std::uint32_t>(node.k);
    word(1, slot, row) = arithmetic::bits_of(node.s);
    if (entropy_) word(2, slot, row) = arithmetic::bits_of(node.a);
  }
  /// Pushes a row's nodes.
  void push(LogStack& stack, std::int64_t row) const {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      const auto [begin, level] = slots_[slot];
      stack.push(get(slot, row), level, begin >> level);
    }
  }

 private:
  std::uint32_t& word(std::size_t plane, std::size_t slot, std::int64_t row) const {
    const auto line = static_cast<std::int64_t>(plane * slots_.size() + slot);
    return words_[line * t_ + row];
  }
  std::uint32_t* words_;
  std::vector<LogSlot> slots_;
  std::int64_t t_;
  bool entropy_;
};

inline float scale_of(const LogProbRows& rows, std::int64_t t) {
  return rows.scale == nullptr ? 1.0F : rows.scale[t];
}

/// Rows of stored logits.
struct LogitRows {
  explicit LogitRows(const ConstMatrix& view)
      : data(static_cast<const std::byte*>(view.data)),
        at(strides_of(view, Op::none)),
        type(view.dtype) {}
  const void* address(std::int64_t row, std::int64_t col) const {
    const std::int64_t element = row * at.row + col * at.col;
    return data + element * static_cast<std::int64_t>(size_of(type));
  }
  float get(std::int64_t row, std::int64_t col) const {
    const void* element = address(row, col);
    return type == DType::fp32 ? log_detail::logit<DType::fp32>(element, 0)
                               : log_detail::logit<DType::bf16>(element, 0);
  }
  const std::byte* data;
  Strides at;
  DType type;
};

/// The columns that a kernel takes at once.
inline constexpr std::int64_t kLogBlock = 4096;
/// A logit takes as long as this many products.
inline constexpr double kLogitCost = 16;

/// The node of one slot of one row.
inline arithmetic::LogNode node_of(const LogKernels& kernels, const LogitRows& logits,
                                   const LogProbRows& rows, const LogShard& shard,
                                   const LogSlot& slot, std::int64_t row) {
  using arithmetic::kLogLeaf;
  arithmetic::LogNode leaves[kLogBlock / kLogLeaf];
  LogStack stack;
  const std::int64_t last = slot.begin + (std::int64_t{1} << slot.level);
  const std::int64_t end = std::min(last * kLogLeaf, shard.end);
  for (std::int64_t col = slot.begin * kLogLeaf; col < end; col += kLogBlock) {
    const std::int64_t columns = std::min(kLogBlock, end - col);
    kernels.leaves({logits.address(row, col - shard.begin), logits.type, logits.at.col, columns,
                    scale_of(rows, row), shard.entropy, leaves});
    for (std::int64_t i = 0; i < log_leaves(columns); ++i) {
      stack.push(leaves[i], 0, col / kLogLeaf + i);
    }
  }
  return stack.root();
}

/// The results of one row, from the nodes of all shards.
inline void join_row(std::span<const LogShard> shards, std::span<const LogPlanes> planes,
                     const LogProbRows& rows, const LogProbOutputs& out, std::int64_t row) {
  LogStack stack;
  for (const LogPlanes& part : planes) part.push(stack, row);
  std::int64_t vocabulary = 0;
  for (const LogShard& shard : shards) {
    if (shard.begin < shard.end) vocabulary = shard.end;
  }
  put_log_results(stack.root(), rows.targets, vocabulary, out, row,
                  [&](std::int64_t at, std::int64_t id) {
                    float x = 0.0F;
                    for (const LogShard& shard : shards) {
                      if (id >= shard.begin && id < shard.end) x = shard.target_logit[at];
                    }
                    return x;
                  });
}

/// `Loop` has `kernels()` and `run(total, cost, workers, body)`, which calls body(i) for i < total
/// with the floating-point mode of the contracts; an item takes as long as `cost` products.
template <class Loop>
class HostLogProb final : public LogProbEngine {
 public:
  Status nodes(Stream, const ConstMatrix& logits, const LogProbRows& rows, const LogShard& shard,
               Workers workers) const override {
    const LogitRows view(logits);
    const LogPlanes planes(shard, logits.rows);
    const auto count = static_cast<std::int64_t>(planes.slots().size());
    const LogKernels kernels = Loop::kernels();
    const double columns = static_cast<double>(shard.end - shard.begin);
    Loop::run(logits.rows * count,
              kLogitCost * columns / static_cast<double>(std::max<std::int64_t>(count, 1)), workers,
              [&](std::int64_t i) {
                const auto slot = static_cast<std::size_t>(i % count);
                planes.put(slot, i / count,
                           node_of(kernels, view, rows, shard, planes.slots()[slot], i / count));
              });
    if (shard.target_logit == nullptr) return {};
    Loop::run(logits.rows, 1, workers, [&](std::int64_t row) {
      for (std::int64_t j = 0; j < rows.targets.per_row; ++j) {
        const std::int64_t id = token(rows.targets, row, j);
        if (id < shard.begin || id >= shard.end) continue;
        shard.target_logit[row * rows.targets.per_row + j] = arithmetic::canonical(
            arithmetic::mul_rn(view.get(row, id - shard.begin), scale_of(rows, row)));
      }
    });
    return {};
  }

  Status merge(Stream, std::int64_t t, std::span<const LogShard> from, std::int64_t first,
               std::int64_t all, const LogShard& to, Workers workers) const override {
    const std::vector<LogPlanes> parts = planes_of(from, t);
    const LogPlanes whole(to, all);
    Loop::run(t, static_cast<double>(from.size()), workers, [&](std::int64_t row) {
      LogStack stack;
      for (const LogPlanes& part : parts) part.push(stack, row);
      for (std::size_t slot = 0; slot < whole.slots().size(); ++slot) {
        whole.put(slot, first + row, stack.nodes[slot]);
      }
    });
    return {};
  }

  Status join(Stream, std::int64_t t, std::span<const LogShard> shards, const LogProbRows& rows,
              const LogProbOutputs& outputs, Workers workers) const override {
    const std::vector<LogPlanes> parts = planes_of(shards, t);
    Loop::run(t, kLogitCost * static_cast<double>(shards.size() + 1), workers,
              [&](std::int64_t row) { join_row(shards, parts, rows, outputs, row); });
    return {};
  }

  Status gradient(Stream, const ConstMatrix& logits, std::int64_t begin, std::int64_t existing,
                  const LogProbRows& rows, const LogProbUpstream& upstream, float alpha,
                  const Matrix& g, Workers workers) const override {
    const LogitRows view(logits);
    const Strides to = strides_of(g, Op::none);
    const LogKernels kernels = Loop::kernels();
    const std::int64_t blocks = (g.cols + kLogBlock - 1) / kLogBlock;
    Loop::run(g.rows * blocks, kLogitCost * static_cast<double>(std::min(g.cols, kLogBlock)),
              workers, [&](std::int64_t i) {
                const std::int64_t row = i / blocks;
                const std::int64_t first = i % blocks * kLogBlock;
                const std::int64_t last = std::min(first + kLogBlock, g.cols);
                auto* const line = static_cast<std::uint16_t*>(g.data) + row * to.row;
                const std::int64_t stop = std::clamp(existing, first, last);
                std::int64_t target = -1;
                if (rows.targets.data != nullptr)
                  target = token(rows.targets, row, 0) - begin - first;
                const auto of = gradient_row(rows, upstream, alpha, row, scale_of);
                // Before the others, since G may be where the logits are.
                const bool here = target >= 0 && target < stop - first;
                const std::uint16_t at_target =
                    here
                        ? arithmetic::log_gradient(
                              of, arithmetic::mul_rn(view.get(row, first + target), of.scale), true)
                        : std::uint16_t{0};
                kernels.gradient({view.address(row, first), view.type, view.at.col, stop - first,
                                  of, -1, line + first * to.col, to.col});
                if (here) line[(first + target) * to.col] = at_target;
                for (std::int64_t col = stop; col < last; ++col) line[col * to.col] = 0;
              });
    return {};
  }

 private:
  static std::vector<LogPlanes> planes_of(std::span<const LogShard> shards, std::int64_t t) {
    std::vector<LogPlanes> planes;
    for (const LogShard& shard : shards) planes.emplace_back(shard, t);
    return planes;
  }
};

}  // namespace detgemm
