// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/tile/geometry.hpp"

namespace detgemm::cuda::sm90 {

std::string name(const Geometry& geometry) {
  std::string text = std::to_string(geometry.x()) + 'x' + std::to_string(geometry.n);
  const auto add = [&](const char* what, int value, int usual) {
    if (value != usual) text += what + std::to_string(value);
  };
  if (geometry.groups == 1 && geometry.blocks > 1) text += "-one-group";
  if (geometry.turns > 1) text += "-in-turn";
  add("-load", geometry.load, geometry.x());
  add("-depth", geometry.depth, 1);
  add("-ctas", geometry.ctas, 1);
  if (geometry.cluster > 1) text += geometry.cluster == 2 ? "-pair" : "-quad";
  if (geometry.cluster > 1) text += geometry.shares_x ? "-x" : "-y";
  return text;
}

}  // namespace detgemm::cuda::sm90
