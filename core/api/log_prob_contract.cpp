// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <string>

#include "core/api/log_prob_checks.hpp"
#include "core/arithmetic/step.hpp"
#include "core/contract/log_nodes.hpp"
#include "core/contract/wording.hpp"
#include "detgemm/digest.hpp"

namespace detgemm {
namespace {

constexpr std::string_view kSuffix = "+logsum16";

Status check_gradient_contract(std::string_view what, const Contract& contract) {
  if (Status s = contract.validate(); !s) {
    return invalid(std::string(what) + ": " + s.message());
  }
  if (contract.input != DType::bf16) {
    return invalid(std::string(what) + " is " + contract.text() +
                   ": the gradient of logits is bf16, so its input must be bf16");
  }
  if (contract.reduction.kind == ReductionKind::scaled) {
    return unsupported(std::string(what) + " is " + contract.text() +
                       ": log-probabilities have no scales of leaves; use chain, fold or tree");
  }
  return {};
}

Status check_chunk(const LogProbSpec& spec) {
  const std::string given = "chunk is " + std::to_string(spec.chunk) + ": ";
  if (spec.chunk < 0 || spec.chunk % arithmetic::kLogLeaf != 0) {
    return invalid(given + "it must be 0 (chosen) or a positive multiple of 16");
  }
  if (spec.chunk == 0 || !spec.dgrad || spec.chunk >= spec.n) return {};
  if (spec.dgrad->reduction.kind == ReductionKind::tree) {
    return invalid(
        given + "dgrad is " + spec.dgrad->text() +
        ", which cannot continue, so it must be 0 or at least n = " + std::to_string(spec.n));
  }
  const std::int64_t unit = cut_unit(*spec.dgrad);
  if (spec.chunk % unit == 0) return {};
  return invalid(given + "dgrad is " + spec.dgrad->text() + ", so it must be a multiple of " +
                 std::to_string(unit));
}

Status check_range(std::string_view what, std::int64_t value, std::int64_t least,
                   std::int64_t most) {
  if (value >= least && value <= most) return {};
  return invalid(std::string(what) + " is " + std::to_string(value) + ": it must be from " +
                 std::to_string(least) + " to " + std::to_string(most));
}

Status check_gradients(const LogProbSpec& spec) {
  for (const auto& [what, contract] :
       {std::pair{"dgrad", spec.dgrad}, std::pair{"wgrad", spec.wgrad}}) {
    if (!contract) continue;
    if (Status s = check_gradient_contract(what, *contract); !s) return s;
    if (spec.contract.input != DType::bf16) {
      return invalid(std::string(what) + " is set and the contract is " + spec.contract.text() +
                     ": gradients need bf16 operands");
    }
  }
  if (!spec.continue_dw) return {};
  if (!spec.wgrad) return invalid("continue_dw is set and wgrad is none: there is no dW");
  if (spec.wgrad->reduction.kind == ReductionKind::tree) {
    return unsupported("continue_dw is set and wgrad is " + spec.wgrad->text() +
                       ": a tree cannot continue; use chain or fold");
  }
  if (spec.wgrad->output == DType::fp32) return {};
  return invalid("continue_dw is set and wgrad is " + spec.wgrad->text() +
                 ": a dW that continues is fp32");
}

}  // namespace

std::int64_t cut_unit(const Contract& contract) {
  return contract.reduction.kind == ReductionKind::chain ? contract.k_block
                                                         : contract.reduction.leaf_k;
}

Result<LogProbContract> LogProbContract::parse(std::string_view text) {
  if (text.size() < kSuffix.size() || text.substr(text.size() - kSuffix.size()) != kSuffix) {
    return invalid("contract is " + quoted(text) +
                   ": it must be a product's contract and +logsum16, for example "
                   "hopper/bf16/chain->fp32+logsum16");
  }
  auto logits = Contract::parse(text.substr(0, text.size() - kSuffix.size()));
  if (!logits) return logits.status();
  const LogProbContract contract{*logits};
  if (Status s = contract.validate(); !s) return s;
  return contract;
}

std::string LogProbContract::text() const { return logits.text() + std::string(kSuffix); }

std::string LogProbContract::canonical() const {
  return "detgemm-logprob version=1 logits=" + hex(logits.digest()) +
         " block=16 bits=0312 tree=aligned exp=1 log=1";
}

std::uint64_t LogProbContract::digest() const {
  const std::string line = canonical();
  return digest_bytes(line.data(), line.size());
}

Status LogProbContract::validate() const {
  if (Status s = logits.validate(); !s) return s;
  if (logits.output != DType::bf16 && logits.output != DType::fp32) {
    return invalid("contract output is " + described(logits.output) + ": logits are bf16 or fp32");
  }
  if (logits.reduction.kind == ReductionKind::scaled) {
    return unsupported("contract is " + logits.text() +
                       ": log-probabilities have no scales of leaves; use chain, fold or tree");
  }
  return {};
}

Status validate(const LogProbSpec& spec) {
  if (Status s = LogProbContract{spec.contract}.validate(); !s) return s;
  if (Status s = check_range("n", spec.n, 0, kMaxVocabulary); !s) return s;
  if (spec.k < 0) {
    return invalid("k is " + std::to_string(spec.k) + ": it must not be negative");
  }
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(spec.n, spec.k, &elements)) {
    return invalid("n is " + std::to_string(spec.n) + " and k is " + std::to_string(spec.k) +
                   ": n * k must fit 2^63");
  }
  if (!std::isfinite(spec.alpha)) {
    return invalid("alpha is " + std::to_string(spec.alpha) + ": it must be finite");
  }
  if (spec.bias && *spec.bias != DType::bf16 && *spec.bias != DType::fp16 &&
      *spec.bias != DType::fp32) {
    return invalid("bias is " + described(*spec.bias) + ": it must be bf16, fp16 or fp32");
  }
  if (Status s = check_range("begin", spec.begin, 0, kMaxVocabulary - spec.n); !s) return s;
  if (Status s = check_range("vocabulary", spec.vocabulary, 0, kMaxVocabulary); !s) return s;
  const std::int64_t end = spec.begin + spec.n;
  const std::int64_t vocabulary = spec.vocabulary == 0 ? end : spec.vocabulary;
  if (Status s = check_borders(spec.begin, end, vocabulary); !s) return s;
  if (Status s = check_gradients(spec); !s) return s;
  return check_chunk(spec);
}

GemmSpec logits_product(const LogProbSpec& spec) {
  const std::int64_t vocabulary = spec.vocabulary == 0 ? spec.begin + spec.n : spec.vocabulary;
  GemmSpec product;
  product.n = std::clamp<std::int64_t>(vocabulary - spec.begin, 0, spec.n);
  product.k = spec.k;
  product.contract = spec.contract;
  product.op_b = Op::transpose;
  product.alpha = spec.alpha;
  product.bias = spec.bias;
  return product;
}

}  // namespace detgemm
