// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

#include "core/api/log_prob_checks.hpp"
#include "core/api/plan_checks.hpp"
#include "core/arithmetic/floating_point_mode.hpp"
#include "core/contract/log_nodes.hpp"

// Log-probabilities of logits that are stored. Each function checks all of its arguments before it
// writes anything.

namespace detgemm {
namespace {

Status check_vocabulary(std::int64_t vocabulary) {
  if (vocabulary >= 0 && vocabulary <= kMaxVocabulary) return {};
  return invalid("vocabulary is " + std::to_string(vocabulary) + ": it must be from 0 to " +
                 std::to_string(kMaxVocabulary));
}

Status check_t(std::int64_t t) {
  if (t >= 0) return {};
  return invalid("t is " + std::to_string(t) + ": it must not be negative");
}

/// Whether g is the memory of the logits, element for element.
bool is_same_array(const ConstMatrix& logits, const Matrix& g) {
  return logits.data == g.data && logits.dtype == g.dtype && logits.rows == g.rows &&
         logits.cols == g.cols && (g.rows < 2 || logits.row_stride == g.row_stride) &&
         (g.cols < 2 || logits.col_stride == g.col_stride);
}

bool on_host(const Backend& backend) { return backend.device().kind() == DeviceKind::host; }

}  // namespace

Result<std::size_t> log_prob_workspace_bytes(std::int64_t t, std::int64_t vocabulary) {
  if (Status s = check_t(t); !s) return s;
  if (Status s = check_vocabulary(vocabulary); !s) return s;
  return node_bytes(0, vocabulary, t);
}

Status log_prob_of_logits(const Backend& backend, Stream stream, const ConstMatrix& logits,
                          std::int64_t vocabulary, const LogProbRows& rows,
                          const LogProbOutputs& outputs, Workspace workspace) try {
  const arithmetic::FloatingPointMode ieee;
  const std::int64_t t = logits.rows;
  NamedArrays arrays;
  if (Status s = check_vocabulary(vocabulary); !s) return s;
  if (Status s = check_logits(logits, vocabulary, arrays); !s) return s;
  if (Status s = check_rows(rows, t, arrays); !s) return s;
  if (Status s = check_outputs(outputs, rows, t, arrays); !s) return s;
  if (Status s = arrays.add_workspace(workspace, node_bytes(0, vocabulary, t)); !s) return s;
  if (Status s = arrays.check(); !s) return s;
  const auto engine = engine_of(backend, stream);
  if (!engine) return engine.status();
  if (on_host(backend)) {
    if (Status s = check_values(rows, t, vocabulary); !s) return s;
  }
  if (t == 0) return {};
  return (*engine)->of_logits(stream, logits, vocabulary, rows, outputs, workspace.data, 0);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status log_prob_nodes_of_logits(const Backend& backend, Stream stream, const ConstMatrix& logits,
                                std::int64_t vocabulary, const LogProbRows& rows,
                                const LogShard& shard) try {
  const arithmetic::FloatingPointMode ieee;
  NamedArrays arrays;
  if (Status s = check_vocabulary(vocabulary); !s) return s;
  if (Status s = check_rows(rows, logits.rows, arrays); !s) return s;
  if (Status s = check_shard("shard", shard, rows, logits.rows, vocabulary, true, arrays); !s) {
    return s;
  }
  if (Status s = check_logits(logits, shard.end - shard.begin, arrays); !s) return s;
  if (Status s = arrays.check(); !s) return s;
  const auto engine = engine_of(backend, stream);
  if (!engine) return engine.status();
  if (on_host(backend)) {
    if (Status s = check_values(rows, logits.rows, vocabulary); !s) return s;
  }
  if (logits.rows == 0) return {};
  return (*engine)->nodes(stream, logits, rows, shard, 0);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status log_prob_join(const Backend& backend, Stream stream, std::int64_t t,
                     std::span<const LogShard> shards, std::int64_t vocabulary,
                     const LogProbRows& rows, const LogProbOutputs& outputs) try {
  const arithmetic::FloatingPointMode ieee;
  NamedArrays arrays;
  if (Status s = check_t(t); !s) return s;
  if (Status s = check_vocabulary(vocabulary); !s) return s;
  if (Status s = check_rows(rows, t, arrays); !s) return s;
  if (Status s = check_outputs(outputs, rows, t, arrays); !s) return s;
  const bool targets = outputs.logp != nullptr || outputs.target_logit != nullptr;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string what = "shards[" + std::to_string(i) + "]";
    if (Status s = check_shard(what, shards[i], rows, t, vocabulary, false, arrays); !s) return s;
    if (shards[i].begin == shards[i].end) continue;
    if (shards[i].begin != at) {
      return invalid(what + ".begin is " + std::to_string(shards[i].begin) +
                     ": it must be where the shard before it ends, " + std::to_string(at));
    }
    at = shards[i].end;
    if (targets && shards[i].target_logit == nullptr && t > 0) {
      return invalid(what + ".target_logit is null: logp and target_logit need it");
    }
    if (outputs.entropy != nullptr && !shards[i].entropy) {
      return invalid(what + ".entropy is not set: an entropy needs the plane A of every shard");
    }
  }
  if (at != vocabulary) {
    return invalid("shards end at column " + std::to_string(at) +
                   ": they must hold the whole vocabulary, " + std::to_string(vocabulary));
  }
  if (Status s = arrays.check(); !s) return s;
  const auto engine = engine_of(backend, stream);
  if (!engine) return engine.status();
  if (on_host(backend)) {
    if (Status s = check_values(rows, t, vocabulary); !s) return s;
  }
  if (t == 0) return {};
  return (*engine)->join(stream, t, shards, rows, outputs, 0);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status log_prob_gradient_of_logits(const Backend& backend, Stream stream, const ConstMatrix& logits,
                                   std::int64_t begin, std::int64_t vocabulary,
                                   const LogProbRows& rows, const LogProbUpstream& upstream,
                                   const Matrix& g, float alpha) try {
  const arithmetic::FloatingPointMode ieee;
  NamedArrays arrays, unread;
  if (Status s = check_vocabulary(vocabulary); !s) return s;
  if (begin < 0 || begin > kMaxVocabulary) {
    return invalid("begin is " + std::to_string(begin) + ": it must be from 0 to " +
                   std::to_string(kMaxVocabulary));
  }
  if (!std::isfinite(alpha)) {
    return invalid("alpha is " + std::to_string(alpha) + ": it must be finite");
  }
  const bool in_place = is_same_array(logits, g);
  if (Status s = check_logits(logits, 0, in_place ? unread : arrays); !s) return s;
  if (Status s = check_rows(rows, logits.rows, arrays); !s) return s;
  if (Status s = check_upstream(upstream, rows, logits.rows, arrays); !s) return s;
  if (Status s = check_view("g", g); !s) return s;
  if (g.dtype != DType::bf16) {
    return invalid("g.dtype is " + std::string(name(g.dtype)) + ": the gradient is bf16");
  }
  if (g.rows != logits.rows || g.cols != logits.cols) {
    return invalid("g is " + std::to_string(g.rows) + " x " + std::to_string(g.cols) +
                   ": it must be " + std::to_string(logits.rows) + " x " +
                   std::to_string(logits.cols) + ", the shape of logits");
  }
  arrays.add("g", extent_of(ConstMatrix(g)), true);
  if (Status s = arrays.check(); !s) return s;
  const auto engine = engine_of(backend, stream);
  if (!engine) return engine.status();
  if (on_host(backend)) {
    if (Status s = check_values(rows, logits.rows, vocabulary); !s) return s;
  }
  if (g.rows == 0 || g.cols == 0) return {};
  const std::int64_t existing = std::clamp<std::int64_t>(vocabulary - begin, 0, logits.cols);
  return (*engine)->gradient(stream, logits, begin, existing, rows, upstream, alpha, g, 0);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace detgemm
