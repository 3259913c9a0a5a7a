// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What a worker process sends, from any bytes in pieces of any size: the harness goes on or says
// that this is nothing that a worker says, and its report can be rendered.

#include <nlohmann/json.hpp>
#include <string>

#include "core/conformance/conversation.hpp"
#include "tests/fuzz/bytes.hpp"

using namespace detgemm;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 64 + 1;
  conformance::Report report;
  conformance::Conversation talk(report, nullptr);
  bool understood = true;
  for (std::size_t at = 1; at < size && understood; at += piece) {
    understood = talk.take(reinterpret_cast<const char*>(data) + at, std::min(piece, size - at));
  }
  const std::size_t cells = report.cells.size();
  require(talk.next_cell() == cells, "cells are heard of in their order");
  if (talk.in_cell()) {
    talk.lose("it was lost");
    require(report.cells.size() == cells + 1 &&
                report.cells.back().verdict == conformance::Verdict::failed,
            "a cell in which a worker is lost fails");
  }
  if (talk.refusal()) require(!talk.refusal()->ok(), "a refusal is none that says ok");
  const auto read = nlohmann::json::parse(conformance::render_json(std::vector{report}), nullptr,
                                          /*allow_exceptions=*/false);
  require(read.is_object(), "the report can be rendered");
  return 0;
}
