// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>

#include "cuda/families.hpp"

namespace detgemm::cuda {

/// The last decisions of all families, whole: a model of time walks through every geometry and
/// takes longer than a launch may. There is one per thread, so that nothing is shared or allocated.
class Recall {
 public:
  /// Null where the Question is not remembered.
  const Decision* find(const Question& question) {
    const Entry& entry = at(question);
    return entry.question == question ? &entry.decision : nullptr;
  }
  void keep(const Question& question, const Decision& decision) {
    at(question) = {question, decision};
  }

 private:
  struct Entry {
    Question question;  // about no rows, which nobody asks
    Decision decision;
  };
  Entry& at(const Question& q) {
    const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
    // Questions that differ in one of these alone are asked in turn, for example each one again
    // without clusters where a context has no room for them, and must not drive each other out.
    const std::uint64_t kind = word(q.family) | word(q.form) << 4 | word(q.input) << 8 |
                               word(q.a_mn) << 12 | word(q.b_mn) << 13 | word(q.from_c) << 14 |
                               word(q.clusters) << 15 | word(q.reduction.kind) << 16 |
                               word(q.packing.a) << 18 | word(q.packing.b) << 19 |
                               word(q.reduction.leaf_k) << 20;
    const std::uint64_t sizes =
        word(q.m) * 31 + word(q.n) * 7 + word(q.k) * 3 + word(q.sms) * 5 + word(q.forced);
    const std::uint64_t mix = (sizes + kind * 0xbf58476d1ce4e5b9ULL) * 0x9e3779b97f4a7c15ULL;
    return table_[mix >> 58];
  }
  std::array<Entry, 64> table_{};
};

}  // namespace detgemm::cuda
