// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/problem.hpp"

#include <cstdio>

#include "core/cli/arguments.hpp"

namespace detgemm::cli {
namespace {

/// The array with its bytes counted, or a Refusal where they do not fit 63 bits.
Array sized(const std::string& name, std::int64_t rows, std::int64_t cols, DType dtype,
            bool used = true) {
  Array array{name, rows, cols, dtype, 0, used};
  if (!used) return array;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, cols, &elements) ||
      __builtin_mul_overflow(elements, static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    refuse(name + " is " + array.shape() + ": its bytes must fit 2^63");
  }
  array.bytes = static_cast<std::uint64_t>(bytes);
  return array;
}

void parse_layout(const std::string& layout, GemmSpec& spec) {
  const auto known = [](char c) { return c == 'N' || c == 'T'; };
  if (layout.size() != 2 || !known(layout[0]) || !known(layout[1])) {
    refuse("layout is " + in_quotes(layout) + ": it must be one of NN, NT, TN, TT");
  }
  spec.op_a = layout[0] == 'T' ? Op::transpose : Op::none;
  spec.op_b = layout[1] == 'T' ? Op::transpose : Op::none;
}

/// Memory holds tf32 in fp32 containers.
DType stored(DType input) { return input == DType::tf32 ? DType::fp32 : input; }

}  // namespace

void add_problem_options(Command& command, ProblemOptions& options) {
  command.group("Problem");
  command.required("--contract", "CONTRACT", options.contract,
                   "ARITHMETIC/INPUT/REDUCTION->OUTPUT; 'detgemm info' lists them");
  command.required("--m", "M", options.m, "rows of A and D");
  command.required("--n", "N", options.n, "columns of B and D");
  command.required("--k", "K", options.k, "products summed for one output");
  command.option("--layout", "LAYOUT", options.layout,
                 "NN, NT, TN or TT: A is M x K, or K x M with T; B is K x N, or N x K with T");
  command.group("Epilogue: D = activation(alpha * A*B + beta * C + bias)");
  command.option("--alpha", "NUMBER", options.alpha, "fp32 factor of A*B");
  command.option("--beta", "NUMBER", options.beta, "fp32 factor of C; 0: C is not read");
  command.option("--activation", "NAME", options.activation, "none, relu, gelu, gelu_tanh or silu");
  command.option("--bias-type", "DTYPE", options.bias_type,
                 "bf16, fp16 or fp32: one bias per column");
  command.flag("--continue", options.continue_from_c,
               "start the accumulator from fp32 C: a longer K, cut in two");
  command.group("Options");
}

std::string Array::shape() const {
  return std::to_string(rows) + " x " + std::to_string(cols) + " of " +
         std::string(detgemm::name(dtype));
}

std::vector<const Array*> Problem::arrays() const {
  std::vector<const Array*> list;
  for (const Array* array : {&a, &b, &c, &bias, &d}) {
    if (array->used) list.push_back(array);
  }
  return list;
}

std::uint64_t Problem::bytes() const {
  std::uint64_t sum = 0;  // at most five terms below 2^63; saturates
  for (const Array* array : arrays()) {
    if (__builtin_add_overflow(sum, array->bytes, &sum)) return UINT64_MAX;
  }
  return sum;
}

std::string Problem::epilogue() const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto number = [](float value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(value));
    return std::string(digits);
  };
  if (spec.continue_from_c) add("continue from C");
  if (spec.alpha != 1.0F) add("alpha " + number(spec.alpha));
  if (spec.beta != 0.0F) add("beta " + number(spec.beta));
  if (spec.bias) add("bias of " + std::string(name(*spec.bias)));
  if (spec.activation != Activation::none) add(std::string(name(spec.activation)));
  return text;
}

Json Problem::json() const {
  Json out{{"m", m}, {"n", spec.n}, {"k", spec.k}, {"layout", layout}};
  out["alpha"] = spec.alpha;
  out["beta"] = spec.beta;
  out["activation"] = name(spec.activation);
  out["continue"] = spec.continue_from_c;
  for (const Array* array : arrays()) {
    out["arrays"][array->name] = Json{{"rows", array->rows},
                                      {"cols", array->cols},
                                      {"dtype", name(array->dtype)},
                                      {"bytes", array->bytes}};
  }
  return out;
}

Problem parse_problem(const ProblemOptions& options) {
  Problem p;
  p.layout = options.layout;
  p.spec.contract = parse_contract(options.contract);
  p.m = parse_size("m", options.m);
  p.spec.n = parse_size("n", options.n);
  p.spec.k = parse_size("k", options.k);
  parse_layout(options.layout, p.spec);
  p.spec.alpha = parse_float("alpha", options.alpha);
  p.spec.beta = parse_float("beta", options.beta);
  p.spec.activation = need(parse_activation(options.activation));
  if (!options.bias_type.empty()) p.spec.bias = need(parse_dtype(options.bias_type));
  p.spec.continue_from_c = options.continue_from_c;
  // A problem that no backend could compute is a wrong question, not a missing backend.
  if (Status status = validate(p.spec); !status) throw Refusal(status, kUsage);
  const DType input = stored(p.spec.contract.input);
  const DType output = p.spec.contract.output;
  const bool at = p.spec.op_a == Op::transpose;
  const bool bt = p.spec.op_b == Op::transpose;
  p.a = sized("a", at ? p.spec.k : p.m, at ? p.m : p.spec.k, input);
  p.b = sized("b", bt ? p.spec.n : p.spec.k, bt ? p.spec.k : p.spec.n, input);
  p.c = sized("c", p.m, p.spec.n, p.spec.continue_from_c ? DType::fp32 : output, p.spec.reads_c());
  p.bias = sized("bias", 1, p.spec.n, p.spec.bias.value_or(DType::fp32), p.spec.bias.has_value());
  p.d = sized("d", p.m, p.spec.n, output);
  return p;
}

}  // namespace detgemm::cli
