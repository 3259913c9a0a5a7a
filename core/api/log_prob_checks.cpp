// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/api/log_prob_checks.hpp"

#include <algorithm>
#include <limits>

#include "core/api/plan_checks.hpp"
#include "core/contract/log_nodes.hpp"
#include "core/contract/wording.hpp"

namespace detgemm {
namespace {

std::string shown_address(std::uintptr_t at) { return "0x" + hex(at); }

std::string in_digits(std::int64_t value) { return std::to_string(value); }

std::int64_t token_at(const TokenIds& ids, std::int64_t t, std::int64_t j) {
  const std::int64_t at = t * ids.row_stride + j;
  return ids.type == OffsetType::i32 ? static_cast<const std::int32_t*>(ids.data)[at]
                                     : static_cast<const std::int64_t*>(ids.data)[at];
}

Status check_targets(const TokenIds& ids, std::int64_t t, NamedArrays& arrays) {
  if (ids.data == nullptr) return {};
  if (size_of(ids.type) == 0) {
    return invalid("targets.type is " + described(ids.type) + ": it must be i32 (0) or i64 (1)");
  }
  if (ids.rows != t) {
    return invalid("targets.rows is " + in_digits(ids.rows) + ": it must be T = " + in_digits(t));
  }
  if (ids.per_row < 1) {
    return invalid("targets.per_row is " + in_digits(ids.per_row) + ": it must be at least 1");
  }
  if (t > 1 && ids.row_stride < ids.per_row) {
    return invalid("targets.row_stride is " + in_digits(ids.row_stride) +
                   ": it must be at least per_row = " + in_digits(ids.per_row));
  }
  std::int64_t count = 0;
  if (t > 1 && (__builtin_mul_overflow(t - 1, ids.row_stride, &count) ||
                __builtin_add_overflow(count, ids.per_row, &count))) {
    return invalid("targets.row_stride is " + in_digits(ids.row_stride) +
                   ": the last id's number must fit 2^63");
  }
  return arrays.add("targets.data", ids.data, t > 1 ? count : ids.per_row, size_of(ids.type),
                    false);
}

/// T x per_row, or a sentence.
Result<std::int64_t> id_count(const LogProbRows& rows, std::int64_t t, std::string_view what) {
  if (rows.targets.data == nullptr && t > 0) {
    return invalid("targets.data is null: " + std::string(what) + " needs targets");
  }
  std::int64_t count = 0;
  if (__builtin_mul_overflow(t, rows.targets.per_row, &count)) {
    return invalid("targets.per_row is " + in_digits(rows.targets.per_row) +
                   ": T * per_row must fit 2^63");
  }
  return count;
}

}  // namespace

LogProbEngine::~LogProbEngine() = default;
Status LogProbEngine::of_logits(Stream stream, const ConstMatrix& logits, std::int64_t vocabulary,
                                const LogProbRows& rows, const LogProbOutputs& outputs,
                                void* memory, Workers workers) const {
  float* const target = outputs.target_logit != nullptr ? outputs.target_logit : outputs.logp;
  const LogShard all{0, vocabulary, memory, target, outputs.entropy != nullptr};
  if (Status s = nodes(stream, logits, rows, all, workers); !s) return s;
  return join(stream, logits.rows, {&all, 1}, rows, outputs, workers);
}
std::size_t LogProbEngine::layer_bytes(const LogProbSpec&, std::int64_t) const { return 0; }
bool LogProbEngine::takes_layer(const LogProbSpec&, const LogProbOperands&) const { return false; }
Status LogProbEngine::layer(Stream, const LogProbSpec&, const PlanOptions&, const LogProbOperands&,
                            const LogProbOutputs&, Workspace) const {
  return {Errc::unsupported, "the backend has no kernel of a whole layer"};
}
const LogProbEngine* Backend::log_prob() const noexcept { return nullptr; }

Status check_borders(std::int64_t begin, std::int64_t end, std::int64_t vocabulary) {
  if (begin < 0 || begin % arithmetic::kLogLeaf != 0) {
    return invalid("begin is " + in_digits(begin) +
                   ": a shard begins at a multiple of 16, from 0 on");
  }
  if (end < begin || end > kMaxVocabulary) {
    return invalid("end is " + in_digits(end) + ": it must be from begin = " + in_digits(begin) +
                   " to " + in_digits(kMaxVocabulary));
  }
  if (end % arithmetic::kLogLeaf == 0 || end >= vocabulary) return {};
  return invalid("end is " + in_digits(end) +
                 ": a shard ends at a multiple of 16 or at the vocabulary's end, " +
                 in_digits(vocabulary));
}

void NamedArrays::add(std::string what, const Extent& extent, bool written) {
  arrays_.push_back({std::move(what), extent, written});
}

Status NamedArrays::add(std::string what, const void* data, std::int64_t count, std::size_t size,
                        bool written) {
  if (count == 0) return {};
  if (data == nullptr) {
    return invalid(what + " is null: it has " + in_digits(count) + " elements");
  }
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (at % size != 0) {
    return invalid(what + " is " + shown_address(at) + ": it must be a multiple of " +
                   std::to_string(size));
  }
  std::uintptr_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uintptr_t>(count), size, &bytes) ||
      bytes > std::numeric_limits<std::uintptr_t>::max() - at) {
    return invalid(what + " is " + shown_address(at) + ": its " + in_digits(count) +
                   " elements must end within the address space");
  }
  add(std::move(what), Extent{at, at + bytes}, written);
  return {};
}

