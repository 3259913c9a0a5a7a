// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>

#include "core/contract/reduction.hpp"
#include "cuda/snap/snap.hpp"

namespace detgemm::cuda::snap {
namespace {

/// Bytes that can be moved at a time in lines of neighbours `apart` elements from each other.
int bytes_at_a_time(const void* address, std::int64_t lines, std::int64_t apart) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto between = static_cast<std::uintptr_t>(lines > 1 ? apart : 0) * 2;
  for (const int bytes : {16, 8, 4}) {
    if ((at | between) % static_cast<unsigned>(bytes) == 0) return bytes;
  }
  return 2;
}

constexpr std::int64_t kLine = 64;  ///< leaves are multiples of it

bool runs_along(const Operand& o) { return o.from_k == 1 && o.to_k == 1; }
bool runs_across(const Operand& o) { return o.from_vector == 1 && o.to_vector == 1; }

/// The first variant that takes leaves of so many numbers; the last of each direction takes any.
int find(bool along_k, std::int64_t numbers, bool many) {
  for (int i = 0; i < kVariantCount; ++i) {
    const Variant& v = kVariants[i];
    if (v.along_k != along_k || (v.longest != 0 && v.longest < numbers) || v.lanes != 0) continue;
    if (v.at_once == 1 || many) return i;
  }
  return -1;
}

/// The variant in groups, or -1 where there is none.
int find_groups(const Operand& o, std::int64_t numbers, bool many) {
  if (!runs_along(o) || o.from_bytes < 16 || o.to_bytes < 16 || o.total == 0) return -1;
  for (int i = 0; i < kVariantCount; ++i) {
    const Variant& v = kVariants[i];
    if (v.lanes != 0 && v.longest >= numbers && (v.at_once == 1 || many)) return i;
  }
  return -1;
}

/// The kernel for any strides, along k: the one that takes leaves of any length.
int any_strides() { return find(true, std::numeric_limits<std::int64_t>::max(), false); }

}  // namespace

Divisor divisor(std::uint32_t by) {
  int log = 0;
  while (std::uint64_t{1} << log < by) ++log;
  const int shift = 31 + log;
  return {static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + by - 1) / by), shift};
}

Operand operand(const void* from, std::int64_t from_vector, std::int64_t from_k, void* to,
                std::int64_t to_vector, std::int64_t to_k, std::int64_t vectors, std::int64_t k,
                std::int64_t leaf) {
  Operand o;
  o.from = static_cast<const std::uint16_t*>(from);
  o.to = static_cast<std::uint16_t*>(to);
  o.vectors = vectors;
  o.k = k;
  // Strides along an extent of one number mean nothing.
  o.from_vector = vectors > 1 ? from_vector : 0;
  o.to_vector = vectors > 1 ? to_vector : 0;
  o.from_k = k > 1 ? from_k : 1;
  o.to_k = k > 1 ? to_k : 1;
  o.leaf = std::min(leaf, ceil_div(k, kLine) * kLine);
  o.leaves = k > 0 ? ceil_div(k, o.leaf) : 0;
  constexpr std::int64_t kMany = std::int64_t{1} << 31;
  if (o.leaves > 0 && o.leaves < kMany && vectors < kMany && vectors * o.leaves < kMany) {
    o.total = static_cast<std::uint32_t>(vectors * o.leaves);
    o.by_leaves = divisor(static_cast<std::uint32_t>(o.leaves));
  }
  const bool along = runs_along(o);
  if (along || runs_across(o)) {
    o.from_bytes = bytes_at_a_time(from, along ? vectors : k, along ? from_vector : from_k);
    o.to_bytes = bytes_at_a_time(to, along ? vectors : k, along ? to_vector : to_k);
  }
  return o;
}

Launch launch_of(const Operand& o, int variant, int threads, int most_ctas) {
  const Variant& v = kVariants[variant];
  const std::int64_t per_cta = std::int64_t{threads / 32} * (32 / v.lanes) * v.at_once;
  const auto ctas = ceil_div(static_cast<std::int64_t>(o.total), per_cta);
  return {variant, static_cast<int>(std::min<std::int64_t>(ctas, most_ctas)), threads};
}

Launch choose(const Operand& o, int sms) {
  const std::int64_t leaves = o.vectors * o.leaves;
  if (leaves == 0) return {};
  const std::int64_t numbers = std::min(o.leaf, o.k);
  const std::int64_t warps_per_cta = kThreads / 32;
  Launch launch;
  std::int64_t ctas = 0;
  if (const int several = find_groups(o, numbers, true); kGroups && several >= 0) {
    const Variant& v = kVariants[several];
    const bool many = leaves >= std::int64_t{4} * sms * (kThreads / v.lanes) * v.at_once;
    return launch_of(o, many ? several : find_groups(o, numbers, false),
                     many ? kThreads : kFewThreads, 2 * kCtasPerSm * sms);
  }
  if (!runs_along(o) && runs_across(o)) {
    launch.variant = find(false, numbers, false);
    ctas = kVariants[launch.variant].longest == 0 ? ceil_div(leaves, kThreads)
                                                  : ceil_div(o.vectors, kColumns) * o.leaves;
  } else {
    launch.variant = runs_along(o) ? find(true, numbers, true) : any_strides();
    // Several leaves per warp keep more loads in flight; few leaves are better spread.
    const Variant& several = kVariants[launch.variant];
    if (leaves < several.at_once * warps_per_cta * sms) {
      launch.variant = runs_along(o) ? find(true, numbers, false) : any_strides();
    }
    const Variant& v = kVariants[launch.variant];
    ctas = ceil_div(o.vectors * ceil_div(o.leaves, v.at_once), warps_per_cta);
  }
  launch.grid = static_cast<int>(std::min<std::int64_t>(ctas, std::int64_t{2 * kCtasPerSm} * sms));
  return launch;
}

cudaError_t enqueue(const Operand& o, int sms, const Queue& queue) {
  const Launch launch = choose(o, sms);
  if (launch.grid == 0) return cudaSuccess;
  Operand argument = o;
  void* arguments[] = {&argument};
  Kernel of = kernel(launch.variant);
  of.threads = launch.threads != 0 ? launch.threads : of.threads;
  return cuda::launch(of, launch.grid, queue, arguments);
}

}  // namespace detgemm::cuda::snap
