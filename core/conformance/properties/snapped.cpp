// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"
#include "detgemm/snap.hpp"

namespace detgemm::conformance {
namespace {

/// What a backend makes of one operand by itself.
struct Snapped {
  Elements made;  ///< the operand, snapped
  bool was, is;   ///< whether `is_snapped` found the operand, and then the copy, snapped
};

/// Snaps `operand` in the backend's memory; K is its columns, or its rows.
Result<Snapped> snapped_by(const Backend& backend, const Elements& operand, bool transposed,
                           const SnapSpec& spec) {
  Device& device = backend.device();
  auto from = Buffer::holding(device, operand, transposed, {}, 0xff);
  if (!from) return from.status();
  auto to = Buffer::holding(device, Elements(operand.dtype, operand.rows, operand.cols), transposed,
                            {}, 0xff);
  if (!to) return to.status();
  auto stream = device.create_stream();
  if (!stream) return stream.status();
  const auto work = [&]() -> Result<Snapped> {
    const auto was = is_snapped(backend, *stream, spec, from->view());
    if (!was) return was.status();
    if (Status s = snap(backend, *stream, spec, from->view(), to->view()); !s) return s;
    const auto is = is_snapped(backend, *stream, spec, to->view());
    if (!is) return is.status();
    if (Status s = device.synchronize(*stream); !s) return s;
    auto made = to->read();
    if (!made) return made.status();
    return Snapped{std::move(*made), *was, *is};
  };
  auto result = work();
  device.destroy_stream(*stream);
  return result;
}

}  // namespace

/// Operands that were snapped before, and promised to be, give the bits of the operands they were
/// made from; the backend's `snap` makes what the oracle's does, and `is_snapped` tells.
void snapped(Case& c) {
  const Contract& contract = c.contract();
  if (contract.arithmetic != Arithmetic::snap) return c.skip("only contracts of snap have it");
  Request request = c.draw(c.draw_shape());
  request.spec.op_a = c.random().one_in(2) ? Op::transpose : Op::none;
  request.spec.op_b = c.random().one_in(2) ? Op::transpose : Op::none;
  const bool at = request.spec.op_a == Op::transpose;
  const bool bt = request.spec.op_b == Op::transpose;
  const std::int64_t leaf = contract.reduction.leaf_k;
  const SnapSpec a_spec{leaf, at ? KDimension::rows : KDimension::cols};
  const SnapSpec b_spec{leaf, bt ? KDimension::cols : KDimension::rows};

  const auto made = [&](const Backend& backend, bool b) {
    return b ? snapped_by(backend, request.b, bt, b_spec)
             : snapped_by(backend, request.a, at, a_spec);
  };
  auto a = made(c.engine(), false);
  auto b = made(c.engine(), true);
  // An engine that multiplies may not snap; it is given the oracle's.
  const auto lacks = [](const Result<Snapped>& x) {
    return !x && x.status().code() == Errc::unsupported;
  };
  if (c.has_oracle() && (a || lacks(a)) && (b || lacks(b))) {
    auto oracle_a = made(c.oracle(), false);
    auto oracle_b = made(c.oracle(), true);
    if (!oracle_a) return c.note(oracle_a.status());
    if (!oracle_b) return c.note(oracle_b.status());
    if (a && !c.same(oracle_a->made, a->made, "the oracle's snapped A")) return;
    if (b && !c.same(oracle_b->made, b->made, "the oracle's snapped B")) return;
    if (!a) a = std::move(oracle_a);
    if (!b) b = std::move(oracle_b);
  }
  if (!a) return c.note(a.status());
  if (!b) return c.note(b.status());
  if (!a->is || !b->is) return c.fail("is_snapped does not find what snap made snapped");
  if (a->was != (a->made == request.a) || b->was != (b->made == request.b)) {
    return c.fail("is_snapped is true of what snap changes, or false of what it does not");
  }
  const auto plain = c.run(request);
  if (!plain) return;
  for (int which = 1; which < 4; ++which) {
    Request promised = request;
    promised.spec.a_snapped = (which & 1) != 0;
    promised.spec.b_snapped = (which & 2) != 0;
    if (promised.spec.a_snapped) promised.a = a->made;
    if (promised.spec.b_snapped) promised.b = b->made;
    const auto got = c.run(promised);
    if (!got) return;
    if (!c.same(plain->d, got->d, "operands that are promised to be snapped")) return;
  }
  if (!a->was || !b->was) c.count_discriminating();
}

}  // namespace detgemm::conformance
