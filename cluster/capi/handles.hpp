// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/capi/error.hpp"
#include "detgemm/cluster.hpp"
#include "detgemm/detgemm_cluster.h"

/// What is behind the C interface's opaque handles. Each begins with a number that says what it is,
/// which is overwritten when it is destroyed.
namespace detgemm::capi {

template <std::uint64_t Number>
struct Handle {
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { magic = 0; }
  bool is_one() const { return magic == Number; }
  volatile std::uint64_t magic = Number;
};

}  // namespace detgemm::capi

struct detgemm_transport_t : detgemm::capi::Handle<0x6e617274676d6564> {
  explicit detgemm_transport_t(std::shared_ptr<detgemm::cluster::Transport> made)
      : transport(std::move(made)) {}
  std::shared_ptr<detgemm::cluster::Transport> transport;
};

struct detgemm_communicator_t : detgemm::capi::Handle<0x6d6d6f63676d6564> {
  explicit detgemm_communicator_t(detgemm::cluster::Communicator made)
      : communicator(std::move(made)) {}
  detgemm::cluster::Communicator communicator;
};

struct detgemm_cluster_plan_t : detgemm::capi::Handle<0x70756c63676d6564> {
  detgemm_cluster_plan_t(detgemm::GemmSpec of, int rank_of) : spec(of), rank(rank_of) {}
  detgemm::GemmSpec spec;
  int rank;
  std::optional<detgemm::cluster::Shares> shares;  ///< of a plan that spreads K
  std::optional<detgemm::cluster::RowParallelPlan> row;
  std::optional<detgemm::cluster::ColumnParallelPlan> column;
  std::optional<detgemm::cluster::TreeSum> sum;
};

namespace detgemm::capi {

/// ok, or why a handle cannot be one that this interface gave out.
template <class T>
Status check_handle(const T* handle, const std::string& what, const char* from) {
  if (handle == nullptr) return null_argument(what, "a " + what);
  if (handle->is_one()) return {};
  return invalid(what + " is not a " + what + "'s handle: it must be a result of " + from +
                 " and not be destroyed");
}
inline Status check(const detgemm_transport_t* handle) {
  return check_handle(handle, "transport", "a detgemm_transport function");
}
inline Status check(const detgemm_communicator_t* handle) {
  return check_handle(handle, "communicator", "detgemm_communicator_create");
}
inline Status check(const detgemm_cluster_plan_t* handle) {
  return check_handle(handle, "plan", "a create function of this header");
}

/// Destroys what is a handle; NULL is accepted.
template <class T>
void destroy(T* handle) {
  if (handle == nullptr) return;
  if (guarded([&] { return check(handle); }) == DETGEMM_OK) delete handle;
}

/// A place for an answer.
inline Status need(std::string_view what, const void* out) {
  return out == nullptr ? null_argument(what, "a place for the answer") : Status{};
}

}  // namespace detgemm::capi
