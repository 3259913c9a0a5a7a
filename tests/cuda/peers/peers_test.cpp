// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/cluster/shares.hpp"
#include "tests/cuda/peers/jobs.hpp"

// The bits of one rank through windows of devices: any number of ranks, shares, sizes, chunks,
// pieces, graphs and orders of plans, on the kernels' own code.

namespace detgemm::test {
namespace {

using namespace cluster;

TEST(CudaPeers, BitsOfOneRank) {
  std::mt19937_64 random(11);
  std::atomic<int> equal = 0;
  int expected = 0;
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const Sample sample(seed % 2 == 0 ? kContract : "hopper/bf16/tree:64->fp32",
                          seed * 31 + static_cast<std::uint64_t>(ranks));
      ASSERT_TRUE(sample.whole) << sample.whole.message();
      RowParallelOptions options;
      if (seed % 3 != 0) options.shares = random_shares(sample.spec, ranks, random);
      options.chunks = static_cast<std::int32_t>(seed % 4);
      options.algorithm = kDeviceAlgorithms[seed % 4];
      if (options.algorithm != Algorithm::one_shot && seed % 5 == 1) {
        options.output = Placement::rows;
      }
      // The small windows hold a few rows, so that calls take many pieces.
      const std::size_t bytes = seed % 2 == 0 ? std::size_t{1} << 21 : std::size_t{1} << 16;
      expected += ranks;
      on_devices(ranks, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator = Communicator::create(transport, with_windows(bytes));
        ASSERT_TRUE(communicator) << communicator.status().message();
        const std::string wrong = run_on_device(*communicator, peer_backend(), sample, options, 0);
        EXPECT_EQ(wrong, "") << ranks << " ranks, seed " << seed << ", m " << sample.m << ", k "
                             << sample.spec.k << ", " << name(options.algorithm);
        equal += wrong.empty() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(equal, expected);
}

/// One call whose arrays take vectors, against one rank: "" or what is wrong. D's rows are `gap`
/// elements apart. From a graph where it is replayed.
std::string run_aligned(const Communicator& communicator, const GemmSpec& spec, std::int64_t m,
                        std::int64_t gap, Algorithm algorithm, bool vectors = true,
                        bool serial = false, int replays = 0) {
  Device& device = fake::device();
  std::mt19937_64 random(static_cast<std::uint64_t>(m));
  const auto elements = [&](std::int64_t count) {
    std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
    for (auto& x : all) {
      x = static_cast<std::uint16_t>((random() & 0x807f) | ((117 + random() % 20) << 7));
    }
    return all;
  };
  const auto at_device = [&](const std::vector<std::uint16_t>& x) {
    return OnDevice(device, x.data(), x.size() * 2);
  };
  const OnDevice a = at_device(elements(m * spec.k)), b = at_device(elements(spec.k * spec.n));
  const OnDevice bias = at_device(elements(spec.n));
  const DType type = spec.contract.output;
  const std::int64_t ld = spec.n + gap;
  const auto d_bytes = static_cast<std::size_t>(m * ld) * size_of(type);
  const OnDevice whole(device, d_bytes), spread(device, d_bytes);
  const OwnStream stream(device);
  RowParallelOptions options;
  options.algorithm = algorithm;
  options.plan.serial_launch = serial;
  const auto plan = *RowParallelPlan::create(communicator, peer_backend(), spec, options);
  const KRange k = plan.k_range();
  const auto view = [](const OnDevice& x, std::int64_t from, std::int64_t rows, std::int64_t cols,
                       std::int64_t distance) {
    return row_major(static_cast<const void*>(static_cast<const std::uint16_t*>(x.data()) + from),
                     rows, cols, DType::bf16, distance);
  };
  Operands all{view(a, 0, m, spec.k, spec.k), view(b, 0, spec.k, spec.n, spec.n),
               row_major(whole.data(), m, spec.n, type, ld)};
  all.bias = {bias.data(), spec.n, DType::bf16};
  Status s = Plan::create(skeleton_backend(), spec)->run({}, all);
  if (!s) return s.message();
  Operands local = all;
  local.a = view(a, k.begin, m, k.end - k.begin, spec.k);
  local.b = view(b, k.begin * spec.n, k.end - k.begin, spec.n, spec.n);
  local.d = row_major(spread.data(), m, spec.n, type, ld);
  const std::size_t bytes = *plan.workspace_bytes(m);
  const OnDevice room(device, bytes);
  RunInfo info;
  const auto enqueue = [&](Stream on) {
    return plan.run(on, m, local, {room.data(), bytes}, &info);
  };
  s = replays > 0 ? device.replay(stream, enqueue, replays) : enqueue(stream);
  if (s) s = device.synchronize(stream);
  if (s) s = communicator.health();
  if (!s) return s.message();
  const std::string kernel = "peers/" + std::string(name(algorithm));
  if (info.kernel != kernel + (vectors ? "" : "/single")) return "kernel " + info.kernel;
  return whole.read() == spread.read() ? "" : "other bits";
}

TEST(CudaPeers, BitsOfOneRankInVectors) {
  for (const char* output : {"bf16", "fp16", "fp32"}) {
    for (const int ranks : {2, 3, 8}) {
      on_devices(ranks, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator =
            *Communicator::create(transport, with_windows(std::size_t{1} << 20));
        GemmSpec spec;
        spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->" + std::string(output));
        spec.n = 40;
        spec.k = 530;
        spec.alpha = 0.7F;
        spec.bias = DType::bf16;
        for (const std::int64_t m : {1, 9, 30}) {
          for (const Algorithm way : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}) {
            EXPECT_EQ(run_aligned(communicator, spec, m, m == 9 ? 8 : 0, way), "")
                << ranks << " ranks, m " << m << ", " << name(way) << ", " << output;
          }
        }
      });
    }
  }
}

/// A rank's own D decides whether its kernel takes runs of outputs or single ones.
TEST(CudaPeers, RanksWithVectorsAndRanksWithout) {
  for (const int ranks : {2, 3, 8}) {
    for (const int odd : {0, 1}) {
      on_devices(ranks, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator =
            *Communicator::create(transport, with_windows(std::size_t{1} << 20));
        GemmSpec spec;
        spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->bf16");
        spec.n = 40;
        spec.k = 530;
        spec.bias = DType::bf16;
        const bool vectors = transport->rank() % 2 != odd;
        for (const std::int64_t m : {2, 9, 30}) {
          for (const Algorithm way : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}) {
            EXPECT_EQ(run_aligned(communicator, spec, m, vectors ? 8 : 1, way, vectors), "")
                << "rank " << transport->rank() << " of " << ranks << ", m " << m << ", "
                << name(way);
          }
        }
      });
    }
  }
}

