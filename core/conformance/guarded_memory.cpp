// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace detgemm::conformance {

/// One mapping: guard, pages, guard. The handler of a fault looks at the table of all of them.
struct Region {
  std::atomic<std::uintptr_t> begin{};  // of the first guard; 0: not in use
  std::uintptr_t inside{};              // the pages lie in [inside, outside)
  std::uintptr_t outside{};
  std::uintptr_t end{};  // 0: free for another mapping
  std::size_t guard{};
  std::atomic<bool> frozen{};  // pages inside may be read-only
  std::atomic<bool> all_frozen{};
  std::atomic<std::uintptr_t> written{};
  std::atomic<std::uintptr_t> tried{};  // by whom, and where
  std::atomic<std::uintptr_t> touched{};
  std::atomic<Gate*> gate{};
  std::atomic<bool> shared{};  // every thread counts at the gate
  std::atomic<bool> came{};    // a thread has come to the gate
  // Faults that need no answer, as where another thread has just opened the pages. An engine that
  // jumps into data faults for ever.
  std::atomic<int> spurious{};

  /// Opens the inside, as far as it is not frozen.
  bool let_in() {
    return mprotect(reinterpret_cast<void*>(inside), outside - inside,
                    all_frozen.load() ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
  }
  bool holds(std::uintptr_t at) const {
    return begin.load() != 0 && begin.load() <= at && at < end;
  }
};

namespace {

constexpr int kMaxSpurious = 10000;
constexpr std::chrono::seconds kMaxWait{20};
constexpr std::size_t kMaxKept = std::size_t{1} << 28;  // bytes

std::array<Region, 8192> regions;
struct sigaction previous_action {};

/// What the fault was, if it was one of ours: then the instruction may run again.
bool answered(std::uintptr_t at) {
  for (Region& region : regions) {
    if (!region.holds(at)) continue;
    if (region.inside <= at && at < region.outside) {
      if (Gate* gate = region.gate.load(); gate != nullptr) {
        gate->wait(region.shared.load() || !region.came.exchange(true));
        const bool in = region.let_in();
        region.gate = nullptr;
        return in;
      }
      if (++region.spurious > kMaxSpurious) return false;
      if (!region.frozen.load()) return region.let_in();
      // A thread may have met a gate that another one has just opened: it tries again, and if it
      // writes, it is here again at once.
      const std::uintptr_t key = at ^ reinterpret_cast<std::uintptr_t>(&errno);
      if (region.tried.exchange(key) != key) return true;
      std::uintptr_t none = 0;
      region.written.compare_exchange_strong(none, at);
      const std::size_t page = GuardedMemory::page();
      return mprotect(reinterpret_cast<void*>(at / page * page), page, PROT_READ | PROT_WRITE) == 0;
    }
    std::uintptr_t none = 0;
    if (!region.touched.compare_exchange_strong(none, at) && ++region.spurious > kMaxSpurious) {
      return false;
    }
    const std::uintptr_t from = at < region.inside ? region.begin.load() : region.outside;
    return mprotect(reinterpret_cast<void*>(from), region.guard, PROT_READ | PROT_WRITE) == 0;
  }
  return false;
}

void on_fault(int signal, siginfo_t* info, void*) {
  const int error = errno;
  // Otherwise the instruction faults again, and whoever was there before deals with it.
  if (!answered(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
    sigaction(signal, &previous_action, nullptr);
  }
  errno = error;
}

void install() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &previous_action) == 0;
  }();
  static_cast<void>(installed);
}

/// Mappings are used again: making one costs more than most calls.
struct Pool {
  std::mutex mutex;
  std::map<std::size_t, std::vector<Region*>> free;  // by bytes
  std::size_t kept = 0;
};
Pool& pool() {
  static auto* one = new Pool;  // never destroyed: buffers may outlive main
  return *one;
}

Status failed(const char* what, std::size_t bytes) {
  return {Errc::internal, std::string(what) + " of " + std::to_string(bytes) +
                              " bytes failed: " + std::strerror(errno)};
}

