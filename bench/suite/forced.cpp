// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/forced.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace detgemm::bench {
namespace {

bool fits(const std::string& pattern, const std::string& name) {
  return pattern == "all" || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// The arms that kernels are forced on: one per contract, the one with a promise if there is one.
std::vector<ContractArm> bases(const Case& c) {
  std::vector<ContractArm> found;
  for (const ContractArm& arm : c.contract_arms) {
    const auto it = std::find_if(found.begin(), found.end(), [&](const ContractArm& other) {
      return other.contract.text() == arm.contract.text();
    });
    if (it == found.end()) {
      found.push_back(arm);
    } else if (it->stable == Stable::none) {
      *it = arm;
    }
  }
  return found;
}

std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 6;
  std::string list;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (++shown > kShown) return list + " and " + std::to_string(names.size() - kShown) + " more";
    list += (list.empty() ? "" : ", ") + name;
  }
  return list.empty() ? "none" : list;
}

}  // namespace

void add_forced_arms(const Backend& backend, const std::vector<std::string>& patterns,
                     std::vector<Case>& cases) {
  if (patterns.empty()) return;
  std::set<std::string> known;
  for (Case& c : cases) {
    for (const ContractArm& base : bases(c)) {
      const GemmSpec spec = spec_of(c.problem, base.contract);
      if (!backend.supports(spec)) continue;
      for (const std::string& variant : backend.variants(spec)) {
        known.insert(variant);
        const bool wanted = std::any_of(patterns.begin(), patterns.end(),
                                        [&](const std::string& p) { return fits(p, variant); });
        if (!wanted) continue;
        c.contract_arms.push_back({base.name + "@" + variant, base.contract, base.stable, variant,
                                   base.a_snapped, base.b_snapped});
      }
    }
  }
  for (const std::string& pattern : patterns) {
    const bool used = std::any_of(known.begin(), known.end(),
                                  [&](const std::string& name) { return fits(pattern, name); });
    if (used) continue;
    throw std::invalid_argument("--variants is \"" + pattern +
                                "\": it must be all, or fit a kernel of these cases, which have " +
                                some_of(known));
  }
}

void refuse_unsupported(const Backend& backend, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    for (const ContractArm& arm : c.contract_arms) {
      const GemmSpec spec = spec_of(c.problem, arm.contract);
      Status status = validate(spec);
      if (status) status = backend.supports(spec);
      if (status) continue;
      throw std::invalid_argument("--contract is \"" + arm.name + "\", which " + c.id +
                                  " cannot be measured with: " + status.message());
    }
  }
}

}  // namespace detgemm::bench
