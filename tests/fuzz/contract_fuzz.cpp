// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Contract::parse on any bytes: a contract that reads back, or a plain sentence.

#include <string>
#include <string_view>

#include "detgemm/contract.hpp"
#include "detgemm/detgemm.h"
#include "tests/fuzz/bytes.hpp"

using namespace detgemm;
using fuzz::require;

namespace {

void check_refusal(const Status& status) {
  const std::string& said = status.message();
  require(!status.ok() && !said.empty() && said.size() < 500, "a refusal has a short sentence");
  for (char c : said) require(c >= 0x20 && c < 0x7f, "a sentence is plain text");
}

void check_contract(const Contract& contract, fuzz::Bytes numbers) {
  require(contract.validate().ok(), "what parses is valid");
  const auto again = Contract::parse(contract.text());
  require(again.ok() && *again == contract, "a contract reads back from its text");
  require(again->digest() == contract.digest(), "equal contracts have equal digests");
  require(contract.leaves(numbers.odd_integer()) >= 0, "leaves are counted for any k");
  const std::int64_t k = numbers.odd_integer();
  const std::int64_t rank = numbers.odd_integer();
  const auto share = rank_share(contract, k, rank, numbers.odd_integer());
  if (share) {
    require(0 <= share->begin && share->begin < share->end && share->end <= k, "shares lie in K");
  } else {
    check_refusal(share.status());
  }
  const std::int64_t lengths[2] = {numbers.odd_integer(), numbers.odd_integer()};
  if (Status cuts = check_cuts(contract, lengths); !cuts) {
    check_refusal(cuts);
  } else {
    require(contract.reduction.kind != ReductionKind::tree, "a tree is not cut");
    require(lengths[0] % contract.k_block == 0, "steps are not cut");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto contract = Contract::parse(text);
  if (contract) {
    check_contract(*contract, fuzz::Bytes(data, size));
  } else {
    check_refusal(contract.status());
  }
  if (text.find('\0') == std::string::npos) {
    detgemm_contract_t c;
    require(detgemm_contract_init(&c, sizeof c) == DETGEMM_OK, "a contract can be initialised");
    const detgemm_status_t code = detgemm_contract_parse(text.c_str(), &c);
    require(code == static_cast<detgemm_status_t>(contract.status().code()),
            "C says what C++ says");
    if (code != DETGEMM_OK) {
      require(contract.status().message() == detgemm_last_error(), "in the same words");
    }
  }
  return 0;
}
