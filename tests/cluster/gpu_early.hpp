// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstring>

#include "backends/cuda/peer_memory.hpp"
#include "tests/cluster/gpu_peers.hpp"
#include "tests/cluster/passing.hpp"

// What gpus.cpp does with --peers --early: one_shot that begins before its product has ended
// (cuda/peers/early.hpp), by two ranks that share a GPU. Each rank's window is made as if the other
// rank had a device of its own, since joins of ranks that share one do not begin early. Products
// have few CTAs, so that whatever waits leaves room for what it waits for.
//
// Each check has a control, the same calls with a planted fault, which it must find.

namespace detgemm::cluster {

/// Ranks of one device whose cards name a device for each.
class ApartTransport final : public PassingTransport {
 public:
  using PassingTransport::PassingTransport;
  Status agree(std::span<const std::byte> mine, std::span<std::byte> all,
               std::chrono::milliseconds patience) override {
    Status s = PassingTransport::agree(mine, all, patience);
    if (!s || mine.size() != sizeof(PeerCard)) return s;
    for (int r = 1; r < size(); ++r) {
      std::byte* const at = all.data() + static_cast<std::size_t>(r) * sizeof(PeerCard);
      cuda::CudaCard card;
      std::memcpy(&card, at, sizeof card);
      card.device[0] = static_cast<char>(card.device[0] + r);
      std::memcpy(at, &card, sizeof card);
    }
    return s;
  }
};

/// Counts calls that begin early. The planted fault: behind each of them its array of roots holds
/// numbers, as where two calls meet in one array.
class EarlyWindow final : public AroundPeerWindow {
 public:
  EarlyWindow(std::shared_ptr<PeerWindow> inner, bool stale)
      : AroundPeerWindow(std::move(inner)), stale_(stale) {}
  std::byte* take_blank_roots(std::size_t bytes) const noexcept override {
    array_ = AroundPeerWindow::take_blank_roots(bytes);
    bytes_ = bytes;
    early_ += array_ != nullptr ? 1 : 0;
    return array_;
  }
  Status join(Stream stream, const GemmSpec& spec, const PeerJoin& join,
              RunInfo* info) const override {
    const Status s = AroundPeerWindow::join(stream, spec, join, info);
    if (stale_ && array_ != nullptr) {
      cudaMemsetAsync(array_, 0x3f, bytes_, static_cast<cudaStream_t>(stream.handle));
    }
    array_ = nullptr;
    return s;
  }
  int early() const { return early_; }

 private:
  const bool stale_;
  mutable std::byte* array_ = nullptr;
  mutable std::size_t bytes_ = 0;
  mutable int early_ = 0;
};

class EarlyRun {
 public:
  EarlyRun(bench::Ranks& ranks, const Backend& backend, int rounds)
      : ranks_(ranks), backend_(backend), rounds_(rounds) {
    spec_.n = kWidth;
    spec_.k = kDepth;
    spec_.op_b = Op::transpose;
    spec_.contract = *Contract::parse("hopper/bf16/tree:256->bf16");
    const OnDevice scratch(device(), kScratch);
    const OwnStream stream(device());
    const auto plan = required(Plan::create(backend, spec_));
    for (int i = 0; i < kInputs; ++i) {
      const OnDevice d(device(), kBytes);
      const Operands all = operands({0, kDepth}, i, kRows, d);
      check(plan.run(stream, all, {scratch.data(), kScratch}));
      check(device().synchronize(stream));
      expected_.push_back(d.read());
    }
  }

  /// How many checks failed; the same on all ranks.
  int all() {
    note("early joins, captured beside eager", captured_beside_eager(false), false);
    note("control: an array that is not blank", captured_beside_eager(true), true);
    note("early joins beside serial_launch", beside_serial(false), false);
    note("control: serial_launch that is ignored", beside_serial(true), true);
    note("early joins of two communicators at once", two_at_once(false), false);
    note("control: one communicator on two streams", two_at_once(true), true);
    return failed_;
  }
  const std::map<std::string, PeerRun::Check>& checks() const { return checks_; }

