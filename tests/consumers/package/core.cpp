// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <detgemm/contract.hpp>
#include <detgemm/version.hpp>

/// Needs component core alone: contracts, their names and their digests.
int main() {
  const auto contract = detgemm::Contract::parse("hopper/bf16/tree:512->bf16");
  if (!contract || detgemm::Contract::parse("no such contract")) return 1;
  if (contract->text() != "hopper/bf16/tree:512->bf16") return 2;
  std::puts(detgemm::version());
  return 0;
}
