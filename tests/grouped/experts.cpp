// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/grouped/experts.hpp"

#include <algorithm>

#include "tests/grouped/arrays.hpp"

namespace detgemm::grouped_tests {
namespace {

/// The tokens of one expert, in the order of arrival.
std::vector<int> of_expert(const std::vector<Assignment>& tokens, int expert) {
  std::vector<int> list;
  for (const auto& [token, to] : tokens) {
    if (to == expert) list.push_back(token);
  }
  return list;
}

void put_offset(Array& array, std::size_t index, std::int64_t value, OffsetType type) {
  const auto narrow = static_cast<std::int32_t>(value);
  const std::size_t size = size_of(type);
  std::memcpy(array.host() + index * size,
              type == OffsetType::i32 ? static_cast<const void*>(&narrow) : &value, size);
}

void run(const Backend& backend, const GroupedSpec& spec, const GroupedOperands& operands,
         std::int64_t k) {
  Device& device = backend.device();
  const Stream stream{device.kind(), nullptr};
  const GroupedPlan plan = ok(GroupedPlan::create(backend, spec));
  const Scratch scratch(device, ok(plan.workspace_bytes(operands.arrays.d.rows, k)));
  ok(plan.check(stream, operands));
  ok(plan.run(stream, operands, scratch.get()));
  ok(device.synchronize(stream));
}

}  // namespace

Experts::Experts(const Backend& backend, const std::string& contract)
    : backend_(backend), contract_(ok(Contract::parse(contract))) {
  const DType in = contract_.input;
  size_ = size_of(in);
  test::Random random(20);
  // Numbers of many sizes: sums of a few numbers near 1 would be exact in any order.
  const auto draw = [&](std::int64_t count) {
    std::vector<std::byte> list(static_cast<std::size_t>(count) * size_);
    fill(random, test::Data::wide, in, list.data(), count);
    return list;
  };
  tokens_ = draw(kTokens * kK);
  weights_ = draw(kExperts * kK * kN);
  gradients_ = draw(kTokens * kN);
  for (int token = 0; token < kTokens; ++token) {
    // Expert 0 is popular, expert 6 has few tokens, and the last one has none.
    const int first = token % 3 == 0 ? 0 : 1 + token % 5;
    const int second = token < 3 ? 6 : 1 + (token / 2) % 5;
    all_.push_back({token, first});
    if (second != first) all_.push_back({token, second});
  }
}

Row Experts::input_of(int token) const {
  const std::byte* at = tokens_.data() + token * kK * item();
  return {at, at + kK * item()};
}

Rows Experts::forward(const Call& call) const {
  Device& device = backend_.device();
  std::vector<Assignment> names;  // of each row; noise has a negative token
  std::vector<std::int64_t> ends;
  for (int expert : call.experts) {
    for (int token : of_expert(call.tokens, expert)) names.push_back({token, expert});
    names.insert(names.end(), static_cast<std::size_t>(call.padding), {-1, expert});
    ends.push_back(static_cast<std::int64_t>(names.size()));
  }
  names.insert(names.end(), static_cast<std::size_t>(call.spare), {-1, -1});
  const auto rows = static_cast<std::int64_t>(names.size());
  const std::size_t line = kK * size_;
  const DType out = contract_.output;
  const auto groups = static_cast<std::int64_t>(call.experts.size());
  Array a(device, names.size() * line);
  Array b(device, static_cast<std::size_t>(groups * kN) * line);
  Array d(device, static_cast<std::size_t>(rows * kN) * size_of(out));
  Array offsets(device, static_cast<std::size_t>(groups) * size_of(call.type));
  test::Random random(static_cast<std::uint64_t>(rows));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].first < 0) {
      fill(random, test::Data::bits, contract_.input, a.host() + i * line, kK);
    } else {
      std::memcpy(a.host() + i * line, input_of(names[i].first).data(), line);
    }
  }
  for (std::size_t g = 0; g < call.experts.size(); ++g) {
    std::memcpy(b.host() + g * kN * line, weights_.data() + call.experts[g] * kN * kK * item(),
                kN * line);
    put_offset(offsets, g, ends[g], call.type);
  }
  a.upload(), b.upload(), d.upload(), offsets.upload();
  GroupedSpec spec;
  spec.gemm.contract = contract_;
  spec.gemm.n = kN;
  spec.gemm.k = kK;
  spec.kind = GroupKind::m_grouped;
  spec.groups = groups;
  GroupedOperands x;
  x.arrays.a = row_major(static_cast<const void*>(a.at()), rows, kK, contract_.input);
  x.arrays.b = row_major(static_cast<const void*>(b.at()), kK, kN, contract_.input);
  x.arrays.d = row_major(d.at(), rows, kN, out);
  x.group.b = kK * kN;
  x.offsets = {offsets.at(), groups, call.type};
  run(backend_, spec, x, 0);
  d.download();
  Rows result;
  const std::size_t wide = kN * size_of(out);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::byte* at = d.host() + i * wide;
    const Row row(at, at + wide);
    if (names[i].first >= 0) result[names[i]] = row;
    if (names[i].second < 0 && row != Row(wide, std::byte{0x3c})) {
      throw Failure("row " + std::to_string(i) + " of no group was written");
    }
  }
  return result;
}