Status NamedArrays::add_optional(std::string what, const void* data, std::int64_t count,
                                 std::size_t size, bool written) {
  return data == nullptr ? Status{} : add(std::move(what), data, count, size, written);
}

Status NamedArrays::add_workspace(const Workspace& workspace, std::size_t needed) {
  if (workspace.bytes < needed) {
    return invalid("workspace.bytes is " + std::to_string(workspace.bytes) +
                   ": these rows need at least " + std::to_string(needed));
  }
  if (needed == 0) return {};
  if (Status s = add("workspace.data", workspace.data, static_cast<std::int64_t>(needed), 1, true);
      !s) {
    return s;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(workspace.data);
  if (at % kWorkspaceAlignment == 0) return {};
  return invalid("workspace.data is " + shown_address(at) + ": it must be a multiple of " +
                 std::to_string(kWorkspaceAlignment));
}

Status NamedArrays::check() const {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Named& x = arrays_[i];
      const Named& y = arrays_[j];
      if (!(x.written || y.written) || !x.extent.overlaps(y.extent)) continue;
      return invalid(x.what + " at [" + shown_address(x.extent.begin) + ", " +
                     shown_address(x.extent.end) + ") overlaps " + y.what + " at [" +
                     shown_address(y.extent.begin) + ", " + shown_address(y.extent.end) +
                     "): they must not share memory");
    }
  }
  return {};
}

Status check_rows(const LogProbRows& rows, std::int64_t t, NamedArrays& arrays) {
  if (Status s = check_targets(rows.targets, t, arrays); !s) return s;
  return arrays.add_optional("scale", rows.scale, t, sizeof(float), false);
}

Status check_outputs(const LogProbOutputs& outputs, const LogProbRows& rows, std::int64_t t,
                     NamedArrays& arrays) {
  for (const auto& [what, data] :
       {std::pair{"logp", outputs.logp}, std::pair{"target_logit", outputs.target_logit}}) {
    if (data == nullptr) continue;
    const auto count = id_count(rows, t, what);
    if (!count) return count.status();
    if (Status s = arrays.add(what, data, *count, sizeof(float), true); !s) return s;
  }
  for (const auto& [what, data] : {std::pair<const char*, const void*>{"lse", outputs.lse},
                                   {"entropy", outputs.entropy},
                                   {"saved_k", outputs.saved_k},
                                   {"saved_r", outputs.saved_r}}) {
    if (Status s = arrays.add_optional(what, data, t, sizeof(float), true); !s) return s;
  }
  return {};
}

Status check_upstream(const LogProbUpstream& up, const LogProbRows& rows, std::int64_t t,
                      NamedArrays& arrays) {
  if (rows.targets.data != nullptr && rows.targets.per_row != 1) {
    return invalid("targets.per_row is " + in_digits(rows.targets.per_row) +
                   ": a gradient has one target per row");
  }
  if (up.d_logp != nullptr) {
    if (const auto count = id_count(rows, t, "d_logp"); !count) return count.status();
  }
  for (const auto& [what, data] :
       {std::pair<const char*, const void*>{"saved_k", up.saved_k}, {"saved_r", up.saved_r}}) {
    if (Status s = arrays.add(what, data, t, sizeof(float), false); !s) return s;
  }
  for (const auto& [what, data] : {std::pair{"lse", up.lse}, std::pair{"entropy", up.entropy}}) {
    if (up.d_entropy == nullptr) continue;
    if (data == nullptr && t > 0) {
      return invalid(std::string(what) + " is null: d_entropy needs it, of the forward pass");
    }
    if (Status s = arrays.add(what, data, t, sizeof(float), false); !s) return s;
  }
  for (const auto& [what, data] : {std::pair{"d_logp", up.d_logp}, std::pair{"d_lse", up.d_lse},
                                   std::pair{"d_entropy", up.d_entropy}}) {
    if (Status s = arrays.add_optional(what, data, t, sizeof(float), false); !s) return s;
  }
  return {};
}

Status check_logits(const ConstMatrix& logits, std::int64_t cols, NamedArrays& arrays) {
  if (Status s = check_view("logits", logits); !s) return s;
  if (logits.dtype != DType::bf16 && logits.dtype != DType::fp32) {
    return invalid("logits.dtype is " + described(logits.dtype) + ": logits are bf16 or fp32");
  }
  if (logits.cols < cols) {
    return invalid("logits.cols is " + in_digits(logits.cols) + ": it must be at least " +
                   in_digits(cols) + ", the columns that exist");
  }
  arrays.add("logits", extent_of(logits), false);
  return {};
}

