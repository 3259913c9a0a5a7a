// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Computes problems through the C interface, with every variant of the reference:
//
//   compute < cases > answers
//
// A case is a line of words: CONTRACT M N K ALPHA BETA ACTIVATION BIAS CONTINUE A B C VECTOR SA SB.
// ALPHA and BETA are fp32 words in hexadecimal, BIAS is a type or none, CONTINUE 0 or 1; the arrays
// are their bytes in hexadecimal, row-major, or - for none. SA and SB, the scales of scaled or of
// whole lines, read TYPE:PER:BLOCKS:LEAVES:BYTES or -. The answer is a line: the contract's
// digest, then VARIANT=D for every variant, or ! and the sentence of a refusal.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/contract/answers.hpp"

namespace {

using detgemm::tests::ok;
using detgemm::tests::Refused;

using Bytes = std::vector<unsigned char>;

Bytes bytes_of(const std::string& text) {
  Bytes bytes;
  if (text == "-") return bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<unsigned char>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string text_of(const Bytes& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

float float_of(const std::string& word) {
  const auto bits = static_cast<std::uint32_t>(std::stoul(word, nullptr, 16));
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

detgemm_dtype_t type_of(const std::string& name) {
  detgemm_dtype_t type = DETGEMM_NONE;
  if (name != "none") ok(detgemm_dtype_parse(name.c_str(), &type));
  return type;
}

template <class Matrix, class Data>
Matrix matrix(Data* data, detgemm_dtype_t type, std::int64_t rows, std::int64_t cols) {
  Matrix view{};
  view.struct_size = sizeof view;
  view.dtype = type;
  view.data = data;
  view.rows = rows;
  view.cols = cols;
  view.row_stride = cols > 0 ? cols : 1;
  view.col_stride = 1;
  return view;
}

/// Scales, and the bytes that they are views of.
struct Scales {
  Bytes bytes;
  detgemm_block_scales_t view{};

  explicit Scales(const std::string& text) {
    if (text == "-") return;
    std::istringstream words(text);
    std::string type, per, blocks, leaves, hex;
    for (std::string* word : {&type, &per, &blocks, &leaves, &hex}) std::getline(words, *word, ':');
    bytes = bytes_of(hex);
    ok(detgemm_block_scales_init(&view, sizeof view));
    view.type = type == "e8m0" ? DETGEMM_SCALE_E8M0 : DETGEMM_SCALE_FP32;
    view.data = bytes.data();
    view.per = std::stoll(per);
    view.blocks = std::stoll(blocks);
    view.leaves = std::stoll(leaves);
    view.stride = view.leaves;
  }
  /// Those of a problem without products are none, but for their number of blocks.
  const detgemm_block_scales_t* of(std::int64_t lines) {
    if (view.struct_size == 0) {
      ok(detgemm_block_scales_init(&view, sizeof view));
      view.blocks = lines;
    }
    return &view;
  }
};

using Plan = std::unique_ptr<detgemm_plan_t, decltype(&detgemm_plan_destroy)>;

Bytes run(const detgemm_backend_t* backend, const detgemm_gemm_spec_t& spec,
          const std::string& variant, const detgemm_operands_t& operands, Bytes& d) {
  detgemm_plan_options_t options;
  ok(detgemm_plan_options_init(&options, sizeof options));
  options.variant = variant.c_str();
  detgemm_plan_t* made = nullptr;
  ok(detgemm_plan_create(backend, &spec, &options, &made));
  const Plan plan(made, detgemm_plan_destroy);
  std::size_t needed = 0;
  ok(detgemm_plan_workspace_size(made, operands.d->rows, &needed));
  Bytes pool(needed + DETGEMM_WORKSPACE_ALIGNMENT);
  void* workspace = pool.data();
  std::size_t room = pool.size();
  std::align(DETGEMM_WORKSPACE_ALIGNMENT, needed, workspace, room);
  std::fill(d.begin(), d.end(), 0x5a);
  ok(detgemm_plan_run(made, nullptr, &operands, needed > 0 ? workspace : nullptr, needed, nullptr));
  return d;
}

std::string answer(const detgemm_backend_t* backend, const std::string& line) {
  std::istringstream words(line);
  std::string text, alpha, beta, activation, bias, a, b, c, vector, sa, sb;
  std::int64_t m = 0, n = 0, k = 0;
  int continued = 0;
  words >> text >> m >> n >> k >> alpha >> beta >> activation >> bias >> continued >> a >> b >> c >>
      vector >> sa >> sb;
  if (!words) throw Refused("a line lacks words: " + line.substr(0, 80));

  detgemm_contract_t contract;
  ok(detgemm_contract_init(&contract, sizeof contract));
  ok(detgemm_contract_parse(text.c_str(), &contract));
  detgemm_gemm_spec_t spec;
  ok(detgemm_gemm_spec_init(&spec, sizeof spec));
  spec.n = n;
  spec.k = k;
  spec.contract = &contract;
  ok(detgemm_activation_parse(activation.c_str(), &spec.activation));
  spec.alpha = float_of(alpha);
  spec.beta = float_of(beta);
  spec.bias = type_of(bias);
  spec.continue_from_c = continued;
  spec.line_scales = contract.reduction != DETGEMM_SCALED && sa != "-" ? 1 : 0;

  const detgemm_dtype_t in = contract.input == DETGEMM_TF32 ? DETGEMM_FP32 : contract.input;
  const detgemm_dtype_t of_c = continued != 0 ? DETGEMM_FP32 : contract.output;
  const Bytes a_bytes = bytes_of(a), b_bytes = bytes_of(b), c_bytes = bytes_of(c);
  const Bytes bias_bytes = bytes_of(vector);
  Bytes d(static_cast<std::size_t>(m * n) * detgemm_dtype_size(contract.output));
  const auto view_a = matrix<detgemm_const_matrix_t>(a_bytes.data(), in, m, k);
  const auto view_b = matrix<detgemm_const_matrix_t>(b_bytes.data(), in, k, n);
  const auto view_c = matrix<detgemm_const_matrix_t>(c_bytes.data(), of_c, m, n);
  const auto view_d = matrix<detgemm_matrix_t>(d.data(), contract.output, m, n);
  detgemm_vector_t view_bias;
  ok(detgemm_vector_init(&view_bias, sizeof view_bias));
  view_bias.dtype = spec.bias;
  view_bias.data = bias_bytes.data();
  view_bias.size = n;
  detgemm_operands_t operands;
  ok(detgemm_operands_init(&operands, sizeof operands));
  operands.a = &view_a;
  operands.b = &view_b;
  operands.d = &view_d;
  if (c != "-") operands.c = &view_c;
  if (spec.bias != DETGEMM_NONE) operands.bias = &view_bias;

  Scales scale_a(sa), scale_b(sb);
  if (contract.reduction == DETGEMM_SCALED || spec.line_scales != 0) {
    operands.scale_a = scale_a.of(m);
    operands.scale_b = scale_b.of(n);
  }

  std::uint64_t digest = 0;
  ok(detgemm_contract_digest(&contract, &digest));
  char name[256];
  ok(detgemm_digest_text(digest, name, sizeof name, nullptr));
  std::string result = name;
  std::size_t count = 0;
  ok(detgemm_backend_variant_count(backend, &spec, &count));
  for (std::size_t i = 0; i < count; ++i) {
    ok(detgemm_backend_variant_at(backend, &spec, i, name, sizeof name, nullptr));
    result += std::string(" ") + name + "=" + text_of(run(backend, spec, name, operands, d));
  }
  return result;
}

}  // namespace

int main() { return detgemm::tests::answer_lines(answer); }
