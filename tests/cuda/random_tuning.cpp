// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/random_tuning.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/cuda/element.hpp"

namespace detgemm::test {
namespace {

std::shared_ptr<const Tuning> must(Result<std::shared_ptr<const Tuning>> made) {
  if (made) return *made;
  std::printf("a random tuning is refused: %s\n", made.status().message().c_str());
  std::exit(1);
}

}  // namespace

RandomTuning random_tuning(const Backend& backend, const GemmSpec& spec, std::int64_t m,
                           std::uint64_t key) {
  std::uint64_t state = key;
  const auto below = [&](std::uint64_t bound) { return (state = mix(state + 1)) % bound; };
  const TuningEngine& engine = *backend.tuning();
  GemmSpec bare;  // as a file has it
  bare.contract = spec.contract;
  bare.n = spec.n + (below(8) == 0 ? 1 : 0);  // at times of another product
  bare.k = spec.k;
  bare.op_a = spec.op_a;
  bare.op_b = spec.op_b;
  std::vector<std::string> names;
  for (std::string& name : backend.variants(bare)) {
    if (engine.number(bare, name) >= 0) names.push_back(std::move(name));
  }
  TunedProduct product{bare.contract, bare.n, bare.k, bare.op_a, bare.op_b, {}};
  for (std::int64_t next = 1; !names.empty() && next < 2 * m + 2;) {
    const auto first = next + static_cast<std::int64_t>(below(4) == 0 ? below(32) : 0);
    const auto last = first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(m) + 2));
    product.ranges.push_back({first, last, names[below(names.size())], 1, 1});
    next = last + 1;
  }
  std::vector<TunedProduct> products;
  if (bare.n >= 1 && bare.k >= 1) products.push_back(product);
  RandomTuning made;
  const auto written = must(Tuning::make(backend, std::move(products)));
  made.file = must(Tuning::parse(backend, written->text()));
  const TunedProduct* rows = made.file->find(spec);
  const TunedRange* row = rows == nullptr ? nullptr : rows->find(m);
  if (row != nullptr) made.kernel = row->kernel;
  return made;
}

}  // namespace detgemm::test
