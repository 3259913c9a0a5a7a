// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/vendor.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "detgemm/export.hpp"
#include "dropin/state.hpp"

namespace detgemm::dropin {
namespace {

std::recursive_mutex finding;
std::array<std::string, 2> given;  ///< paths that a proxy names
std::array<void*, 2> opened{};
thread_local int depth = 0;

/// Where this library itself lies: its own functions are nobody's vendor.
const void* own_base() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&own_base), &info);
  return info.dli_fbase;
}

bool is_own(const void* symbol) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fbase == own_base();
}

struct Search {
  std::string_view prefix;
  std::string found;
};

int look(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::string_view path = info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (file.substr(0, search.prefix.size()) != search.prefix) return 0;
  search.found = path;
  return 1;
}

void* open_library(Library library) {
  const auto index = static_cast<std::size_t>(library);
  const std::string& asked = library == Library::blas ? policy().vendor : policy().vendor_lt;
  const std::string& path = asked.empty() ? given[index] : asked;
  if (!path.empty()) {
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) say(std::string("the vendor's library cannot be loaded: ") + dlerror());
    return handle;
  }
  Search search{kLibraries[index].prefix, {}};
  dl_iterate_phdr(look, &search);
  if (!search.found.empty()) return dlopen(search.found.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  for (const char* name : kLibraries[index].tries) {
    if (name == nullptr) break;
    if (void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL); handle != nullptr) return handle;
  }
  return nullptr;
}

}  // namespace

void* vendor_symbol(Library library, const char* name) noexcept try {
  const std::lock_guard lock(finding);
  const auto index = static_cast<std::size_t>(library);
  const bool named = !given[index].empty() ||
                     !(library == Library::blas ? policy().vendor : policy().vendor_lt).empty();
  if (!named) {
    if (void* next = dlsym(RTLD_NEXT, name); next != nullptr && !is_own(next)) return next;
  }
  if (opened[index] == nullptr) opened[index] = open_library(library);
  void* found = opened[index] == nullptr ? nullptr : dlsym(opened[index], name);
  if (found != nullptr && !is_own(found)) return found;
  static std::set<std::string> said;
  if (said.insert(name).second) {
    say(std::string(name) + " is in no library that this process has or finds (" +
        kLibraries[index].prefix + "): name it in the configuration");
  }
  return nullptr;
} catch (...) {
  return nullptr;
}

void lock_vendor() noexcept { finding.lock(); }
void unlock_vendor() noexcept { finding.unlock(); }
// A recursive mutex knows its owner, which is another thread in the child: the child gets a new
// one.
void renew_vendor() noexcept { new (&finding) std::recursive_mutex; }

bool inside_vendor() noexcept { return depth > 0; }
InsideVendor::InsideVendor() noexcept { ++depth; }
InsideVendor::~InsideVendor() { --depth; }

}  // namespace detgemm::dropin

/// A proxy says here where the vendor's libraries are; either path may be null.
extern "C" DETGEMM_API void detgemm_preload_vendor(const char* blas, const char* blas_lt) {
  using namespace detgemm::dropin;
  const std::lock_guard lock(finding);
  if (blas != nullptr) given[0] = blas;
  if (blas_lt != nullptr) given[1] = blas_lt;
}