 private:
  static constexpr std::int64_t kRows = 8, kWidth = 512, kDepth = 2048;
  static constexpr int kInputs = 4, kWorkers = 8;
  static constexpr std::size_t kBytes = kRows * kWidth * 2, kScratch = std::size_t{64} << 20;

  /// What a call of a round computes: rows of an input, by one_shot or by two_shot.
  struct Drawn {
    int input = 0;
    std::int64_t rows = kRows;
    bool two_shot = false;
    explicit Drawn(std::mt19937_64& random)
        : input(static_cast<int>(random() % kInputs)),
          rows(random() % 2 == 0 ? kRows : static_cast<std::int64_t>(1 + random() % kRows)),
          two_shot(random() % 5 == 0) {}
  };
  /// A communicator, plans of its own and a stream, with an output for each call of a round.
  struct Side {
    Communicator communicator;
    std::shared_ptr<EarlyWindow> window;
    RowParallelPlan one_shot, two_shot;
    OwnStream stream;
    OnDevice scratch;
    std::vector<std::unique_ptr<OnDevice>> outputs;
    std::vector<Drawn> drawn;  ///< of each output
  };

  template <class T>
  static T required(Result<T> result) {
    if (!result) throw std::runtime_error(result.status().message());
    return std::move(result).value();
  }
  static void check(const Status& s) {
    if (!s) throw std::runtime_error(s.message());
  }
  static void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
  }
  Device& device() const { return backend_.device(); }
  static cudaStream_t handle(const OwnStream& stream) {
    return static_cast<cudaStream_t>(static_cast<Stream>(stream).handle);
  }

  static std::vector<std::uint16_t> elements(std::uint64_t seed, std::int64_t count) {
    std::mt19937_64 random(seed);
    std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
    for (auto& x : all) {
      x = static_cast<std::uint16_t>((random() & 0x807f) | ((120 + random() % 8) << 7));
    }
    return all;
  }
  OnDevice on_device(std::uint64_t seed, std::int64_t count) const {
    const auto all = elements(seed, count);
    return OnDevice(device(), all.data(), all.size() * 2);
  }
  Operands operands(KRange k, int input, std::int64_t m, const OnDevice& d) const {
    const auto view = [&](const OnDevice& x, std::int64_t first, std::int64_t rows) {
      const auto* const from =
          static_cast<const std::uint16_t*>(x.data()) + first * kDepth + k.begin;
      return row_major(static_cast<const void*>(from), rows, k.end - k.begin, DType::bf16, kDepth);
    };
    return {view(a_, input * kRows, m), view(b_, 0, kWidth),
            row_major(d.data(), m, kWidth, DType::bf16)};
  }

