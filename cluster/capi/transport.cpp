// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <mutex>
#include <vector>

#include "cluster/capi/handles.hpp"
#include "core/capi/descriptors.hpp"

using namespace detgemm;
using namespace detgemm::capi;

namespace {

constexpr std::int32_t kMaxThreads = 1024;

/// The caller's functions as a transport.
class CallbackTransport final : public cluster::Transport {
 public:
  explicit CallbackTransport(const detgemm_transport_callbacks_t& c) : c_(c) {}

  std::string description() const override { return "the program's own transport"; }
  int rank() const noexcept override { return c_.rank; }
  int size() const noexcept override { return c_.size; }
  Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
               std::chrono::milliseconds patience) override {
    Sentence said{};
    return outcome("agree",
                   c_.agree(c_.context, mine.data(), mine.size(), all.data(), patience.count(),
                            said.data(), said.size()),
                   said);
  }
  Status exchange(Stream stream, std::span<const cluster::Send> sends,
                  std::span<const cluster::Receive> receives,
                  std::chrono::milliseconds patience) override {
    std::vector<detgemm_send_t> out;
    std::vector<detgemm_receive_t> in;
    for (const cluster::Send& one : sends) out.push_back({one.to, 0, one.data, one.bytes});
    for (const cluster::Receive& one : receives) in.push_back({one.from, 0, one.data, one.bytes});
    auto on = defaults<detgemm_stream_t>();
    on.kind = static_cast<detgemm_device_kind_t>(stream.kind);
    on.handle = stream.handle;
    Sentence said{};
    return outcome("exchange",
                   c_.exchange(c_.context, &on, out.data(), out.size(), in.data(), in.size(),
                               patience.count(), said.data(), said.size()),
                   said);
  }
  Status health() override {
    const std::scoped_lock lock(mutex_);
    return broken_;
  }
  void abort() noexcept override {
    {
      const std::scoped_lock lock(mutex_);
      if (broken_.ok()) broken_ = {Errc::peer, "rank " + std::to_string(c_.rank) + " aborted"};
    }
    if (c_.abort != nullptr) c_.abort(c_.context);
  }

 private:
  using Sentence = std::array<char, 512>;
  Status outcome(const char* what, int code, Sentence& said) {
    if (code == 0) return {};
    said.back() = '\0';
    const std::scoped_lock lock(mutex_);
    broken_ = {Errc::peer, std::string(what) + " of the program's transport returned " +
                               std::to_string(code) +
                               (said[0] == '\0' ? "" : ": " + std::string(said.data()))};
    return broken_;
  }

  detgemm_transport_callbacks_t c_;
  std::mutex mutex_;
  Status broken_;
};

}  // namespace

DETGEMM_STRUCT(transport_callbacks, callbacks, ours.size = 1)

detgemm_status_t detgemm_transport_create(const detgemm_transport_callbacks_t* callbacks,
                                          detgemm_transport_t** transport) {
  return guarded([&]() -> Status {
    if (Status s = need("transport", transport); !s) return s;
    *transport = nullptr;
    const auto c = read("callbacks", callbacks);
    if (!c) return c.status();
    if (c->reserved != 0) {
      return invalid("callbacks.reserved is " + std::to_string(c->reserved) + ": it must be 0");
    }
    if (c->size < 1 || c->rank < 0 || c->rank >= c->size) {
      return invalid("callbacks has rank " + std::to_string(c->rank) + " of " +
                     std::to_string(c->size) + ": a rank is in [0, size)");
    }
    if (c->agree == nullptr) return null_argument("callbacks.agree", "a function");
    if (c->exchange == nullptr) return null_argument("callbacks.exchange", "a function");
    *transport = new detgemm_transport_t(std::make_shared<CallbackTransport>(*c));
    return {};
  });
}

detgemm_status_t detgemm_transport_threads(int32_t ranks, detgemm_transport_t** transports) {
  return guarded([&]() -> Status {
    if (ranks < 1 || ranks > kMaxThreads) {
      return invalid("ranks is " + std::to_string(ranks) + ": it must be between 1 and " +
                     std::to_string(kMaxThreads));
    }
    if (transports == nullptr) {
      return null_argument("transports", "room for " + std::to_string(ranks) + " handles");
    }
    std::vector<std::unique_ptr<detgemm_transport_t>> made;
    for (const auto& one : cluster::threads(ranks)) {
      made.push_back(std::make_unique<detgemm_transport_t>(one));
    }
    for (auto& one : made) *transports++ = one.release();
    return {};
  });
}

void detgemm_transport_destroy(detgemm_transport_t* transport) { destroy(transport); }
