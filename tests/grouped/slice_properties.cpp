// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

#include "core/conformance/guarded_memory.hpp"
#include "tests/grouped/arrays.hpp"
#include "tests/grouped/properties.hpp"
#include "tests/grouped/slices.hpp"

namespace detgemm::grouped_tests {

void slices(const Backend& backend);
void empty_groups(const Backend& backend);
void outside(const Backend& backend);

namespace {

constexpr GroupKind kKinds[] = {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked,
                                GroupKind::k_grouped};

bool computes(const Backend& backend, const Setup& s) {
  GroupedSpec spec;
  spec.gemm.contract = ok(Contract::parse(s.contract));
  spec.gemm.n = s.n;
  spec.gemm.k = s.kind == GroupKind::k_grouped ? 0 : s.k;
  spec.gemm.op_a = s.op_a;
  spec.gemm.op_b = s.op_b;
  spec.gemm.bias = s.bias;
  spec.gemm.beta = s.beta;
  spec.gemm.continue_from_c = s.continues;
  spec.kind = s.kind;
  spec.groups = static_cast<std::int64_t>(s.sizes.size());
  return backend.supports_grouped(spec).ok();
}

std::vector<std::int64_t> sizes_of(test::Random& random, GroupKind kind) {
  static constexpr std::int64_t counts[] = {1, 2, 3, 8, 17};
  static constexpr std::int64_t lengths[] = {0, 1, 2, 15, 16, 33, 63, 64, 65, 127, 129};
  std::vector<std::int64_t> sizes;
  const std::int64_t groups = counts[random.below(5)];
  const std::int64_t all_in = random.below(6) == 0 ? random.below(groups) : -1;
  for (std::int64_t g = 0; g < groups; ++g) {
    const bool none = all_in >= 0 && g != all_in;
    sizes.push_back(kind == GroupKind::batched || none ? 0 : lengths[random.below(11)]);
  }
  return sizes;
}

/// A drawn problem under this contract.
Setup drawn(const Contract& base, GroupKind kind, std::uint64_t seed) {
  test::Random random(seed);
  Setup s;
  s.seed = seed;
  s.kind = kind;
  Contract contract = base;
  const bool has_chain = base.arithmetic != Arithmetic::snap;
  const std::int64_t turn = has_chain ? random.below(3) : 1 + random.below(2);
  if (turn > 0) {
    contract.reduction = {turn == 1 ? ReductionKind::fold : ReductionKind::tree,
                          contract.k_block * (1 + random.below(3))};
  }
  s.continues = turn < 2 && random.below(3) == 0;
  static constexpr DType outputs[] = {DType::bf16, DType::fp16, DType::fp32};
  s.in_place = random.below(3) == 0;
  contract.output = s.continues && s.in_place ? DType::fp32 : outputs[random.below(3)];
  s.contract = contract.text();
  s.sizes = sizes_of(random, kind);
  s.spare = random.below(3) == 0 ? random.below(9) : 0;
  s.m = 1 + random.below(40);
  s.n = 1 + random.below(80);
  s.k = random.below(3 * contract.k_block + 40);
  if (kind == GroupKind::k_grouped) s.k = 0;
  s.op_a = random.below(2) == 0 ? Op::none : Op::transpose;
  s.op_b = random.below(2) == 0 ? Op::none : Op::transpose;
  s.pad = random.below(3) == 0 ? random.below(7) : 0;
  s.shift = random.below(3) == 0 ? random.below(5) : 0;
  s.type = random.below(2) == 0 ? OffsetType::i32 : OffsetType::i64;
  s.shared_b = random.below(4) == 0;
  s.interleaved = random.below(3) == 0;
  if (random.below(3) == 0) s.bias = outputs[random.below(3)];
  if (!s.continues && random.below(3) == 0) s.beta = 0.75F;
  if (random.below(4) == 0) s.activation = static_cast<Activation>(random.below(5));
  s.data = test::kAllData[random.below(6)];
  return s;
}

}  // namespace

void slices(const Backend& backend) {
  // Problems for each arithmetic, input and kind; long sweeps set the variable.
  const char* asked = std::getenv("DETGEMM_GROUPED_TURNS");
  const int turns = asked != nullptr ? std::atoi(asked) : 2;
  std::uint64_t seed = 1;
  std::int64_t problems = 0, outputs = 0;
  std::vector<Contract> bases(base_contracts().begin(), base_contracts().end());
  bases.push_back(ok(Contract::parse("snap/bf16/fold:64->fp32")));  // it has no chain
  for (const Contract& base : bases) {
    for (GroupKind kind : kKinds) {
      for (int turn = 0; turn < turns; ++turn) {
        const Setup s = drawn(base, kind, ++seed);
        if (!computes(backend, s)) continue;
        outputs += compare_with_slices(backend, s);
        ++problems;
      }
    }
  }
  if (asked != nullptr) {
    std::printf("%s: %lld problems, %lld outputs compared with those of their slices\n",
                std::string(backend.name()).c_str(), static_cast<long long>(problems),
                static_cast<long long>(outputs));
  }
  if (problems == 0) throw Failure("no problem was compared");
  // Many groups, of which most are empty; one group of everything; offsets of both types.
  for (OffsetType type : {OffsetType::i32, OffsetType::i64}) {
    for (GroupKind kind : {GroupKind::m_grouped, GroupKind::k_grouped}) {
      Setup s;
      s.contract = "hopper/bf16/fold:32->fp32";
      s.kind = kind;
      s.sizes.assign(1000, 0);
      s.sizes[1] = 5, s.sizes[500] = 70, s.sizes[999] = 1;
      s.m = 3, s.n = 9, s.k = kind == GroupKind::k_grouped ? 0 : 40;
      s.type = type;
      if (computes(backend, s)) compare_with_slices(backend, s);
    }
  }
}

void empty_groups(const Backend& backend) {
  for (GroupKind kind : {GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
    for (bool continues : {false, true}) {
      Setup s;
      s.contract = "hopper/bf16/chain->fp32";
      s.kind = kind;
      s.m = 5, s.n = 7, s.k = kind == GroupKind::k_grouped ? 0 : 20;
      s.spare = 2;
      s.continues = continues;
      for (const auto& sizes : {std::vector<std::int64_t>{0}, {0, 0, 0}, {0, 9, 0}, {4, 0}}) {
        s.sizes = sizes;
        if (computes(backend, s)) compare_with_slices(backend, s);
      }
    }
  }
}

namespace {

/// An array of host memory that ends at a guard page, or begins after one.
class Guarded {
 public:
  Guarded(std::size_t bytes, bool at_end) : memory_(ok(conformance::GuardedMemory::map(bytes))) {
    std::memset(memory_.data(), 0x3c, memory_.bytes());
    const std::size_t start = at_end ? memory_.bytes() - bytes : 0;
    data_ = reinterpret_cast<std::byte*>(memory_.data()) + start;
    bytes_ = bytes;
  }
  std::byte* data() { return data_; }
  bool touched() const { return memory_.touched() != 0; }
  /// Whether bytes of its pages besides the array changed.
  bool spilled() const {
    const auto* first = reinterpret_cast<const std::byte*>(memory_.data());
    for (const std::byte* p = first; p < first + memory_.bytes(); ++p) {
      if ((p < data_ || p >= data_ + bytes_) && *p != std::byte{0x3c}) return true;
    }
    return false;
  }

 private:
  conformance::GuardedMemory memory_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

constexpr std::int64_t kGarbage[][4] = {
    {-1, 5, 9, 12},
    {12, 5, 9, 3},
    {5, 1 << 30, 9, 12},
    {-(1 << 30), -5, -9, -1},
    {40, 41, 42, 43},
    {0, 12, -12, 12},
    {std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(), 7, 7},
    {12, 12, 12, 13},
    {0x3c3c3c3c, 0x7fc00000, -4194304, 0x7f800001},
};

}  // namespace

/// 4 groups of 12 rows or products in all. Host memory lies between guard pages; memory of a device
/// has margins.
void outside(const Backend& backend) {
  constexpr std::int64_t kAll = 12, kN = 5, kK = 20, kGroups = 4;
  const bool host = backend.device().kind() == DeviceKind::host;
  for (GroupKind kind : {GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
    for (const auto& garbage : kGarbage) {
      for (int turn = 0; turn < 4; ++turn) {
        const bool at_end = turn % 2 == 0;
        const bool wide = turn / 2 == 1;
        const bool by_k = kind == GroupKind::k_grouped;
        GroupedSpec spec;
        spec.gemm.contract = ok(Contract::parse("hopper/bf16/fold:16->fp32"));
        spec.gemm.n = kN;
        spec.gemm.k = by_k ? 0 : kK;
        spec.kind = kind;
        spec.groups = kGroups;
        if (!backend.supports_grouped(spec)) continue;
        const std::int64_t m = by_k ? 3 : kAll;
        const std::int64_t k = by_k ? kAll : kK;
        const std::int64_t many_a = kind == GroupKind::m_masked ? kGroups : 1;
        const std::int64_t many_b = by_k ? 1 : kGroups;
        const std::int64_t many_d = kind == GroupKind::m_grouped ? 1 : kGroups;
        const auto bytes = [](std::int64_t count, std::size_t size) {
          return static_cast<std::size_t>(count) * size;
        };
        const std::size_t sizes[] = {bytes(many_a * m * k, 2), bytes(many_b * k * kN, 2),
                                     bytes(many_d * m * kN, 4), bytes(kGroups, wide ? 8 : 4)};
        std::vector<Guarded> guarded;
        std::vector<std::unique_ptr<Array>> margined;
        std::vector<void*> at;
        for (std::size_t size : sizes) {
          if (host) {
            at.push_back(guarded.emplace_back(size, at_end).data());
          } else {
            at.push_back(margined.emplace_back(new Array(backend.device(), size))->at());
          }
        }
        std::byte* offsets = host ? guarded[3].data() : margined[3]->host();
        for (std::size_t g = 0; g < kGroups; ++g) {
          // Wide garbage has bits above 2^32, too.
          const std::int64_t value = garbage[g] * (wide ? (std::int64_t{1} << 29) + 1 : 1);
          const auto narrow = static_cast<std::int32_t>(garbage[g]);
          if (wide) std::memcpy(offsets + 8 * g, &value, 8);
          if (!wide) std::memcpy(offsets + 4 * g, &narrow, 4);
        }
        for (auto& array : margined) array->upload();
        GroupedOperands x;
        x.arrays.a = row_major(static_cast<const void*>(at[0]), m, k, DType::bf16);
        x.arrays.b = row_major(static_cast<const void*>(at[1]), k, kN, DType::bf16);
        x.arrays.d = row_major(at[2], m, kN, DType::fp32);
        x.group.a = many_a > 1 ? m * k : 0;
        x.group.b = many_b > 1 ? k * kN : 0;
        x.group.d = many_d > 1 ? m * kN : 0;
        x.offsets = {at[3], kGroups, wide ? OffsetType::i64 : OffsetType::i32};
        const std::string where = std::string(name(kind)) + " with offset " +
                                  std::to_string(garbage[0]) + ", " + std::to_string(garbage[1]);
        const GroupedPlan plan = ok(GroupedPlan::create(backend, spec));
        const Stream stream{backend.device().kind(), nullptr};
        const Scratch scratch(backend.device(), ok(plan.workspace_bytes(m, by_k ? k : 0)));
        ok(plan.run(stream, x, scratch.get()));
        ok(backend.device().synchronize(stream));
        // The second row is garbage as offsets, but right as counts.
        const bool fine = kind == GroupKind::m_masked && &garbage == &kGarbage[1] && !wide;
        if (plan.check(stream, x).ok() != fine)
          throw Failure(where + (fine ? ": check refuses it" : ": check accepts it"));
        for (const Guarded& g : guarded) {
          if (g.touched() || g.spilled()) throw Failure(where + ": touched outside of an array");
        }
        for (auto& array : margined) {
          const std::vector<std::byte> before = array->image();
          array->download();
          const auto& after = array->image();
          for (std::size_t i = 0; i < after.size(); ++i) {
            const bool inside = i >= Array::kMargin / 2 && i < Array::kMargin / 2 + array->bytes();
            if (!inside && after[i] != before[i]) {
              throw Failure(where + ": touched outside of an array");
            }
          }
        }
      }
    }
  }
}

}  // namespace detgemm::grouped_tests
