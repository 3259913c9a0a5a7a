// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/cluster/nccl.hpp"
#include "tests/cluster/gpu_times.hpp"

// What gpus.cpp does with --peers --gradients: a TreeSum of fp32 through windows, from 64 MiB to
// 4 GiB per rank and a leaf for each, beside NCCL's reduce-scatter and all-reduce of as many fp32.
// Bits first: sums of random bit patterns are compared with those of one rank.

namespace detgemm::cluster {

class GradientRun {
 public:
  GradientRun(bench::Ranks& ranks, const Backend& backend, const bench::Nccl& nccl, void* comm,
              std::size_t window_bytes = std::size_t{512} << 20)
      : ranks_(ranks), backend_(backend), nccl_(nccl), comm_(comm), stream_(backend.device()) {
    Options options;
    options.window_bytes = window_bytes;
    options.window_backend = &backend;
    communicator_ = *Communicator::create(std::make_shared<AgreeingTransport>(ranks), options);
    if (!communicator_->has_windows()) throw std::runtime_error("there are no windows");
    spec_.n = kColumns;
    spec_.k = kLeaf * ranks.size();
    spec_.contract = *Contract::parse("hopper/bf16/tree:" + std::to_string(kLeaf) + "->fp32");
  }

  /// How many outputs differ, on any rank.
  double all(double limit_s) {
    const auto begun = std::chrono::steady_clock::now();
    const double different = bits();
    for (const std::int64_t mib : {64, 256, 1024, 4096}) {
      const double spent =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      if (ranks_.largest(spent) > limit_s) break;
      times(mib);
    }
    return different;
  }

 private:
  static constexpr std::int64_t kColumns = 4096, kLeaf = 64;
  static constexpr std::size_t kPattern = std::size_t{64} << 20;

  template <class T>
  static T required(Result<T> result) {
    if (!result) throw std::runtime_error(result.status().message());
    return std::move(result).value();
  }
  static void check(const Status& s) {
    if (!s) throw std::runtime_error(s.message());
  }
  Range rows(Placement output, std::int64_t m) const {
    return output == Placement::rows ? rows_of(m, ranks_.rank(), ranks_.size()) : Range{0, m};
  }
  TreeSum sum(Placement output, Algorithm way) const {
    const Shares shares = required(Shares::even(spec_.contract, spec_.k, ranks_.size()));
    return required(TreeSum::create(*communicator_, backend_, spec_, shares, output, way));
  }
  /// Random bits: subnormals, infinities and NaN among them.
  static std::vector<std::uint32_t> pattern(int rank) {
    std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 1);
    std::vector<std::uint32_t> all(kPattern / 4);
    for (auto& x : all) x = static_cast<std::uint32_t>(random());
    return all;
  }
  ConstMatrix root(const void* data, std::int64_t m) const {
    return row_major(data, m, kColumns, DType::fp32);
  }

  double bits() {
    Device& device = backend_.device();
    constexpr std::int64_t kRows = kPattern / 4 / kColumns;
    std::vector<std::unique_ptr<OnDevice>> roots;
    std::vector<NodeRoot> nodes;
    for (int r = 0; r < ranks_.size(); ++r) {
      const auto data = pattern(r);
      roots.push_back(std::make_unique<OnDevice>(device, data.data(), kPattern));
      nodes.push_back({root(roots.back()->data(), kRows), {r, r + 1}});
    }
    const OnDevice whole(device, kPattern), spread(device, kPattern);
    const auto one = required(Plan::create(backend_, spec_));
    const OnDevice room(device, required(one.workspace_bytes(kRows)));
    Operands operands;
    operands.d = row_major(whole.data(), kRows, kColumns, DType::fp32);
    operands.a = row_major(static_cast<const void*>(nullptr), kRows, 0, DType::bf16);
    operands.b = row_major(static_cast<const void*>(nullptr), 0, kColumns, DType::bf16);
    check(
        one.combine(stream_, nodes, operands, {room.data(), required(one.workspace_bytes(kRows))}));
    check(device.synchronize(stream_));
    const auto expected = whole.read();
    double compared = 0, different = 0;
    for (const Placement output : {Placement::replicated, Placement::rows}) {
      for (const Algorithm way : {Algorithm::two_shot, Algorithm::push}) {
        for (const std::int64_t m : {kRows, kRows - 5, std::int64_t{3}}) {
          const auto plan = sum(output, way);
          const Range own = rows(output, m);
          Operands local = operands;
          local.d = row_major(spread.data(), own.size(), kColumns, DType::fp32);
          const ConstMatrix mine = root(roots[static_cast<std::size_t>(ranks_.rank())]->data(), m);
          ranks_.meet();
          check(plan.run(stream_, m, std::span(&mine, 1), local, {}));
          check(device.synchronize(stream_));
          check(communicator_->health());
          const auto found = spread.read();
          const auto bytes = static_cast<std::size_t>(own.size() * kColumns) * 4;
          const auto* from = expected.data() + own.begin * kColumns * 4;
          for (std::size_t i = 0; i < bytes; i += 4) {
            different += std::memcmp(found.data() + i, from + i, 4) != 0 ? 1 : 0;
          }
          compared += static_cast<double>(bytes / 4);
        }
      }
    }
    different = ranks_.largest(different);
    if (ranks_.rank() == 0) {
      std::printf("%.0f sums of gradients compared on each rank, %.0f differ\n", compared,
                  different);
    }
    return different;
  }

