// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include "cluster/capi/handles.hpp"
#include "core/capi/descriptors.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/operands.hpp"
#include "core/capi/text.hpp"

using namespace detgemm;
using namespace detgemm::capi;

namespace detgemm::capi {
template <>
struct Descriptor<detgemm_communicator_options_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_communicator_options_t, window_bytes);
};
}  // namespace detgemm::capi

DETGEMM_STRUCT(communicator_options, options,
               ours.patience_ms = cluster::Options{}.patience.count())

detgemm_status_t detgemm_communicator_create(const detgemm_transport_t* transport,
                                             const detgemm_communicator_options_t* options,
                                             detgemm_communicator_t** communicator) {
  return guarded([&]() -> Status {
    if (Status s = need("communicator", communicator); !s) return s;
    *communicator = nullptr;
    if (Status s = check(transport); !s) return s;
    cluster::Options choices;
    if (options != nullptr) {
      const auto c = read("options", options);
      if (!c) return c.status();
      const auto checks = flag_of("options.check_calls", c->check_calls);
      if (!checks) return checks.status();
      choices.check_calls = *checks;
      choices.patience = std::chrono::milliseconds(c->patience_ms);
      choices.window_bytes = c->window_bytes;
      if (c->window_backend != nullptr) {
        if (Status s = check(c->window_backend); !s) {
          return invalid("options.window_" + s.message());
        }
        choices.window_backend = &backend_of(c->window_backend);
      }
    }
    auto made = cluster::Communicator::create(transport->transport, choices);
    if (!made) return made.status();
    *communicator = new detgemm_communicator_t(*std::move(made));
    return {};
  });
}

void detgemm_communicator_destroy(detgemm_communicator_t* communicator) { destroy(communicator); }

detgemm_status_t detgemm_communicator_rank(const detgemm_communicator_t* communicator,
                                           int32_t* rank, int32_t* size) {
  return guarded([&]() -> Status {
    if (Status s = check(communicator); !s) return s;
    if (Status s = need("rank", rank); !s) return s;
    if (Status s = need("size", size); !s) return s;
    *rank = communicator->communicator.rank();
    *size = communicator->communicator.size();
    return {};
  });
}

detgemm_status_t detgemm_communicator_health(const detgemm_communicator_t* communicator) {
  return guarded([&]() -> Status {
    if (Status s = check(communicator); !s) return s;
    return communicator->communicator.health();
  });
}

detgemm_status_t detgemm_communicator_abort(const detgemm_communicator_t* communicator) {
  return guarded([&]() -> Status {
    if (Status s = check(communicator); !s) return s;
    communicator->communicator.abort();
    return {};
  });
}

detgemm_status_t detgemm_communicator_has_windows(const detgemm_communicator_t* communicator,
                                                  int32_t* yes) {
  return guarded([&]() -> Status {
    if (Status s = check(communicator); !s) return s;
    if (Status s = need("yes", yes); !s) return s;
    *yes = communicator->communicator.has_windows() ? 1 : 0;
    return {};
  });
}

detgemm_status_t detgemm_communicator_describe(const detgemm_communicator_t* communicator,
                                               char* buffer, size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    if (Status s = check(communicator); !s) return s;
    return give_text(communicator->communicator.describe(), buffer, size, needed);
  });
}
