// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "detgemm/contract.hpp"

namespace detgemm {

/// What a backend's kernels say where the forced one does not take the arrays of a run. `why` is a
/// clause about the kernel, for example "it computes chains only".
inline Status forced_kernel_refuses(std::string_view kernel, std::string_view why) {
  return unsupported("variant is \"" + std::string(kernel) + "\": " + std::string(why) +
                     "; leave it empty for a kernel that takes these arrays");
}

}  // namespace detgemm