  void times(std::int64_t mib) {
    Device& device = backend_.device();
    const std::int64_t m = (mib << 20) / 4 / kColumns;
    const auto bytes = static_cast<std::size_t>(mib) << 20;
    const auto numbers = pattern(ranks_.rank());
    void* const own = required(device.allocate(bytes));
    void* const rival = required(device.allocate(bytes));
    void* const d = required(device.allocate(bytes));
    for (std::size_t at = 0; at < bytes; at += kPattern) {
      for (void* const to : {own, rival}) {
        check(device.to_device(static_cast<std::byte*>(to) + at, numbers.data(), kPattern));
      }
    }
    const int times = mib > 1024 ? 1 : 4;
    std::string line = std::to_string(mib) + " MiB:";
    const auto time = [&](const std::string& name, const std::function<Status(Stream)>& call) {
      line += " " + name + " " +
              std::to_string(time_calls(ranks_, device, stream_, times, call, mib > 256 ? 2 : 10));
    };
    const ConstMatrix mine = root(own, m);
    if (void* const there = sum(Placement::rows, Algorithm::two_shot).place(m, 0)) {
      times_in_place(time, there, mine, d);
    }
    for (const Placement output : {Placement::rows, Placement::replicated}) {
      const bool in_rows = output == Placement::rows;
      Operands local;
      local.a = row_major(static_cast<const void*>(nullptr), m, 0, DType::bf16);
      local.b = row_major(static_cast<const void*>(nullptr), 0, kColumns, DType::bf16);
      local.d = row_major(d, rows(output, m).size(), kColumns, DType::fp32);
      for (const Algorithm way : {Algorithm::two_shot, Algorithm::push}) {
        const auto plan = sum(output, way);
        time(std::string(name(way)) + (in_rows ? "+rows" : ""),
             [&](Stream on) { return plan.run(on, m, std::span(&mine, 1), local, {}); });
      }
      const auto count = bytes / 4;
      time(in_rows ? "ncclReduceScatter" : "ncclAllReduce", [&](Stream on) {
        return in_rows ? nccl_.reduce_scatter(rival, count, bench::kNcclFloat32, comm_,
                                              ranks_.rank(), ranks_.size(), on)
                       : nccl_.all_reduce(rival, count, bench::kNcclFloat32, comm_, on);
      });
    }
    if (ranks_.rank() == 0) std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    check(communicator_->health());
    for (void* const p : {own, rival, d}) device.release(p);
  }

  /// A gradient that is in the window: the first bits of a copy's sum, then times.
  template <class Time>
  void times_in_place(const Time& time, void* there, const ConstMatrix& copy, void* d) {
    Device& device = backend_.device();
    const std::int64_t m = copy.rows;
    const auto plan = sum(Placement::rows, Algorithm::two_shot);
    Operands local;
    local.a = row_major(static_cast<const void*>(nullptr), m, 0, DType::bf16);
    local.b = row_major(static_cast<const void*>(nullptr), 0, kColumns, DType::bf16);
    local.d = row_major(d, rows(Placement::rows, m).size(), kColumns, DType::fp32);
    const auto run = [&](const ConstMatrix& mine, Stream on) {
      return plan.run(on, m, std::span(&mine, 1), local, {});
    };
    const auto summed = [&](const ConstMatrix& mine) {
      ranks_.meet();
      check(run(mine, stream_));
      check(device.synchronize(stream_));
      std::vector<std::byte> found(kPattern / 2);
      check(device.to_host(found.data(), d, found.size()));
      return found;
    };
    const auto expected = summed(copy);
    const ConstMatrix placed = root(there, m);
    const auto numbers = pattern(ranks_.rank());
    for (std::size_t at = 0; at < static_cast<std::size_t>(m * kColumns) * 4; at += kPattern) {
      check(device.to_device(static_cast<std::byte*>(there) + at, numbers.data(), kPattern));
    }
    const double different = summed(placed) == expected ? 0 : 1;
    if (ranks_.largest(different) > 0) throw std::runtime_error("a sum in the window differs");
    time("two_shot+rows, in the window", [&](Stream on) { return run(placed, on); });
  }

  bench::Ranks& ranks_;
  const Backend& backend_;
  const bench::Nccl& nccl_;
  void* comm_;
  const OwnStream stream_;
  std::optional<Communicator> communicator_;
  GemmSpec spec_;
};

}  // namespace detgemm::cluster
