// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/properties/list.hpp"
#include "core/conformance/property.hpp"

namespace detgemm::conformance {
namespace {

template <int Quick, int Full>
std::int64_t fixed(const Contract&, Level level) {
  return level == Level::full ? Full : Quick;
}

std::int64_t all_tails(const Contract& contract, Level level) {
  return static_cast<std::int64_t>(tail_lengths(contract, level).size());
}

constexpr std::array kProperties{
    Property{"run_to_run", "the same call gives the same bits", fixed<4, 12>, run_to_run},
    Property{"batch", "a row's bits do not depend on M, on its place or on other rows",
             fixed<19, 57>, batch},
    Property{"chunked_prefill", "rows cut into several calls give the bits of one call",
             fixed<5, 12>, chunked_prefill},
    Property{"padding", "bytes outside of the operands enter nothing and are not written",
             fixed<4, 10>, padding},
    Property{"strides", "leading dimensions and addresses do not enter", fixed<5, 12>, strides},
    Property{"layouts", "NN, NT, TN, TT, by rows or by columns: one result", fixed<4, 8>, layouts},
    Property{"combinations",
             "operations, strides, addresses, C, bias and epilogue, every two of them together",
             combination_cases, combinations},
    Property{"large", "outputs of many tiles, whole ones or not, and a K beyond 65,536",
             large_cases, large},
    Property{"columns", "a column's bits do not depend on N", fixed<5, 12>, columns},
    Property{"k_tails", "a short last step or leaf equals explicit zero padding", all_tails,
             k_tails},
    Property{"variants", "every kernel that can be forced gives the same bits", fixed<4, 10>,
             variants},
    Property{"ranks", "1 to 64 tensor-parallel ranks give the bits of one", fixed<8, 24>, ranks},
    Property{"shares", "any shares of K that end at leaves give the bits of one rank", fixed<9, 27>,
             shares},
    Property{"microbatch", "K cut into micro-batches gives the bits of the uncut K", fixed<8, 24>,
             microbatch},
    Property{"permutation", "the order of the products inside of a leaf of snap does not enter",
             fixed<6, 24>, permutation, false},
    Property{"snapped", "operands snapped before, and promised to be, give the same bits",
             fixed<6, 24>, snapped, false},
    Property{"scales_one", "scales that are all 1 give the bits of fold", fixed<4, 16>, scales_one},
    Property{"scales_cut", "K cut at leaves, with their scales, gives the bits of the uncut K",
             fixed<4, 16>, scales_cut},
    Property{"scales_zero", "a scale of zero leaves its leaf out", fixed<4, 16>, scales_zero,
             false},
    Property{"scales_rows", "the scales of other rows and columns do not enter", fixed<4, 16>,
             scales_rows},
    Property{"line_scales", "scales of whole rows and columns multiply the sum, each by itself",
             fixed<4, 16>, line_scales},
    Property{"concurrency", "2 to 16 calls at the same time give the bits of one alone",
             fixed<3, 8>, concurrency},
    Property{"graph_replay", "a replayed graph gives the bits of the call", fixed<2, 6>,
             graph_replay},
    Property{"reference", "the oracle's bits, on every kind of data", fixed<14, 49>, reference},
    Property{"probes", "the result shows which products were added to which, and all of them were",
             fixed<16, 48>, probes, false},
    Property{"specials", "zeros, Inf, NaN, overflow, subnormals and empty extents by rule",
             fixed<1, 1>, specials, false},
    Property{"epilogue", "alpha, beta, bias and activation: each operation rounded once",
             fixed<4, 16>, epilogue, false},
    Property{"error_bound", "no further from the exact result than the derived bound", fixed<6, 24>,
             error_bound, false},
    Property{"bad_input", "a refused call writes nothing", fixed<3, 3>, bad_input, false},
    Property{"group_neighbours", "a row of a group does not depend on the group's other rows",
             fixed<3, 9>, group_neighbours},
    Property{"group_order", "nor on which of the groups its own is", fixed<3, 9>, group_order},
    Property{"group_count", "nor on how many groups there are", fixed<3, 9>, group_count},
    Property{"group_padding", "nor on padding within and after groups, nor on their capacity",
             fixed<3, 9>, group_padding},
    Property{"group_ranks", "experts on 1, 2, 4 and 8 ranks give each row the bits of its own plan",
             fixed<3, 9>, group_ranks},
    Property{"group_cuts", "K of groups cut into micro-batches gives the bits of the uncut K",
             fixed<3, 12>, group_cuts},
    Property{"group_empty", "groups without rows write nothing, groups without products the start",
             fixed<3, 6>, group_empty, false},
    Property{"log_prob_rows", "log-probabilities of a row of logits do not depend on other rows",
             fixed<6, 24>, log_prob_rows, false},
    Property{"log_prob_shards", "shards of a vocabulary join to the bits of the whole",
             fixed<6, 24>, log_prob_shards, false},
    Property{"log_prob_fused", "logits that are not stored give the bits of stored ones",
             fixed<4, 24>, log_prob_fused, false},
    Property{"log_prob_reference", "log-probabilities have the oracle's bits", fixed<12, 48>,
             log_prob_reference, false},
};

}  // namespace

std::span<const Property> properties() { return kProperties; }

}  // namespace detgemm::conformance
