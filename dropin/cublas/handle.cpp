// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/cublas/handle.hpp"

#include <mutex>
#include <unordered_map>

#include "dropin/state.hpp"

namespace detgemm::dropin {

const char* const kVendorBackend = "cuda";
const LibraryNames kLibraries[2] = {
    {"libcublas.so", {"libcublas.so.13", "libcublas.so.12", "libcublas.so", nullptr}},
    {"libcublasLt.so", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", nullptr}}};

namespace cublas {
namespace {

/// The one thing that cuBLAS takes and never tells: the workspace that a program gave to a handle.
struct Workspaces {
  std::mutex mutex;
  std::unordered_map<Handle, Workspace> of;

  void set(Handle handle, Workspace workspace) {
    const std::lock_guard lock(mutex);
    if (workspace.data == nullptr || workspace.bytes == 0) {
      of.erase(handle);
    } else {
      of[handle] = workspace;
    }
  }
  Workspace get(Handle handle) {
    const std::lock_guard lock(mutex);
    const auto found = of.find(handle);
    return found == of.end() ? Workspace{} : found->second;
  }
};

Workspaces& workspaces() {
  static Workspaces* const all =
      new Workspaces;  // a program may destroy handles in its destructors
  return *all;
}

template <class... A>
int call(const char* name, void*& slot, A... arguments) noexcept {
  const auto own = vendor_function<int (*)(A...)>(Library::blas, name, slot);
  return own == nullptr ? static_cast<int>(kNotSupported) : own(arguments...);
}

}  // namespace

int ask(Handle handle, HandleState& out) noexcept {
  static void* stream = nullptr;
  static void* pointer_mode = nullptr;
  static void* math_mode = nullptr;
  if (handle == nullptr) return kNotInitialized;
  int mode = 0;
  int math = 0;
  if (const int s = call("cublasGetStream_v2", stream, handle, &out.stream); s != kSuccess)
    return s;
  if (const int s = call("cublasGetPointerMode_v2", pointer_mode, handle, &mode); s != kSuccess) {
    return s;
  }
  if (const int s = call("cublasGetMathMode", math_mode, handle, &math); s != kSuccess) return s;
  out.scalars_on_device = mode == kDevice;
  out.fewer_bits = (math & kMathMask) == kTf32Math;
  out.workspace = workspaces().get(handle);
  return kSuccess;
}

}  // namespace cublas

void lock_handles() noexcept { cublas::workspaces().mutex.lock(); }
void unlock_handles() noexcept { cublas::workspaces().mutex.unlock(); }

}  // namespace detgemm::dropin

extern "C" {

using detgemm::dropin::cublas::Handle;

DETGEMM_API int cublasSetWorkspace_v2(Handle handle, void* workspace, std::size_t bytes) {
  const int status = DETGEMM_VENDOR(cublasSetWorkspace_v2, handle, workspace, bytes)();
  using namespace detgemm::dropin::cublas;
  if (status == kSuccess) workspaces().set(handle, {workspace, bytes});
  return status;
}

/// Gives the handle its own workspace back, as cuBLAS's manual says.
DETGEMM_API int cublasSetStream_v2(Handle handle, void* stream) {
  const int status = DETGEMM_VENDOR(cublasSetStream_v2, handle, stream)();
  using namespace detgemm::dropin::cublas;
  if (status == kSuccess) workspaces().set(handle, {});
  return status;
}

DETGEMM_API int cublasDestroy_v2(Handle handle) {
  detgemm::dropin::cublas::workspaces().set(handle, {});
  return DETGEMM_VENDOR(cublasDestroy_v2, handle)();
}

}  // extern "C"
