// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>

#include "cluster/common/state.hpp"

namespace detgemm::cluster {

/// Into how many chunks of rows a call of m rows is cut. A pure function of its arguments, so that
/// all ranks cut alike. `asked` is the option: 0 lets this function choose, n is at most n.
///
/// Its own choice was made without a GPU and is not tuned: chunks of 2048 rows and more, at most 4.
int chunk_count(std::int64_t m, int ranks, std::int32_t asked);

/// The rows of chunk `index` of `count`.
Range chunk_rows(std::int64_t m, int index, int count);

/// ok, or why the option is none.
Status check_chunks(std::int32_t asked);

/// A stream beside the caller's, for what travels. The plans of a communicator share one, since
/// they run one at a time.
class SideStream {
 public:
  SideStream(Device& device, Stream stream) : device_(device), stream_(stream) {}
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream();
  Stream stream() const { return stream_; }

 private:
  Device& device_;
  Stream stream_;
};

/// Makes the side stream of a communicator, where there is none yet and the transport and the
/// device let messages and products run at the same time. Called while a plan is made.
Status prepare_side(Communicator::State& state, Device& device, std::int32_t asked);

/// The parts of a chunk: what must arrive before it is multiplied, its product, and what is done
/// with the product. The first and the last exchange messages; either may be empty. `compute` of
/// one chunk runs beside the other two of its neighbours, so these must not share memory with it.
struct Chunks {
  int count = 1;
  std::function<Status(int chunk, Stream)> arrive;
  std::function<Status(int chunk, Stream)> compute;
  std::function<Status(int chunk, Stream)> leave;
};

/// Does all chunks. Messages go in one order on all ranks, wherever the parts run: arrive 0,
/// arrive 1, leave 0, arrive 2, leave 1 ...
///
///     wire      a0 | a1      | a2  l0     | l1       | l2
///     product      | p0      | p1         | p2       |
///
/// Where the transport enqueues, the wire is the side stream and the product the caller's. On the
/// host, where every call has finished when it returns, another thread multiplies while the caller
/// moves messages. Else all of it is put on the caller's stream, one part after another.
Status run_chunks(const Chunks& chunks, Stream stream, Device& device,
                  const Communicator::State& state);

}  // namespace detgemm::cluster
