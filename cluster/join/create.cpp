// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>

#include "cluster/join/join.hpp"
#include "detgemm/digest.hpp"

namespace detgemm::cluster {
namespace {

std::string bits_of(float value) { return hex(std::bit_cast<std::uint32_t>(value)); }

std::string text(const Shares& shares) {
  std::string all;
  for (int r = 0; r < shares.ranks(); ++r) {
    const KRange range = shares.k_range(r);
    all += (r == 0 ? "" : "|") + std::to_string(range.begin) + "-" + std::to_string(range.end);
  }
  return all.size() <= 1024 ? all : hex(digest_bytes(all.data(), all.size()));
}

Status check_options(Placement output, Algorithm algorithm) {
  if (output != Placement::replicated && output != Placement::rows) {
    return invalid("output is " + std::string(name(output)) + " (" +
                   std::to_string(static_cast<int>(output)) +
                   "): it must be replicated (0) or rows (1)");
  }
  if (name(algorithm) == "unknown") {
    return invalid(
        "algorithm is unknown (" + std::to_string(static_cast<int>(algorithm)) +
        "): it must be automatic (0), gather (1), scatter (2), one_shot (3), two_shot (4) "
        "or push (5)");
  }
  if (output == Placement::rows &&
      (algorithm == Algorithm::gather || algorithm == Algorithm::one_shot)) {
    return invalid("algorithm is " + std::string(name(algorithm)) +
                   ": with output rows it must be automatic, scatter, two_shot or push");
  }
  return {};
}

/// Through windows, or why not.
Result<std::unique_ptr<Join>> join_in_windows(JoinSpec spec) {
  const Communicator::State& state = spec.communicator.state();
  const Backend& backend = spec.plan.backend();
  const std::string what = "algorithm is " + std::string(name(spec.algorithm)) + ": ";
  if (state.window == nullptr && state.device_window == nullptr) {
    return unsupported(what + "these ranks have no windows: " + state.no_window);
  }
  const DeviceKind kind = backend.device().kind();
  const DeviceKind memory = window_kind(state.options);
  if (kind != memory) {
    return unsupported(what + "windows are memory of the " +
                       (memory == DeviceKind::host ? "host" : "kind " + std::string(name(memory))) +
                       ", and backend " + std::string(backend.name()) +
                       " computes in memory of the kind " + std::string(name(kind)));
  }
  return state.device_window != nullptr ? join_in_device_windows(std::move(spec))
                                        : join_in_host_windows(std::move(spec));
}

Result<std::unique_ptr<Join>> chosen(JoinSpec spec) {
  if (spec.communicator.size() == 1 || spec.plan.spec().k == 0) {
    return join_locally(std::move(spec));
  }
  const bool by_name = uses_windows(spec.algorithm);
  const bool device_windows = spec.communicator.state().device_window != nullptr;
  if (by_name || (spec.algorithm == Algorithm::automatic && device_windows)) {
    auto join = join_in_windows(spec);
    if (join || by_name) return join;
  }
  return join_by_messages(std::move(spec));
}

}  // namespace

void add_facts(const GemmSpec& whole, Facts& facts) {
  facts.insert(facts.end(),
               {{"contract", whole.contract.text() + "@" + std::to_string(whole.contract.version)},
                {"n", std::to_string(whole.n)},
                {"k", std::to_string(whole.k)},
                {"alpha", bits_of(whole.alpha)},
                {"beta", bits_of(whole.beta)},
                {"bias", whole.bias ? std::string(name(*whole.bias)) : "none"},
                {"activation", std::string(name(whole.activation))}});
}

Result<std::unique_ptr<Join>> Join::create(const Communicator& communicator, const Backend& backend,
                                           const GemmSpec& whole, const Shares& shares,
                                           Placement output, Algorithm algorithm, Facts& facts) {
  if (Status s = check_options(output, algorithm); !s) return s;
  if (shares.ranks() != communicator.size() || shares.k() != whole.k) {
    return invalid("shares are of k = " + std::to_string(shares.k()) + " between " +
                   std::to_string(shares.ranks()) + " ranks: they must be of k = " +
                   std::to_string(whole.k) + " between " + std::to_string(communicator.size()));
  }
  auto plan = Plan::create(backend, whole);
  if (!plan) return plan.status();
  add_facts(whole, facts);
  facts.push_back({"shares", text(shares)});
  facts.push_back({"output", std::string(name(output))});
  facts.push_back({"algorithm", std::string(name(algorithm))});
  return chosen({communicator, *std::move(plan), shares, output, algorithm});
}

}  // namespace detgemm::cluster
