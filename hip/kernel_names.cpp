// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/kernel_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace detgemm::hip {
namespace {

using gfx9::Major;

/// Whether a wave has registers for the sum of a leaf beside that of the leaves before it.
bool holds_two_sums(Variant variant) {
  constexpr std::array none{Variant::tile256, Variant::tile256x224, Variant::tile256x192,
                            Variant::tile160x256, Variant::stream96x128};
  return std::find(none.begin(), none.end(), variant) == none.end();
}

std::vector<KernelKey> matrix_keys() {
  std::vector<KernelKey> keys;
  for (const DType input : {DType::bf16, DType::fp16}) {
    for (const bool leaves : {false, true}) {
      for (const Variant variant :
           {Variant::tile256, Variant::tile256x224, Variant::tile256x192, Variant::tile160x256,
            Variant::tile256x128, Variant::tile128, Variant::tile64}) {
        if (leaves && !holds_two_sums(variant)) continue;
        for (const Major a : {Major::k, Major::mn}) {
          for (const Major b : {Major::k, Major::mn})
            keys.push_back({variant, input, leaves, a, b});
        }
      }
      keys.push_back({Variant::tile64, input, leaves, Major::any, Major::any});
      keys.push_back({Variant::stream, input, leaves, Major::k, Major::k});
      keys.push_back({Variant::stream, input, leaves, Major::any, Major::any});
      for (const Variant variant :
           {Variant::stream32, Variant::stream64, Variant::stream48x128, Variant::stream64x128,
            Variant::stream80x128, Variant::stream96x128}) {
        if (leaves && !holds_two_sums(variant)) continue;
        keys.push_back({variant, input, leaves, Major::k, Major::k});
      }
      // The layouts of experts and of their gradients.
      for (const auto& [a, b] :
           {std::pair{Major::k, Major::k}, {Major::k, Major::mn}, {Major::mn, Major::mn}}) {
        keys.push_back({Variant::tile128, input, leaves, a, b, true});
      }
      keys.push_back({Variant::tile64, input, leaves, Major::any, Major::any, true});
      keys.push_back({Variant::stream32, input, leaves, Major::k, Major::k, true});
      keys.push_back({Variant::stream64, input, leaves, Major::k, Major::k, true});
    }
  }
  for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
    for (const bool leaves : {false, true}) keys.push_back({Variant::fp32_128, input, leaves});
  }
  return keys;
}

std::vector<KernelKey> portable_keys() {
  std::vector<KernelKey> keys;
  for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
    for (const Variant variant : {Variant::simt64, Variant::simt16}) {
      for (const bool leaves : {false, true}) keys.push_back({variant, input, leaves});
    }
    for (const bool leaves : {false, true}) {
      keys.push_back({Variant::simt64, input, leaves, Major::k, Major::k, true});
    }
  }
  return keys;
}

const std::vector<KernelKey>& all_keys(Chip chip) {
  static const auto portable = portable_keys();
  static const auto gfx9 = [] {
    auto keys = portable_keys();
    const auto matrix = matrix_keys();
    keys.insert(keys.end(), matrix.begin(), matrix.end());
    return keys;
  }();
  return has_matrix_kernels(chip) ? gfx9 : portable;
}

const char* text(Major major) {
  return major == Major::k ? "k" : major == Major::mn ? "mn" : "any";
}

}  // namespace

std::span<const Chip> chips() {
  static constexpr std::array all{Chip::gfx90a,  Chip::gfx942,  Chip::gfx950,  Chip::gfx1100,
                                  Chip::gfx1101, Chip::gfx1102, Chip::gfx1200, Chip::gfx1201};
  return all;
}

std::string_view name(Chip chip) {
  constexpr std::array names{"gfx90a",  "gfx942",  "gfx950",  "gfx1100",
                             "gfx1101", "gfx1102", "gfx1200", "gfx1201"};
  return names[static_cast<std::size_t>(chip)];
}

bool has_matrix_kernels(Chip chip) { return chip == Chip::gfx90a || chip == Chip::gfx942; }

std::optional<Chip> chip_of(std::string_view architecture) {
  const std::string_view base = architecture.substr(0, architecture.find(':'));
  for (const Chip chip : chips()) {
    if (base == name(chip)) return chip;
  }
  return std::nullopt;
}

bool is_simt(Variant variant) { return variant == Variant::simt64 || variant == Variant::simt16; }
bool is_stream(Variant variant) {
  return variant >= Variant::stream && variant <= Variant::stream96x128;
}

std::string_view name(Variant variant) {
  constexpr std::array names{
      "256x256",      "256x224",      "256x192",    "160x256",    "256x128",      "128x128",
      "64x64",        "stream",       "stream32",   "stream64",   "stream48x128", "stream64x128",
      "stream80x128", "stream96x128", "simt-64x64", "simt-16x64", "mfma-fp32"};
  return names[static_cast<std::size_t>(variant)];
}

std::string name(const KernelKey& key) {
  if (key.variant == Variant::fp32_128) {
    return "mfma_fp32_" + std::string(detgemm::name(key.input)) + "_128x128" +
           (key.leaves ? "_leaves" : "_chain");
  }
  const bool simt = is_simt(key.variant);
  const std::string_view family = name(key.variant);
  std::string full = simt ? "simt_" : "mfma_";
  full += detgemm::name(key.input);
  full += "_" + std::string(simt ? family.substr(family.find('-') + 1) : family);
  full += key.leaves ? "_leaves" : "_chain";
  if (!simt) full += std::string("_") + text(key.a) + "_" + text(key.b);
  if (key.groups) full += "_groups";
  return full;
}

std::span<const KernelKey> kernel_keys(Chip chip) { return all_keys(chip); }

const std::vector<std::string>& kernel_names(Chip chip) {
  const auto make = [](Chip of) {
    std::vector<std::string> names;
    for (const KernelKey& key : all_keys(of)) names.push_back(name(key));
    names.emplace_back("combine_roots");
    names.emplace_back("place_roots");
    names.emplace_back("snap_along_k");
    names.emplace_back("snap_along_rows");
    for (const char* const type : {"bf16", "fp32"}) {
      names.push_back("snap3_" + std::string(type) + "_along_k");
      names.push_back("snap3_" + std::string(type) + "_along_rows");
    }
    return names;
  };
  static const auto portable = make(Chip::gfx1100);
  static const auto gfx9 = make(Chip::gfx942);
  return has_matrix_kernels(chip) ? gfx9 : portable;
}

int kernel_index(Chip chip, const KernelKey& key) {
  const auto& keys = all_keys(chip);
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? -1 : static_cast<int>(found - keys.begin());
}

int combine_index(Chip chip) { return static_cast<int>(all_keys(chip).size()); }
int place_index(Chip chip) { return combine_index(chip) + 1; }
int snap_index(Chip chip, bool along_k) { return place_index(chip) + (along_k ? 1 : 2); }
int split_index(Chip chip, DType input, bool along_k) {
  return snap_index(chip, false) + (input == DType::fp32 ? 2 : 0) + (along_k ? 1 : 2);
}

}  // namespace detgemm::hip