Rows Experts::forward_masked(const Call& call, int room) const {
  Device& device = backend_.device();
  std::int64_t capacity = room;
  for (int expert : call.experts) {
    const auto count = static_cast<std::int64_t>(of_expert(call.tokens, expert).size());
    capacity = std::max(capacity, count + room);
  }
  const auto groups = static_cast<std::int64_t>(call.experts.size());
  const std::size_t line = kK * size_;
  const std::size_t wide = kN * size_of(contract_.output);
  Array a(device, static_cast<std::size_t>(groups * capacity) * line);
  Array b(device, static_cast<std::size_t>(groups * kN) * line);
  Array d(device, static_cast<std::size_t>(groups * capacity) * wide);
  Array counts(device, static_cast<std::size_t>(groups) * size_of(call.type));
  test::Random random(static_cast<std::uint64_t>(capacity));
  fill(random, test::Data::bits, contract_.input, a.host(), groups * capacity * kK);
  for (std::size_t g = 0; g < call.experts.size(); ++g) {
    const auto tokens = of_expert(call.tokens, call.experts[g]);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::memcpy(a.host() + (g * static_cast<std::size_t>(capacity) + i) * line,
                  input_of(tokens[i]).data(), line);
    }
    std::memcpy(b.host() + g * kN * line, weights_.data() + call.experts[g] * kN * kK * item(),
                kN * line);
    put_offset(counts, g, static_cast<std::int64_t>(tokens.size()), call.type);
  }
  a.upload(), b.upload(), d.upload(), counts.upload();
  GroupedSpec spec;
  spec.gemm.contract = contract_;
  spec.gemm.n = kN;
  spec.gemm.k = kK;
  spec.kind = GroupKind::m_masked;
  spec.groups = groups;
  GroupedOperands x;
  x.arrays.a = row_major(static_cast<const void*>(a.at()), capacity, kK, contract_.input);
  x.arrays.b = row_major(static_cast<const void*>(b.at()), kK, kN, contract_.input);
  x.arrays.d = row_major(d.at(), capacity, kN, contract_.output);
  x.group.a = capacity * kK;
  x.group.b = kK * kN;
  x.group.d = capacity * kN;
  x.offsets = {counts.at(), groups, call.type};
  run(backend_, spec, x, 0);
  d.download();
  Rows result;
  for (std::size_t g = 0; g < call.experts.size(); ++g) {
    const auto tokens = of_expert(call.tokens, call.experts[g]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(capacity); ++i) {
      const std::byte* at = d.host() + (g * static_cast<std::size_t>(capacity) + i) * wide;
      const Row row(at, at + wide);
      if (i < tokens.size()) {
        result[{tokens[i], call.experts[g]}] = row;
      } else if (row != Row(wide, std::byte{0x3c})) {
        throw Failure("row " + std::to_string(i) + " beyond the count was written");
      }
    }
  }
  return result;
}

