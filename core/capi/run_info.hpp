// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstring>

#include "core/capi/descriptors.hpp"
#include "core/capi/operands.hpp"
#include "detgemm/plan.hpp"

namespace detgemm::capi {

/// `body(RunInfo*)`, whose answer goes to `info`, if there is one. A bad `info` is refused before
/// anything is written, and it is filled in last.
template <class Body>
Status tell(detgemm_run_info_t* info, Body&& body) {
  if (info == nullptr) return body(static_cast<RunInfo*>(nullptr));
  if (auto unused = read("info", info); !unused) return unused.status();
  RunInfo ran;
  if (Status s = body(&ran); !s) return s;
  auto ours = defaults<detgemm_run_info_t>();
  std::memcpy(ours.kernel, ran.kernel.data(), std::min(ran.kernel.size(), sizeof ours.kernel - 1));
  return write("info", ours, info);
}

/// What the runs of plans and of plans over ranks share: the caller's structs are read first.
/// `check()` says whether the plan is one, and `spec()` is its problem.
template <class Check, class Spec, class Body>
detgemm_status_t launch(Check&& check, Spec&& spec, const detgemm_stream_t* stream,
                        const detgemm_operands_t* operands, Inputs inputs, detgemm_run_info_t* info,
                        Body&& body) {
  return guarded([&]() -> Status {
    if (Status s = check(); !s) return s;
    const auto queue = stream_of(stream);
    if (!queue) return queue.status();
    const auto arrays = operands_of(spec(), operands, inputs);
    if (!arrays) return arrays.status();
    return tell(info, [&](RunInfo* ran) { return body(*queue, *arrays, ran); });
  });
}

}  // namespace detgemm::capi
