// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Two numbers that the model of hip/cost.cpp takes from no document: how many lanes per clock a
// load serves whose lanes are in several lines (kGatherLanes), and which lanes of a ds_read_b64 are
// served together, so that they must not read one bank (the layouts of shared memory rest on that).
// The output is meant to be sent back. What every lane read is compared with the table, so a wrong
// pattern is no measurement.

#include "tests/hip/probe/rates.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "detgemm/detgemm.hpp"
#include "tests/hip/probe/module.hpp"

#ifdef DETGEMM_RATES_GFX90A
DETGEMM_EMBEDDED(detgemm_rates_gfx90a, DETGEMM_RATES_GFX90A);
#endif
#ifdef DETGEMM_RATES_GFX942
DETGEMM_EMBEDDED(detgemm_rates_gfx942, DETGEMM_RATES_GFX942);
#endif
#ifdef DETGEMM_RATES_GFX950
DETGEMM_EMBEDDED(detgemm_rates_gfx950, DETGEMM_RATES_GFX950);
#endif

namespace detgemm::test {
namespace {

using Offsets = std::vector<std::uint32_t>;

const unsigned char* object_of(const std::string& chip) {
#ifdef DETGEMM_RATES_GFX90A
  if (chip == "gfx90a") return detgemm_rates_gfx90a;
#endif
#ifdef DETGEMM_RATES_GFX942
  if (chip == "gfx942") return detgemm_rates_gfx942;
#endif
#ifdef DETGEMM_RATES_GFX950
  if (chip == "gfx950") return detgemm_rates_gfx950;
#endif
  return nullptr;
}

std::vector<std::uint32_t> table() {
  std::vector<std::uint32_t> words(kShared / 4);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<std::uint32_t>(i) * 0x9e3779b1U + 1;
  return words;
}

struct Kernel {
  const char* name;
  unsigned threads;
  std::uint32_t bytes;  ///< that a lane reads
};
constexpr Kernel kGather{"rate_gather", 256, 16};
constexpr Kernel kLds{"rate_lds", 64, 8};

/// Clocks of kReads reads by the slowest wave; a sentence where a lane read something else.
Result<double> clocks(const Module& module, const Kernel& kernel, const Offsets& offsets) {
  static const std::vector<std::uint32_t> words = table();
  std::vector<std::uint32_t> sums(kernel.threads), times(kernel.threads);
  const Array from(words), lanes(offsets), to(sums), ticks(times);
  if (!from.filled() || !lanes.filled() || !to.filled() || !ticks.filled())
    return Status{Errc::internal, "the device has no memory for a table of 16 KB"};
  RateArguments arguments{
      static_cast<const char*>(from.data()), static_cast<const std::uint32_t*>(lanes.data()),
      static_cast<std::uint32_t*>(to.data()), static_cast<std::uint32_t*>(ticks.data()), 0};
  Status done = module.run(kernel.name, 1, kernel.threads, &arguments);
  if (done) done = to.read(sums);
  if (done) done = ticks.read(times);
  if (!done) return done;
  for (unsigned t = 0; t < kernel.threads; ++t) {
    const std::uint32_t at = offsets[t % 64];
    std::uint32_t word = 0;
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; at != kIdle && i < kernel.bytes / 4; ++i) word ^= words[at / 4 + i];
    for (std::uint32_t i = 0; at != kIdle && i < kReads * kPasses; ++i) sum = sum * 5 + word;
    if (sums[t] != sum) {
      return Status{Errc::internal, std::string(kernel.name) + ": thread " + std::to_string(t) +
                                        " did not read the table at byte " + std::to_string(at)};
    }
  }
  return static_cast<double>(*std::max_element(times.begin(), times.end()));
}

Offsets each_lane(const std::function<std::uint32_t(std::uint32_t)>& offset) {
  Offsets offsets(64);
  for (std::uint32_t l = 0; l < 64; ++l) offsets[l] = offset(l);
  return offsets;
}

/// Loads of 16 bytes per lane by four waves: lanes of one line read its eight parts in turn.
Status gathers(const Module& module) {
  for (const std::uint32_t lines : {1, 4, 16, 64}) {
    const auto found =
        clocks(module, kGather,
               each_lane([=](std::uint32_t l) { return l % lines * 128 + l / lines % 8 * 16; }));
    if (!found) return found.status();
    std::printf("gather  %2u lines: %7.2f clocks per load of a wave, %5.2f lanes per clock\n",
                lines, *found / (4 * kReads), 64 * 4 * kReads / *found);
  }
  return {};
}

/// Two lanes read one bank in different rows: where they are served together, one waits.
Status groups(const Module& module) {
  std::array<double, 64> times{};
  std::string together;
  for (std::uint32_t other = 1; other < 64; ++other) {
    const auto found = clocks(module, kLds, each_lane([=](std::uint32_t l) {
                                return l == 0 ? 0 : l == other ? kShared / 2 : kIdle;
                              }));
    if (!found) return found.status();
    times[other] = *found / kReads;
  }
  const auto [least, most] = std::minmax_element(times.begin() + 1, times.end());
  for (std::size_t l = 1; l < 64; ++l)
    if (times[l] > (*least + *most) / 2) together += " " + std::to_string(l);
  std::printf("ds_read_b64, lane 0 and another lane in one bank: %.2f to %.2f clocks per read\n",
              *least, *most);
  std::printf("  slower than the middle of both:%s\n",
              together.empty() ? " none" : together.c_str());
  const auto all = clocks(module, kLds, each_lane([](std::uint32_t l) { return l * 8; }));
  if (!all) return all.status();
  std::printf("ds_read_b64, 64 lanes in a row: %.2f clocks per read\n", *all / kReads);
  return {};
}

int run() {
  if (const Status s = hip_backend().available(); !s) {
    std::printf("skipped: %s\n", s.message().c_str());
    return 77;
  }
  const std::string chip = current_chip();
  if (object_of(chip) == nullptr) {
    std::printf("skipped: there is no kernel of rates for %s\n", chip.c_str());
    return 77;
  }
  std::printf("device %s\n", hip_backend().device().description().c_str());
  const auto module = Module::load(object_of(chip));
  Status done = module.status();
  if (done) done = gathers(*module);
  if (done) done = groups(*module);
  if (!done) {
    std::printf("%s\n", done.message().c_str());
    return 1;
  }
  std::printf("every lane read what its pattern says\n");
  return 0;
}

}  // namespace
}  // namespace detgemm::test

int main() {
  const auto runtime = detgemm::Runtime::start();
  return runtime ? detgemm::test::run() : 1;
}
