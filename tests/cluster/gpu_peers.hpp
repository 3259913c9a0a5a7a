// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>

#include "bench/cluster/ranks.hpp"
#include "cluster/common/state.hpp"
#include "detgemm/peers.hpp"
#include "tests/cluster/on_device.hpp"
#include "tests/cluster/peer_windows.hpp"
#include "tests/cluster/shares.hpp"

// What gpus.cpp does with --peers: ranks join through windows in the memory of their devices, and
// every output is compared with that of one rank.

namespace detgemm::cluster {

/// Ranks agree through the memory that the program's ranks share; nothing else is moved.
class AgreeingTransport final : public Transport {
 public:
  explicit AgreeingTransport(bench::Ranks& ranks) : ranks_(ranks) {}
  std::string description() const override { return "ranks of one program"; }
  int rank() const noexcept override { return ranks_.rank(); }
  int size() const noexcept override { return ranks_.size(); }
  Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
               std::chrono::milliseconds) override {
    constexpr std::size_t kAtOnce = bench::Ranks::kValues;  // bytes, one per value
    for (int r = 0; r < size(); ++r) {
      for (std::size_t at = 0; at < mine.size(); at += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, mine.size() - at);
        std::vector<double> values(count, -1);
        for (std::size_t i = 0; r == rank() && i < count; ++i) {
          values[i] = static_cast<double>(std::to_integer<int>(mine[at + i]));
        }
        const auto found = ranks_.largest(values);
        for (std::size_t i = 0; i < count; ++i) {
          all[static_cast<std::size_t>(r) * mine.size() + at + i] =
              static_cast<std::byte>(static_cast<int>(found[i]));
        }
      }
    }
    return {};
  }
  Status exchange(Stream, std::span<const Send>, std::span<const Receive>,
                  std::chrono::milliseconds) override {
    return unsupported("these ranks send no messages");
  }
  Status health() override { return aborted_ ? Status{Errc::peer, "aborted"} : Status{}; }
  void abort() noexcept override { aborted_ = true; }

 private:
  bench::Ranks& ranks_;
  bool aborted_ = false;
};

struct PeerSettings {
  bool wide = true;          ///< layers of a real size too
  bool same_device = false;  ///< of all ranks
  std::uint64_t seeds = 40;
  int replays = 1000;
  double outputs = 2e8;  ///< to compare on each rank in layers ...
  double seconds = 40;   ///< ... while there is time
};

class PeerRun {
 public:
  PeerRun(bench::Ranks& ranks, const Backend& backend, const PeerSettings& settings)
      : ranks_(ranks), backend_(backend), settings_(settings), stream_(backend.device()) {}

