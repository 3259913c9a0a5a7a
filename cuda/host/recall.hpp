// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>

#include "cuda/launch.hpp"

namespace detgemm::cuda {

/// The last decisions of all kinds, whole: a model of time walks through every geometry and takes
/// longer than a launch may. There is one per thread, so that nothing is shared or allocated.
class Recall {
 public:
  /// All of a call that a decision may depend on. Of an address that is its place in 16 bytes, the
  /// most that TMA requires, and, over groups, whether C and D are apart. Promises of stability,
  /// overlap, the stream and alpha change no decision.
  class Key {
   public:
    Key() = default;
    Key(const Problem& p, const LaunchOptions& o) {
      const GroupedArguments& all = p.gemms;
      const GemmArguments& g = all.all;
      const GroupDistances& apart = all.distance;
      put(g.m, g.n, g.k, g.reduction.leaf_k, all.groups, o.workspace_bytes);
      put(g.as.row, g.as.col, g.bs.row, g.bs.col, g.cs.row, g.cs.col, g.ds.row, g.ds.col);
      put(apart.a, apart.b, apart.c, apart.d, apart.bias, apart.scale_a, apart.scale_b);
      for (const LeafScales* s : {&p.scales.a, &p.scales.b}) put(s->per, s->stride, s->leaf_stride);
      put(pack<4>(in_16(g.a), in_16(g.b), in_16(g.c), in_16(g.d), in_16(g.bias)),
          pack<4>(p.arithmetic, p.input, g.reduction.kind, g.output, g.c_type, g.bias_type,
                  g.epilogue.activation, all.kind),
          pack<8>(all.a_bytes, all.c_bytes, all.d_bytes, all.bias_bytes),
          pack<1>(g.continue_from_c, g.epilogue.beta != 0.0F, g.epilogue.has_bias,
                  p.scales.of_lines, p.scales.a.type == ScaleType::e8m0,
                  p.scales.b.type == ScaleType::e8m0, o.clusters, o.wgmma, o.mma, o.a_is_snapped,
                  o.b_is_snapped, p.is_grouped() && c_and_d_are_apart(all)),
          pack<21>(o.sms, o.forced, o.preferred));
    }
    bool operator==(const Key&) const = default;
    /// Of what calls differ in as a rule: extents, and all that is packed, types among it. Two
    /// sums, since a product waits for the one before it.
    std::uint64_t hash() const {
      constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
      std::uint64_t extents = 0, packed = 0;
      for (std::size_t i = 0; i < 6; ++i) extents = (extents ^ words_[i]) * kOdd;
      for (std::size_t i = kPacked; i < words_.size(); ++i) packed = (packed ^ words_[i]) * kOdd;
      return (extents ^ packed >> 17) * kOdd;
    }

   private:
    template <class... Values>
    void put(Values... values) {
      ((words_.at(count_++) = static_cast<std::uint64_t>(values)), ...);
    }
    static int in_16(const void* data) {
      return static_cast<int>(reinterpret_cast<std::uintptr_t>(data) % 16);
    }
    /// Values of so many bits side by side.
    template <int kBits, class... Values>
    static std::uint64_t pack(Values... values) {
      static_assert(kBits * sizeof...(values) <= 64, "They fit in one word.");
      std::uint64_t word = 0;
      constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
      ((word = word << kBits | (static_cast<std::uint64_t>(values) & kMask)), ...);
      return word;
    }

    static constexpr std::size_t kPacked = 27;  // the first word that is packed
    std::array<std::uint64_t, 32> words_{};     // about no rows, which no call has
    std::size_t count_ = 0;
  };

  /// Null where the call is not remembered.
  const Decision* find(const Key& key) {
    for (const Entry& entry : set_of(key)) {
      if (entry.key == key) return &entry.decision;
    }
    return nullptr;
  }
  void keep(const Key& key, const Decision& decision) {
    Set& set = set_of(key);
    set[1] = set[0];
    set[0] = {key, decision};
  }

 private:
  struct Entry {
    Key key;
    Decision decision;
  };
  /// Calls are made in turn that differ in little, for example each one again without clusters
  /// where a context has no room for them, and two of them never drive each other out.
  using Set = std::array<Entry, 2>;
  Set& set_of(const Key& key) { return table_[key.hash() >> 59]; }
  std::array<Set, 32> table_{};
};

}  // namespace detgemm::cuda
