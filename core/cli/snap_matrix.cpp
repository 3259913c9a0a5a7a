// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/snap_matrix.hpp"

#include <bit>
#include <cmath>

#include "core/cli/arguments.hpp"
#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

float value_of(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[noreturn]] void refuse_range(const SnapSpec& spec, const Matrices& matrices, std::size_t at) {
  const auto cols = static_cast<std::size_t>(matrices.cols);
  const std::size_t row = at / cols % static_cast<std::size_t>(matrices.rows);
  const bool along = spec.k == KDimension::cols;
  refuse(in_quotes(matrices.name) + " has numbers above 2^62 in " + (along ? "row " : "column ") +
         std::to_string(along ? row : at % cols) +
         ": no grid of snap is coarse enough for them, and their leaf would become NaN");
}

}  // namespace

Moved snap_matrices(const Backend& backend, const SnapSpec& spec, const Matrices& matrices,
                    const std::vector<std::uint16_t>& from, std::vector<std::uint16_t>& to) {
  const auto step = static_cast<std::size_t>(matrices.rows * matrices.cols);
  for (std::size_t at = 0; step > 0 && at < from.size(); at += step) {
    need(snap(backend, {}, spec,
              row_major(from.data() + at, matrices.rows, matrices.cols, DType::bf16),
              row_major(to.data() + at, matrices.rows, matrices.cols, DType::bf16)));
  }
  Moved moved;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double before = value_of(from[i]);
    const double after = value_of(to[i]);
    if (std::isnan(after) && !std::isnan(before)) refuse_range(spec, matrices, i);
    if (!std::isfinite(before)) continue;
    moved.elements += before != after ? 1 : 0;
    difference += (after - before) * (after - before);
    norm += before * before;
  }
  moved.change = norm > 0 ? std::sqrt(difference / norm) : 0;
  return moved;
}

bool are_snapped(const Backend& backend, const SnapSpec& spec, const Matrices& matrices,
                 const std::vector<std::uint16_t>& elements) {
  const auto step = static_cast<std::size_t>(matrices.rows * matrices.cols);
  for (std::size_t at = 0; step > 0 && at < elements.size(); at += step) {
    const ConstMatrix view = row_major(static_cast<const void*>(elements.data() + at),
                                       matrices.rows, matrices.cols, DType::bf16);
    if (!need(is_snapped(backend, {}, spec, view))) return false;
  }
  return true;
}

}  // namespace detgemm::cli