std::size_t product_bytes(std::size_t bytes, std::int64_t count) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(count), &all) ||
      all > std::numeric_limits<std::size_t>::max() / 4) {
    return std::numeric_limits<std::size_t>::max() / 4;
  }
  return aligned(all);
}

std::size_t node_bytes(std::int64_t begin, std::int64_t end, std::int64_t t) {
  const std::int64_t slots = node_count(begin / arithmetic::kLogLeaf, log_leaves(end));
  const auto bytes = static_cast<std::size_t>(slots * 3) * sizeof(std::uint32_t);
  return product_bytes(bytes, t);
}

Result<std::int64_t> log_prob_slots(std::int64_t begin, std::int64_t end) {
  if (Status s = check_borders(begin, end, end); !s) return s;
  return node_count(begin / arithmetic::kLogLeaf, log_leaves(end));
}

Status check_shard(std::string_view what, const LogShard& shard, const LogProbRows& rows,
                   std::int64_t t, std::int64_t vocabulary, bool written, NamedArrays& arrays) {
  const std::string label(what);
  if (Status s = check_borders(shard.begin, shard.end, vocabulary); !s) {
    return invalid(label + "." + s.message());
  }
  if (shard.end > vocabulary) {
    return invalid(label + ".end is " + in_digits(shard.end) +
                   ": it must not exceed the vocabulary, " + in_digits(vocabulary));
  }
  const std::int64_t slots = node_count(shard.begin / arithmetic::kLogLeaf, log_leaves(shard.end));
  const std::int64_t planes = shard.entropy ? 3 : 2;
  std::int64_t words = 0;
  if (__builtin_mul_overflow(slots * planes, t, &words)) {
    return invalid("T is " + in_digits(t) + ": the nodes' bytes must fit 2^63");
  }
  if (Status s = arrays.add(label + ".nodes", shard.nodes, words, sizeof(std::uint32_t), written);
      !s) {
    return s;
  }
  if (shard.target_logit == nullptr) return {};
  const auto count = id_count(rows, t, label + ".target_logit");
  if (!count) return count.status();
  return arrays.add(label + ".target_logit", shard.target_logit, *count, sizeof(float), written);
}

Status check_values(const LogProbRows& rows, std::int64_t t, std::int64_t vocabulary) {
  for (std::int64_t i = 0; i < t && rows.scale != nullptr; ++i) {
    const std::uint32_t bits = arithmetic::bits_of(rows.scale[i]);
    if (bits - 1 < arithmetic::kInfBits - 1) continue;
    return invalid("scale[" + in_digits(i) + "] is " + std::to_string(rows.scale[i]) +
                   ": it must be finite and positive");
  }
  for (std::int64_t i = 0; i < t && rows.targets.data != nullptr; ++i) {
    for (std::int64_t j = 0; j < rows.targets.per_row; ++j) {
      const std::int64_t id = token_at(rows.targets, i, j);
      if (id < vocabulary) continue;
      return invalid("targets[" + in_digits(i) + "," + in_digits(j) + "] is " + in_digits(id) +
                     ": it must be below the vocabulary's end, " + in_digits(vocabulary) +
                     ", or negative (ignored)");
    }
  }
  return {};
}

Result<const LogProbEngine*> engine_of(const Backend& backend, Stream stream) {
  if (Status s = check_stream(backend, stream); !s) return s;
  const LogProbEngine* engine = backend.log_prob();
  if (engine == nullptr) {
    return unsupported(std::string(backend.name()) +
                       ": this backend does not compute log-probabilities");
  }
  if (Status s = backend.available(); !s) return s;
  return engine;
}

LogProbRows rows_from(const LogProbRows& rows, std::int64_t first) {
  LogProbRows rest = rows;
  if (rows.scale != nullptr) rest.scale += first;
  if (rows.targets.data == nullptr) return rest;
  const std::int64_t bytes =
      first * rows.targets.row_stride * static_cast<std::int64_t>(size_of(rows.targets.type));
  rest.targets.data = static_cast<const std::byte*>(rows.targets.data) + bytes;
  rest.targets.rows -= first;
  return rest;
}

LogProbOutputs outputs_from(const LogProbOutputs& outputs, const LogProbRows& rows,
                            std::int64_t first) {
  LogProbOutputs rest = outputs;
  if (rest.logp != nullptr) rest.logp += first * rows.targets.per_row;
  if (rest.target_logit != nullptr) rest.target_logit += first * rows.targets.per_row;
  if (rest.lse != nullptr) rest.lse += first;
  if (rest.entropy != nullptr) rest.entropy += first;
  if (rest.saved_k != nullptr) rest.saved_k += first;
  if (rest.saved_r != nullptr) rest.saved_r += first;
  return rest;
}

LogProbUpstream upstream_from(const LogProbUpstream& upstream, std::int64_t first) {
  LogProbUpstream rest = upstream;
  rest.saved_k += first;
  rest.saved_r += first;
  for (const float** data :
       {&rest.lse, &rest.entropy, &rest.d_logp, &rest.d_lse, &rest.d_entropy}) {
    if (*data != nullptr) *data += first;
  }
  return rest;
}

}  // namespace detgemm
