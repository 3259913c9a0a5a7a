// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/host_memory.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

/// A file that holds one number, as control groups have them ("max" reads as none).
std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::optional<std::uint64_t> system_memory() {
  std::ifstream info("/proc/meminfo");
  std::string label;
  std::string unit;
  std::uint64_t kib = 0;
  while (info >> label >> kib) {
    if (label == "MemAvailable:") return kib * 1024;
    std::getline(info, unit);
  }
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page_size <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_size);
}

std::optional<std::uint64_t> group_memory() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit) return std::nullopt;
  return *limit > used.value_or(0) ? *limit - used.value_or(0) : 0;
}

}  // namespace

std::optional<std::uint64_t> available_memory() {
  const auto system = system_memory();
  const auto group = group_memory();
  if (!system || !group) return system ? system : group;
  return *system < *group ? system : group;
}

void need_memory(std::uint64_t bytes) {
  const auto available = available_memory();
  if (!available || bytes <= *available) return;
  refuse("the arrays take " + std::to_string(bytes) + " bytes: this host has " +
         std::to_string(*available) + " available");
}

}  // namespace detgemm::cli
