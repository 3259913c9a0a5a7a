// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/peers/device_window.hpp"

#include <algorithm>

namespace detgemm::cluster {
namespace {

Result<std::unique_ptr<PeerMemory>> allocate(const Options& options, const Backend& backend,
                                             std::size_t bytes) {
  if (options.patience.count() <= 0) {
    return invalid("patience is " + std::to_string(options.patience.count()) +
                   " ms: windows of devices need a limit, above 0");
  }
  if (backend.peers() == nullptr) {
    return unsupported("window_backend is " + std::string(backend.name()) +
                       ": it has no windows in memory of its devices");
  }
  if (Status s = backend.available(); !s) return s;
  return backend.peers()->allocate(bytes);
}

}  // namespace

Result<std::shared_ptr<PeerWindow>> make_device_window(Communicator::State& state,
                                                       const Backend& backend, std::size_t bytes) {
  Transport& transport = *state.transport;
  auto own = allocate(state.options, backend, bytes);
  if (Status s = agree(state, own.status(), {}); !s) return s;
  std::unique_ptr<PeerMemory> memory = std::move(own).value();
  std::vector<PeerCard> cards(static_cast<std::size_t>(transport.size()));
  const PeerCard card = memory->card();
  Status s = state.after(transport.agree(std::as_bytes(std::span(&card, 1)),
                                         std::as_writable_bytes(std::span(cards)),
                                         state.options.patience));
  if (!s) return s;
  auto window =
      backend.peers()->open(std::move(memory), transport.rank(), cards, state.options.patience);
  const Status marked = window ? (*window)->mark_all() : window.status();
  if (s = agree(state, marked, {}); !s) return s;
  if (s = agree(state, (*window)->find_marks(), {}); !s) return s;
  const auto whole = static_cast<std::byte>((*window)->has_whole_words() ? 1 : 0);
  std::vector<std::byte> of_all(cards.size());
  s = state.after(transport.agree(std::span(&whole, 1), of_all, state.options.patience));
  if (!s) return s;
  state.one_shot_by_default = std::find(of_all.begin(), of_all.end(), std::byte{0}) == of_all.end();
  return *window;
}

Status status_of(const PeerFailure& failure, int ranks, std::chrono::milliseconds patience) {
  using Why = PeerFailure::Why;
  const std::string rank = "rank " + std::to_string(failure.rank);
  switch (failure.why) {
    case Why::none:
      return {};
    case Why::late:
      return {Errc::peer, rank + " of " + std::to_string(ranks) +
                              " timed out in an exchange of peers after " +
                              std::to_string(patience.count()) + " ms"};
    case Why::disagree:
      return {Errc::peer, "ranks " + std::to_string(failure.rank) + " and " +
                              std::to_string(failure.other) +
                              " are in one exchange of peers with different m or different plans"};
    case Why::aborted:
      break;
  }
  return {Errc::peer, rank + " aborted"};
}

}  // namespace detgemm::cluster
