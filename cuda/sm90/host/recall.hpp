// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>

#include "cuda/launch.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/tile/problem.hpp"

namespace detgemm::cuda::sm90 {

/// What a chooser's answer depends on. Of the arrays that is the path and which way they run.
struct ChoiceKey {
  std::int64_t m, n, k, leaf_k;
  ReductionKind kind;
  Path path;
  bool a_mn, b_mn, from_c;
  int sms, forced;
  bool operator==(const ChoiceKey&) const = default;

  ChoiceKey() = default;
  ChoiceKey(const GemmArguments& g, Path taken, const LaunchOptions& options)
      : m(g.m),
        n(g.n),
        k(g.k),
        leaf_k(g.reduction.leaf_k),
        kind(g.reduction.kind),
        path(taken),
        from_c(g.continue_from_c),
        sms(options.sms),
        forced(options.forced) {
    const Problem p = make_problem(g, false, false, false);
    a_mn = p.x.mn_major;
    b_mn = p.y.mn_major;
  }
};

/// Last answers, remembered: a model walks through all geometries and takes longer than a launch
/// may. One a thread, so that nothing is shared or allocated.
template <class Choice>
class Recall {
 public:
  template <class Ask>
  const Choice& operator()(const ChoiceKey& key, const Ask& ask) {
    const auto mix = static_cast<std::uint64_t>(key.m * 31 + key.n * 7 + key.k * 3 + key.forced) *
                     0x9e3779b97f4a7c15ULL;
    Entry& entry = table_[mix >> 58];
    if (!(entry.key == key)) entry = {key, ask()};
    return entry.choice;
  }

 private:
  struct Entry {
    ChoiceKey key{};  // of no rows: nobody asks
    Choice choice{};
  };
  std::array<Entry, 64> table_{};
};

}  // namespace detgemm::cuda::sm90