/// Without links that carry atomics between all ranks, automatic keeps to flags of 8 bytes.
TEST(CudaPeers, WordsOfMailNeedLinksThatCarryAtomics) {
  for (const bool atomic : {true, false}) {
    fake_cuda().atomic_links = atomic;
    on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator =
          *Communicator::create(transport, with_windows(std::size_t{1} << 20));
      const Sample sample(kContract, 3, 4);
      RowParallelOptions options;
      const auto says = [&](Algorithm algorithm) {
        options.algorithm = algorithm;
        return RowParallelPlan::create(communicator, peer_backend(), sample.spec, options)
            ->describe(4);
      };
      const std::string chosen = atomic ? "one_shot" : "two_shot";
      EXPECT_NE(says(Algorithm::automatic).find(chosen), std::string::npos)
          << says(Algorithm::automatic);
      EXPECT_NE(says(Algorithm::one_shot).find("one_shot"), std::string::npos) << "as asked";
      EXPECT_EQ(run_on_device(communicator, peer_backend(), sample, options, 0), "");
    });
  }
  fake_cuda().atomic_links = true;
}

/// Calls of several plans, from graphs and without, while ranks are late at random: whoever is
/// ahead must not overwrite what another still reads.
TEST(CudaPeers, BitsOfOneRankWhileRanksAreLate) {
  for (const int ranks : {2, 3, 5}) {
    std::vector<Sample> samples;
    for (std::uint64_t seed = 40; samples.size() < 5; ++seed) {
      Sample sample(kContract, seed);
      if (sample.m > 20 && sample.spec.k > 200) samples.push_back(std::move(sample));
    }
    on_devices(ranks, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = *Communicator::create(transport, with_windows(64U << 10));
      std::mt19937_64 delays(static_cast<std::uint64_t>(transport->rank()));
      const auto late = [&] {
        if (delays() % 3 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(delays() % 1500));
        }
      };
      for (std::size_t i = 0; i < 32; ++i) {
        RowParallelOptions options;
        options.algorithm = kDeviceAlgorithms[i * 7 % 4];
        if (options.algorithm != Algorithm::one_shot && i % 5 == 0) {
          options.output = Placement::rows;
        }
        ASSERT_EQ(run_on_device(communicator, peer_backend(), samples[i % samples.size()], options,
                                i % 4 == 1 ? 3 : 0, late),
                  "")
            << ranks << " ranks, call " << i;
      }
    });
  }
}

