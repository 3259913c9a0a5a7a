// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/plans.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "dropin/state.hpp"

namespace detgemm::dropin {
namespace {

/// More plans than any program keeps in use; where there are more, all are forgotten.
constexpr std::size_t kMaxPlans = 4096;

/// A key as plain numbers, so that comparing and hashing need no care for -0 and NaN of alpha.
struct Flat {
  std::int64_t n, k, leaf;
  std::uint32_t alpha, beta;
  std::int32_t arithmetic, input, output, reduction, bias, activation, device;

  bool operator==(const Flat&) const = default;
};

Flat flat(const PlanKey& key) {
  const GemmSpec& s = key.spec;
  return {s.n,
          s.k,
          s.contract.reduction.leaf_k,
          std::bit_cast<std::uint32_t>(s.alpha),
          std::bit_cast<std::uint32_t>(s.beta),
          static_cast<std::int32_t>(s.contract.arithmetic),
          static_cast<std::int32_t>(s.contract.input),
          static_cast<std::int32_t>(s.contract.output),
          static_cast<std::int32_t>(s.contract.reduction.kind),
          s.bias ? static_cast<std::int32_t>(*s.bias) : -1,
          static_cast<std::int32_t>(s.activation),
          key.device};
}

struct Hash {
  std::size_t operator()(const Flat& f) const {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const std::int64_t word :
         {f.n, f.k, f.leaf, static_cast<std::int64_t>(f.alpha) << 32 | f.beta,
          static_cast<std::int64_t>(f.arithmetic) << 32 | f.input << 16 | f.output << 8 |
              f.reduction,
          static_cast<std::int64_t>(f.bias + 1) << 32 | f.activation << 16 | f.device}) {
      hash = (hash ^ static_cast<std::uint64_t>(word)) * 1099511628211ULL;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

struct Table {
  std::mutex mutex;  ///< a plain one: a child may unlock what its parent locked before the fork
  std::unordered_map<Flat, std::shared_ptr<const PlanEntry>, Hash> plans;
  std::atomic<std::uint64_t> age{0};  ///< changes when plans are forgotten
};

Table& table() {
  static Table* const all = new Table;  // never destroyed, as the policy
  return *all;
}

std::shared_ptr<const PlanEntry> make(const Backend& backend, const PlanKey& key) {
  auto entry = std::make_shared<PlanEntry>();
  auto plan = Plan::create(backend, key.spec);
  if (plan) {
    entry->plan = std::move(*plan);
  } else {
    entry->refusal = plan.status();
  }
  entry->contract = key.spec.contract.text();
  return entry;
}

/// What a thread used last, which spares the lock where it multiplies the same matrix again.
struct Recent {
  Flat key{};
  std::uint64_t age = ~std::uint64_t{0};
  std::shared_ptr<const PlanEntry> entry;
};

}  // namespace

const PlanEntry* plan_of(const Backend& backend, const PlanKey& key) {
  thread_local Recent recent;
  const Flat wanted = flat(key);
  Table& all = table();
  const std::uint64_t age = all.age.load(std::memory_order_acquire);
  if (recent.age == age && recent.key == wanted) return recent.entry.get();
  {
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.plans.find(wanted); found != all.plans.end()) {
      recent = {wanted, age, found->second};
      return recent.entry.get();
    }
  }
  auto made = make(backend, key);
  // A device that is not there now may be there later: only what the problem itself decides stays.
  if (made->plan || made->refusal.code() == Errc::unsupported) {
    const std::lock_guard lock(all.mutex);
    if (all.plans.size() >= kMaxPlans) all.plans.clear();
    all.plans.emplace(wanted, made);
  }
  recent = {wanted, made->plan ? age : ~std::uint64_t{0}, std::move(made)};
  return recent.entry.get();
}

void forget_plans() noexcept {
  const std::lock_guard lock(table().mutex);
  table().plans.clear();
  table().age.fetch_add(1, std::memory_order_release);
}

void lock_plans() noexcept { table().mutex.lock(); }
void unlock_plans() noexcept { table().mutex.unlock(); }

}  // namespace detgemm::dropin
