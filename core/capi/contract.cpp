// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/contract.hpp"

#include <string>

#include "core/capi/descriptors.hpp"
#include "core/capi/error.hpp"
#include "core/capi/operands.hpp"
#include "core/capi/text.hpp"

using namespace detgemm;
using namespace detgemm::capi;

namespace {

Status give(const Result<Contract>& contract, detgemm_contract_t* out) {
  if (!contract) return contract.status();
  return write("out", c_contract(*contract), out);
}

}  // namespace

detgemm_status_t detgemm_contract_parse(const char* text, detgemm_contract_t* out) {
  return guarded([&]() -> Status {
    if (text == nullptr) return null_argument("text", "a contract's text");
    return give(Contract::parse(text), out);
  });
}

detgemm_status_t detgemm_contract_make(detgemm_arithmetic_t arithmetic, detgemm_dtype_t input,
                                       detgemm_reduction_t reduction, int64_t leaf_k,
                                       detgemm_dtype_t output, detgemm_contract_t* out) {
  return guarded([&] {
    const Reduction leaves{static_cast<ReductionKind>(reduction), leaf_k};
    return give(Contract::make(static_cast<Arithmetic>(arithmetic), static_cast<DType>(input),
                               leaves, static_cast<DType>(output)),
                out);
  });
}

detgemm_status_t detgemm_contract_validate(const detgemm_contract_t* contract) {
  return guarded([&] { return contract_of("contract", contract).status(); });
}

detgemm_status_t detgemm_contract_text(const detgemm_contract_t* contract, char* buffer,
                                       size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    auto ours = contract_of("contract", contract);
    if (!ours) return ours.status();
    return give_text(ours->text(), buffer, size, needed);
  });
}

detgemm_status_t detgemm_contract_canonical(const detgemm_contract_t* contract, char* buffer,
                                            size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    auto ours = contract_of("contract", contract);
    if (!ours) return ours.status();
    return give_text(ours->canonical(), buffer, size, needed);
  });
}

detgemm_status_t detgemm_contract_digest(const detgemm_contract_t* contract, uint64_t* digest) {
  return guarded([&]() -> Status {
    if (digest == nullptr) return null_argument("digest", "a place for the answer");
    auto ours = contract_of("contract", contract);
    if (!ours) return ours.status();
    *digest = ours->digest();
    return {};
  });
}

detgemm_status_t detgemm_contract_equal(const detgemm_contract_t* x, const detgemm_contract_t* y,
                                        int32_t* equal) {
  return guarded([&]() -> Status {
    if (equal == nullptr) return null_argument("equal", "a place for the answer");
    auto left = contract_of("x", x);
    if (!left) return left.status();
    auto right = contract_of("y", y);
    if (!right) return right.status();
    *equal = *left == *right ? 1 : 0;
    return {};
  });
}

detgemm_status_t detgemm_contract_leaves(const detgemm_contract_t* contract, int64_t k,
                                         int64_t* leaves) {
  return guarded([&]() -> Status {
    if (leaves == nullptr) return null_argument("leaves", "a place for the answer");
    auto ours = contract_of("contract", contract);
    if (!ours) return ours.status();
    if (k < 0) return invalid("k is " + std::to_string(k) + ": it must not be negative");
    *leaves = ours->leaves(k);
    return {};
  });
}

detgemm_status_t detgemm_contract_rank_share(const detgemm_contract_t* contract, int64_t k,
                                             int64_t rank, int64_t ranks, int64_t* begin,
                                             int64_t* end) {
  return guarded([&]() -> Status {
    if (begin == nullptr) return null_argument("begin", "a place for the answer");
    if (end == nullptr) return null_argument("end", "a place for the answer");
    auto ours = contract_of("contract", contract);
    if (!ours) return ours.status();
    auto share = rank_share(*ours, k, rank, ranks);
    if (!share) return share.status();
    *begin = share->begin;
    *end = share->end;
    return {};
  });
}

detgemm_status_t detgemm_contract_check_cuts(const detgemm_contract_t* contract,
                                             const int64_t* lengths, size_t count) {
  return guarded([&]() -> Status {
    auto ours = contract_of("contract", contract);
    if (!ours) return ours.status();
    if (lengths == nullptr && count != 0) {
      return null_argument("lengths", "an array of " + std::to_string(count) + " lengths");
    }
    return check_cuts(*ours, {lengths, count});
  });
}

detgemm_status_t detgemm_k_block(detgemm_arithmetic_t arithmetic, detgemm_dtype_t input,
                                 int32_t* k_block) {
  return guarded([&]() -> Status {
    if (k_block == nullptr) return null_argument("k_block", "a place for the answer");
    auto products = k_block_of(static_cast<Arithmetic>(arithmetic), static_cast<DType>(input));
    if (!products) return products.status();
    *k_block = *products;
    return {};
  });
}

size_t detgemm_contract_count(void) { return base_contracts().size(); }

detgemm_status_t detgemm_contract_at(size_t index, detgemm_contract_t* out) {
  return guarded([&]() -> Status {
    const auto all = base_contracts();
    if (index >= all.size()) {
      return invalid("index is " + std::to_string(index) + ": it must be less than " +
                     std::to_string(all.size()));
    }
    return give(all[index], out);
  });
}