/// On every rank, or in rows; where windows are small, in pieces of which each has rows of all
/// ranks. The first `placed` ranks have their roots in the window.
void sum_a_tree(Algorithm algorithm, Placement output, std::size_t window_bytes, int placed = 0) {
  const Sample sample(kContract, 81, 70);
  const auto shares = *Shares::even(sample.spec.contract, sample.spec.k, 4);
  const int launches = fake_cuda().launches;
  on_devices(4, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(window_bytes));
    const auto sum =
        *TreeSum::create(communicator, peer_backend(), sample.spec, shares, output, algorithm);
    const Roots roots(sample, shares, transport->rank());
    ASSERT_TRUE(roots.made) << roots.made.message();
    std::vector<std::unique_ptr<OnDevice>> on_device;
    std::vector<ConstMatrix> views = roots.views;
    for (std::size_t i = 0; i < views.size(); ++i) {
      const auto& root = roots.data[i];
      on_device.push_back(std::make_unique<OnDevice>(fake::device(), root.data(), root.size() * 4));
      views[i].data = on_device.back()->data();
      if (transport->rank() >= placed) continue;
      void* const place = sum.place(sample.m, i);
      ASSERT_NE(place, nullptr);
      EXPECT_TRUE(fake::device().to_device(place, root.data(), root.size() * 4));
      views[i].data = place;
    }
    const Range rows =
        output == Placement::rows ? rows_of(sample.m, transport->rank(), 4) : Range{0, sample.m};
    const SampleOnDevice arrays(fake::device(), sample, {0, 0}, rows);
    const OwnStream stream(fake::device());
    EXPECT_EQ(*sum.workspace_bytes(sample.m), 0U) << "roots are read where they are";
    const Status ran = sum.run(stream, sample.m, views, arrays.operands(sample), {});
    EXPECT_TRUE(ran) << ran.message();
    EXPECT_TRUE(fake::device().synchronize(stream));
    EXPECT_EQ(arrays.verdict(sample), "");
  });
  const int pieces = (fake_cuda().launches - launches) / 4;
  EXPECT_EQ(pieces == 1, window_bytes > 1 << 16) << pieces << " pieces of m = " << sample.m;
}

TEST(CudaPeers, ATreeSum) {
  for (const Algorithm algorithm : kDeviceAlgorithms) {
    sum_a_tree(algorithm, Placement::replicated, std::size_t{1} << 20);
    if (algorithm == Algorithm::one_shot) continue;
    sum_a_tree(algorithm, Placement::rows, std::size_t{1} << 20);
    if (algorithm == Algorithm::two_shot) {
      for (const int placed : {2, 4}) {
        sum_a_tree(algorithm, Placement::rows, std::size_t{1} << 20, placed);
        sum_a_tree(algorithm, Placement::replicated, std::size_t{1} << 20, placed);
      }
    }
    const bool pushed = algorithm == Algorithm::push;  // roots of all nodes in one window
    sum_a_tree(algorithm, Placement::rows, std::size_t{1} << (pushed ? 12 : 11));
  }
}

