// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/hip/probe/probe.hpp"

#include <dlfcn.h>

#include <string>

#include "detgemm/hip.hpp"

#ifdef DETGEMM_PROBE_OBJECT
#include "digest.hpp"
// The code object as it was linked; the loader of HIP reads an image at any multiple of 4096.
__asm__(
    ".pushsection .rodata\n.balign 4096\n.globl detgemm_probe_object\ndetgemm_probe_object:\n"
    ".incbin \"" DETGEMM_PROBE_OBJECT "\"\n.popsection\n");
extern "C" const unsigned char detgemm_probe_object[];
#endif

namespace detgemm::test {
namespace {

constexpr const char* kChip = "gfx950";

/// A function of the HIP runtime that the library has loaded.
template <class... Arguments>
auto function(void* library, const char* name, int (**to)(Arguments...)) {
  *to = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return *to != nullptr;
}

Status failed(const char* what, int error) {
  return {Errc::internal, std::string(what) + " failed: HIP error " + std::to_string(error)};
}

/// Memory of the device, with the bytes of an array.
class Array {
 public:
  template <class T>
  explicit Array(const std::vector<T>& from) : bytes_(from.size() * sizeof(T)) {
    if (const auto memory = device_.allocate(bytes_)) data_ = *memory;
    if (data_ == nullptr || !device_.to_device(data_, from.data(), bytes_)) bytes_ = 0;
  }
  ~Array() { device_.release(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void* data() const { return data_; }
  bool filled() const { return bytes_ != 0; }
  Status read(std::vector<std::uint32_t>& to) const {
    return device_.to_host(to.data(), data_, to.size() * 4);
  }

 private:
  Device& device_ = hip_backend().device();
  std::size_t bytes_;
  void* data_ = nullptr;
};

}  // namespace

Result<Probes> Probes::load() {
  const auto devices = hip_backend().device().list();
  const auto current = static_cast<std::size_t>(hip_backend().device().current());
  if (current >= devices.size() || devices[current].capability != kChip) {
    return Status{Errc::unsupported,
                  "this device has no matrix cores that the library or its probes use"};
  }
#ifdef DETGEMM_PROBE_OBJECT
  Probes probes;
  probes.library_ = dlopen(devices[current].runtime.c_str(), RTLD_NOW | RTLD_NOLOAD);
  int (*load_data)(void**, const void*) = nullptr;
  if (probes.library_ == nullptr || !function(probes.library_, "hipModuleLoadData", &load_data))
    return Status{Errc::internal, "the HIP runtime that is in use was not found again"};
  if (const int error = load_data(&probes.module_, detgemm_probe_object); error != 0)
    return failed("loading the probes", error);
  return probes;
#else
  return Status{Errc::unsupported,
                std::string("the probes for ") + kChip + " were left out: no compiler knows it"};
#endif
}

Result<std::vector<std::uint32_t>> Probes::run(const ProbeShape& shape, const Steps& steps) const {
  int (*get)(void**, void*, const char*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = nullptr;
  if (!function(library_, "hipModuleGetFunction", &get) ||
      !function(library_, "hipModuleLaunchKernel", &launch))
    return Status{Errc::internal, "the HIP runtime launches no kernels of modules"};
  void* kernel = nullptr;
  const std::string name = std::string("probe_") + shape.name;
  if (const int error = get(&kernel, module_, name.c_str()); error != 0)
    return failed(name.c_str(), error);
  std::vector<std::uint32_t> results(kSide * kSide);
  const Array a(steps.a), b(steps.b), c(steps.c), d(results);
  if (!a.filled() || !b.filled() || !c.filled() || !d.filled())
    return Status{Errc::internal, "the device has no memory for 32 x 32 steps"};
  struct {
    void *a, *b, *c, *d;
  } arguments{a.data(), b.data(), c.data(), d.data()};
  void* list[] = {&arguments};
  Device& device = hip_backend().device();
  const auto stream = device.create_stream();
  if (!stream) return stream.status();
  const int error = launch(kernel, shape.waves, 1, 1, 64, 1, 1, 0, stream->handle, list, nullptr);
  Status done = error == 0 ? device.synchronize(*stream) : failed(name.c_str(), error);
  device.destroy_stream(*stream);
  if (done) done = d.read(results);
  if (!done) return done;
  return results;
}

}  // namespace detgemm::test
