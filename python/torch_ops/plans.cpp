// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch_ops/plans.hpp"

#include <bit>
#include <functional>
#include <list>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace detgemm::torch_ops {
namespace {

constexpr std::size_t kMaxPlans = 4096;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

/// Values that are made once per text and never go away.
template <class Value>
class Table {
 public:
  template <class Make>
  const Value& get(std::string_view text, Make make) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto at = values_.find(text); at != values_.end()) return *at->second;
    }
    auto value = std::make_unique<Value>(make(text));
    const std::unique_lock lock(mutex_);
    return *values_.try_emplace(std::string(text), std::move(value)).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Value>, TextHash, std::equal_to<>> values_;
};

struct KeyHash {
  std::size_t operator()(const PlanKey& key) const {
    std::size_t hash = 0;
    const auto mix = [&hash](std::uint64_t value) {
      hash = (std::rotl(hash, 7) ^ value) * std::size_t{0x9e3779b97f4a7c15};
    };
    mix(reinterpret_cast<std::uintptr_t>(key.contract));
    mix(static_cast<std::uint64_t>(key.n));
    mix(static_cast<std::uint64_t>(key.k));
    mix(static_cast<std::uint64_t>(key.place.kind) << 32 |
        static_cast<std::uint32_t>(key.place.index));
    mix(std::uint64_t{std::bit_cast<std::uint32_t>(key.alpha)} << 32 |
        std::bit_cast<std::uint32_t>(key.beta));
    mix(static_cast<std::uint64_t>(key.line_scales) << 34 |
        static_cast<std::uint64_t>(key.a_snapped) << 33 |
        static_cast<std::uint64_t>(key.b_snapped) << 32 |
        static_cast<std::uint64_t>(key.activation) << 16 |
        static_cast<std::uint64_t>(key.bias + 1) << 8 |
        static_cast<std::uint64_t>(key.stable) << 1 |
        static_cast<std::uint64_t>(key.continue_from_c));
    mix(reinterpret_cast<std::uintptr_t>(key.backend));
    mix(reinterpret_cast<std::uintptr_t>(key.variant));
    return hash ^ hash >> 32;
  }
  std::size_t operator()(const GroupedKey& key) const {
    const auto groups = static_cast<std::size_t>(key.groups) << 2 | static_cast<unsigned>(key.kind);
    return (*this)(key.one) ^ groups * std::size_t{0x9e3779b97f4a7c15};
  }
};

std::string last_error() { return detgemm_last_error(); }

/// The named backend, or the first one for this kind of device that computes the problem, which
/// `supports` says.
template <class Supports>
const detgemm_backend_t* backend_of(const PlanKey& key, Supports&& supports) {
  if (!key.backend->empty()) {
    const detgemm_backend_t* backend = nullptr;
    if (detgemm_backend_find(key.backend->c_str(), &backend) != DETGEMM_OK) refuse(last_error());
    detgemm_device_kind_t kind = DETGEMM_HOST;
    detgemm_backend_device_kind(backend, &kind);
    if (kind != key.place.kind) {
      refuse("backend is \"" + *key.backend + "\", which works with memory of kind " +
             detgemm_device_kind_name(kind) + ": a is on " + name_of(key.place));
    }
    return backend;
  }
  std::string refusals;
  for (std::size_t i = 0; i < detgemm_backend_count(); ++i) {
    const detgemm_backend_t* backend = detgemm_backend_at(i);
    detgemm_device_kind_t kind = DETGEMM_HOST;
    detgemm_backend_device_kind(backend, &kind);
    if (kind != key.place.kind) continue;
    if (detgemm_backend_available(backend) == DETGEMM_OK && supports(backend) == DETGEMM_OK) {
      return backend;
    }
    const std::string who = std::string(detgemm_backend_name(backend)) + ": ";
    const std::string why = last_error();
    refusals += "; " + (why.starts_with(who) ? "" : who) + why;
  }
  if (refusals.empty()) refusals = ": this build has no backend for it";
  refuse("no backend on " + name_of(key.place) + " computes " + key.contract->text + refusals);
}

detgemm_gemm_spec_t spec_of(const PlanKey& key) {
  detgemm_gemm_spec_t spec{};
  detgemm_gemm_spec_init(&spec, sizeof spec);
  spec.n = key.n;
  spec.k = key.k;
  spec.contract = &key.contract->contract;
  spec.alpha = key.alpha;
  spec.beta = key.beta;
  spec.activation = key.activation;
  spec.bias = key.bias;
  spec.continue_from_c = key.continue_from_c ? 1 : 0;
  spec.a_snapped = key.a_snapped ? 1 : 0;
  spec.b_snapped = key.b_snapped ? 1 : 0;
  spec.line_scales = key.line_scales ? 1 : 0;
  return spec;
}

detgemm_plan_options_t options_of(const PlanKey& key) {
  detgemm_plan_options_t options{};
  detgemm_plan_options_init(&options, sizeof options);
  options.variant = key.variant->c_str();
  options.stable = key.stable;
  return options;
}