/// Where a root may be: nowhere for what is copied, joined in pieces or joined otherwise.
TEST(CudaPeers, PlacesOfRoots) {
  on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(std::size_t{1} << 20));
    GemmSpec spec;
    spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->fp32");
    spec.n = 40;
    spec.k = 512;
    const auto shares = *Shares::even(spec.contract, spec.k, 2);
    const auto place = [&](Algorithm algorithm, std::int64_t m, std::size_t node) {
      return TreeSum::create(communicator, peer_backend(), spec, shares, Placement::replicated,
                             algorithm)
          ->place(m, node);
    };
    EXPECT_NE(place(Algorithm::two_shot, 9, 0), nullptr);
    // A quarter of 1 MiB has room for results of 1638 rows of a rank.
    EXPECT_NE(place(Algorithm::two_shot, 3264, 0), nullptr);
    EXPECT_EQ(place(Algorithm::two_shot, 3265, 0), nullptr) << "pieces";
    EXPECT_EQ(place(Algorithm::two_shot, 9, 1), nullptr) << "this rank has one node";
    EXPECT_EQ(place(Algorithm::two_shot, -1, 0), nullptr);
    EXPECT_EQ(place(Algorithm::one_shot, 9, 0), nullptr);
    EXPECT_EQ(place(Algorithm::push, 9, 0), nullptr);
  });
}

/// The window as other calls fill it: of another algorithm, and of another node.
TEST(CudaPeers, ARootInAPlaceOfOtherCallsIsRefused) {
  const Sample sample(kContract, 81, 70);
  const auto shares = *Shares::even(sample.spec.contract, sample.spec.k, 2);
  on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(std::size_t{1} << 20));
    const auto sum_by = [&](Algorithm algorithm) {
      return *TreeSum::create(communicator, peer_backend(), sample.spec, shares,
                              Placement::replicated, algorithm);
    };
    const TreeSum two_shot = sum_by(Algorithm::two_shot), one_shot = sum_by(Algorithm::one_shot);
    const Roots roots(sample, shares, transport->rank());
    ASSERT_TRUE(roots.made) << roots.made.message();
    const SampleOnDevice arrays(fake::device(), sample, {0, 0}, {0, sample.m});
    const OwnStream stream(fake::device());
    std::vector<ConstMatrix> views = roots.views;
    for (auto& view : views) view.data = two_shot.place(sample.m, 0);
    const auto run = [&](const TreeSum& sum) {
      return sum.run(stream, sample.m, views, arrays.operands(sample), {}).message();
    };
    EXPECT_NE(run(one_shot).find("is place(m, 0) of the window"), std::string::npos);
    if (views.size() > 1) {
      EXPECT_NE(run(two_shot).find("roots[1].data is place(m, 0)"), std::string::npos);
    }
  });
}

/// one_shot begins before its product has ended where ranks have devices of their own and D takes
/// vectors. Of the windows of a device one lets the next kernel in too.
TEST(CudaPeers, EarlyOneShot) {
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->bf16");
  spec.n = 40;
  spec.k = 530;
  spec.bias = DType::bf16;
  FakeCuda& cuda = fake_cuda();
  const auto early = [&](const std::function<int(int rank)>& device, bool second, int gap) {
    cuda.launches = cuda.early = cuda.lets_next_in = 0;
    on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
      cudaSetDevice(device(transport->rank()));
      const auto first = *Communicator::create(transport, with_windows(std::size_t{1} << 20));
      const auto other = *Communicator::create(transport, with_windows(std::size_t{1} << 20));
      for (const Algorithm way : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::one_shot,
                                  Algorithm::push, Algorithm::one_shot}) {
        EXPECT_EQ(run_aligned(second ? other : first, spec, 9, gap, way, gap % 8 == 0), "");
      }
    });
    EXPECT_EQ(cuda.launches, 10);
    return std::pair(cuda.early.load(), cuda.lets_next_in.load());
  };
  const auto own = [](int rank) { return rank; };
  EXPECT_EQ(early(own, false, 8), std::pair(6, 6));
  EXPECT_EQ(early(own, true, 8), std::pair(6, 0)) << "the second communicator";
  EXPECT_EQ(early(own, false, 1), std::pair(0, 0)) << "single outputs";
  EXPECT_EQ(early([](int) { return 0; }, false, 8), std::pair(0, 0)) << "ranks on one device";
}

