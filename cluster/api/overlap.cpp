// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/api/overlap.hpp"

#include <algorithm>
#include <future>

#include "detgemm/peers.hpp"

namespace detgemm::cluster {
namespace {

constexpr std::int64_t kRowsPerChunk = 2048;
constexpr int kMaxChunks = 4;
/// Rows are cut at multiples of 8, as rows_of cuts them.
constexpr std::int64_t kRowStep = 8;

/// Where the parts run. `multiply` begins the product of a chunk and `multiplied` ends it, as far
/// as what is done next on the wire needs it.
struct Place {
  Stream wire;
  std::function<Status(int chunk)> multiply;
  std::function<Status()> multiplied;
  std::function<Status()>
      arrived;  ///< the next product may begin when what is on the wire is there
};

/// The one order of all ranks, wherever their parts run.
Status in_order(const Chunks& chunks, const Place& place) {
  const auto part = [&](const std::function<Status(int, Stream)>& f, int chunk) {
    return f && chunk >= 0 && chunk < chunks.count ? f(chunk, place.wire) : Status{};
  };
  Status s = part(chunks.arrive, 0);
  if (s && chunks.arrive) s = place.arrived();
  for (int i = 0; s && i < chunks.count; ++i) {
    s = place.multiply(i);
    if (s) s = part(chunks.arrive, i + 1);
    if (s && chunks.arrive) s = place.arrived();
    if (s) s = part(chunks.leave, i - 1);
    const Status product = place.multiplied();
    if (s) s = product;
  }
  return s ? part(chunks.leave, chunks.count - 1) : s;
}

/// The caller moves messages, another thread multiplies; so MPI sees one thread alone. Where the
/// system has no thread left, the caller multiplies too, after its messages: the same bits, later.
Status on_host(const Chunks& chunks) {
  std::future<Status> product;  // its destructor waits
  return in_order(chunks, {{},
                           [&](int i) {
                             product = std::async(std::launch::async | std::launch::deferred,
                                                  chunks.compute, i, Stream{});
                             return Status{};
                           },
                           [&] { return product.valid() ? product.get() : Status{}; },
                           [] { return Status{}; }});
}

/// Messages on one stream, products on another.
Status beside(const Chunks& chunks, Stream stream, Device& device, Stream side) {
  if (Status s = device.follow(side, stream); !s) return s;
  const Status ran = in_order(chunks, {side, [&](int i) { return chunks.compute(i, stream); },
                                       [&] { return device.follow(side, stream); },
                                       [&] { return device.follow(stream, side); }});
  // Whatever has happened, what is on the side ends before the caller's next work, and a capture of
  // the caller's is whole.
  const Status joined = device.follow(stream, side);
  return ran ? joined : ran;
}

}  // namespace

int chunk_count(std::int64_t m, int ranks, std::int32_t asked) {
  if (ranks <= 1) return 1;
  const std::int64_t most = std::max<std::int64_t>(1, m / kRowStep + (m % kRowStep > 0 ? 1 : 0));
  const std::int64_t wanted =
      asked > 0 ? asked : std::min<std::int64_t>(kMaxChunks, m / kRowsPerChunk);
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most));
}

Range chunk_rows(std::int64_t m, int index, int count) { return rows_of(m, index, count); }

Status check_chunks(std::int32_t asked) {
  if (asked >= 0) return {};
  return invalid("chunks is " + std::to_string(asked) + ": it must be 0 (automatic) or positive");
}

SideStream::~SideStream() { device_.destroy_stream(stream_); }

Status prepare_side(Communicator::State& state, Device& device, std::int32_t asked) {
  const Transport& transport = *state.transport;
  if (state.side != nullptr || transport.size() == 1 || asked == 1 ||
      device.kind() == DeviceKind::host || !device.orders_streams() ||
      !(transport.enqueues(device.kind()) || state.device_window != nullptr)) {
    return {};
  }
  const auto stream = device.create_stream();
  if (!stream) return stream.status();
  state.side = std::make_shared<SideStream>(device, *stream);
  return {};
}

Status run_chunks(const Chunks& chunks, Stream stream, Device& device,
                  const Communicator::State& state) {
  if (chunks.count > 1 && stream.kind == DeviceKind::host) return on_host(chunks);
  if (chunks.count > 1 && state.side != nullptr) {
    return beside(chunks, stream, device, state.side->stream());
  }
  const auto nothing = [] { return Status{}; };
  return in_order(chunks,
                  {stream, [&](int i) { return chunks.compute(i, stream); }, nothing, nothing});
}

}  // namespace detgemm::cluster
