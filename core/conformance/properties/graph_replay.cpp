// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

/// A captured graph, launched several times, gives the bits of the plain call.
void graph_replay(Case& c) {
  Device& device = c.engine().device();
  if (!device.has_graphs()) return c.skip(device.description() + " has no graphs");
  const Request request = c.draw(c.draw_shape());
  const auto plain = c.run(request);
  if (!plain) return;
  auto prepared = Prepared::make(c.engine(), request);
  if (!prepared) return c.note(prepared.status());
  auto stream = device.create_stream();
  if (!stream) return c.note(stream.status());
  const Status replayed = device.replay(
      *stream, [&](Stream s) { return prepared->enqueue(s); }, 3);
  device.destroy_stream(*stream);
  if (!replayed) return c.note(replayed);
  const auto output = c.ran(prepared->collect());
  if (!output) return;
  if (c.same(plain->d, output->d, "a graph launched 3 times"))
    c.check_order_matters(request, plain->d);
}

}  // namespace detgemm::conformance
