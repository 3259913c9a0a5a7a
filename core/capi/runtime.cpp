// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/runtime.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "core/capi/descriptors.hpp"
#include "core/capi/error.hpp"

namespace detgemm::capi {
namespace {

struct Started {
  std::mutex mutex;
  int count = 0;
  // A bare pointer: an application that never stops it must not stop it from a static destructor.
  Runtime* runtime = nullptr;
};
Started& started() {
  static auto* state = new Started;
  return *state;
}

}  // namespace
}  // namespace detgemm::capi

using namespace detgemm;
using namespace detgemm::capi;

detgemm_status_t detgemm_runtime_start(const detgemm_runtime_options_t* options) {
  return guarded([&]() -> Status {
    auto ours = defaults<detgemm_runtime_options_t>();
    if (options != nullptr) {
      auto given = read("options", options);
      if (!given) return given.status();
      ours = *given;
    }
    Started& state = started();
    const std::lock_guard lock(state.mutex);
    if (state.count == 0) {
      auto runtime = Runtime::start({ours.threads});
      if (!runtime) return runtime.status();
      state.runtime = new Runtime(std::move(*runtime));
    }
    ++state.count;
    return {};
  });
}

detgemm_status_t detgemm_runtime_stop(void) {
  return guarded([]() -> Status {
    Started& state = started();
    const std::lock_guard lock(state.mutex);
    if (state.count == 0) {
      return invalid("the runtime's count of starts is 0: every stop needs a start before it");
    }
    if (--state.count == 0) delete std::exchange(state.runtime, nullptr);
    return {};
  });
}
