// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

struct Attempt {
  const char* what;
  Operands operands;
  Workspace workspace;
};

/// Calls that every engine must refuse, made from a good one.
std::vector<Attempt> attempts(const Prepared& good) {
  const Operands& o = good.operands();
  std::vector<Attempt> list;
  const auto add = [&](const char* what, auto&& spoil) {
    Attempt attempt{what, o, good.workspace()};
    spoil(attempt);
    list.push_back(attempt);
  };
  add("A is null", [](Attempt& x) { x.operands.a.data = nullptr; });
  add("A has a column less", [](Attempt& x) { x.operands.a.cols -= 1; });
  add("B has a row more", [](Attempt& x) { x.operands.b.rows += 1; });
  add("B has rows that overlap", [](Attempt& x) { x.operands.b.row_stride = 1; });
  add("D has a negative number of rows", [](Attempt& x) { x.operands.d.rows = -1; });
  add("D has a row less than A", [](Attempt& x) { x.operands.d.rows -= 1; });
  add("D has no unit stride", [](Attempt& x) {
    x.operands.d.row_stride *= 2;
    x.operands.d.col_stride = 2;
  });
  add("A has another type", [](Attempt& x) {
    x.operands.a.dtype = x.operands.a.dtype == DType::bf16 ? DType::fp16 : DType::bf16;
  });
  add("D is A", [](Attempt& x) { x.operands.d.data = const_cast<void*>(x.operands.a.data); });
  if (good.workspace().bytes > 0) {
    add("the workspace is a byte short", [](Attempt& x) { x.workspace.bytes -= 1; });
    add("the workspace is not aligned",
        [](Attempt& x) { x.workspace.data = static_cast<char*>(x.workspace.data) + 1; });
  }
  return list;
}

/// They differ from run to run, which a log does not.
std::string without_addresses(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end =
        std::min(text.find_first_not_of("0123456789abcdef", at + 2), text.size());
    const bool is_address = text.compare(at, 2, "0x") == 0 && end > at + 2;
    out += is_address ? "an address" : text.substr(at, 1);
    at = is_address ? end : at + 1;
  }
  return out;
}

}  // namespace

/// A refused call says why and leaves D as it was.
void bad_input(Case& c) {
  c.count_discriminating();  // D's first contents are no result
  const Request request = c.draw({5, 7, c.draw_k() + 1}, Distribution::normal);
  auto prepared = Prepared::make(c.engine(), request);
  if (!prepared) return c.note(prepared.status());
  Device& device = c.engine().device();
  auto stream = device.create_stream();
  if (!stream) return c.note(stream.status());
  const auto before = prepared->collect();
  for (const Attempt& attempt : attempts(*prepared)) {
    const Status status =
        prepared->plan().run(*stream, attempt.operands, attempt.workspace, nullptr);
    c.log(std::string(attempt.what) + ": " + without_addresses(status.message()));
    if (status.ok()) c.fail(std::string("accepted although ") + attempt.what);
    if (!status.ok() && status.message().empty()) {
      c.fail(std::string("refused without a sentence: ") + attempt.what);
    }
  }
  Stream elsewhere = *stream;
  elsewhere.kind = elsewhere.kind == DeviceKind::host ? DeviceKind::cuda : DeviceKind::host;
  if (prepared->plan().run(elsewhere, prepared->operands(), prepared->workspace(), nullptr).ok()) {
    c.fail("accepted a stream of another kind of device");
  }
  if (Plan::create(c.engine(), sized(request), {"no such variant", 0})) {
    c.fail("accepted a variant that it does not list");
  }
  const Status waited = device.synchronize(*stream);
  device.destroy_stream(*stream);
  if (!waited) return c.note(waited);
  const auto after = prepared->collect();
  if (!before || !after) return c.note((before ? after : before).status());
  if (!after->violation.empty()) c.fail(after->violation);
  c.same(before->d, after->d, "D after refused calls");
}

}  // namespace detgemm::conformance
