// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/hip/sweep_units.hpp"

#include <string_view>

namespace detgemm::test {
namespace {

using Line = Suited::Line;

const char* text(Line line) {
  return line == Line::k       ? "k"
         : line == Line::mn    ? "mn"
         : line == Line::drawn ? "drawn"
                               : "nowhere";
}

bool starts(std::string_view whole, std::string_view with) {
  return whole.substr(0, with.size()) == with;
}

}  // namespace

std::vector<Unit> units_per_kernel(const Family& family, const std::vector<std::string>& variants) {
  std::vector<Unit> units;
  const bool snaps =
      family.arithmetic == Arithmetic::snap || family.arithmetic == Arithmetic::snap3;
  for (const std::string& variant : variants) {
    const std::string tile = variant.substr(0, variant.find("-parts"));
    const bool narrow = tile == "stream";
    const bool wide = starts(tile, "stream") && !narrow;
    Unit unit{family, "", {variant}, {}};
    unit.suited.parts = tile != variant;
    unit.suited.stages = wide;
    const auto add = [&](Line a, Line b) {
      unit.suited.a = a;
      unit.suited.b = b;
      unit.text = family.text() + "/" + variant + "/" + text(a);
      if (a == Line::k || a == Line::mn) unit.text += std::string(",") + text(b);
      units.push_back(unit);
    };
    // The operands of snap are copied along K first.
    if (snaps || starts(tile, "simt") || starts(tile, "mfma")) {
      add(Line::drawn, Line::drawn);
      continue;
    }
    for (const Line a : {Line::k, Line::mn}) {
      for (const Line b : {Line::k, Line::mn}) {
        if ((a == Line::k && b == Line::k) || !starts(tile, "stream")) add(a, b);
      }
    }
    if (narrow || tile == "64x64") add(Line::nowhere, Line::drawn);
  }
  if (family.kind == ReductionKind::tree && !snaps && !variants.empty()) {
    Suited roots;
    roots.roots = true;
    units.push_back({family, family.text() + "/roots", {""}, roots});
  }
  return units;
}

}  // namespace detgemm::test
