// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "detgemm/cluster.hpp"

namespace detgemm {
class PeerWindow;
}

namespace detgemm::cluster {

class SideStream;
class Window;

/// The kind of device in whose memory windows are.
inline DeviceKind window_kind(const Options& options) {
  return options.window_backend == nullptr ? DeviceKind::host
                                           : options.window_backend->device().kind();
}

/// What the copies of a communicator share.
struct Communicator::State {
  std::shared_ptr<Transport> transport;
  Options options;
  int plans = 0;                     ///< how many all ranks made together, and so in one order
  std::shared_ptr<SideStream> side;  ///< null where nothing runs beside the caller's stream

  std::shared_ptr<Window> window;             ///< of the host; null where there is none
  std::shared_ptr<PeerWindow> device_window;  ///< of devices, likewise
  /// Words of mail are whole between all ranks, so automatic may take one_shot; the same on all.
  bool one_shot_by_default = true;
  std::string no_window = "window_bytes is 0";  ///< why there is neither

  /// The first failure, which stays.
  Status health();
  /// Remembers a failure of the transport; anything else leaves it as it is.
  Status after(Status status) {
    const std::scoped_lock lock(mutex);
    if (status.code() == Errc::peer && broken.ok()) broken = status;
    return status;
  }

 private:
  std::mutex mutex;
  Status broken;
};

/// What must be the same on every rank, as names and values.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// What must be the same in a call on every rank, where calls are checked: which of the
/// communicator's plans it is, counted from 1, and m.
inline Facts facts_of_call(int plan, std::int64_t m) {
  return {{"plan number", std::to_string(plan)}, {"m", std::to_string(m)}};
}

/// Every rank brings its facts, or its refusal. ok on all ranks, or on all ranks the same sentence:
/// a refusal by the first rank that has one, or the first fact in which a rank differs from rank 0.
/// Exported for the harness of clusters, which is another library.
DETGEMM_API Status agree(Communicator::State& state, const Status& mine, const Facts& facts);

}  // namespace detgemm::cluster