Rows Experts::alone() const {
  Device& device = backend_.device();
  const Stream stream{device.kind(), nullptr};
  const std::size_t line = kK * size_;
  GemmSpec spec;
  spec.contract = contract_;
  spec.n = kN;
  spec.k = kK;
  const Plan plan = ok(Plan::create(backend_, spec));
  const Scratch scratch(device, ok(plan.workspace_bytes(1)));
  Array a(device, line);
  Array b(device, kN * line);
  Array d(device, kN * size_of(contract_.output));
  Rows result;
  for (const auto& [token, expert] : all_) {
    std::memcpy(a.host(), input_of(token).data(), line);
    std::memcpy(b.host(), weights_.data() + expert * kN * kK * item(), kN * line);
    a.upload(), b.upload(), d.upload();
    ok(plan.run(stream, row_major(static_cast<const void*>(a.at()), 1, kK, contract_.input),
                row_major(static_cast<const void*>(b.at()), kK, kN, contract_.input),
                row_major(d.at(), 1, kN, contract_.output), scratch.get()));
    ok(device.synchronize(stream));
    d.download();
    result[{token, expert}] = {d.host(), d.host() + d.bytes()};
  }
  return result;
}

std::vector<Row> Experts::gradient(const std::vector<std::vector<Sample>>& batches, int pad,
                                   int spare_blocks) const {
  Device& device = backend_.device();
  const std::size_t block = kK * kN * sizeof(float);
  Array d(device, kExperts * block);
  std::memset(d.host(), 0, d.bytes());
  d.upload();
  GroupedSpec spec;
  spec.gemm.contract = contract_;
  spec.gemm.n = kN;
  spec.gemm.op_a = Op::transpose;
  spec.gemm.continue_from_c = true;
  spec.kind = GroupKind::k_grouped;
  spec.groups = kExperts;
  for (const auto& batch : batches) {
    std::vector<int> rows;  // tokens, and -1 for a row of zeros
    Array offsets(device, kExperts * sizeof(std::int32_t));
    for (int expert = 0; expert < kExperts; ++expert) {
      for (const Sample& sample : batch) {
        const auto tokens = of_expert(sample, expert);
        rows.insert(rows.end(), tokens.begin(), tokens.end());
        const int last = static_cast<int>(tokens.size()) % pad;
        rows.insert(rows.end(), static_cast<std::size_t>(last > 0 ? pad - last : 0), -1);
      }
      rows.insert(rows.end(),
                  static_cast<std::size_t>(spare_blocks) * static_cast<std::size_t>(pad), -1);
      put_offset(offsets, static_cast<std::size_t>(expert), static_cast<std::int64_t>(rows.size()),
                 OffsetType::i32);
    }
    const auto count = static_cast<std::int64_t>(rows.size());
    Array x(device, rows.size() * kK * size_);
    Array y(device, rows.size() * kN * size_);
    std::memset(x.host(), 0, x.bytes());
    std::memset(y.host(), 0, y.bytes());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < 0) continue;
      std::memcpy(x.host() + i * kK * size_, input_of(rows[i]).data(), kK * size_);
      std::memcpy(y.host() + i * kN * size_, gradients_.data() + rows[i] * kN * item(), kN * size_);
    }
    x.upload(), y.upload(), offsets.upload();
    GroupedOperands operands;
    operands.arrays.a = row_major(static_cast<const void*>(x.at()), count, kK, contract_.input);
    operands.arrays.b = row_major(static_cast<const void*>(y.at()), count, kN, contract_.input);
    operands.arrays.d = row_major(d.at(), kK, kN, DType::fp32);
    operands.arrays.c = operands.arrays.d;
    operands.group.d = operands.group.c = kK * kN;
    operands.offsets = {offsets.at(), kExperts, OffsetType::i32};
    run(backend_, spec, operands, count);
  }
  d.download();
  std::vector<Row> result;
  for (int expert = 0; expert < kExperts; ++expert) {
    const std::byte* at = d.host() + static_cast<std::size_t>(expert) * block;
    result.emplace_back(at, at + block);
  }
  return result;
}

}  // namespace detgemm::grouped_tests
