// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// detgemm_cuda_chain_speed [--near F] M,N,K ...: kernels of chains in bf16 on the GPU that is here,
// each with both operands on either side (a forced variant runs with the side that the model
// prefers) and with several rasters, for problems that are given or built in. Printed are the
// chosen kernel and the fastest ones, in microseconds, and at the end what the choice, its raster
// and its side cost. Timed are kernels that the model expects within a factor F (1.25) of the
// least, and the chosen one with every raster.
//
// A time is the median of five replays of a graph of 20 calls, whose weights rotate through more
// than twice L2. About two seconds per problem.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/families.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::cuda::sm90 {
namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Random bf16 numbers around 1, of either sign.
class Array {
 public:
  explicit Array(std::size_t count) {
    constexpr std::size_t kDrawn = std::size_t{1} << 22;
    std::vector<std::uint16_t> some(std::min(count, kDrawn));
    test::Random random(count);
    for (auto& x : some) {
      x = static_cast<std::uint16_t>((random.below(1 << 16) & 0x807f) | (120 + random.below(8))
                                                                            << 7);
    }
    check(cudaMalloc(&data_, count * 2), "allocation");
    for (std::size_t at = 0; at < count; at += some.size()) {
      const std::size_t part = std::min(some.size(), count - at);
      check(cudaMemcpy(static_cast<std::uint16_t*>(data_) + at, some.data(), part * 2,
                       cudaMemcpyHostToDevice),
            "copy");
    }
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }
  void* at(std::size_t element) const { return static_cast<std::uint16_t*>(data_) + element; }

 private:
  void* data_ = nullptr;
};

struct Size {
  std::int64_t m, n, k;
};

struct Timed {
  Decision d;
  double us = 0;
  std::string text() const {
    return name(d) + " stripes of " + std::to_string(d.raster.group) + " of " +
           std::to_string(d.raster.tiles_x) + " x " + std::to_string(d.raster.tiles_y);
  }
};

class Product {
 public:
  Product(const Size& size, int sms)
      : pool_(static_cast<std::size_t>(
            std::max<std::int64_t>(2, (std::int64_t{140} << 20) / (2 * size.n * size.k) + 1))),
        a_(static_cast<std::size_t>(size.m * size.k)),
        b_(pool_ * static_cast<std::size_t>(size.n * size.k)),
        d_(static_cast<std::size_t>(size.m * size.n)) {
    g_.m = size.m;
    g_.n = size.n;
    g_.k = size.k;
    g_.a = a_.at(0);
    g_.b = b_.at(0);
    g_.d = d_.at(0);
    g_.as = {size.k, 1};
    g_.bs = {1, size.k};
    g_.ds = {size.n, 1};
    g_.output = DType::bf16;
    options_.sms = sms;
    options_.b_is_stable = true;
    check(cudaStreamCreateWithFlags(&options_.stream, cudaStreamNonBlocking), "stream");
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() { cudaStreamDestroy(options_.stream); }

  Question question() const { return question_of({g_, Arithmetic::hopper, DType::bf16}, options_); }
  Decision chosen() const { return choose(question()).decision; }

  /// A kernel with the operands on given sides, or family `none` where it does not take them.
  Decision forced(int kernel, bool swapped) const {
    const Geometry& t = kPlainGeometries[static_cast<std::size_t>(kernel)];
    const std::int64_t x = swapped ? g_.n : g_.m, y = swapped ? g_.m : g_.n;
    if (t.load < t.x() && x > t.load) return {};
    Decision d = chosen();
    d.kernel = kernel;
    d.swapped = swapped;
    d.cluster = t.cluster;
    const int at_once = std::max(1, options_.sms * t.ctas / t.cluster);
    d.raster = raster_of(t, x, y, at_once);
    d.grid = t.cluster * std::min(d.raster.tiles(), at_once);
    return d;
  }
  double expected(const Decision& d) const {
    const Geometry& t = geometry_of(d);
    return predicted_time(t, d.swapped ? g_.n : g_.m, d.swapped ? g_.m : g_.n, g_.k, options_.sms,
                          d.swapped);
  }

  double time(const Decision& d) const {
    constexpr int kCalls = 20, kReplays = 5;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    enqueue_once(d, 0);
    check(cudaStreamSynchronize(options_.stream), "first call");
    check(cudaStreamBeginCapture(options_.stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < kCalls; ++i) enqueue_once(d, static_cast<std::size_t>(i) % pool_);
    check(cudaStreamEndCapture(options_.stream, &graph), "capture");
    check(cudaGraphInstantiate(&exec, graph, 0), "graph");
    cudaEvent_t begin = nullptr, end = nullptr;
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&end), "event");
    std::vector<float> all;
    for (int i = 0; i <= kReplays; ++i) {
      check(cudaEventRecord(begin, options_.stream), "event");
      check(cudaGraphLaunch(exec, options_.stream), "replay");
      check(cudaEventRecord(end, options_.stream), "event");
      check(cudaEventSynchronize(end), "replay");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end), "event");
      if (i > 0) all.push_back(ms);  // the first one warms up
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    std::sort(all.begin(), all.end());
    return 1000.0 * all[all.size() / 2] / kCalls;
  }

 private:
  void enqueue_once(Decision d, std::size_t copy) const {
    GemmArguments g = g_;
    g.b = b_.at(copy * static_cast<std::size_t>(g_.n * g_.k));
    check(enqueue(d, {g, Arithmetic::hopper, DType::bf16}, options_, nullptr), "launch");
  }

  std::size_t pool_;
  Array a_, b_, d_;
  GemmArguments g_;
  LaunchOptions options_;
};

