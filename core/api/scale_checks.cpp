// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/api/scale_checks.hpp"

#include <array>
#include <limits>
#include <string>

#include "core/contract/reduction.hpp"
#include "core/contract/wording.hpp"

namespace detgemm {
namespace {

constexpr std::int64_t kBlock = 128;

std::string address(const void* data) { return "0x" + hex(reinterpret_cast<std::uintptr_t>(data)); }

/// Scales that are not used: none may be given.
Status check_absent(std::string_view what, const BlockScales& scales, const Contract& contract) {
  if (scales.data == nullptr && scales.blocks == 0 && scales.leaves == 0) return {};
  return invalid(std::string(what) + " has " + std::to_string(scales.blocks) + " x " +
                 std::to_string(scales.leaves) + " scales and the contract is " + contract.text() +
                 ": contracts of scaled take scales, and others with line_scales");
}

/// The scales of `lines` rows of A or columns of B.
Status check_present(std::string_view what, const BlockScales& scales, const GemmSpec& spec,
                     std::int64_t lines, std::string_view line_name) {
  const std::string label(what);
  if (scales.data == nullptr && scales.blocks == 0 && scales.leaves == 0 && lines > 0 &&
      spec.scale_leaves() > 0) {
    return invalid(label + " has no scales: " +
                   (spec.line_scales ? "line_scales" : "the contract " + spec.contract.text()) +
                   " needs scales of both operands");
  }
  if (scales.per != 1 && scales.per != kBlock) {
    return invalid(label + ".per is " + std::to_string(scales.per) +
                   ": a scale is that of 1 or 128 " + std::string(line_name));
  }
  if (spec.line_scales && scales.leaves != 1) {
    return invalid(label + " has " + std::to_string(scales.leaves) +
                   " leaves and the contract is " + spec.contract.text() +
                   ": only contracts of scaled have a scale for each leaf, " +
                   "others have one for each of the " + std::string(line_name));
  }
  return check_scale_array(what, scales, ceil_div(lines, scales.per), spec.scale_leaves());
}

}  // namespace

std::string_view name(ScaleType type) noexcept {
  if (type == ScaleType::fp32) return "fp32";
  return type == ScaleType::e8m0 ? "e8m0" : "unknown";
}

std::size_t size_of(ScaleType type) noexcept {
  if (type == ScaleType::fp32) return sizeof(float);
  return type == ScaleType::e8m0 ? 1 : 0;
}

Extent extent_of(const BlockScales& scales) {
  if (scales.data == nullptr || scales.blocks <= 0 || scales.leaves <= 0) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(scales.data);
  const std::int64_t last = (scales.blocks > 1 ? (scales.blocks - 1) * scales.stride : 0) +
                            (scales.leaves > 1 ? (scales.leaves - 1) * scales.leaf_stride : 0);
  return {begin, begin + static_cast<std::uintptr_t>(last + 1) * size_of(scales.type)};
}

Status check_scale_array(std::string_view what, const BlockScales& scales, std::int64_t blocks,
                         std::int64_t leaves) {
  // Sentences are put together in refusals alone.
  const auto label = [what] { return std::string(what); };
  const auto shape = [&scales] {
    return std::to_string(scales.blocks) + " x " + std::to_string(scales.leaves) + " scales";
  };
  if (size_of(scales.type) == 0) {
    return invalid(label() + ".type is " + described(scales.type) +
                   ": it must be fp32 (0) or e8m0 (1)");
  }
  if (scales.blocks != blocks || scales.leaves != leaves) {
    return invalid(label() + " has " + shape() + ": it must have " + std::to_string(blocks) +
                   " x " + std::to_string(leaves) + ", blocks of " + std::to_string(scales.per) +
                   " x leaves");
  }
  for (const auto& [field, stride] :
       {std::pair{".stride", scales.stride}, std::pair{".leaf_stride", scales.leaf_stride}}) {
    if (stride >= 0) continue;
    return invalid(label() + field + " is " + std::to_string(stride) + ": it must not be negative");
  }
  if (blocks == 0 || leaves == 0) return {};
  if (scales.data == nullptr) return invalid(label() + ".data is null: there are " + shape());
  std::int64_t along = 0;
  std::int64_t across = 0;
  std::int64_t last = 0;
  std::int64_t bytes = 0;
  const auto size = static_cast<std::int64_t>(size_of(scales.type));
  const auto at = reinterpret_cast<std::uintptr_t>(scales.data);
  if (__builtin_mul_overflow(blocks - 1, blocks > 1 ? scales.stride : 0, &along) ||
      __builtin_mul_overflow(leaves - 1, leaves > 1 ? scales.leaf_stride : 0, &across) ||
      __builtin_add_overflow(along, across, &last) || __builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, size, &bytes) ||
      static_cast<std::uintptr_t>(bytes) > std::numeric_limits<std::uintptr_t>::max() - at) {
    return invalid(label() + " has " + shape() + " with strides (" + std::to_string(scales.stride) +
                   ", " + std::to_string(scales.leaf_stride) +
                   "): its bytes must fit 2^63 and end within the address space");
  }
  if (at % static_cast<std::uintptr_t>(size) == 0) return {};
  return invalid(label() + ".data is " + address(scales.data) + ": it must be a multiple of " +
                 std::to_string(size));
}

Status check_scales(const GemmSpec& spec, const Operands& operands, std::int64_t m) {
  if (!spec.reads_scales()) {
    if (Status s = check_absent("scale_a", operands.scale_a, spec.contract); !s) return s;
    return check_absent("scale_b", operands.scale_b, spec.contract);
  }
  if (Status s = check_present("scale_a", operands.scale_a, spec, m, "rows of A"); !s) return s;
  if (Status s = check_present("scale_b", operands.scale_b, spec, spec.n, "columns of B"); !s) {
    return s;
  }
  const Extent out = extent_of(ConstMatrix(operands.d));
  if (out.overlaps(extent_of(operands.scale_a))) {
    return invalid("d overlaps scale_a: they must not share memory");
  }
  if (out.overlaps(extent_of(operands.scale_b))) {
    return invalid("d overlaps scale_b: they must not share memory");
  }
  return {};
}

}  // namespace detgemm
