// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <Kokkos_Core.hpp>
#include <string>
#include <string_view>

#include "detgemm/status.hpp"

namespace detgemm::reference {

/// ok while Kokkos runs. Before its initialisation and after its end, a sentence that says how to
/// start it from C++, from C and without this library.
inline Status started(std::string_view backend) {
  if (Kokkos::is_initialized()) return {};
  return {Errc::unavailable,
          std::string(backend) +
              ": Kokkos is not initialised: keep a detgemm::Runtime alive (in C: call "
              "detgemm_runtime_start), or call Kokkos::initialize"};
}

}  // namespace detgemm::reference
