// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/options.hpp"

#include <cmath>
#include <initializer_list>
#include <map>
#include <stdexcept>

#include "bench/suite/values.hpp"

namespace detgemm::bench {
namespace {

[[noreturn]] void wrong(const std::string& name, const std::string& value, const char* rule) {
  throw std::invalid_argument(name + " is \"" + value + "\": it must be " + rule);
}

/// Where tiles of tokens end up to 512, and eighths of an octave from there.
constexpr const char* kTunedTokens =
    "1,2,4,8:512:8,576:1024:64,1152:2048:128,2304:4096:256,4608:8192:512";

constexpr std::int64_t kMaxSeed = std::int64_t{1} << 62;

double seconds(const std::string& name, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value <= 0) {
    wrong(name, text, "a positive number of seconds");
  }
  return value;
}

/// Arguments in pairs of a name and a value, for --name value and --name=value alike.
class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& words) : words_(words) {}

  bool next() {
    if (at_ >= words_.size()) return false;
    name_ = words_[at_++];
    const std::size_t equals = name_.find('=');
    has_value_ = name_.rfind("--", 0) == 0 && equals != std::string::npos;
    if (has_value_) {
      value_ = name_.substr(equals + 1);
      name_.resize(equals);
    }
    return true;
  }
  const std::string& name() const { return name_; }
  std::string value() {
    if (has_value_) return value_;
    if (at_ >= words_.size()) throw std::invalid_argument(name_ + " needs a value");
    return words_[at_++];
  }
  /// A list of at least one name.
  std::vector<std::string> names() {
    const std::string text = value();
    auto list = split(text);
    if (list.empty()) wrong(name_, text, "a list of names separated by commas");
    return list;
  }
  void no_value() const {
    if (has_value_) throw std::invalid_argument(name_ + " takes no value");
  }

 private:
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  std::string name_, value_;
  bool has_value_ = false;
};

std::string one_of(const std::string& name, const std::string& value,
                   std::initializer_list<const char*> known, const char* rule) {
  for (const char* one : known) {
    if (value == one) return value;
  }
  wrong(name, value, rule);
}

std::pair<std::string, std::string> fact(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0) wrong("--fact", text, "KEY=VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

void read_kinds(const std::vector<std::string>& kinds, OwnCases& own) {
  for (const std::string& kind : kinds) {
    own.kinds.push_back(
        one_of("--kind", kind, {"forward", "dA", "dB"}, "a list of forward, dA and dB"));
  }
}

/// Values that may be drawn are known once the seed is.
void read_values(const std::string& m, const std::string& n, const std::string& k, Options& o) {
  const auto read = [&](const char* name, const std::string& text,
                        std::vector<std::int64_t>& values) {
    if (text.empty()) return;
    values = parse_values(name, text, o.seed);
    o.drawn = o.drawn || text.find("random") != std::string::npos;
  };
  read("--m", m, o.tokens);
  read("--n", n, o.own.n);
  read("--k", k, o.own.k);
  o.drawn = o.drawn || o.own.draws > 0;
}

}  // namespace

Options parse_options(const std::vector<std::string>& all) {
  Options o;
  std::vector<std::string> words = all;
  if (!words.empty() && (words[0] == "tune" || words[0] == "calibrate")) {
    o.task = words[0] == "tune" ? Task::tune : Task::calibrate;
    words.erase(words.begin());
  }
  std::string m, n, k;
  bool no_batch = false;
  const std::map<std::string, bool*> flags = {{"--quick", &o.quick},
                                              {"--list", &o.list},
                                              {"--dry", &o.dry},
                                              {"--help", &o.help},
                                              {"--check-bits", &o.check_bits},
                                              {"--no-batch", &no_batch},
                                              {"-h", &o.help},
                                              {"--weight-read", &o.weight_read}};
  const std::map<std::string, std::string*> texts = {
      {"--filter", &o.filter}, {"--benchmark_filter", &o.filter},
      {"--cases", &o.cases},   {"--json", &o.json},
      {"--csv", &o.csv},       {"--markdown", &o.markdown},
      {"--commit", &o.commit}, {"--cublaslt", &o.cublaslt},
      {"--nccl", &o.nccl},     {"--out", &o.out},
      {"--tuning", &o.tuning}};
  const std::map<std::string, std::vector<std::string>*> lists = {
      {"--suite", &o.suites},        {"--layers", &o.own.layers}, {"--contract", &o.own.contracts},
      {"--epilogue", &o.own.extras}, {"--variants", &o.variants}, {"--variant", &o.variants}};
  const std::map<std::string, std::string*> values = {{"--m", &m}, {"--n", &n}, {"--k", &k}};
  for (Arguments in(words); in.next();) {
    const std::string& name = in.name();
    if (const auto flag = flags.find(name); flag != flags.end()) {
      in.no_value();
      *flag->second = true;
    } else if (const auto text = texts.find(name); text != texts.end()) {
      *text->second = in.value();
    } else if (const auto list = lists.find(name); list != lists.end()) {
      *list->second = in.names();
    } else if (const auto value = values.find(name); value != values.end()) {
      *value->second = in.value();
      if (value->second->empty()) wrong(name, "", "a list such as 1,64,65 or 1:512:8");
    } else if (name == "--backend") {
      o.backend = one_of(name, in.value(), {"cpu", "cuda", "hip"}, "cpu, cuda or hip");
    } else if (name == "--mode") {
      o.own.mode = one_of(name, in.value(), {"auto", "stream", "burst", "settled"},
                          "auto, stream, burst or settled");
    } else if (name == "--kind") {
      read_kinds(in.names(), o.own);
    } else if (name == "--draw") {
      o.own.draws = static_cast<int>(parse_whole(name, in.value(), 1, kMaxValues));
    } else if (name == "--seed") {
      o.seed = static_cast<std::uint64_t>(parse_whole(name, in.value(), 0, kMaxSeed));
    } else if (name == "--repetitions") {
      o.repetitions = static_cast<int>(parse_whole(name, in.value(), 1, 1 << 20));
    } else if (name == "--candidates") {
      o.candidates = static_cast<int>(parse_whole(name, in.value(), 1, 1 << 10));
    } else if (name == "--ranks") {
      o.ranks = static_cast<int>(parse_whole(name, in.value(), 1, 1 << 20));
    } else if (name == "--seconds") {
      o.seconds = seconds(name, in.value());
    } else if (name == "--fact") {
      o.facts.push_back(fact(in.value()));
    } else {
      throw std::invalid_argument("option is \"" + name + "\": see detgemm bench --help");
    }
  }
  o.batch_property = !no_batch;
  if (o.help) return o;
  if (o.task == Task::tune && o.out.empty()) {
    throw std::invalid_argument("--out is missing: tune must have a file to write");
  }
  if (o.task != Task::tune && !o.out.empty()) {
    throw std::invalid_argument("--out is \"" + o.out + "\": it is for detgemm tune");
  }
  if (o.task == Task::tune && m.empty() && o.own.draws == 0) m = kTunedTokens;
  read_values(m, n, k, o);
  if (o.own.asked() && !o.suites.empty()) {
    throw std::invalid_argument(
        "--suite is for the cases of the table: it must not be given with --layers, --n, --k, "
        "--draw, --kind, --epilogue, --contract or --mode");
  }
  return o;
}

}  // namespace detgemm::bench
