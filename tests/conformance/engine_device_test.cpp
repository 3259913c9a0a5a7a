// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "detgemm/conformance.hpp"

// An engine whose memory is a GPU's, on paper: what the harness asks of it, and what it makes of
// answers that are not 0.

namespace detgemm::conformance {
namespace {

struct Calls {
  int allocate = 0, release = 0, to_device = 0, to_host = 0;
};
Calls calls;
int answer = 0;  ///< of every function that may fail

int supports(const detgemm_engine_spec*, char*, std::size_t) { return 0; }
int run(const detgemm_engine_spec*, const detgemm_engine_call*) { return 0; }
void* allocate(std::size_t bytes) {
  ++calls.allocate;
  return answer == 0 ? std::malloc(bytes) : nullptr;
}
void release(void* memory) {
  ++calls.release;
  std::free(memory);
}
int to_device(void* device, const void* host, std::size_t bytes) {
  ++calls.to_device;
  std::memcpy(device, host, bytes);
  return answer;
}
int to_host(void* host, const void* device, std::size_t bytes) {
  ++calls.to_host;
  std::memcpy(host, device, bytes);
  return answer;
}
int create_stream(void** stream) {
  *stream = &calls;
  return answer;
}
void destroy_stream(void*) {}
int synchronize(void*) { return answer; }

detgemm_engine on_paper() {
  detgemm_engine e{};
  e.struct_size = sizeof e;
  e.abi_version = DETGEMM_ENGINE_ABI_VERSION;
  e.device = static_cast<int>(DeviceKind::cuda);
  e.name = "paper";
  e.supports = supports, e.run = run;
  e.allocate = allocate, e.release = release, e.to_device = to_device, e.to_host = to_host;
  e.create_stream = create_stream, e.destroy_stream = destroy_stream, e.synchronize = synchronize;
  return e;
}

class EngineDevice : public testing::Test {
 protected:
  void SetUp() override {
    calls = {};
    answer = 0;
    auto wrapped = wrap_engine(&table_);
    ASSERT_TRUE(wrapped.ok()) << wrapped.status().message();
    engine_ = std::move(wrapped).value();
  }
  Device& device() { return engine_->device(); }

  detgemm_engine table_ = on_paper();
  std::unique_ptr<Backend> engine_;
};

TEST_F(EngineDevice, IsWhatTheEngineSays) {
  EXPECT_EQ(device().kind(), DeviceKind::cuda);
  EXPECT_EQ(device().description(), "cuda memory of engine paper");
  const auto stream = device().create_stream();
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(stream->kind, DeviceKind::cuda);
  EXPECT_EQ(stream->handle, &calls);
  EXPECT_TRUE(device().synchronize(*stream).ok());
}

TEST_F(EngineDevice, HasAsMuchMemoryAsTheTableSays) {
  EXPECT_TRUE(device().list().empty());
  table_.memory_bytes = [] { return std::size_t{80} << 30; };
  const auto engine = wrap_engine(&table_);
  ASSERT_TRUE(engine.ok());
  const auto list = (*engine)->device().list();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list.front().memory_bytes, std::uint64_t{80} << 30);
  EXPECT_EQ(list.front().name, "paper");
  table_.struct_size = offsetof(detgemm_engine, memory_bytes);  // a table of before
  const auto older = wrap_engine(&table_);
  ASSERT_TRUE(older.ok());
  EXPECT_TRUE((*older)->device().list().empty());
}

TEST_F(EngineDevice, NoBytesAreNoCall) {
  EXPECT_EQ(*device().allocate(0), nullptr);
  device().release(nullptr);
  EXPECT_TRUE(device().to_device(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(device().to_host(nullptr, nullptr, 0).ok());
  EXPECT_EQ(calls.allocate + calls.release + calls.to_device + calls.to_host, 0);
}

TEST_F(EngineDevice, OneByteIs) {
  const auto memory = device().allocate(1);
  ASSERT_TRUE(memory.ok());
  const char sent = 42;
  char received = 0;
  EXPECT_TRUE(device().to_device(*memory, &sent, 1).ok());
  EXPECT_TRUE(device().to_host(&received, *memory, 1).ok());
  device().release(*memory);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(calls.allocate, 1);
  EXPECT_EQ(calls.release, 1);
  EXPECT_EQ(calls.to_device, 1);
  EXPECT_EQ(calls.to_host, 1);
}

TEST_F(EngineDevice, AFailureIsASentence) {
  char byte = 0;
  answer = 5;
  EXPECT_EQ(device().allocate(16).status().message(), "the engine could not allocate 16 bytes");
  EXPECT_EQ(device().to_device(&byte, &byte, 1).message(),
            "the engine's to_device returned 5: it must return 0");
  EXPECT_EQ(device().to_host(&byte, &byte, 1).message(),
            "the engine's to_host returned 5: it must return 0");
  EXPECT_EQ(device().create_stream().status().message(),
            "the engine's create_stream returned 5: it must return 0");
  EXPECT_EQ(device().synchronize({DeviceKind::cuda, nullptr}).message(),
            "the engine's synchronize returned 5: it must return 0");
}

}  // namespace
}  // namespace detgemm::conformance
