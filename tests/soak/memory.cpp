// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// operator new of the whole program, counted.

#include "tests/soak/memory.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>

namespace {

std::atomic<std::int64_t> g_live{0};
std::atomic<std::int64_t> g_made{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  g_live.fetch_add(1, std::memory_order_relaxed);
  g_made.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void give_back(void* memory) {
  if (memory != nullptr) g_live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

std::size_t whole(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return (size + unit - 1) / unit * unit + (size == 0 ? unit : 0);
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size == 0 ? 1 : size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(std::aligned_alloc(static_cast<std::size_t>(alignment), whole(size, alignment)));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

namespace detgemm::soak {

Held held() {
  Held now;
  now.allocations = g_live.load();
  now.made = g_made.load();
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 all = mallinfo2();
  now.malloc_bytes = static_cast<std::int64_t>(all.uordblks + all.hblkhd);
#endif
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:" && status >> now.resident) now.resident *= 1024;
    if (word == "Threads:") status >> now.threads;
  }
  return now;
}

}  // namespace detgemm::soak
