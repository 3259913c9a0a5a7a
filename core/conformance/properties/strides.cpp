// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// With five lines and more, offsets in elements pass 2^31 and then 2^32.
constexpr std::int64_t kHuge = (std::int64_t{1} << 30) + 4096;
constexpr std::int64_t kHugeLines = 5;

/// Of a device for all arrays of a case.
constexpr std::chrono::seconds kDeviceTime{10};

/// How many bytes an array with untouched gaps may span: on a host any number, unless
/// AddressSanitizer shadows them; on a device half of its memory, which it has in one piece.
std::uint64_t room_on([[maybe_unused]] const Device& device) {
#ifdef __SANITIZE_ADDRESS__
  return 0;
#else
  if (device.kind() == DeviceKind::host) return std::numeric_limits<std::uint64_t>::max();
  const auto list = device.list();
  const auto ordinal = static_cast<std::size_t>(std::max(device.current(), 0));
  return ordinal < list.size() ? list[ordinal].memory_bytes / 2 : 0;
#endif
}

/// Each array in turn spans more elements than 32 bits count.
void huge_strides(Case& c) {
  const Device& device = c.engine().device();
  const std::uint64_t room = room_on(device);
  const bool host = device.kind() == DeviceKind::host;
  const std::uint64_t span =
      static_cast<std::uint64_t>(kHuge) * static_cast<std::uint64_t>(kHugeLines);
  if (span * size_of(c.contract().input) > room) return;
  const auto began = std::chrono::steady_clock::now();
  const std::int64_t on_top = host ? c.random().below(4) : 0;
  Shape shape{kHugeLines + on_top, kHugeLines + (host ? c.random().below(4) : 0),
              4 * c.stretch() + 3};
  Request plain = c.draw(shape, Distribution::residue);
  plain.spec.beta = 1.0F;
  if (!c.engine().supports(sized(plain))) plain.spec.beta = 0.0F;
  if (plain.spec.beta != 0.0F) {
    plain.c = draw_normal(c.random(), plain.spec.contract.output, shape.m, shape.n, 0x1p-8);
  }
  const auto packed = c.run(plain);
  if (!packed) return;
  const std::array<std::pair<const char*, Layout Request::*>, 4> arrays{
      {{"A", &Request::a_layout},
       {"B", &Request::b_layout},
       {"C", &Request::c_layout},
       {"D", &Request::d_layout}}};
  const bool col_major = c.random().one_in(2);
  for (const auto& [name, layout] : arrays) {
    if (layout == &Request::c_layout && plain.spec.beta == 0.0F) continue;
    const bool input = layout == &Request::a_layout || layout == &Request::b_layout;
    const DType type = input ? c.contract().input : c.contract().output;
    if (span * size_of(type) > room) continue;
    if (!host && std::chrono::steady_clock::now() - began > kDeviceTime) {
      return c.log("no time was left for the huge strides of the other arrays");
    }
    Request far = plain;
    (far.*layout).ld_padding = kHuge;
    // Of B and of an A by columns the lines would be the products, of which there are many.
    (far.*layout).col_major = host ? col_major : layout == &Request::b_layout;
    // No machine has memory for all of them; what cannot be placed is no fault of the engine.
    if (const auto placed = Prepared::make(c.engine(), far); !placed) {
      if (host && placed.status().message().find("memory") == std::string::npos) {
        return c.note(placed.status());
      }
      c.log(std::string(name) + " with a huge stride: " +
            (host ? "there is no memory for it" : placed.status().message()));
      continue;
    }
    const auto got = c.run(far);
    if (!got) continue;  // noted: it may refuse such a stride
    if (!c.same(packed->d, got->d, std::string(name) + " with a stride beyond 2^30 elements"))
      return;
  }
}

}  // namespace

/// Leading dimensions and addresses that are not aligned for vector loads.
void strides(Case& c) {
  Request request = c.draw(c.draw_shape());
  auto packed = c.run(request);
  if (!packed || !c.try_add_c(request, *packed)) return;
  const auto draw = [&] {
    return Layout{c.random().one_in(3), c.random().below(18), c.random().below(10)};
  };
  for (int i = 0; i < 4; ++i) {
    request.a_layout = draw();
    request.b_layout = draw();
    request.d_layout = draw();
    request.c_layout = draw();
    const auto moved = c.run(request);
    if (!moved) continue;  // noted: an order may be refused
    const std::string what = "strides +" + std::to_string(request.a_layout.ld_padding) + " +" +
                             std::to_string(request.b_layout.ld_padding) + " +" +
                             std::to_string(request.d_layout.ld_padding) + " +" +
                             std::to_string(request.c_layout.ld_padding) + ", addresses +" +
                             std::to_string(request.a_layout.offset) + " +" +
                             std::to_string(request.b_layout.offset) + " +" +
                             std::to_string(request.d_layout.offset) + " +" +
                             std::to_string(request.c_layout.offset) + " elements (A, B, D, C)";
    if (!c.same(packed->d, moved->d, what)) return;
  }
  c.check_order_matters(request, packed->d);
  huge_strides(c);
}

}  // namespace detgemm::conformance
