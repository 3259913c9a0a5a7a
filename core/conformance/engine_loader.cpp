// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>

#include <cstring>

#include "core/conformance/engine_backend.hpp"
#include "detgemm/conformance.hpp"

namespace detgemm::conformance {
namespace {

/// An engine's table must reach at least to the end of `run`.
constexpr std::size_t kMinSize = offsetof(detgemm_engine, variant);

std::string dl_sentence() {
  const char* text = dlerror();
  return text == nullptr ? "no reason given" : text;
}

Status check(const detgemm_engine& e) {
  if (e.name == nullptr || *e.name == '\0') return invalid("engine.name is missing: name it");
  const std::string who = std::string("engine \"") + e.name + "\"";
  if (e.supports == nullptr) return invalid(who + " has no supports callback: it needs one");
  if (e.run == nullptr) return invalid(who + " has no run callback: it needs one");
  if (e.device < 0 || e.device > 2) {
    return invalid(who + " has device " + std::to_string(e.device) +
                   ": it must be 0 (host), 1 (cuda) or 2 (hip)");
  }
  const bool has_memory = e.allocate != nullptr && e.release != nullptr && e.to_device != nullptr &&
                          e.to_host != nullptr && e.create_stream != nullptr &&
                          e.destroy_stream != nullptr && e.synchronize != nullptr;
  if (e.device != 0 && !has_memory) {
    return invalid(who +
                   " computes on a device: it needs allocate, release, to_device, to_host, "
                   "create_stream, destroy_stream and synchronize");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Backend>> wrap_engine(const detgemm_engine* table) {
  if (table == nullptr) {
    return invalid("detgemm_engine_query returned NULL: the engine does not have ABI version " +
                   std::to_string(DETGEMM_ENGINE_ABI_VERSION));
  }
  if (table->struct_size < kMinSize) {
    return invalid("engine.struct_size is " + std::to_string(table->struct_size) +
                   ": it must be at least " + std::to_string(kMinSize) + ", up to run");
  }
  detgemm_engine engine{};  // callbacks that an older engine lacks are NULL
  std::memcpy(&engine, table, std::min(table->struct_size, sizeof engine));
  if (engine.abi_version != DETGEMM_ENGINE_ABI_VERSION) {
    return invalid("engine.abi_version is " + std::to_string(engine.abi_version) +
                   ": this harness uses " + std::to_string(DETGEMM_ENGINE_ABI_VERSION));
  }
  if (Status s = check(engine); !s) return s;
  return make_engine_backend(engine);
}

Result<std::unique_ptr<Backend>> load_engine(const std::string& path) {
  // Without a slash dlopen would look in the system's folders, and not in this one.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    return Status{Errc::io, "engine \"" + path + "\" cannot be opened: " + dl_sentence()};
  }
  using Query = const detgemm_engine* (*)(std::uint32_t);
  const auto query = reinterpret_cast<Query>(dlsym(object, "detgemm_engine_query"));
  if (query == nullptr) {
    dlclose(object);
    return Status{Errc::not_found, "engine \"" + path +
                                       "\" does not export detgemm_engine_query: see "
                                       "detgemm/engine.h"};
  }
  auto backend = wrap_engine(query(DETGEMM_ENGINE_ABI_VERSION));
  if (!backend) {
    dlclose(object);
    return Status{backend.status().code(),
                  "engine \"" + path + "\": " + backend.status().message()};
  }
  return backend;
}

}  // namespace detgemm::conformance
