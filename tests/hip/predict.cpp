// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The table of docs/hip.md: how fast an MI300X would be by the model of hip/cost.cpp, with the
// kernel that the chooser returns, on random problems of published models' layers. Nothing in it
// was measured: not run on AMD hardware.
//
//   detgemm_hip_predict               prints the table
//   detgemm_hip_predict --check FILE  exit status 1 unless FILE contains exactly this table

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "hip/choose.hpp"

namespace detgemm::hip {
namespace {

const LaunchOptions kMi300x{Chip::gfx942, 304, 8};
constexpr std::size_t kPlenty = std::size_t{1} << 40;  // bytes of workspace: fast_workspace_bytes

// What a vendor's library is taken to reach. Published GEMMs settle at 54 % of the matrix cores'
// peak on this chip, because power lowers the clock. Here they are taken to issue matrix
// instructions in 95 % of those slower clocks, and ours to run at the same clock: then the share of
// such a library is the same at any clock. Published skinny kernels reach 88 % of memory's rate.
constexpr double kVendorIssue = 0.95;
constexpr double kVendorMemory = 0.88;

/// N and K of the layers of Llama 3 8B and 70B and of Qwen 2.5 7B.
struct Layer {
  std::int64_t n, k;
};
constexpr Layer kLayers[] = {{6144, 4096},  {4096, 4096}, {28672, 4096}, {4096, 14336},
                             {10240, 8192}, {8192, 8192}, {57344, 8192}, {8192, 28672},
                             {4608, 3584},  {3584, 3584}, {37888, 3584}, {3584, 18944}};

struct Tokens {
  std::int64_t first, last;
};
constexpr Tokens kTokens[] = {{1, 16}, {17, 64}, {65, 256}, {257, 1024}, {1025, 8192}};
constexpr int kProblems = 200;  // per row of the table

GemmArguments problem(std::int64_t m, const Layer& layer, ReductionKind kind) {
  GemmArguments g;
  g.a = g.b = reinterpret_cast<const void*>(4096);
  g.m = m;
  g.n = layer.n;
  g.k = layer.k;
  g.as = {m > 1 ? g.k : 0, 1};
  g.bs = {1, g.k};
  g.ds = {g.n, 1};
  g.output = DType::bf16;
  if (kind == ReductionKind::fold) g.reduction = {kind, 1024};
  if (kind == ReductionKind::tree) g.reduction = {kind, g.k / 8};
  return g;
}

/// Geometric mean and minimum.
struct Shares {
  double logarithms = 0;
  double worst = INFINITY;
  int count = 0;

  void add(double share) {
    logarithms += std::log(share);
    worst = std::min(worst, share);
    ++count;
  }
  std::string text() const {
    char line[32];
    std::snprintf(line, sizeof(line), "%.0f / %.0f %%", 100 * std::exp(logarithms / count),
                  100 * worst);
    return line;
  }
};

/// The most frequent names with their shares, "stream64 71 %, 128x128 29 %".
std::string frequent(const std::map<std::string, int>& counts, int all, std::size_t at_most) {
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [name, count] : counts) order.emplace_back(-count, name);
  std::sort(order.begin(), order.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(at_most, order.size()); ++i) {
    text += (i > 0 ? ", " : "") + order[i].second + " " +
            std::to_string(std::lround(-100.0 * order[i].first / all)) + " %";
  }
  return text;
}

std::string row(const Tokens& tokens, ReductionKind kind, const char* contract) {
  std::mt19937_64 random(1);  // the same problems for every contract
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const Machine at = machine_of(kMi300x);
  const double peak = at.units * 4 * at.macs * at.clock;
  Shares of_roof, of_vendor;
  std::map<std::string, int> kernels, limits;
  for (int i = 0; i < kProblems; ++i) {
    const Layer& layer = kLayers[random() % std::size(kLayers)];
    const double ratio = static_cast<double>(tokens.last) / static_cast<double>(tokens.first);
    const auto m = static_cast<std::int64_t>(
        std::lround(static_cast<double>(tokens.first) * std::pow(ratio, uniform())));
    const GemmArguments g = problem(m, layer, kind);
    const auto d = decide(g, Arithmetic::cdna3, DType::bf16, kMi300x, kPlenty);
    if (!d) {
      std::printf("%s\n", d.status().message().c_str());
      std::exit(2);
    }
    const Cost cost = cost_of({d->key.variant, {d->key.a, d->key.b}, d->parts}, g, kMi300x);
    const auto [dm, dn, dk] =
        std::tuple{static_cast<double>(g.m), static_cast<double>(g.n), static_cast<double>(g.k)};
    const double matrix = dm * dn * dk / peak;
    const double memory = 2 * (dm * dk + dk * dn + dm * dn) / at.memory_bytes;
    of_roof.add(std::max(matrix, memory) / cost.total);
    const double vendor = cost.launch + std::max(matrix / kVendorIssue, memory / kVendorMemory);
    of_vendor.add(std::min(1.0, vendor / cost.total));
    ++kernels[std::string(name(d->key.variant)) + (d->parts > 1 ? "-parts" : "")];
    ++limits[std::string(cost.limit())];
  }
  return "| " + std::to_string(tokens.first) + " .. " + std::to_string(tokens.last) + " | " +
         contract + " | " + of_roof.text() + " | " + of_vendor.text() + " | " +
         frequent(kernels, kProblems, 2) + " | " + frequent(limits, kProblems, 1) + " |\n";
}

std::string table() {
  std::string text =
      "| tokens M | contract | of the roof | of a library | kernels | mostly limited by |\n"
      "|---|---|---|---|---|---|\n";
  for (const Tokens& tokens : kTokens) {
    text += row(tokens, ReductionKind::chain, "chain");
    text += row(tokens, ReductionKind::fold, "fold:1024");
    text += row(tokens, ReductionKind::tree, "tree, 8 leaves");
  }
  return text;
}

int run(int argc, char** argv) {
  const std::string made = table();
  if (argc == 3 && std::string(argv[1]) == "--check") {
    std::ifstream file(argv[2]);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("\n" + made) != std::string::npos) return 0;
    std::printf("%s does not contain this table:\n\n%s", argv[2], made.c_str());
    return 1;
  }
  std::fputs(made.c_str(), stdout);
  return argc == 1 ? 0 : 2;
}

}  // namespace
}  // namespace detgemm::hip

int main(int argc, char** argv) { return detgemm::hip::run(argc, argv); }