/// Stripes worth a try: the model's, single tiles, all tiles, and for one wave every width.
std::vector<int> stripes(const Decision& d, bool all) {
  std::vector<int> list{d.raster.group, 1, d.raster.tiles_x};
  if (all) {
    for (int i = 2; i <= std::min(d.raster.tiles_x, 16); ++i) list.push_back(i);
  }
  std::sort(list.begin() + 1, list.end());
  list.erase(std::unique(list.begin() + 1, list.end()), list.end());
  list.erase(std::remove(list.begin() + 1, list.end(), list[0]), list.end());
  return list;
}

struct Ratios {
  double choice = 0, raster = 0, side = 0;
};

Ratios measure(const Size& size, int sms, double near) {
  const Product problem(size, sms);
  const Decision chosen = problem.chosen();
  const double least = problem.expected(chosen);
  std::vector<Timed> all;
  for (int kernel = 0; kernel < static_cast<int>(kPlainGeometries.size()); ++kernel) {
    for (const bool swapped : {false, true}) {
      Decision d = problem.forced(kernel, swapped);
      if (d.family == Family::none || problem.expected(d) > near * least) continue;
      const bool same = kernel == chosen.kernel && swapped == chosen.swapped;
      for (const int group : stripes(d, same)) {
        d.raster.group = group;
        all.push_back({d, problem.time(d)});
      }
    }
  }
  const auto ours = [&](const Timed& t) {
    return t.d.kernel == chosen.kernel && t.d.swapped == chosen.swapped;
  };
  const auto best_of = [&](const auto& among) {
    const Timed* best = nullptr;
    for (const Timed& t : all) {
      if (among(t) && (best == nullptr || t.us < best->us)) best = &t;
    }
    return best;
  };
  const Timed* now =
      best_of([&](const Timed& t) { return ours(t) && t.d.raster.group == chosen.raster.group; });
  const Timed* other_raster = best_of(ours);
  const Timed* model_raster = best_of([&](const Timed& t) {
    return t.d.raster.group == problem.forced(t.d.kernel, t.d.swapped).raster.group;
  });
  const Timed* other_side = best_of([&](const Timed& t) { return t.d.kernel == chosen.kernel; });
  std::printf("%lld x %lld x %lld: chosen %s %.2f us (expected %.2f)\n",
              static_cast<long long>(size.m), static_cast<long long>(size.n),
              static_cast<long long>(size.k), now->text().c_str(), now->us, least);
  const Ratios ratios{now->us / model_raster->us, now->us / other_raster->us,
                      now->us / other_side->us};
  std::sort(all.begin(), all.end(), [](const Timed& a, const Timed& b) { return a.us < b.us; });
  for (std::size_t i = 0; i < std::min<std::size_t>(6, all.size()); ++i) {
    std::printf("    %8.2f  %s\n", all[i].us, all[i].text().c_str());
  }
  return ratios;
}

int run(const std::vector<Size>& sizes, double near) {
  int sms = 0, major = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "device");
  if (major != 9) {
    std::printf("skipped: the device has no compute capability 9.0\n");
    return 77;
  }
  check(prepare_kernels(
            detgemm::Problem(GemmArguments{}, Arithmetic::hopper, DType::bf16).contract()),
        "kernels");
  double choice = 0, raster = 0, side = 0;
  for (const Size& size : sizes) {
    const Ratios r = measure(size, sms, near);
    choice += std::log(r.choice);
    raster += std::log(r.raster);
    side += std::log(r.side);
  }
  const auto mean = [&](double sum) { return std::exp(sum / static_cast<double>(sizes.size())); };
  std::printf(
      "geometric means over %zu problems: chosen over best with the model's rasters %.4f, "
      "over its own best raster %.4f, over its best side %.4f\n",
      sizes.size(), mean(choice), mean(raster), mean(side));
  return 0;
}

}  // namespace
}  // namespace detgemm::cuda::sm90

int main(int argc, char** argv) {
  using detgemm::cuda::sm90::Size;
  double near = 1.25;
  std::vector<Size> sizes;
  for (int i = 1; i < argc; ++i) {
    long long m = 0, n = 0, k = 0;
    if (std::string(argv[i]) == "--near" && i + 1 < argc) {
      near = std::atof(argv[++i]);
    } else if (std::sscanf(argv[i], "%lld,%lld,%lld", &m, &n, &k) == 3 && m > 0 && n > 0 && k > 0 &&
               n % 8 == 0 && k % 8 == 0) {
      sizes.push_back({m, n, k});
    } else {
      std::fprintf(stderr, "argument \"%s\" must be M,N,K (N and K multiples of 8) or --near F\n",
                   argv[i]);
      return 2;
    }
  }
  if (sizes.empty()) {
    sizes = {{259, 2048, 8192},   {276, 2048, 8192},  {302, 2560, 9728}, {267, 1536, 7168},
             {293, 1536, 7168},   {515, 1024, 4096},  {395, 2560, 9728}, {155, 8192, 8192},
             {199, 57344, 12288}, {399, 28672, 4096}, {161, 8192, 8192}, {117, 8192, 8192},
             {192, 4096, 4096},   {6, 4608, 36864},   {3, 2560, 9728},   {10, 5120, 25600}};
  }
  return detgemm::cuda::sm90::run(sizes, near);
}
