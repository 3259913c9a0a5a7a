// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/contract/wording.hpp"
#include "detgemm/backend.hpp"

namespace detgemm {

/// ok, or the rule that the options of a plan break. `known` are the variants there are, and `what`
/// is what they compute.
inline Status check_options(const Backend& backend, const PlanOptions& options,
                            const std::vector<std::string>& known, std::string_view what) {
  if (options.max_workers < 0) {
    return invalid("max_workers is " + std::to_string(options.max_workers) +
                   ": it must be 0 (all) or positive");
  }
  if (name(options.stable) == "unknown") {
    return invalid("stable is " + described(options.stable) +
                   ": it must be none (0), a (1) or b (2)");
  }
  if (options.variant.empty()) return {};
  if (std::find(known.begin(), known.end(), options.variant) != known.end()) return {};
  std::string list;
  for (const auto& variant : known) list += (list.empty() ? "" : ", ") + variant;
  return {Errc::not_found, "variant is " + quoted(options.variant) + ": " +
                               std::string(backend.name()) + " has " +
                               (list.empty() ? "none" : list) + " for " + std::string(what)};
}

/// ok, or that the stream is not of the backend's kind of device.
inline Status check_stream(const Backend& backend, Stream stream) {
  const DeviceKind kind = backend.device().kind();
  if (stream.kind == kind) return {};
  return invalid("stream.kind is " + described(stream.kind) + ": backend " +
                 std::string(backend.name()) + " needs " + std::string(name(kind)));
}

/// ok, or that an argument of this name is no kind of device.
inline Status check_kind(std::string_view what, DeviceKind kind) {
  if (name(kind) != "unknown") return {};
  return invalid(std::string(what) + " is " + described(kind) +
                 ": it must be host (0), cuda (1) or hip (2)");
}

/// A sentence so short that it needs no allocated memory.
inline Status out_of_memory() { return {Errc::internal, "out of memory"}; }

/// D has no elements: nothing is written, whatever K is.
inline Status no_outputs(RunInfo* info) {
  if (info != nullptr) info->kernel = "none (no outputs)";
  return {};
}

}  // namespace detgemm
