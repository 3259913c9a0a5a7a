// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <detgemm/detgemm.hpp>

/// Starts what was built, and prints the digest of a contract.
int main() {
  const auto runtime = detgemm::Runtime::start({1});
  const auto contract = detgemm::Contract::parse("hopper/bf16/chain->bf16");
  if (!runtime || !contract) return 1;
  std::printf("detgemm %s, %zu backends, %s: %s\n", detgemm::version(), detgemm::backends().size(),
              contract->text().c_str(), detgemm::hex(contract->digest()).c_str());
  return 0;
}
