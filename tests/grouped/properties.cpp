// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/grouped/properties.hpp"

namespace detgemm::grouped_tests {

// In slice_properties.cpp.
void slices(const Backend& backend);
void empty_groups(const Backend& backend);
void outside(const Backend& backend);

std::span<const Property> properties() {
  static constexpr Property list[] = {
      {"slices", "each group has the bits of Plan::run on its slice", slices},
      {"empty_groups", "a group of no rows writes nothing, one of no products gives the start",
       empty_groups},
      {"outside", "garbage in offsets touches nothing outside of the arrays", outside},
  };
  return list;
}

}  // namespace detgemm::grouped_tests