Result<Region*> make_region(std::size_t bytes, std::size_t guard) {
  Region* region = nullptr;
  for (Region& one : regions) {
    if (one.end != 0) continue;
    region = &one;
    break;
  }
  if (region == nullptr) return Status{Errc::internal, "too many arrays at the same time"};
  const std::size_t all = bytes + 2 * guard;
  void* memory = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return failed("mapping host memory", all);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  region->guard = guard;
  region->inside = begin + guard;
  region->outside = region->inside + bytes;
  region->end = begin + all;
  if (mprotect(reinterpret_cast<void*>(region->inside), bytes, PROT_READ | PROT_WRITE) != 0) {
    const Status status = failed("opening host memory", bytes);
    munmap(memory, all);
    region->end = 0;
    return status;
  }
  region->touched = 0;
  region->written = 0;
  region->frozen = region->all_frozen = false;
  region->spurious = 0;
  region->begin = begin;
  return region;
}

void unmap(Region* region) {
  const std::uintptr_t begin = region->begin.exchange(0);
  munmap(reinterpret_cast<void*>(begin), region->end - begin);
  region->end = 0;
}

}  // namespace

void Gate::wait(bool counts) noexcept {
  if (counts) ++arrived_;
  if (before_ != nullptr && before_->lapsed()) return;
  using Clock = std::chrono::steady_clock;  // no more than clock_gettime
  const auto first = Clock::now();
  auto change = first;
  int seen = 0;
  while (arrived_.load() < expected_ && !open_.load()) {
    const timespec moment{0, 50000};
    nanosleep(&moment, nullptr);
    const auto time = Clock::now();
    const int moved = arrived_.load() + started_.load();
    if (moved != seen) {
      seen = moved;
      change = time;
    }
    const bool all_started = started_.load() >= expected_;
    if ((all_started && time - change > patience_) || time - first > kMaxWait) open_ = true;
  }
}

std::size_t GuardedMemory::page() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

Result<GuardedMemory> GuardedMemory::map(std::size_t bytes, std::size_t guard) {
  install();
  const std::size_t whole = (bytes / page() + (bytes % page() != 0 || bytes == 0 ? 1 : 0)) * page();
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  GuardedMemory memory;
  if (auto& list = p.free[whole]; guard == kGuard && !list.empty()) {
    memory.region_ = list.back();
    list.pop_back();
    p.kept -= whole;
    return memory;
  }
  auto region = make_region(whole, guard);
  if (!region) return region.status();
  memory.region_ = *region;
  return memory;
}

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(region_, other.region_);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (region_ == nullptr) return;
  open();
  thaw();
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  if (region_->touched.load() != 0 || region_->guard != kGuard || p.kept + bytes() > kMaxKept) {
    unmap(region_);
    return;
  }
  p.kept += bytes();
  p.free[bytes()].push_back(region_);
}

std::uint8_t* GuardedMemory::data() const {
  return reinterpret_cast<std::uint8_t*>(region_->inside);
}
std::size_t GuardedMemory::bytes() const { return region_->outside - region_->inside; }
std::uintptr_t GuardedMemory::touched() const {
  return region_ == nullptr ? 0 : region_->touched.load();
}

std::uintptr_t GuardedMemory::written() const {
  return region_ == nullptr ? 0 : region_->written.load();
}

Status GuardedMemory::freeze(std::size_t from, std::size_t to) {
  const std::size_t first = (from + page() - 1) / page() * page();
  const std::size_t last = to / page() * page();
  if (first >= last) return {};
  region_->frozen = true;
  region_->all_frozen = first == 0 && last == bytes();
  if (mprotect(data() + first, last - first, PROT_READ) == 0) return {};
  return failed("freezing host memory", last - first);
}

void GuardedMemory::thaw() {
  if (region_ == nullptr || !region_->frozen.exchange(false)) return;
  region_->all_frozen = false;
  region_->written = 0;
  region_->spurious = 0;
  mprotect(data(), bytes(), PROT_READ | PROT_WRITE);
}

Status GuardedMemory::close(Gate& gate) { return close(gate, false); }
Status GuardedMemory::close_to_writes(Gate& gate) { return close(gate, true); }

Status GuardedMemory::close(Gate& gate, bool shared) {
  region_->came = false;
  region_->shared = shared;
  region_->gate = &gate;
  if (mprotect(data(), bytes(), shared ? PROT_READ : PROT_NONE) == 0) return {};
  region_->gate = nullptr;
  return failed("closing host memory", bytes());
}

void GuardedMemory::open() {
  if (region_ == nullptr || region_->gate.exchange(nullptr) == nullptr) return;
  region_->let_in();
}

}  // namespace detgemm::conformance
