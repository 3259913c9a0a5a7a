// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/arithmetic/floating_point_mode.hpp"
#include "detgemm/plan.hpp"
#include "dropin/device_access.hpp"
#include "dropin/plans.hpp"
#include "dropin/product.hpp"
#include "dropin/scratch.hpp"
#include "dropin/state.hpp"

namespace detgemm::dropin {
namespace {

Outcome passed(std::string why) { return {Fate::passed, std::move(why)}; }

const char* letters(Direction direction) {
  static constexpr std::array<const char*, kDirections> kLetters{"NN", "NT", "TN", "TT"};
  return kLetters[static_cast<std::size_t>(direction)];
}

template <class T>
T* moved(T* data, std::int64_t elements, DType type) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  if (data == nullptr) return nullptr;
  return static_cast<Byte*>(data) + elements * static_cast<std::int64_t>(size_of(type));
}

/// The addresses of a batch on the host.
struct Addresses {
  std::vector<const void*> a, b;
  std::vector<void*> d;

  Status read(const Product& product, const DeviceAccess& access) {
    const auto count = static_cast<std::size_t>(product.batch);
    a.resize(count);
    b.resize(count);
    d.resize(count);
    const std::size_t bytes = count * sizeof(void*);
    if (Status s = access.read(a.data(), product.addresses_a, bytes, product.stream); !s) return s;
    if (Status s = access.read(b.data(), product.addresses_b, bytes, product.stream); !s) return s;
    return access.read(d.data(), product.addresses_d, bytes, product.stream);
  }
};

/// The arrays of one entry of a batch.
Operands entry(const Product& p, const Addresses& addresses, std::int64_t i) {
  Operands o{p.a, p.b, p.d, p.c, p.bias};
  if (p.addresses_d != nullptr) {
    const auto at = static_cast<std::size_t>(i);
    o.a.data = addresses.a[at];
    o.b.data = addresses.b[at];
    o.d.data = addresses.d[at];
    o.c.data = addresses.d[at];
    return o;
  }
  o.a.data = moved(o.a.data, i * p.stride_a, o.a.dtype);
  o.b.data = moved(o.b.data, i * p.stride_b, o.b.dtype);
  o.d.data = moved(o.d.data, i * p.stride_d, o.d.dtype);
  o.c.data = moved(o.c.data, i * p.stride_c, o.c.dtype);
  o.bias.data = moved(o.bias.data, i * p.stride_bias, o.bias.dtype);
  return o;
}

/// The entries of a batch at distances reach every remainder of an address modulo 128 within as
/// many entries, since addresses are even.
constexpr std::int64_t kEveryAlignment = 64;

/// Where D begins after X, in bytes.
std::intptr_t distance(const Matrix& d, const void* x) {
  return reinterpret_cast<std::intptr_t>(d.data) - reinterpret_cast<std::intptr_t>(x);
}

/// Whether D lies apart from X in all entries if it does in the first and the last. Their distance
/// is a linear function of the entry, so where its sign is the same at both ends, D lies on that
/// side of X all the way. A D that is its own C is so in every entry, or moves away from it.
bool same_side(const Operands& first, const Operands& last) {
  const auto kept = [](std::intptr_t x, std::intptr_t y) { return (x < 0) == (y < 0); };
  const auto of = [](const Operands& o, const void* x) { return distance(o.d, x); };
  const std::intptr_t c = of(first, first.c.data);
  const std::intptr_t last_c = of(last, last.c.data);
  return kept(of(first, first.a.data), of(last, last.a.data)) &&
         kept(of(first, first.b.data), of(last, last.b.data)) &&
         kept(of(first, first.bias.data), of(last, last.bias.data)) &&
         (c == last_c || (c != 0 && last_c != 0 && kept(c, last_c)));
}

/// What can be refused is refused before the first entry is written. `wanted` becomes the bytes
/// with which every entry is fastest, as far as they were looked at.
///
/// The entries of a batch at distances differ in their addresses alone, by whole elements. So what
/// the rules say of the first and the last holds for all, but for D over A, B or the bias where D
/// changes its side; then all are looked at, as they are where addresses are listed.
Status check_entries(const Plan& plan, const Product& p, const Addresses& addresses,
                     std::size_t& wanted) {
  const auto look = [&](std::int64_t i) -> Status {
    const auto bytes = plan.fast_workspace_bytes(entry(p, addresses, i));  // checks them, too
    if (!bytes) return bytes.status();
    wanted = std::max(wanted, *bytes);
    return {};
  };
  const bool alike = p.addresses_d == nullptr && p.batch > kEveryAlignment + 1 &&
                     same_side(entry(p, addresses, 0), entry(p, addresses, p.batch - 1));
  const std::int64_t leading = alike ? kEveryAlignment : p.batch - 1;
  for (std::int64_t i = 0; i < leading; ++i) {
    if (Status s = look(i); !s) return s;
  }
  return look(p.batch - 1);
}

/// What a product needs besides itself.
struct Prepared {
  const PlanEntry* entry = nullptr;
  Stream stream{};
};

Outcome prepare(const Product& p, Prepared& out, Contract& contract) {
  const auto chosen = policy().contract(p.kind, p.direction, p.output);
  if (!chosen) {
    return passed("the configuration leaves " + std::string(name(p.kind)) + "." +
                  letters(p.direction) + " to the vendor");
  }
  contract = *chosen;
  const auto with = backend();
  if (!with) return passed(with.status().message());
  out.stream = {(*with)->device().kind(), p.stream.handle};
  PlanKey key;
  key.spec.n = p.d.cols;
  key.spec.k = p.a.cols;
  key.spec.contract = contract;
  key.spec.alpha = p.alpha;
  key.spec.beta = p.beta;
  if (p.bias.data != nullptr) key.spec.bias = p.bias.dtype;
  key.spec.activation = p.activation;
  key.device = device_access(out.stream.kind).current_device();
  out.entry = plan_of(**with, key);
  if (!out.entry->plan) return passed(out.entry->refusal.message());
  return {};
}

void count_taken(const char* function, const Product& p, const PlanEntry& plan,
                 std::string_view kernel) {
  count({function,
         letters(p.direction),
         p.d.rows,
         p.d.cols,
         p.a.cols,
         p.batch,
         plan.contract,
         kernel,
         {},
         Fate::taken});
}

/// Empty, or why a contract has no product with such a number.
std::string not_finite(const char* what, float value) {
  if (std::isfinite(value)) return {};
  return std::string(what) + " is " +
         (std::isnan(value) ? "NaN"
          : value > 0       ? "Inf"
                            : "-Inf") +
         ": contracts take finite numbers";
}

/// As a BLAS means alpha = 0: A and B are not read, whatever they hold. It is the contract's
/// product with K = 0, D = act(beta * C + bias).
Product without_factors(Product p) {
  p.a.cols = p.b.rows = 0;
  return p;
}

Outcome run(const char* function, const Product& call) {
  const Product& p = call.alpha == 0.0F ? without_factors(call) : call;
  // As the vendor does: there is nothing to write, so nothing else is looked at.
  if (p.d.rows == 0 || p.d.cols == 0 || p.batch == 0) {
    count({function,
           letters(p.direction),
           p.d.rows,
           p.d.cols,
           p.a.cols,
           p.batch,
           {},
           "nothing to compute",
           {},
           Fate::taken});
    return {};
  }
  if (auto why = not_finite("alpha", p.alpha); !why.empty()) return passed(std::move(why));
  if (auto why = not_finite("beta", p.beta); !why.empty()) return passed(std::move(why));
  Prepared ready;
  Contract contract;
  if (Outcome o = prepare(p, ready, contract); o.fate != Fate::taken) return o;
  const Plan& plan = *ready.entry->plan;
  const DeviceAccess& access = device_access(ready.stream.kind);
  Addresses addresses;
  if (p.addresses_d != nullptr) {
    const bool host = ready.stream.kind == DeviceKind::host;
    if (!host && !policy().wait_for_reads) {
      return passed("the addresses of the batch are on the device (device_reads = pass)");
    }
    Product at = p;
    at.stream = ready.stream;
    if (Status s = addresses.read(at, access); !s) return passed(s.message());
  }
  std::size_t wanted = 0;
  if (Status s = check_entries(plan, p, addresses, wanted); !s) return passed(s.message());
  const auto needed = plan.workspace_bytes(p.d.rows);
  if (!needed) return passed(needed.status().message());
  Scratch scratch(access, ready.stream);
  Workspace workspace;
  if (Status s = scratch.find(p.workspace, *needed, wanted, workspace); !s) {
    return passed("there is no workspace: " + s.message());
  }
  RunInfo info;
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const Status s = plan.run(ready.stream, entry(p, addresses, i), workspace, &info);
    if (s) continue;
    if (i == 0 && s.code() != Errc::internal) return passed(s.message());
    return {Fate::failed, s.message()};
  }
  count_taken(function, call, *ready.entry, info.kernel);
  return {};
}

}  // namespace

Outcome compute(const char* function, const Product& product) noexcept try {
  // The program's mode may take a subnormal alpha for 0, and a comparison leaves flags behind.
  const arithmetic::FloatingPointMode ieee;
  return run(function, product);
} catch (const std::exception& error) {
  return {Fate::failed, error.what()};
}

std::optional<std::size_t> workspace_of(const Product& product) noexcept try {
  const arithmetic::FloatingPointMode ieee;
  Prepared ready;
  Contract contract;
  if (prepare(product, ready, contract).fate != Fate::taken) return {};
  const auto bytes = ready.entry->plan->fast_workspace_bytes(product.d.rows);
  if (!bytes) return {};
  return *bytes;
} catch (const std::exception&) {
  return {};
}

}  // namespace detgemm::dropin
