// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/state.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <sstream>

#include "detgemm/runtime.hpp"
#include "dropin/counts.hpp"
#include "dropin/vendor.hpp"

namespace detgemm::dropin {
namespace {

/// The backend that was found and can compute, under the policy of now.
std::atomic<const Backend*> chosen{nullptr};

/// Around the reference's start. `started`: this process, or a parent of it, has done so.
std::mutex starting;
std::atomic<bool> started{false};
std::atomic<bool> forked_after_start{false};

Policy& current() {
  // Never destroyed: a program may multiply in its own destructors.
  static Policy* const policy = new Policy(default_policy());
  return *policy;
}

[[noreturn]] void stop(const std::vector<std::string>& faults) {
  for (const std::string& fault : faults) say(fault);
  _exit(2);
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.fail()) {
    stop({std::string("DETGEMM_PRELOAD is \"") + path + "\": the file cannot be read"});
  }
  return text.str();
}

void print_on_signal(int) {
  const int before = errno;
  write_table(STDERR_FILENO);
  errno = before;
}

/// A program that handles the signal itself keeps it.
void handle_signal() {
  struct sigaction action {};
  if (sigaction(SIGUSR1, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action = {};
  action.sa_handler = print_on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

/// In the order in which a thread takes them: what loads the vendor's library may multiply.
void before_fork() {
  lock_vendor();
  starting.lock();
  lock_handles();
  lock_plans();
  lock_counts();
}
void unlock_after_fork() {
  unlock_counts();
  unlock_plans();
  unlock_handles();
  starting.unlock();
}
void in_parent() {
  unlock_after_fork();
  unlock_vendor();
}
/// A child counts its own calls; those before the fork are its parent's. The threads of a reference
/// that has been started are not there.
void in_child() {
  forget_counts();
  if (started) forked_after_start = true;
  const Backend* const known = chosen;
  if (known != nullptr && known->device().kind() == DeviceKind::host) chosen = nullptr;
  unlock_after_fork();
  renew_vendor();
}

__attribute__((constructor)) void load() {
  Policy& policy = current();
  if (const char* path = std::getenv("DETGEMM_PRELOAD"); path != nullptr && *path != '\0') {
    std::vector<std::string> faults;
    policy = parse_policy(text_of(path), path, faults);
    if (!faults.empty()) stop(faults);
  }
  if (const char* path = std::getenv("DETGEMM_PRELOAD_LOG"); path != nullptr && *path != '\0') {
    policy.log = path;
  }
  if (!policy.log.empty() && !open_log(policy.log)) {
    stop({"the log \"" + policy.log + "\" cannot be opened: " + std::strerror(errno)});
  }
  if (policy.signal) handle_signal();
  pthread_atfork(before_fork, in_parent, in_child);
}

__attribute__((destructor)) void unload() {
  if (current().table) write_table(STDERR_FILENO);
}

}  // namespace

const Policy& policy() { return current(); }

bool set_policy(std::string_view text, std::vector<std::string>& faults) {
  Policy read = parse_policy(text, "text", faults);
  if (!faults.empty()) return false;
  current() = std::move(read);
  chosen.store(nullptr, std::memory_order_release);
  forget_plans();
  lock_counts();
  forget_counts();
  unlock_counts();
  return true;
}

Result<const Backend*> backend() {
  if (const Backend* known = chosen.load(std::memory_order_acquire); known != nullptr) return known;
  const std::string& asked = policy().backend;
  auto found = find_backend(asked.empty() ? kVendorBackend : asked);
  if (!found) return found;
  if ((*found)->device().kind() != DeviceKind::host) {
    chosen.store(*found, std::memory_order_release);
    return found;
  }
  // The reference runs on Kokkos, which the program under us may have started itself. It is never
  // stopped: nobody knows which destructor of the program multiplies last.
  if (forked_after_start) {
    return Status{
        Errc::unavailable,
        "this process was forked after its parent had multiplied on the reference, whose "
        "threads no child has: fork before the first product, or start the child by exec"};
  }
  const std::lock_guard lock(starting);
  if (!started && !(*found)->available()) {
    auto runtime = Runtime::start();
    if (!runtime) return runtime.status();
    alignas(Runtime) static std::byte place[sizeof(Runtime)];
    new (place) Runtime(std::move(*runtime));
  }
  started = true;
  chosen.store(*found, std::memory_order_release);
  return found;
}

void say(std::string_view sentence) noexcept {
  try {
    const std::string line = "detgemm preload: " + std::string(sentence) + "\n";
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
  } catch (...) {
    return;  // without memory there is nothing to say it with
  }
}

}  // namespace detgemm::dropin