  Communicator communicator(std::chrono::milliseconds patience) {
    Options options;
    options.patience = patience;
    options.window_bytes = std::size_t{16} << 20;
    options.window_backend = &backend_;
    auto made = required(Communicator::create(
        std::make_shared<ApartTransport>(std::make_shared<AgreeingTransport>(ranks_)), options));
    if (made.state().device_window == nullptr) throw std::runtime_error(made.state().no_window);
    return made;
  }
  std::unique_ptr<Side> side(const Communicator& on, bool serial, bool stale, int outputs) {
    auto window = std::make_shared<EarlyWindow>(on.state().device_window, stale);
    on.state().device_window = window;
    const auto plan = [&](Algorithm algorithm) {
      RowParallelOptions options;
      options.algorithm = algorithm;
      options.plan.stable = Stable::b;
      options.plan.max_workers = kWorkers;
      options.plan.serial_launch = serial;
      return required(RowParallelPlan::create(on, backend_, spec_, options));
    };
    std::mt19937_64 first(1);
    std::unique_ptr<Side> made(new Side{on,
                                        window,
                                        plan(Algorithm::one_shot),
                                        plan(Algorithm::two_shot),
                                        OwnStream(device()),
                                        OnDevice(device(), kScratch),
                                        {},
                                        {}});
    for (int i = 0; i < outputs; ++i) {
      made->outputs.push_back(std::make_unique<OnDevice>(device(), kBytes));
      made->drawn.emplace_back(first);
    }
    return made;
  }
  Status call(Side& side, std::size_t output, const Drawn& drawn, const OwnStream& stream) {
    side.drawn[output] = drawn;
    const RowParallelPlan& plan = drawn.two_shot ? side.two_shot : side.one_shot;
    return plan.run(stream, drawn.rows,
                    operands(plan.k_range(), drawn.input, drawn.rows, *side.outputs[output]),
                    {side.scratch.data(), kScratch});
  }
  /// Before a round: whoever does not write an output shows it.
  void poison(const Side& side) {
    for (const auto& d : side.outputs) check(cudaMemset(d->data(), 0xff, kBytes));
    check(cudaDeviceSynchronize());
    ranks_.meet();
  }
  /// After it: "" or what is wrong.
  std::string verdict(const Side& side) {
    Status s = device().synchronize(side.stream);
    if (s) s = side.communicator.health();
    if (!s) return s.message();
    for (std::size_t i = 0; i < side.outputs.size(); ++i) {
      const Drawn& drawn = side.drawn[i];
      std::vector<std::byte> expected = expected_[static_cast<std::size_t>(drawn.input)];
      const auto written = static_cast<std::ptrdiff_t>(drawn.rows * kWidth * 2);
      std::fill(expected.begin() + written, expected.end(), std::byte{0xff});
      compared_ += drawn.rows * kWidth;
      if (side.outputs[i]->read() != expected) return "other bits";
    }
    return "";
  }

  /// Graphs that were captured between eager calls, each once in a round among eager ones, in an
  /// order that is the same on all ranks.
  std::string captured_beside_eager(bool plant) {
    constexpr int kGraphs = 4, kEager = 12;
    const auto on = communicator(std::chrono::seconds(20));
    const auto s = side(on, false, plant, kGraphs + kEager);
    std::mt19937_64 random(3);
    std::vector<cudaGraphExec_t> graphs;
    poison(*s);
    for (int g = 0; g < kGraphs; ++g) {
      // One eager call before some of them, so that their arrays are not taken in turn.
      if (g != 2) check(call(*s, kGraphs, Drawn(random), s->stream));
      check(device().synchronize(s->stream));
      ranks_.meet();  // instantiating may wait for the device, and so for the other rank's kernels
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t exec = nullptr;
      check(cudaStreamBeginCapture(handle(s->stream), cudaStreamCaptureModeThreadLocal));
      Drawn drawn(random);
      drawn.two_shot = false;
      const Status captured = call(*s, static_cast<std::size_t>(g), drawn, s->stream);
      check(cudaStreamEndCapture(handle(s->stream), &graph));
      check(captured);
      check(cudaGraphInstantiate(&exec, graph, 0));
      check(cudaGraphDestroy(graph));
      check(cudaGraphUpload(exec, handle(s->stream)));
      check(device().synchronize(s->stream));
      graphs.push_back(exec);
      ranks_.meet();
    }
    std::string wrong;
    for (int round = 0; round < rounds_ && ranks_.all(wrong.empty()); ++round) {
      std::vector<int> order;
      for (int i = 0; i < kGraphs + kEager; ++i) order.push_back(i);
      std::shuffle(order.begin(), order.end(), random);
      poison(*s);
      for (const int i : order) {
        if (i < kGraphs) {
          check(cudaGraphLaunch(graphs[static_cast<std::size_t>(i)], handle(s->stream)));
        } else {
          check(call(*s, static_cast<std::size_t>(i), Drawn(random), s->stream));
        }
      }
      wrong = verdict(*s);
    }
    for (cudaGraphExec_t exec : graphs) cudaGraphExecDestroy(exec);
    return wrong.empty() && s->window->early() == 0 ? "no call began early" : wrong;
  }

