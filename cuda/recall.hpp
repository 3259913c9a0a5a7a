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
    const auto mix =
        static_cast<std::uint64_t>(q.m * 31 + q.n * 7 + q.k * 3 + q.forced) * 0x9e3779b97f4a7c15ULL;
    return table_[mix >> 58];
  }
  std::array<Entry, 64> table_{};
};

}  // namespace detgemm::cuda