  /// How many checks failed; the same on all ranks.
  int all() {
    {
      const auto communicator = required(create(20'000, std::size_t{512} << 20));
      name_ = communicator.describe();
      if (ranks_.rank() == 0) std::fprintf(stderr, "%s\n", name_.c_str());
      random_samples(communicator);
      graphs(communicator);
      if (settings_.wide) layers(communicator);
      ranks_.meet();
    }
    if (ranks_.size() > 1) {
      ended_behind_a_call();
      if (!settings_.same_device) two_at_once();
      small_windows();
      mixed_up();
      somebody_is_missing();
      another_m();
    }
    return failed_;
  }
  const std::string& name() const { return name_; }
  struct Check {
    int runs = 0, failed = 0;
    std::int64_t outputs = 0;
  };
  const std::map<std::string, Check>& checks() const { return checks_; }

 private:
  template <class T>
  static T required(Result<T> result) {
    if (!result) throw std::runtime_error(result.status().message());
    return std::move(result).value();
  }

  Result<Communicator> create(int patience_ms, std::size_t window_bytes) {
    Options options;
    options.patience = std::chrono::milliseconds(patience_ms);
    options.window_bytes = window_bytes;
    options.window_backend = &backend_;
    auto made = Communicator::create(std::make_shared<AgreeingTransport>(ranks_), options);
    if (made && made->size() > 1 && made->state().device_window == nullptr) {
      return Status{Errc::unavailable, made->state().no_window};
    }
    return made;
  }

  void note(const std::string& check, const std::string& wrong, std::int64_t outputs) {
    Check& c = checks_[check];
    ++c.runs;
    if (c.runs == 1 && ranks_.rank() == 0) std::fprintf(stderr, "%s ...\n", check.c_str());
    if (ranks_.all(wrong.empty())) {
      c.outputs += outputs;
      return;
    }
    ++c.failed;
    ++failed_;
    if (!wrong.empty()) {
      std::printf("rank %d: %s: %s\n", ranks_.rank(), check.c_str(), wrong.c_str());
      std::fflush(stdout);  // a run that hangs later is killed
    }
  }

  /// Kernels wait for each other: whatever may wait for a device is done before all have come here.
  std::function<void()> meeting() {
    return [this] {
      ranks_.meet();
      // Ranks begin apart from each other.
      if (delays_() % 4 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(delays_() % 300));
      }
    };
  }

  void random_samples(const Communicator& communicator) {
    constexpr Algorithm kWays[] = {Algorithm::one_shot, Algorithm::two_shot, Algorithm::automatic,
                                   Algorithm::push};
    for (std::uint64_t seed = 0; seed < settings_.seeds; ++seed) {
      const Sample sample(
          seed % 2 == 0 ? "hopper/bf16/tree:64->fp32" : "ieee_fma/bf16/tree:16->fp32", seed);
      RowParallelOptions options;
      options.algorithm = kWays[seed / 2 % 4];
      if (options.algorithm != Algorithm::one_shot && seed % 5 == 0) {
        options.output = Placement::rows;
      }
      options.chunks = static_cast<std::int32_t>(seed % 4);
      if (seed % 7 == 3) options.shares = lopsided(sample.spec, ranks_.size());
      const int replays = seed % 4 == 1 && settings_.replays > 0 ? 10 : 0;
      const std::string wrong =
          run_on_device(communicator, backend_, sample, options, replays, meeting(), &stream_);
      note(replays > 0 ? "random problems from graphs" : "random problems",
           wrong.empty() ? "" : "seed " + std::to_string(seed) + ": " + wrong,
           sample.m * sample.spec.n);
    }
  }

  /// Plan and communicator go right behind the call: their windows must outlive its kernels, which
  /// compute-sanitizer can tell too.
  void ended_behind_a_call() {
    for (const Algorithm way : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}) {
      const Sample sample("ieee_fma/bf16/tree:16->fp32", 4, 90);
      RowParallelOptions options;
      options.algorithm = way;
      std::optional<Communicator> communicator = required(create(20'000, std::size_t{64} << 20));
      std::optional<RowParallelPlan> plan =
          required(RowParallelPlan::create(*communicator, backend_, sample.spec, options));
      Device& device = backend_.device();
      const SampleOnDevice arrays(device, sample, plan->k_range(), {0, sample.m});
      const std::size_t bytes = *plan->workspace_bytes(sample.m);
      const OnDevice room(device, bytes);
      meeting()();
      Status s = plan->run(stream_, sample.m, arrays.operands(sample), {room.data(), bytes});
      plan.reset();
      communicator.reset();
      if (s) s = device.synchronize(stream_);
      note("windows that end behind a call", s ? arrays.verdict(sample) : s.message(),
           sample.m * sample.spec.n);
    }
  }

  /// A graph of five calls, an odd number, so that every replay begins at another parity; push
  /// follows one_shot, across the end of a replay too.
  void graphs(const Communicator& communicator) {
    if (settings_.replays == 0) return;
    const Sample sample("hopper/bf16/tree:64->fp32", 5);
    std::vector<RowParallelPlan> plans;
    for (const Algorithm way : {Algorithm::one_shot, Algorithm::push, Algorithm::two_shot,
                                Algorithm::one_shot, Algorithm::push}) {
      RowParallelOptions options;
      options.algorithm = way;
      plans.push_back(
          required(RowParallelPlan::create(communicator, backend_, sample.spec, options)));
    }
    Device& device = backend_.device();
    std::vector<std::unique_ptr<SampleOnDevice>> arrays;
    for (const auto& plan : plans) {
      arrays.push_back(
          std::make_unique<SampleOnDevice>(device, sample, plan.k_range(), Range{0, sample.m}));
    }
    const std::size_t bytes = required(plans.front().workspace_bytes(sample.m));
    const OnDevice scratch(device, bytes);
    meeting()();
    const Status ran = device.replay(
        stream_,
        [&](Stream on) {
          for (std::size_t i = 0; i < plans.size(); ++i) {
            Status s =
                plans[i].run(on, sample.m, arrays[i]->operands(sample), {scratch.data(), bytes});
            if (!s) return s;
          }
          return Status{};
        },
        settings_.replays);
    std::string wrong = ran.message();
    for (const auto& one : arrays) {
      if (wrong.empty()) wrong = one->verdict(sample);
    }
    if (wrong.empty()) wrong = communicator.health().message();
    note("a graph of 5 calls replayed " + std::to_string(settings_.replays) + " times", wrong,
         5 * sample.m * sample.spec.n);
  }

  /// Two communicators of one device, each on a stream of its own, whose calls the ranks begin in
  /// different orders: while the join of one waits, and lets its next product in, that of the other
  /// finds room on every device.
  void two_at_once() {
    constexpr std::int64_t kWidth = 2048, kDepth = 2048, kRows = 24;
    constexpr int kCalls = 300;
    Device& device = backend_.device();
    std::mt19937_64 random(7);
    const auto elements = [&](std::int64_t count) {
      std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
      for (auto& x : all) {
        x = static_cast<std::uint16_t>((random() & 0x807f) | ((120 + random() % 8) << 7));
      }
      return all;
    };
    const auto a = elements(kRows * kDepth), b = elements(kWidth * kDepth);
    const OnDevice at_a(device, a.data(), a.size() * 2), at_b(device, b.data(), b.size() * 2);
    GemmSpec spec;
    spec.n = kWidth;
    spec.k = kDepth;
    spec.op_b = Op::transpose;
    spec.contract = *Contract::parse("hopper/bf16/tree:64->bf16");
    const auto d_bytes = static_cast<std::size_t>(kRows * kWidth) * 2;
    const std::size_t room = std::size_t{256} << 20;
    const OnDevice whole(device, d_bytes), scratch(device, room);
    const auto view = [&](const OnDevice& x, KRange k, std::int64_t rows) {
      const auto* const from = static_cast<const std::uint16_t*>(x.data()) + k.begin;
      return row_major(static_cast<const void*>(from), rows, k.end - k.begin, DType::bf16, kDepth);
    };
    Status s =
        required(Plan::create(backend_, spec))
            .run(stream_, view(at_a, {0, kDepth}, kRows), view(at_b, {0, kDepth}, kWidth),
                 row_major(whole.data(), kRows, kWidth, DType::bf16), {scratch.data(), room});
    if (s) s = device.synchronize(stream_);
    struct One {
      Communicator communicator;
      RowParallelPlan plan;
      OwnStream stream;
      OnDevice d, scratch;
    };
    std::vector<std::unique_ptr<One>> both;
    for (const Algorithm way : {Algorithm::one_shot, Algorithm::two_shot}) {
      RowParallelOptions options;
      options.algorithm = way;
      options.plan.stable = Stable::b;
      auto communicator = required(create(20'000, std::size_t{64} << 20));
      auto plan = required(RowParallelPlan::create(communicator, backend_, spec, options));
      both.push_back(
          std::unique_ptr<One>(new One{communicator, plan, OwnStream(device),
                                       OnDevice(device, d_bytes), OnDevice(device, room)}));
    }
    meeting()();
    for (int call = 0; s && call < kCalls; ++call) {
      for (int i = 0; s && i < 2; ++i) {
        One& one = *both[static_cast<std::size_t>((i + ranks_.rank()) % 2)];
        const KRange k = one.plan.k_range();
        s = one.plan.run(one.stream, kRows,
                         {view(at_a, k, kRows), view(at_b, k, kWidth),
                          row_major(one.d.data(), kRows, kWidth, DType::bf16)},
                         {one.scratch.data(), room});
      }
    }
    std::string wrong = s.message();
    for (const auto& one : both) {
      s = device.synchronize(one->stream);
      if (s) s = one->communicator.health();
      if (wrong.empty()) wrong = s ? "" : s.message();
      if (wrong.empty() && one->d.read() != whole.read()) wrong = "other bits";
    }
    note("two communicators at once", wrong, 2 * kRows * kWidth);
    ranks_.meet();
  }

  /// A window of a few rows: calls are done in pieces, with the same bits.
  void small_windows() {
    const auto communicator = required(create(20'000, std::size_t{1} << 15));
    for (std::uint64_t seed = 100; seed < 112; ++seed) {
      const Sample sample("hopper/bf16/tree:64->fp32", seed, 70);
      RowParallelOptions options;
      constexpr Algorithm kWays[] = {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push};
      options.algorithm = kWays[seed % 3];
      if (options.algorithm != Algorithm::one_shot && seed % 4 == 3) {
        options.output = Placement::rows;
      }
      note("windows of a few rows",
           run_on_device(communicator, backend_, sample, options, 0, meeting(), &stream_),
           sample.m * sample.spec.n);
    }
    ranks_.meet();
  }

  /// The control: roots in each other's places on the last rank move bits there.
  void mixed_up() {
    const auto communicator = required(create(20'000, std::size_t{1} << 22));
    auto& window = communicator.state().device_window;
    window = std::make_shared<MixedUpWindow>(window);
    int found = 0;
    for (std::uint64_t seed = 200; seed < 240; ++seed) {
      const Sample sample("ieee_fma/bf16/tree:16->fp32", seed, 40);
      if (sample.spec.k < 200) continue;
      RowParallelOptions options;
      constexpr Algorithm kWays[] = {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push};
      options.algorithm = kWays[seed % 3];
      options.shares = lopsided(sample.spec, ranks_.size());
      const std::string wrong =
          run_on_device(communicator, backend_, sample, options, 0, meeting(), &stream_);
      found += wrong == "other bits" ? 1 : 0;
    }
    const bool last = ranks_.rank() + 1 == ranks_.size();
    note("control: roots that are mixed up", last && found < 5 ? "they were not seen" : "", 0);
    ranks_.meet();
  }

  /// What a rank's call leaves, and what the communicator says after it.
  std::string after_a_failure(const Communicator& communicator, const RowParallelPlan& plan,
                              const Sample& sample, std::int64_t m, const std::string& sentence) {
    Device& device = backend_.device();
    const SampleOnDevice arrays(device, sample, plan.k_range(), {0, sample.m});
    const std::size_t bytes = required(plan.workspace_bytes(sample.m));
    const OnDevice scratch(device, bytes);
    Operands operands = arrays.operands(sample);
    operands.a.rows = operands.c.rows = operands.d.rows = m;
    ranks_.meet();
    const auto from = std::chrono::steady_clock::now();
    Status s = plan.run(stream_, m, operands, {scratch.data(), bytes});
    if (s) s = device.synchronize(stream_);
    if (!s) return "run: " + s.message();
    if (std::chrono::steady_clock::now() - from > std::chrono::seconds(5)) return "it took 5 s";
    const auto d = arrays.d.read();
    for (std::size_t i = 4; i < 4 + static_cast<std::size_t>(m * sample.spec.n) * 4; i += 4) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, d.data() + i, 4);
      if (bits != 0x7fffffffU) return "an output is not canonical NaN";
    }
    const Status health = communicator.health();
    if (health.code() != Errc::peer || health.message().find(sentence) == std::string::npos) {
      return "health: " + health.message();
    }
    s = plan.run(stream_, m, operands, {scratch.data(), bytes});
    return s.code() == Errc::peer ? "" : "a call after it: " + s.message();
  }

  void somebody_is_missing() {
    for (const Algorithm way : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}) {
      const auto communicator = required(create(700, std::size_t{1} << 22));
      const Sample sample("hopper/bf16/tree:64->fp32", 5, 40);
      RowParallelOptions options;
      options.algorithm = way;
      const auto plan =
          required(RowParallelPlan::create(communicator, backend_, sample.spec, options));
      const int last = ranks_.size() - 1;
      std::string wrong;
      if (ranks_.rank() == last) {
        ranks_.meet();
      } else {
        wrong = after_a_failure(communicator, plan, sample, sample.m,
                                "rank " + std::to_string(last) + " of");
      }
      note("a rank that never comes, " + std::string(cluster::name(way)), wrong, 0);
    }
  }

  void another_m() {
    const auto communicator = required(create(5000, std::size_t{1} << 22));
    const Sample sample("hopper/bf16/tree:64->fp32", 5, 40);
    RowParallelOptions options;
    options.algorithm = Algorithm::one_shot;
    const auto plan =
        required(RowParallelPlan::create(communicator, backend_, sample.spec, options));
    const std::int64_t m = ranks_.rank() == 0 ? 39 : 40;
    note("ranks that come with different m",
         after_a_failure(communicator, plan, sample, m, "different m"), 0);
  }

  void layers(const Communicator& communicator);

  bench::Ranks& ranks_;
  const Backend& backend_;
  const PeerSettings& settings_;
  /// One for all calls. CUDA puts streams into a few queues of the device; where ranks share it and
  /// make new streams all the time, two may come into one queue, in which a kernel that waits
  /// stands before what it waits for.
  const OwnStream stream_;
  std::mt19937_64 delays_{static_cast<std::uint64_t>(ranks_.rank()) + 1};
  std::map<std::string, Check> checks_;
  std::string name_;
  int failed_ = 0;
};

/// Layers of a real width, with every epilogue, by every way; D of one rank is computed on the same
/// device. Depth is small, since it is not what is tested.
inline void PeerRun::layers(const Communicator& communicator) {
  constexpr std::int64_t kWidth = 8192, kLeaf = 64, kLeaves = 16, kRows = 2048;
  const auto begun = std::chrono::steady_clock::now();
  Device& device = backend_.device();
  const auto elements = [](std::uint64_t seed, std::int64_t count) {
    std::mt19937_64 random(seed);
    std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
    for (auto& x : all) {
      x = static_cast<std::uint16_t>((random() & 0x807f) | ((120 + random() % 8) << 7));
    }
    return all;
  };
  const std::int64_t depth = kLeaf * kLeaves;
  const auto b = elements(1, depth * kWidth), bias = elements(2, kWidth);
  const auto c = elements(3, kRows * kWidth);
  const OnDevice at_b(device, b.data(), b.size() * 2),
      at_bias(device, bias.data(), bias.size() * 2);
  const OnDevice at_c(device, c.data(), c.size() * 2);
  const std::size_t d_bytes = static_cast<std::size_t>(kRows * kWidth) * 2;
  const OnDevice whole(device, d_bytes), spread(device, d_bytes + 2);
  const OwnStream& stream = stream_;
  const std::size_t room = std::size_t{256} << 20;
  const OnDevice scratch(device, room);
  double compared = 0;
  for (std::uint64_t seed = 0; compared < settings_.outputs; ++seed) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (ranks_.largest(seconds) > settings_.seconds) break;
    std::mt19937_64 random(seed);
    const std::int64_t sizes[] = {
        1, 2, 8, 16, static_cast<std::int64_t>(1 + random() % 100), 64, 256, 1000, kRows};
    const std::int64_t m = sizes[seed % 9];
    GemmSpec spec;
    spec.n = kWidth;
    spec.k = depth;
    spec.contract = *Contract::parse("hopper/bf16/tree:64->bf16");
    if (random() % 2 == 0) {
      spec.alpha = 0.7F;
      spec.beta = 0.3F;
      spec.bias = DType::bf16;
      spec.activation = Activation::silu;
    }
    RowParallelOptions options;
    constexpr Algorithm kWays[] = {Algorithm::automatic, Algorithm::two_shot, Algorithm::one_shot,
                                   Algorithm::push};
    options.algorithm = kWays[random() % 4];
    if (options.algorithm != Algorithm::one_shot && random() % 3 == 0) {
      options.output = Placement::rows;
    }
    options.chunks = static_cast<std::int32_t>(random() % 4);
    const auto a = elements(seed + 10, m * depth);
    const OnDevice at_a(device, a.data(), a.size() * 2);
    const auto view = [](const OnDevice& x, std::int64_t rows, std::int64_t cols) {
      return row_major(static_cast<const void*>(x.data()), rows, cols, DType::bf16);
    };
    const auto one = required(Plan::create(backend_, spec));
    Operands all{view(at_a, m, depth),
                 view(at_b, depth, kWidth),
                 row_major(whole.data(), m, kWidth, DType::bf16),
                 view(at_c, m, kWidth),
                 {at_bias.data(), kWidth, DType::bf16}};
    Status s = one.run(stream, all, {scratch.data(), room});
    if (s) s = device.synchronize(stream);
    const auto plan = required(RowParallelPlan::create(communicator, backend_, spec, options));
    const KRange k = plan.k_range();
    const Range rows =
        options.output == Placement::rows ? rows_of(m, ranks_.rank(), ranks_.size()) : Range{0, m};
    Operands local = all;
    local.a = row_major(
        static_cast<const void*>(static_cast<const std::uint16_t*>(at_a.data()) + k.begin), m,
        k.end - k.begin, DType::bf16, depth);
    local.b = row_major(
        static_cast<const void*>(static_cast<const std::uint16_t*>(at_b.data()) + k.begin * kWidth),
        k.end - k.begin, kWidth, DType::bf16);
    // One rank's D may be at an address that vectors do not take, while the others' are.
    const bool odd = seed % 4 == 1 && ranks_.rank() + 1 == ranks_.size();
    auto* const joined = static_cast<std::byte*>(spread.data()) + (odd ? 2 : 0);
    local.d = row_major(static_cast<void*>(joined), rows.size(), kWidth, DType::bf16);
    local.c = row_major(static_cast<const void*>(static_cast<const std::uint16_t*>(at_c.data()) +
                                                 rows.begin * kWidth),
                        rows.size(), kWidth, DType::bf16);
    meeting()();
    if (s) s = plan.run(stream, m, local, {scratch.data(), room});
    if (s) s = device.synchronize(stream);
    std::string wrong = s.message();
    const auto count = static_cast<std::size_t>(rows.size() * kWidth) * 2;
    std::vector<std::byte> mine(count), expected(count);
    if (s && count > 0) s = device.to_host(mine.data(), joined, count);
    if (s && count > 0) {
      s = device.to_host(expected.data(),
                         static_cast<const std::byte*>(whole.data()) + rows.begin * kWidth * 2,
                         count);
    }
    if (wrong.empty()) wrong = s.message();
    if (wrong.empty() && std::memcmp(mine.data(), expected.data(), count) != 0) {
      std::size_t different = 0;
      for (std::size_t i = 0; i < count; i += 2) {
        different += std::memcmp(&mine[i], &expected[i], 2) != 0 ? 1 : 0;
      }
      wrong = std::to_string(different) + " of " + std::to_string(count / 2) +
              " outputs differ: " + plan.describe(m);
    }
    if (!wrong.empty())
      wrong = "seed " + std::to_string(seed) + ", m = " + std::to_string(m) + ": " + wrong;
    note("layers", wrong, rows.size() * kWidth);
    compared += static_cast<double>(m * kWidth);
  }
}

}  // namespace detgemm::cluster
