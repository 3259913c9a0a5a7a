// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/api/checks.hpp"
#include "detgemm/log_prob.hpp"

namespace detgemm {

/// The products after which K may be cut: a leaf, or a step of a chain.
std::int64_t cut_unit(const Contract& contract);

/// ok, or why columns begin .. end - 1 of a vocabulary are no shard.
Status check_borders(std::int64_t begin, std::int64_t end, std::int64_t vocabulary);

/// Arrays of one call, by the names that sentences give them. Those that are written share no
/// memory with any other.
class NamedArrays {
 public:
  void add(std::string what, const Extent& extent, bool written);
  /// `count` elements of `size` bytes; ok, or a null or misaligned pointer, or an end beyond the
  /// address space. Without elements nothing is added.
  Status add(std::string what, const void* data, std::int64_t count, std::size_t size,
             bool written);
  /// The same where `data` may be null: then nothing is added.
  Status add_optional(std::string what, const void* data, std::int64_t count, std::size_t size,
                      bool written);
  /// A workspace of at least `needed` bytes.
  Status add_workspace(const Workspace& workspace, std::size_t needed);
  /// ok, or the first overlap.
  Status check() const;

 private:
  struct Named {
    std::string what;
    Extent extent;
    bool written;
  };
  std::vector<Named> arrays_;
};

/// ok, or the rule that ids, scales or results of T rows break; they are added to `arrays`.
Status check_rows(const LogProbRows& rows, std::int64_t t, NamedArrays& arrays);
Status check_outputs(const LogProbOutputs& outputs, const LogProbRows& rows, std::int64_t t,
                     NamedArrays& arrays);
Status check_upstream(const LogProbUpstream& upstream, const LogProbRows& rows, std::int64_t t,
                      NamedArrays& arrays);
/// A view of T x at least `cols` logits.
Status check_logits(const ConstMatrix& logits, std::int64_t cols, NamedArrays& arrays);
/// A shard's arrays; `written` for results.
Status check_shard(std::string_view what, const LogShard& shard, const LogProbRows& rows,
                   std::int64_t t, std::int64_t vocabulary, bool written, NamedArrays& arrays);

/// ok, or the id or scale, in host memory, that breaks its rule.
Status check_values(const LogProbRows& rows, std::int64_t t, std::int64_t vocabulary);

/// The backend's engine, after what every call checks of a backend and a stream.
Result<const LogProbEngine*> engine_of(const Backend& backend, Stream stream);

/// bytes * count up to a multiple of kWorkspaceAlignment; 2^62 where it is more, so that a few of
/// them can be added and no workspace has as many.
std::size_t product_bytes(std::size_t bytes, std::int64_t count);

/// Bytes of a shard's nodes.
std::size_t node_bytes(std::int64_t begin, std::int64_t end, std::int64_t t);

/// `bytes` up to a multiple of kWorkspaceAlignment.
inline std::size_t aligned(std::size_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// Rows first .. of these.
LogProbRows rows_from(const LogProbRows& rows, std::int64_t first);
LogProbOutputs outputs_from(const LogProbOutputs& outputs, const LogProbRows& rows,
                            std::int64_t first);
LogProbUpstream upstream_from(const LogProbUpstream& upstream, std::int64_t first);

}  // namespace detgemm
