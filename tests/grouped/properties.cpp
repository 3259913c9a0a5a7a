// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/grouped/properties.hpp"

#include <algorithm>
#include <numeric>

#include "tests/grouped/arrays.hpp"
#include "tests/grouped/experts.hpp"
#include "tests/grouped/slices.hpp"

namespace detgemm::grouped_tests {
namespace {

using Call = Experts::Call;

constexpr const char* kContracts[] = {"hopper/bf16/chain->bf16", "hopper/e4m3/fold:64->fp32",
                                      "ieee_fma/fp32/tree:16->fp32"};

std::vector<int> all_experts() {
  std::vector<int> list(Experts::kExperts);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

/// Every row that `got` has must be the one of `wanted`, and it must have `count` of them.
void same_rows(const Rows& got, const Rows& wanted, std::size_t count, const std::string& where) {
  if (got.size() != count) {
    throw Failure(where + ": " + std::to_string(got.size()) + " rows, not " +
                  std::to_string(count));
  }
  for (const auto& [name, row] : got) {
    if (row == wanted.at(name)) continue;
    throw Failure(where + ": token " + std::to_string(name.first) + " at expert " +
                  std::to_string(name.second) + " has other bits");
  }
}

template <class Body>
void for_contracts(const Backend& backend, Body&& body) {
  for (const char* contract : kContracts) {
    GroupedSpec spec;
    spec.gemm.contract = ok(Contract::parse(contract));
    spec.kind = GroupKind::m_grouped;
    spec.gemm.n = Experts::kN;
    spec.gemm.k = Experts::kK;
    if (!backend.supports_grouped(spec)) continue;
    const Experts experts(backend, contract);
    body(experts, experts.alone(), std::string(contract));
  }
}

/// A row does not depend on the other tokens of its expert, nor on how many there are.
void neighbours(const Backend& backend) {
  for_contracts(backend, [](const Experts& e, const Rows& alone, const std::string& contract) {
    const auto& all = e.all();
    for (std::size_t step : {1, 2, 5, 11, 29}) {
      Call call{{}, all_experts()};
      for (std::size_t i = 0; i < all.size(); i += step) call.tokens.push_back(all[i]);
      same_rows(e.forward(call), alone, call.tokens.size(), contract);
      std::reverse(call.tokens.begin(), call.tokens.end());
      call.type = OffsetType::i64;
      same_rows(e.forward(call), alone, call.tokens.size(), contract + " reversed");
    }
  });
}

/// Nor on which group its expert is.
void order(const Backend& backend) {
  for_contracts(backend, [](const Experts& e, const Rows& alone, const std::string& contract) {
    Call call{e.all(), all_experts()};
    for (int turn = 0; turn < 4; ++turn) {
      std::rotate(call.experts.begin(), call.experts.begin() + 1 + turn, call.experts.end());
      std::swap(call.experts[0], call.experts[static_cast<std::size_t>(2 + turn)]);
      same_rows(e.forward(call), alone, e.all().size(), contract);
    }
  });
}

/// Nor on how many groups there are, empty ones included.
void count(const Backend& backend) {
  for_contracts(backend, [](const Experts& e, const Rows& alone, const std::string& contract) {
    for (int expert : {0, 3, 6}) {
      const auto rows = static_cast<std::size_t>(std::count_if(
          e.all().begin(), e.all().end(), [&](const Assignment& a) { return a.second == expert; }));
      for (int groups : {1, 2, 3, 8, 128, 1000}) {
        // The last expert has no tokens: groups of its are empty.
        Call call{e.all(), std::vector<int>(static_cast<std::size_t>(groups), 7)};
        call.experts[static_cast<std::size_t>(groups) / 2] = expert;
        same_rows(e.forward(call), alone, rows, contract);
      }
    }
  });
}

/// Nor on padding within segments or behind them, nor on the capacity of a masked problem.
void padding(const Backend& backend) {
  for_contracts(backend, [](const Experts& e, const Rows& alone, const std::string& contract) {
    for (int rows : {0, 1, 3, 64, 100}) {
      Call call{e.all(), all_experts(), rows, rows / 2};
      same_rows(e.forward(call), alone, e.all().size(), contract);
      call.type = rows % 2 == 0 ? OffsetType::i32 : OffsetType::i64;
      same_rows(e.forward_masked(call, rows), alone, e.all().size(), contract + " masked");
    }
  });
}

/// Experts on 1, 2, 4 and 8 ranks, each with the tokens that were sent to it, in another order.
void expert_parallel(const Backend& backend) {
  for_contracts(backend, [](const Experts& e, const Rows& alone, const std::string& contract) {
    for (int ranks : {1, 2, 4, 8}) {
      Rows joined;
      for (int rank = 0; rank < ranks; ++rank) {
        Call call{e.all(), {}};
        const int share = Experts::kExperts / ranks;
        for (int i = 0; i < share; ++i) call.experts.push_back(rank * share + i);
        std::rotate(call.tokens.begin(), call.tokens.begin() + 7 * rank, call.tokens.end());
        joined.merge(e.forward(call));
      }
      same_rows(joined, alone, e.all().size(), contract + " on " + std::to_string(ranks));
    }
  });
}

/// Micro-batches of 1, 2, 4 or 8 samples, of 13 tokens each.
std::vector<std::vector<Experts::Sample>> batches_of(const std::vector<Assignment>& all,
                                                     std::size_t samples) {
  std::vector<std::vector<Experts::Sample>> batches;
  for (const Assignment& a : all) {
    const auto sample = static_cast<std::size_t>(a.first / 13);
    if (batches.size() <= sample / samples) batches.resize(sample / samples + 1);
    auto& batch = batches[sample / samples];
    batch.resize(samples);
    batch[sample % samples].push_back(a);
  }
  return batches;
}

/// One sample after the other within each expert, every sample's rows padded: what any packing of
/// samples into calls must give.
void weight_gradients(const Backend& backend) {
  struct Arm {
    const char* contract;
    int pad;
    bool needs_it;
  };
  for (const Arm& arm :
       {Arm{"hopper/bf16/chain->fp32", 16, true}, Arm{"hopper/bf16/fold:32->fp32", 32, true},
        Arm{"hopper/e4m3/fold:32->fp32", 32, true}, Arm{"ieee_fma/bf16/chain->fp32", 1, false}}) {
    GroupedSpec spec;
    spec.gemm.contract = ok(Contract::parse(arm.contract));
    spec.gemm.op_a = Op::transpose;
    spec.gemm.n = Experts::kN;
    spec.gemm.continue_from_c = true;
    spec.kind = GroupKind::k_grouped;
    if (!backend.supports_grouped(spec)) continue;
    const Experts e(backend, arm.contract);
    const std::string where = arm.contract;
    const auto cut = e.gradient(batches_of(e.all(), 1), arm.pad);
    for (std::size_t samples : {2, 4, 8}) {
      if (e.gradient(batches_of(e.all(), samples), arm.pad) != cut) {
        throw Failure(where + ": " + std::to_string(samples) + " samples at a time differ");
      }
    }
    if (e.gradient(batches_of(e.all(), 2), arm.pad, 3) != cut) {
      throw Failure(where + ": blocks of zero rows change the gradient");
    }
    // Without padding, chains and leaves begin elsewhere.
    const bool same = e.gradient(batches_of(e.all(), 8), 1) == cut;
    if (same == arm.needs_it) {
      throw Failure(where + (same ? ": without padding nothing differs, so this data shows nothing"
                                  : ": cuts without padding differ"));
    }
    // The order of tokens enters: this is not promised away.
    auto turned = e.all();
    std::reverse(turned.begin(), turned.end());
    if (e.gradient({{turned}}, arm.pad) == e.gradient({{e.all()}}, arm.pad)) {
      throw Failure(where +
                    ": the order of tokens makes no difference, so this data shows nothing");
    }
  }
}

}  // namespace

// In slice_properties.cpp.
void slices(const Backend& backend);
void empty_groups(const Backend& backend);
void outside(const Backend& backend);

std::span<const Property> properties() {
  static constexpr Property list[] = {
      {"slices", "each group has the bits of Plan::run on its slice", slices},
      {"empty_groups", "a group of no rows writes nothing, one of no products gives the start",
       empty_groups},
      {"neighbours", "a row does not depend on other rows of its group", neighbours},
      {"order", "nor on which group its own is", order},
      {"count", "nor on how many groups there are", count},
      {"padding", "nor on padding and capacity", padding},
      {"expert_parallel", "nor on how experts are spread over ranks", expert_parallel},
      {"weight_gradients", "padded micro-batches give one gradient", weight_gradients},
      {"outside", "garbage in offsets touches nothing outside of the arrays", outside},
  };
  return list;
}

}  // namespace detgemm::grouped_tests
