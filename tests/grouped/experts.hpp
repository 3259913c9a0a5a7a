// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "detgemm/grouped.hpp"

namespace detgemm::grouped_tests {

using Row = std::vector<std::byte>;
/// A token, and the expert it was sent to.
using Assignment = std::pair<int, int>;
/// The row that each assignment gets.
using Rows = std::map<Assignment, Row>;

/// A layer of experts with random weights, random tokens and a router: a mixture of experts without
/// the model around it. Its functions arrange tokens into the arrays of a grouped problem in many
/// ways, and give each token's row back under its name, so that two arrangements can be compared.
class Experts {
 public:
  static constexpr int kExperts = 8;
  static constexpr int kTokens = 104;
  static constexpr std::int64_t kN = 37;
  static constexpr std::int64_t kK = 51;

  Experts(const Backend& backend, const std::string& contract);

  /// Every token at two different experts; the last expert gets none.
  const std::vector<Assignment>& all() const { return all_; }

  /// One call of m_grouped.
  struct Call {
    std::vector<Assignment> tokens;  ///< in the order of arrival; sorted by expert here, stably
    std::vector<int> experts;        ///< the groups in their order; tokens of others are left out
    int padding = 0;                 ///< rows of noise behind each segment, part of it
    int spare = 0;                   ///< rows of noise behind the last segment
    OffsetType type = OffsetType::i32;
  };
  Rows forward(const Call& call) const;
  /// The same by m_masked, each expert with room for so many more rows than it needs.
  Rows forward_masked(const Call& call, int room) const;
  /// Every row by a plan of its own with M = 1.
  Rows alone() const;

  /// The gradient of all experts' weights: for each micro-batch one call of k_grouped that
  /// continues from the one before. A micro-batch is a list of samples. The rows of an expert are
  /// those of one sample after the other, each padded with rows of zeros to a multiple of `pad`,
  /// and then `spare_blocks` times `pad` rows of zeros. One block of kK x kN fp32 per expert.
  using Sample = std::vector<Assignment>;
  std::vector<Row> gradient(const std::vector<std::vector<Sample>>& batches, int pad,
                            int spare_blocks = 0) const;

 private:
  Row input_of(int token) const;
  std::int64_t item() const { return static_cast<std::int64_t>(size_); }

  const Backend& backend_;
  Contract contract_;
  std::size_t size_;  // bytes of an input element
  std::vector<Assignment> all_;
  std::vector<std::byte> tokens_;     // kTokens x kK
  std::vector<std::byte> weights_;    // kExperts x kK x kN
  std::vector<std::byte> gradients_;  // kTokens x kN
};

}  // namespace detgemm::grouped_tests
