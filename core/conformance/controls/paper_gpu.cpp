// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines on a device that is the host's memory: no guard pages and no gates there, and bytes
// beyond its arrays that may be written.

namespace detgemm::controls {
namespace {

template <std::int64_t distance>
void write_past_d(const Run& run) {
  compute_honestly(run);
  const Matrix& d = run.operands.d;
  if (d.rows == 0 || d.cols == 0) return;
  const std::int64_t last = (d.rows - 1) * d.row_stride + (d.cols - 1) * d.col_stride;
  const std::int64_t end = (last + 1) * static_cast<std::int64_t>(size_of(d.dtype));
  static_cast<std::uint8_t*>(d.data)[end - 1 + distance] = 0;
}

/// Memory that costs nothing until it is touched, and goes on behind each array.
class PaperGpu final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  std::string description() const override { return "a GPU on paper"; }
  std::vector<DeviceInfo> list() const override {
    return {{"paper", "0.0", 1, std::uint64_t{80} << 30, "", ""}};
  }
  Result<void*> allocate(std::size_t bytes) override {
    if (bytes == 0) return static_cast<void*>(nullptr);
    const std::size_t all = kBefore + bytes + kBeyond;
    void* memory = mmap(nullptr, all, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return Status{Errc::internal, "paper memory is exhausted"};
    std::memcpy(memory, &all, sizeof all);
    return static_cast<void*>(static_cast<std::uint8_t*>(memory) + kBefore);
  }
  void release(void* memory) noexcept override {
    if (memory == nullptr) return;
    void* begin = static_cast<std::uint8_t*>(memory) - kBefore;
    std::size_t all = 0;
    std::memcpy(&all, begin, sizeof all);
    munmap(begin, all);
  }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    return host_device().to_device(device, host, bytes);
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    return host_device().to_host(host, device, bytes);
  }
  Result<Stream> create_stream() override { return Stream{DeviceKind::cuda, this}; }
  void destroy_stream(Stream) noexcept override {}
  Status synchronize(Stream) override { return {}; }

 private:
  static constexpr std::size_t kBefore = 4096, kBeyond = 128 * 1024;
};

}  // namespace

Device& paper_gpu() noexcept {
  static PaperGpu device;
  return device;
}

Fault writes_5000_past_d() {
  Fault fault{"writes_5000_past_d", write_past_d<5'000>};
  fault.device = &paper_gpu();
  return fault;
}

Fault writes_70000_past_d() {
  Fault fault{"writes_70000_past_d", write_past_d<70'000>};
  fault.device = &paper_gpu();
  return fault;
}

Fault device_d_in_32_bits() {
  Fault fault{"device_d_in_32_bits", [](const Run& run) {
                const Matrix& d = run.operands.d;
                const std::int64_t last = std::max<std::int64_t>(d.rows - 1, 0) * d.row_stride;
                switch_if(last > std::numeric_limits<std::int32_t>::max(), run);
              }};
  fault.device = &paper_gpu();
  return fault;
}

}  // namespace detgemm::controls
