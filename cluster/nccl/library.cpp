// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/nccl/library.hpp"

#include <dlfcn.h>

#include "cluster/common/host_copies.hpp"

namespace detgemm::cluster {
namespace {

// Sends and receives that may be captured into graphs.
constexpr int kOldest = 21000;
constexpr const char* kOldestText = "2.10";

Status unavailable(std::string sentence) { return {Errc::unavailable, std::move(sentence)}; }

/// NCCL counts versions from 2.9 on as 10000, 100, 1, and earlier ones as 1000, 100, 1.
std::string version_text(int version) {
  const int major = version >= 10000 ? version / 10000 : version / 1000;
  const int minor = version >= 10000 ? version / 100 % 100 : version / 100 % 10;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

/// A handle for dlsym whose symbols are NCCL's, and what to call it.
struct Loaded {
  void* handle = nullptr;
  std::string name;
};

Result<Loaded> loaded(DeviceKind kind) {
  if (dlsym(RTLD_DEFAULT, "ncclCommUserRank") != nullptr) {
    return Loaded{RTLD_DEFAULT, "the NCCL that this program is linked with"};
  }
  const std::string name = kind == DeviceKind::hip ? "librccl.so.1" : "libnccl.so.2";
  // The handle is kept, so that the library stays as long as its functions may be called.
  if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
    return Loaded{handle, name};
  }
  return unavailable("this process has not loaded " + name +
                     ", so comm cannot be a communicator of it: pass the functions of the library "
                     "that made comm");
}

/// The first function that is not there; empty if all are.
std::string look_up(void* handle, NcclFunctions& call) {
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr && missing.empty()) missing = name;
  };
  find(call.GetVersion, "ncclGetVersion");
  find(call.GetErrorString, "ncclGetErrorString");
  find(call.CommCount, "ncclCommCount");
  find(call.CommUserRank, "ncclCommUserRank");
  find(call.CommCuDevice, "ncclCommCuDevice");
  find(call.CommGetAsyncError, "ncclCommGetAsyncError");
  find(call.CommAbort, "ncclCommAbort");
  find(call.GroupStart, "ncclGroupStart");
  find(call.GroupEnd, "ncclGroupEnd");
  find(call.Send, "ncclSend");
  find(call.Recv, "ncclRecv");
  const std::string needed = missing;
  find(call.GetLastError, "ncclGetLastError");
  return needed;
}

/// The same for a table of the caller's.
std::string look_through(const NcclFunctions& call) {
  if (call.GetVersion == nullptr) return "GetVersion";
  if (call.GetErrorString == nullptr) return "GetErrorString";
  if (call.CommCount == nullptr) return "CommCount";
  if (call.CommUserRank == nullptr) return "CommUserRank";
  if (call.CommCuDevice == nullptr) return "CommCuDevice";
  if (call.CommGetAsyncError == nullptr) return "CommGetAsyncError";
  if (call.CommAbort == nullptr) return "CommAbort";
  if (call.GroupStart == nullptr) return "GroupStart";
  if (call.GroupEnd == nullptr) return "GroupEnd";
  if (call.Send == nullptr) return "Send";
  if (call.Recv == nullptr) return "Recv";
  return "";
}

}  // namespace

Result<NcclLibrary> find_nccl(DeviceKind kind, const NcclFunctions* given) {
  NcclLibrary library;
  std::string from = "functions";
  if (given != nullptr) {
    if (const std::string missing = look_through(*given); !missing.empty()) {
      return invalid("functions." + missing +
                     " is null: every function but GetLastError is needed");
    }
    library.call = *given;
  } else {
    const auto found = loaded(kind);
    if (!found) return found.status();
    from = found->name;
    if (const std::string missing = look_up(found->handle, library.call); !missing.empty()) {
      return unavailable(from + " lacks " + missing + ": this library needs NCCL or RCCL " +
                         kOldestText + " or newer");
    }
  }
  int version = 0;
  if (library.call.GetVersion(&version) != kNcclSuccess) version = 0;
  if (version < kOldest) {
    return unavailable(from + " has version " + version_text(version) +
                       ": this library needs NCCL or RCCL " + kOldestText + " or newer");
  }
  library.name = (kind == DeviceKind::hip ? "RCCL " : "NCCL ") + version_text(version);
  return library;
}

Result<std::shared_ptr<Transport>> nccl(void* comm, DeviceKind kind,
                                        const NcclFunctions* functions) {
  if (kind != DeviceKind::cuda && kind != DeviceKind::hip) {
    return invalid(
        "kind is " + std::string(name(kind)) +
        ": it must be cuda (NCCL) or hip (RCCL); threads and MPI move the host's memory");
  }
  if (comm == nullptr) return invalid("comm is null: it must be an ncclComm_t");
  const auto library = find_nccl(kind, functions);
  if (!library) return library.status();
  const auto device = device_of(kind);
  if (!device) return device.status();
  return make_nccl(*library, comm, **device);
}

}  // namespace detgemm::cluster
