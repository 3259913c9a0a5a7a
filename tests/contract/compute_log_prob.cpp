// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Log-probabilities of stored logits through the C interface, by the reference:
//
//   compute_log_prob < rows > answers
//
// A row is a line of words: TYPE V SCALE TARGET A B C BEGIN END Z. TYPE is bf16 or fp32, V the end
// of the vocabulary, SCALE an fp32 word, A, B and C upstream gradients of logp, H and lse (fp32
// words, or - for none), BEGIN and END a shard, and Z the logits, word after word, of which those
// from V on are padding. Words are hexadecimal. The answer is a line: K S A LSE LOGP H XT R G
// NODES, K decimal, G a bf16 word per logit, NODES the shard's, k:s:a each and commas between (-
// for none); or ! and the sentence of a refusal.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "core/contract/log_nodes.hpp"
#include "detgemm/detgemm_log_prob.h"
#include "tests/contract/answers.hpp"

namespace {

using detgemm::arithmetic::float_of;
using detgemm::arithmetic::LogNode;
using detgemm::tests::ok;
using detgemm::tests::Refused;

std::uint32_t word_of(const std::string& text) {
  return static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
}

std::string hex(std::uint32_t word, int digits = 8) {
  char text[16];
  std::snprintf(text, sizeof text, "%0*x", digits, word);
  return text;
}

std::string hex(float value) { return hex(detgemm::arithmetic::bits_of(value)); }

/// An upstream gradient, or none.
struct Upstream {
  explicit Upstream(const std::string& text)
      : given(text != "-"), value(given ? float_of(word_of(text)) : 0.0F) {}
  bool given;
  float value;
  const float* data() const { return given ? &value : nullptr; }
};

struct Row {
  std::string type;
  std::int64_t vocabulary, begin, end;
  float scale;
  std::int64_t target;
  Upstream a, b, c;
  std::vector<unsigned char> bytes;
  detgemm_const_matrix_t logits{};
  detgemm_log_prob_rows_t rows{};

  static Row read(const std::string& line) {
    std::istringstream words(line);
    std::string type, v, scale, target, a, b, c, begin, end, z;
    words >> type >> v >> scale >> target >> a >> b >> c >> begin >> end >> z;
    Row row{type,
            std::stoll(v),
            std::stoll(begin),
            std::stoll(end),
            float_of(word_of(scale)),
            std::stoll(target),
            Upstream(a),
            Upstream(b),
            Upstream(c),
            {}};
    const std::size_t digits = type == "fp32" ? 8 : 4;
    for (std::size_t at = 0; at + digits <= z.size(); at += digits) {
      const std::uint32_t word = word_of(z.substr(at, digits));
      const auto* from = reinterpret_cast<const unsigned char*>(&word);
      row.bytes.insert(row.bytes.end(), from, from + digits / 2);
    }
    return row;
  }

