// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The C interface on problems built from bytes, valid and spoiled. Promised: no crash, a refusal
// writes nothing, a run writes D alone, all host backends give the same bits, and what
// detgemm_operands_validate says is what a run does.

#include <string>
#include <vector>

#include "tests/fuzz/arguments.hpp"
#include "tests/support/c_backend.h"

using namespace detgemm::fuzz;

namespace {

/// The code, checked: a refusal has a plain sentence.
detgemm_status_t checked(detgemm_status_t code) {
  if (code == DETGEMM_OK) return code;
  require(code > 0 && code <= DETGEMM_INTERNAL, "codes are those of the header");
  require(code != DETGEMM_INTERNAL, "input is never an internal error");
  const std::string said = detgemm_last_error();
  require(!said.empty() && said.size() < 2000, "a refusal has a sentence");
  for (char c : said) require(c >= 0x20 && c < 0x7f, "a sentence is plain text");
  return code;
}

const std::vector<const detgemm_backend_t*>& backends() {
  static const auto list = [] {
    detgemm_runtime_options_t one{sizeof one, 1};
    require(detgemm_runtime_start(&one) == DETGEMM_OK, "the runtime starts");
    std::vector<const detgemm_backend_t*> all{skeleton_for_c(), scratch_for_c()};
    for (std::size_t i = 0; i < detgemm_backend_count(); ++i) {
      detgemm_device_kind_t kind = -1;
      const detgemm_backend_t* backend = detgemm_backend_at(i);
      if (detgemm_backend_device_kind(backend, &kind) == DETGEMM_OK && kind == DETGEMM_HOST &&
          detgemm_backend_available(backend) == DETGEMM_OK) {
        all.push_back(backend);
      }
    }
    return all;
  }();
  return list;
}

void texts(const Arguments& arguments, const detgemm_plan_t* plan, Bytes& bytes) {
  char buffer[300];
  const std::size_t size = bytes.number<std::uint16_t>() % sizeof buffer;
  const std::int64_t m = bytes.odd_integer();
  std::size_t needed = 0;
  for (const auto get : {detgemm_plan_describe, detgemm_plan_kernel}) {
    buffer[size] = 0x5a;
    if (checked(get(plan, m, buffer, size, &needed)) == DETGEMM_OK) {
      require(buffer[needed - 1] == 0 && needed <= size, "text fits and ends in 0");
    }
    require(buffer[size] == 0x5a, "text ends in the buffer");
  }
  checked(detgemm_plan_workspace_size(plan, m, &needed));
  checked(detgemm_contract_text(&arguments.contract.value, buffer, size, &needed));
}

/// Scratch for the reference is more than the block holds, so it is lent from outside.
struct Lent {
  void* data;
  std::size_t bytes;
};
Lent lend(const Arguments& arguments, const detgemm_plan_t* plan) {
  alignas(256) static std::uint8_t pool[1 << 21];
  std::size_t needed = 0;
  const std::int64_t m = arguments.d.value.rows;
  if (m < 0 || detgemm_plan_workspace_size(plan, m, &needed) != DETGEMM_OK || needed <= 4096 ||
      needed > sizeof pool) {
    return {arguments.workspace, arguments.workspace_bytes};
  }
  return {pool, sizeof pool};
}

/// Runs and combines on one backend; the bytes of the block after an accepted run.
std::vector<std::uint8_t> on_backend(Arguments& arguments, const detgemm_backend_t* backend,
                                     Bytes& bytes) {
  std::vector<std::uint8_t> result;
  detgemm_plan_t* plan = nullptr;
  checked(detgemm_backend_supports(backend, arguments.spec.get()));
  if (checked(detgemm_plan_create(backend, arguments.spec.get(), arguments.plan_options.get(),
                                  &plan)) != DETGEMM_OK) {
    require(plan == nullptr, "a refused plan is NULL");
    return result;
  }
  texts(arguments, plan, bytes);
  if (arguments.inside()) {
    const Lent scratch = lend(arguments, plan);
    const bool valid = checked(detgemm_operands_validate(arguments.spec.get(),
                                                         arguments.operands.get())) == DETGEMM_OK;
    const bool ran =
        checked(detgemm_plan_run(plan, arguments.stream.get(), arguments.operands.get(),
                                 scratch.data, scratch.bytes, arguments.info.get())) == DETGEMM_OK;
    require(valid || !ran, "a run accepts nothing that validate refuses");
    require(ran ? arguments.only_d_changed() : arguments.unchanged(),
            "only an accepted run writes, and D");
    if (ran) result = arguments.elements_of_d();
    arguments.restore();
    const bool combined =
        checked(detgemm_plan_combine(plan, arguments.stream.get(), arguments.root_pointers.data(),
                                     arguments.root_count, arguments.operands.get(), scratch.data,
                                     scratch.bytes, arguments.info.get())) == DETGEMM_OK;
    require(combined ? arguments.only_d_changed() : arguments.unchanged(), "and so for combine");
    arguments.restore();
  }
  detgemm_plan_destroy(plan);
  return result;
}

void one_call(Arguments& arguments) {
  if (!arguments.inside()) return;
  const auto code = checked(detgemm_gemm(arguments.stream.get(), arguments.a.get(),
                                         arguments.b.get(), arguments.d.get(),
                                         arguments.contract.get(), arguments.gemm_options.get()));
  require(code == DETGEMM_OK ? arguments.only_d_changed() : arguments.unchanged(),
          "and so in one call");
  arguments.restore();
}

void small_calls(Arguments& arguments, Bytes& bytes) {
  std::uint64_t digest = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int32_t k_block = 0;
  checked(detgemm_contract_validate(arguments.contract.get()));
  checked(detgemm_contract_digest(arguments.contract.get(), &digest));
  checked(detgemm_contract_leaves(arguments.contract.get(), bytes.odd_integer(), &begin));
  const std::int64_t k = bytes.odd_integer();
  const std::int64_t rank = bytes.odd_integer();
  if (checked(detgemm_contract_rank_share(arguments.contract.get(), k, rank, bytes.odd_integer(),
                                          &begin, &end)) == DETGEMM_OK) {
    require(0 <= begin && begin < end && end <= k, "shares lie in K");
  }
  checked(detgemm_k_block(static_cast<std::int32_t>(bytes.odd_integer()), bytes.below(9) - 1,
                          &k_block));
  if (arguments.inside()) checked(detgemm_digest_matrix(arguments.a.get(), &digest));
  const std::int64_t lengths[3] = {bytes.odd_integer(), bytes.odd_integer(), bytes.odd_integer()};
  if (checked(detgemm_contract_check_cuts(arguments.contract.get(), lengths, 3)) == DETGEMM_OK) {
    require(lengths[0] >= 0 && lengths[1] >= 0 && lengths[2] >= 0, "cuts are not negative");
  }
  const detgemm_backend_t* backend = nullptr;
  const bool found =
      checked(detgemm_backend_first(arguments.spec.get(), bytes.below(4), &backend)) == DETGEMM_OK;
  require(found == (backend != nullptr), "a backend is given where one is found, and else none");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  Arguments arguments(bytes);
  const auto& all = backends();
  std::vector<std::uint8_t> first;
  for (const detgemm_backend_t* backend : all) {
    const auto result = on_backend(arguments, backend, bytes);
    if (first.empty()) first = result;
    require(result.empty() || result == first, "all backends give the same bits");
  }
  one_call(arguments);
  small_calls(arguments, bytes);
  return 0;
}
