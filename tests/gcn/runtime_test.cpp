// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The stand-in for libamdhip64, used as a backend uses it: loaded, asked, given a code object.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/gcn/gemm_case.hpp"

namespace detgemm::gcn {
namespace {

class Runtime : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(GCN_RUNTIME, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  template <class... A>
  int call(const char* name, A... arguments) const {
    auto* f = reinterpret_cast<int (*)(A...)>(dlsym(library_, name));
    if (f == nullptr) throw std::runtime_error(std::string("no function ") + name);
    return f(arguments...);
  }
  void* allocate(std::size_t bytes) const {
    void* memory = nullptr;
    EXPECT_EQ(call("hipMalloc", &memory, bytes), 0);
    return memory;
  }
  /// Uploads, launches on `stream` and leaves the result on the device.
  int launch(void* function, GemmCase& g, void* d, void* stream) {
    void* a = allocate(g.a.size() * 2);
    void* b = allocate(g.b.size() * 2);
    EXPECT_EQ(call("hipMemcpy", a, static_cast<const void*>(g.a.data()), g.a.size() * 2, 1), 0);
    EXPECT_EQ(call("hipMemcpy", b, static_cast<const void*>(g.b.data()), g.b.size() * 2, 1), 0);
    struct {
      void *a, *b, *d;
      int m, n, k;
    } problem = {a, b, d, g.m, g.n, g.k};
    void* parameters[] = {&problem};
    void** none = nullptr;
    const unsigned x = static_cast<unsigned>(g.n + 63) / 64;
    const unsigned y = static_cast<unsigned>(g.m + 63) / 64;
    // The capture begins here, so that nothing but the launch is captured.
    if (stream != nullptr && call("hipStreamBeginCapture", stream, 1) != 0) return -1;
    return call("hipModuleLaunchKernel", function, x, y, 1U, 256U, 1U, 1U, 0U, stream,
                static_cast<void**>(parameters), none);
  }
  void* library_ = nullptr;
};

/// GCN_ARCH is read once per process, so the whole life of a device is one test.
TEST_F(Runtime, ServesABackend) {
  char name[256] = {};
  ASSERT_EQ(call("hipDeviceGetName", static_cast<char*>(name), 256, 0), 0);
  EXPECT_NE(std::strstr(name, "emulated"), nullptr) << name;
  const std::string chip = std::getenv("GCN_ARCH");
  EXPECT_NE(std::strstr(name, chip.c_str()), nullptr) << name;

  const std::string image = read_text(std::string(GCN_KERNELS) + "/gemm." + chip + ".hsaco");
  void* module = nullptr;
  void* function = nullptr;
  ASSERT_EQ(call("hipModuleLoadData", &module, static_cast<const void*>(image.data())), 0);
  EXPECT_EQ(call("hipModuleGetFunction", &function, module, "no_such_kernel"), 500);
  ASSERT_EQ(call("hipModuleGetFunction", &function, module, "gemm_bf16"), 0);
  std::string other = image;
  other[other.size() / 2] ^= 1;
  void* refused = nullptr;
  EXPECT_EQ(call("hipModuleLoadData", &refused, static_cast<const void*>(other.data())), 301);

  GemmCase g(100, 72, 64, false, false, 1);
  const std::size_t bytes = g.d.size() * 4;
  void* d = allocate(bytes);
  const auto right = [&] {
    std::fill(g.d.begin(), g.d.end(), 0.0F);
    EXPECT_EQ(
        call("hipMemcpy", static_cast<void*>(g.d.data()), static_cast<const void*>(d), bytes, 2),
        0);
    return g.mismatches<DType::bf16>(chip == "gfx942") == 0;
  };
  ASSERT_EQ(launch(function, g, d, nullptr), 0);
  EXPECT_TRUE(right());

  // A capture records and does nothing else; its graph does the work every time it is launched.
  ASSERT_EQ(call("hipMemset", d, 0, bytes), 0);
  void* stream = nullptr;
  void* graph = nullptr;
  void* exec = nullptr;
  ASSERT_EQ(call("hipStreamCreateWithFlags", &stream, 1U), 0);
  ASSERT_EQ(launch(function, g, d, stream), 0);
  int capturing = 0;
  EXPECT_EQ(call("hipStreamIsCapturing", stream, &capturing), 0);
  EXPECT_EQ(capturing, 1);
  ASSERT_EQ(call("hipStreamEndCapture", stream, &graph), 0);
  EXPECT_FALSE(right());
  ASSERT_EQ(call("hipGraphInstantiate", &exec, graph, static_cast<void*>(nullptr),
                 static_cast<char*>(nullptr), std::size_t{0}),
            0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(call("hipMemset", d, 0, bytes), 0);
    ASSERT_EQ(call("hipGraphLaunch", exec, stream), 0);
    EXPECT_TRUE(right());
  }
  // Waiting for a stream under capture, and allocating, invalidate the capture.
  ASSERT_EQ(call("hipStreamBeginCapture", stream, 1), 0);
  EXPECT_EQ(call("hipStreamSynchronize", stream), 900);
  EXPECT_EQ(call("hipStreamEndCapture", stream, &graph), 901);

  // Out of bounds: the launch fails, and so does the device from then on.
  EXPECT_EQ(call("hipFree", d), 0);
  void* small = allocate(bytes - 4);
  EXPECT_EQ(launch(function, g, small, nullptr), 719);
  EXPECT_EQ(call("hipDeviceSynchronize"), 719);
}

}  // namespace
}  // namespace detgemm::gcn
