// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cluster/peers/device_window.hpp"
#include "cluster/peers/host_window.hpp"
#include "detgemm/version.hpp"

namespace detgemm::cluster {

Transport::~Transport() = default;
bool Transport::enqueues(DeviceKind /*kind*/) const noexcept { return false; }

namespace {

Status make_windows(Communicator::State& state) {
  const Options& options = state.options;
  if (window_kind(options) == DeviceKind::host) {
    auto window = make_host_window(state, options.window_bytes);
    if (window) state.window = *window;
    return window.status();
  }
  auto window = make_device_window(state, *options.window_backend, options.window_bytes);
  if (window) state.device_window = *window;
  return window.status();
}

/// A hundred years. Clocks count nanoseconds in 64 bits, so 292 years from now would be in the
/// past.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 36525);

}  // namespace

Status Communicator::State::health() {
  const std::scoped_lock lock(mutex);
  if (broken.ok()) broken = transport->health();
  if (broken.ok() && device_window != nullptr) {
    broken = status_of(device_window->failure(), transport->size(), options.patience);
  }
  return broken;
}

Result<Communicator> Communicator::create(std::shared_ptr<Transport> transport,
                                          const Options& options) {
  if (transport == nullptr) return invalid("transport is null: it must be a transport");
  const int size = transport->size();
  const int rank = transport->rank();
  if (size < 1 || rank < 0 || rank >= size) {
    return invalid("transport has rank " + std::to_string(rank) + " of " + std::to_string(size) +
                   ": a rank is in [0, size)");
  }
  Status mine;
  if (options.patience.count() < 0) {
    mine = invalid("patience is " + std::to_string(options.patience.count()) +
                   " ms: it must not be negative");
  }
  auto state = std::make_shared<State>();
  state->transport = std::move(transport);
  state->options = options;
  if (!mine.ok()) state->options.patience = Options{}.patience;
  state->options.patience = std::min(state->options.patience, kLongest);
  const Facts facts{{"detgemm", DETGEMM_VERSION_STRING},
                    {"size", std::to_string(size)},
                    {"check_calls", options.check_calls ? "true" : "false"},
                    {"window_bytes", std::to_string(options.window_bytes)},
                    {"window_backend's device", std::string(name(window_kind(options)))}};
  if (Status s = agree(*state, mine, facts); !s) return s;
  if (options.window_bytes > 0 && size > 1) {
    if (Status s = make_windows(*state); s.code() == Errc::peer) {
      return s;
    } else if (!s) {
      state->no_window = s.message();  // gather and scatter go on
    }
  }
  return Communicator(std::move(state));
}

int Communicator::rank() const noexcept { return state_->transport->rank(); }
int Communicator::size() const noexcept { return state_->transport->size(); }
const Options& Communicator::options() const noexcept { return state_->options; }
Status Communicator::health() const { return state_->health(); }
void Communicator::abort() const noexcept {
  state_->transport->abort();
  if (state_->window != nullptr) state_->window->give_up();
  if (state_->device_window != nullptr) state_->device_window->give_up();
}
bool Communicator::has_windows() const noexcept {
  return state_->window != nullptr || state_->device_window != nullptr;
}
std::string Communicator::describe() const {
  std::string text = state_->transport->description() + ", rank " + std::to_string(rank()) +
                     " of " + std::to_string(size());
  if (state_->device_window != nullptr) {
    text += ", " + state_->device_window->description();
  } else if (state_->window != nullptr) {
    text += ", windows of " + std::to_string(state_->window->bytes()) + " bytes on the host";
  } else if (options().window_bytes > 0 && size() > 1) {
    text += ", no windows: " + state_->no_window;
  }
  return text;
}

}  // namespace detgemm::cluster
