// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cuda/check.hpp"
#include "bench/cuda/clock.hpp"

namespace detgemm::bench {
namespace {

constexpr int kMaxSms = 512;    // numbers of multiprocessors that a reading has room for
constexpr int kReadings = 512;  // held at a time: two for every block of a settled case
constexpr int kBlocksPerSm = 4;

/// Several blocks per multiprocessor, so that each one has a block; which of them is seen does not
/// matter.
__global__ void __launch_bounds__(32) read_clocks(SmClocks::Reading* to, std::uint64_t number) {
  std::uint32_t sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x != 0 || sm >= kMaxSms) return;
  std::uint64_t nanoseconds = 0;
  std::uint64_t cycles = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  to[sm] = {cycles, nanoseconds, number};
}

}  // namespace

struct SmClocks::Slot final : Queue::Mark {
  Slot(SmClocks& clocks, int at, std::uint64_t reading)
      : owner(clocks), index(at), number(reading) {}
  ~Slot() override { owner.free_.push_back(index); }
  SmClocks& owner;
  int index;
  std::uint64_t number;
};

SmClocks::~SmClocks() { cudaFree(memory_); }

SmClocks::SmClocks() {
  int device = 0;
  void* memory = nullptr;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, device), "SM count");
  check(cudaMalloc(&memory, sizeof(Reading) * kMaxSms * kReadings), "room for readings");
  check(cudaMemset(memory, 0, sizeof(Reading) * kMaxSms * kReadings), "room for readings");
  memory_ = static_cast<Reading*>(memory);
  for (int slot = 0; slot < kReadings; ++slot) free_.push_back(slot);
  read_clocks<<<1, 32>>>(memory_, number_);
  check(cudaGetLastError(), "reading clocks");
  check(cudaDeviceSynchronize(), "reading clocks");
}

Queue::MarkPtr SmClocks::read(cudaStream_t stream) {
  if (free_.empty()) return nullptr;
  const int slot = free_.back();
  free_.pop_back();
  auto mark = std::make_unique<Slot>(*this, slot, ++number_);
  read_clocks<<<static_cast<unsigned>(kBlocksPerSm * sms_), 32, 0, stream>>>(
      memory_ + static_cast<std::size_t>(slot) * kMaxSms, number_);
  check(cudaGetLastError(), "reading clocks");
  return mark;
}

std::vector<SmClocks::Reading> SmClocks::fetch(cudaStream_t stream, const Queue::Mark& mark) const {
  const auto& slot = static_cast<const Slot&>(mark);
  std::vector<Reading> readings(kMaxSms);
  check(cudaMemcpyAsync(readings.data(), memory_ + static_cast<std::size_t>(slot.index) * kMaxSms,
                        sizeof(Reading) * kMaxSms, cudaMemcpyDeviceToHost, stream),
        "readings");
  check(cudaStreamSynchronize(stream), "readings");
  for (Reading& reading : readings) {
    if (reading.number != slot.number) reading = {};
  }
  return readings;
}

double SmClocks::mhz_between(cudaStream_t stream, const Queue::Mark& begin,
                             const Queue::Mark& end) const {
  const auto before = fetch(stream, begin);
  const auto after = fetch(stream, end);
  std::vector<double> mhz;
  for (int sm = 0; sm < kMaxSms; ++sm) {
    const Reading& x = before[static_cast<std::size_t>(sm)];
    const Reading& y = after[static_cast<std::size_t>(sm)];
    if (x.number == 0 || y.number == 0) continue;
    if (y.cycles <= x.cycles || y.nanoseconds <= x.nanoseconds) continue;
    mhz.push_back(1e3 * static_cast<double>(y.cycles - x.cycles) /
                  static_cast<double>(y.nanoseconds - x.nanoseconds));
  }
  return summarise(std::move(mhz)).median;
}

}  // namespace detgemm::bench