/// Captured calls take their turn of the two arrays too, and run later. A call in the array of the
/// last eager one, or of the last captured one, starts when its own product has ended; one with
/// serial_launch has no such array.
TEST(CudaPeers, EarlyJoinsThatWait) {
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->bf16");
  spec.n = 40;
  spec.k = 530;
  spec.bias = DType::bf16;
  FakeCuda& cuda = fake_cuda();
  // Calls in turn: e(ager), c(aptured) or s(erial); how many begin early, and beside their product.
  const auto early = [&](const char* calls) {
    cuda.launches = cuda.early = cuda.overlapping = 0;
    on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
      const auto ranks = *Communicator::create(transport, with_windows(std::size_t{1} << 20));
      for (const char* c = calls; *c != 0; ++c) {
        EXPECT_EQ(
            run_aligned(ranks, spec, 9, 8, Algorithm::one_shot, true, *c == 's', *c == 'c' ? 3 : 0),
            "")
            << calls << " at " << c;
      }
    });
    return std::pair(cuda.early / 2, cuda.overlapping / 2);
  };
  EXPECT_EQ(early("eeee"), std::pair(4, 4)) << "by turns";
  EXPECT_EQ(early("cccc"), std::pair(4, 4));
  EXPECT_EQ(early("ece"), std::pair(3, 2)) << "both eager calls are in one array";
  EXPECT_EQ(early("cec"), std::pair(3, 2)) << "both captured calls are";
  EXPECT_EQ(early("eceeccee"), std::pair(8, 7));
  EXPECT_EQ(early("ses"), std::pair(1, 3)) << "a serial call waits for its product by itself";
}

/// A call is one launch for each chunk and piece, beside what is before it on the stream, of no
/// more CTAs than the device has multiprocessors, and of fewer where ranks share a device.
TEST(CudaPeers, Launches) {
  const Sample sample(kContract, 3, 40);
  FakeCuda& cuda = fake_cuda();
  const auto launches = [&](const std::function<int(int rank)>& device, int sms,
                            const RowParallelOptions& options, int major = 9) {
    cuda.sms = sms;
    cuda.major = major;
    cuda.launches = cuda.overlapping = cuda.most_ctas = 0;
    on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
      cudaSetDevice(device(transport->rank()));
      const auto communicator =
          *Communicator::create(transport, with_windows(std::size_t{1} << 20));
      EXPECT_EQ(run_on_device(communicator, peer_backend(), sample, options, 0), "");
    });
    cuda.sms = 4;
    cuda.major = 9;
    EXPECT_EQ(cuda.overlapping, major >= 9 ? cuda.launches.load() : 0)
        << "programmatic dependent launch, from 9.0 on";
    return cuda.launches.load();
  };
  const auto own = [](int rank) { return rank; };
  RowParallelOptions options;
  options.algorithm = Algorithm::one_shot;
  options.chunks = 1;
  EXPECT_EQ(launches(own, 4, options), 2);
  EXPECT_LE(cuda.most_ctas, 4);
  options.chunks = 3;
  EXPECT_EQ(launches(own, 4, options), 6);
  cuda.devices = 12;  // what a device is, is asked once: these are new
  EXPECT_EQ(launches([](int rank) { return 10 + rank; }, 4, options, 8), 6);
  cuda.devices = 8;
  EXPECT_EQ(launches([](int) { return 0; }, 8, options), 6) << "ranks on one device";
  EXPECT_EQ(cuda.most_ctas, 1);
}

}  // namespace
}  // namespace detgemm::test