  /// Fills in the views, which point into this object.
  void look() {
    ok(detgemm_const_matrix_init(&logits, sizeof logits));
    logits.dtype = type == "fp32" ? DETGEMM_FP32 : DETGEMM_BF16;
    logits.data = bytes.data();
    logits.rows = 1;
    logits.cols = columns();
    logits.row_stride = logits.cols;
    ok(detgemm_log_prob_rows_init(&rows, sizeof rows));
    rows.targets = &target;
    rows.scale = &scale;
  }
  std::int64_t columns() const {
    return static_cast<std::int64_t>(bytes.size()) / (type == "fp32" ? 4 : 2);
  }
};

/// The nodes of a shard of the row.
std::vector<LogNode> nodes_of(const detgemm_backend_t* backend, const Row& row, std::int64_t begin,
                              std::int64_t end) {
  std::int64_t slots = 0;
  detgemm_log_prob_shard_t shard;
  ok(detgemm_log_prob_shard_init(&shard, sizeof shard));
  ok(detgemm_log_prob_slots(begin, (end + 15) / 16 * 16, &slots));
  std::vector<std::uint32_t> words(static_cast<std::size_t>(slots) * 3);
  shard.entropy = 1;
  shard.begin = begin;
  shard.end = end;
  shard.nodes = words.data();
  detgemm_const_matrix_t part = row.logits;
  part.data = static_cast<const unsigned char*>(part.data) + begin * (row.type == "fp32" ? 4 : 2);
  part.cols -= begin;
  ok(detgemm_log_prob_nodes(backend, nullptr, &part, row.vocabulary, &row.rows, &shard));
  std::vector<LogNode> nodes;
  for (std::size_t i = 0; i < words.size() / 3; ++i) {
    nodes.push_back({static_cast<std::int32_t>(words[i]),
                     float_of(words[static_cast<std::size_t>(slots) + i]),
                     float_of(words[2 * static_cast<std::size_t>(slots) + i])});
  }
  return nodes;
}

LogNode root_of(const std::vector<LogNode>& nodes, std::int64_t vocabulary) {
  detgemm::LogStack stack;
  std::int64_t at = 0;
  for (const LogNode& node : nodes) {
    const int level = detgemm::node_level(at, detgemm::log_leaves(vocabulary));
    stack.push(node, level, at >> level);
    at += std::int64_t{1} << level;
  }
  return stack.root();
}

std::string answer(const detgemm_backend_t* backend, const std::string& line) {
  Row row = Row::read(line);
  row.look();
  const LogNode root = root_of(nodes_of(backend, row, 0, row.vocabulary), row.vocabulary);
  float lse = 0, logp = 0, entropy = 0, x = 0, r = 0;
  std::int32_t k = 0;
  detgemm_log_prob_outputs_t outputs;
  ok(detgemm_log_prob_outputs_init(&outputs, sizeof outputs));
  outputs.logp = &logp;
  outputs.lse = &lse;
  outputs.entropy = &entropy;
  outputs.target_logit = &x;
  outputs.saved_k = &k;
  outputs.saved_r = &r;
  std::size_t bytes = 0;
  ok(detgemm_log_prob_workspace_size(1, row.vocabulary, &bytes));
  alignas(256) static unsigned char workspace[4096];
  ok(detgemm_log_prob_of_logits(backend, nullptr, &row.logits, row.vocabulary, &row.rows, &outputs,
                                workspace, bytes < sizeof workspace ? bytes : sizeof workspace));
  if (k != root.k) throw Refused("saved_k is not the root's");
  std::vector<std::uint16_t> gradient(static_cast<std::size_t>(row.columns()), 0x5555);
  detgemm_log_prob_upstream_t upstream;
  ok(detgemm_log_prob_upstream_init(&upstream, sizeof upstream));
  upstream.saved_k = &k;
  upstream.saved_r = &r;
  upstream.lse = &lse;
  upstream.entropy = &entropy;
  upstream.d_logp = row.a.data();
  upstream.d_entropy = row.b.data();
  upstream.d_lse = row.c.data();
  detgemm_matrix_t g;
  ok(detgemm_matrix_init(&g, sizeof g));
  g.dtype = DETGEMM_BF16;
  g.data = gradient.data();
  g.rows = 1;
  g.cols = g.row_stride = row.columns();
  ok(detgemm_log_prob_gradient(backend, nullptr, &row.logits, 0, row.vocabulary, &row.rows,
                               &upstream, &g));
  std::string text = std::to_string(root.k);
  for (const float value : {root.s, root.a, lse, logp, entropy, x, r}) text += " " + hex(value);
  text += " ";
  for (const std::uint16_t word : gradient) text += hex(word, 4);
  text += gradient.empty() ? "- " : " ";
  std::string nodes;
  for (const LogNode& node : nodes_of(backend, row, row.begin, row.end)) {
    nodes +=
        (nodes.empty() ? "" : ",") + std::to_string(node.k) + ":" + hex(node.s) + ":" + hex(node.a);
  }
  return text + (nodes.empty() ? "-" : nodes);
}

}  // namespace

int main() { return detgemm::tests::answer_lines(answer); }