Plan make(const PlanKey& key) {
  const detgemm_gemm_spec_t spec = spec_of(key);
  if (detgemm_gemm_spec_validate(&spec) != DETGEMM_OK) refuse(last_error());
  const detgemm_plan_options_t options = options_of(key);
  const auto* backend =
      backend_of(key, [&](auto* each) { return detgemm_backend_supports(each, &spec); });
  detgemm_plan_t* plan = nullptr;
  if (detgemm_plan_create(backend, &spec, &options, &plan) != DETGEMM_OK) refuse(last_error());
  return {plan, detgemm_plan_destroy};
}

GroupedPlan make(const GroupedKey& key) {
  const detgemm_gemm_spec_t one = spec_of(key.one);
  detgemm_grouped_spec_t spec{};
  detgemm_grouped_spec_init(&spec, sizeof spec);
  spec.kind = key.kind;
  spec.gemm = &one;
  spec.groups = key.groups;
  if (detgemm_grouped_spec_validate(&spec) != DETGEMM_OK) refuse(last_error());
  const detgemm_plan_options_t options = options_of(key.one);
  const auto* backend = backend_of(
      key.one, [&](auto* each) { return detgemm_backend_supports_grouped(each, &spec); });
  detgemm_grouped_plan_t* plan = nullptr;
  if (detgemm_grouped_plan_create(backend, &spec, &options, &plan) != DETGEMM_OK) {
    refuse(last_error());
  }
  return {plan, detgemm_grouped_plan_destroy};
}

template <class Key, class Plan>
class Cache {
 public:
  Plan get(const Key& key) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = index_.find(key); at != index_.end()) {
        ++counts_.hits;
        recent_.splice(recent_.begin(), recent_, at->second);
        return at->second->second;
      }
    }
    Plan plan = make(key);  // unlocked: it may take long, and two threads may both do it
    const std::lock_guard lock(mutex_);
    if (const auto at = index_.find(key); at != index_.end()) return at->second->second;
    ++counts_.made;
    recent_.emplace_front(key, plan);
    index_.emplace(key, recent_.begin());
    if (recent_.size() > kMaxPlans) {
      parked_.push_back(std::move(recent_.back().second));
      index_.erase(recent_.back().first);
      recent_.pop_back();
    }
    return plan;
  }

  PlanCounts counts() {
    const std::lock_guard lock(mutex_);
    PlanCounts counts = counts_;
    counts.cached = static_cast<std::int64_t>(recent_.size());
    counts.parked = static_cast<std::int64_t>(parked_.size());
    return counts;
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    index_.clear();
    recent_.clear();
    parked_.clear();
  }

 private:
  using Recent = std::list<std::pair<Key, Plan>>;
  std::mutex mutex_;
  Recent recent_;  // the latest first
  std::unordered_map<Key, typename Recent::iterator, KeyHash> index_;
  std::vector<Plan> parked_;
  PlanCounts counts_;
};

// Never destroyed: threads of autograd may outlive the destructors of a process.
auto& cache() {
  static auto* const the_cache = new Cache<PlanKey, Plan>;
  return *the_cache;
}
auto& grouped_cache() {
  static auto* const the_cache = new Cache<GroupedKey, GroupedPlan>;
  return *the_cache;
}

}  // namespace

const char* whole(const char* name, const std::string& text) {
  const auto end = text.find('\0');
  if (end != std::string::npos) {
    refuse(std::string(name) + " is \"" + text.substr(0, end) + "\", a NUL and " +
           std::to_string(text.size() - end - 1) + " more bytes: it must have no NUL");
  }
  return text.c_str();
}

const ParsedContract& parsed(std::string_view text) {
  // A model has few contracts, and the latest one is asked for again as a rule.
  thread_local const ParsedContract* latest = nullptr;
  if (latest != nullptr && latest->text == text) return *latest;
  static auto* const table = new Table<ParsedContract>;
  latest = &table->get(text, [](std::string_view of) {
    ParsedContract result{std::string(of), {}};
    detgemm_contract_init(&result.contract, sizeof result.contract);
    if (detgemm_contract_parse(whole("contract", result.text), &result.contract) != DETGEMM_OK) {
      refuse(last_error());
    }
    return result;
  });
  return *latest;
}

const std::string& interned(std::string_view text) {
  static const std::string empty;
  if (text.empty()) return empty;
  static auto* const table = new Table<std::string>;
  return table->get(text, [](std::string_view of) { return std::string(of); });
}

Plan plan_of(const PlanKey& key) { return cache().get(key); }
GroupedPlan plan_of(const GroupedKey& key) { return grouped_cache().get(key); }

PlanCounts plan_counts() {
  const PlanCounts one = cache().counts();
  const PlanCounts many = grouped_cache().counts();
  return {one.hits + many.hits, one.made + many.made, one.cached + many.cached,
          one.parked + many.parked};
}

void clear_plans() {
  cache().clear();
  grouped_cache().clear();
}

}  // namespace detgemm::torch_ops