  /// Calls of a plan with serial_launch among those of one without, on one stream.
  std::string beside_serial(bool plant) {
    constexpr int kCalls = 16;
    const auto on = communicator(std::chrono::seconds(20));
    const auto early = side(on, false, false, kCalls);
    const auto serial = side(on, !plant, false, kCalls);
    std::mt19937_64 random(4);
    std::string wrong;
    for (int round = 0; round < rounds_ && ranks_.all(wrong.empty()); ++round) {
      poison(*early);
      poison(*serial);
      const int before = serial->window->early();  // it is around the other one, and sees both
      int began_early = 0;
      for (std::size_t i = 0; i < kCalls; ++i) {
        const bool serial_first = random() % 2 == 0;
        for (const bool is_serial : {serial_first, !serial_first}) {
          Side& of = is_serial ? *serial : *early;
          const int already = serial->window->early();
          check(call(of, i, Drawn(random), early->stream));
          if (is_serial) began_early += serial->window->early() - already;
        }
      }
      wrong = verdict(*early);
      if (wrong.empty()) wrong = verdict(*serial);
      if (wrong.empty() && began_early > 0) wrong = "a join began early";
      if (wrong.empty() && serial->window->early() == before) wrong = "no call began early";
    }
    return wrong;
  }

  /// Calls of two communicators, each on a stream of its own, in different orders on the ranks.
  std::string two_at_once(bool plant) {
    constexpr int kCalls = 8;
    const auto patience = std::chrono::milliseconds(plant ? 1500 : 20'000);
    const auto first = communicator(patience);
    const auto second = plant ? first : communicator(patience);
    const auto one = side(first, false, false, kCalls);
    const auto other = side(second, false, false, kCalls);
    std::mt19937_64 random(5);
    std::string wrong;
    for (int round = 0; round < rounds_ && ranks_.all(wrong.empty()); ++round) {
      poison(*one);
      poison(*other);
      Status s;
      for (std::size_t i = 0; i < kCalls && s; ++i) {
        const Drawn drawn(random);
        Side* both[] = {one.get(), other.get()};
        if (ranks_.rank() != 0) std::swap(both[0], both[1]);
        for (Side* const of : both) {
          if (s) s = call(*of, i, drawn, of->stream);
        }
      }
      wrong = s ? verdict(*one) : s.message();
      const std::string also = verdict(*other);
      if (wrong.empty()) wrong = also;
    }
    const int early = one->window->early() + other->window->early();
    return wrong.empty() && early == 0 ? "no call began early" : wrong;
  }

  void note(const std::string& name, const std::string& wrong, bool control) {
    PeerRun::Check& c = checks_[name];
    ++c.runs;
    c.outputs += control ? 0 : compared_;
    compared_ = 0;
    const bool any = !ranks_.all(wrong.empty());
    if (ranks_.rank() == 0) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), any ? "wrong" : "as one rank");
    }
    if (!wrong.empty())
      std::printf("rank %d: %s: %s\n", ranks_.rank(), name.c_str(), wrong.c_str());
    std::fflush(stdout);
    if (any == control) return;
    ++c.failed;
    ++failed_;
  }

  bench::Ranks& ranks_;
  const Backend& backend_;
  const int rounds_;
  GemmSpec spec_;
  const OnDevice a_ = on_device(1, kInputs*kRows*kDepth), b_ = on_device(2, kWidth*kDepth);
  std::vector<std::vector<std::byte>> expected_;
  std::map<std::string, PeerRun::Check> checks_;
  std::int64_t compared_ = 0;
  int failed_ = 0;
};

}  // namespace detgemm::cluster
