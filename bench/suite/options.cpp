// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/options.hpp"

#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

namespace detgemm::bench {

const char* const kUsage =
    R"(detgemm bench: ours beside the vendor's own library, one experiment for every backend

  --backend NAME     cpu, cuda or hip (default: the first of cuda, hip, cpu that can run)
  --suite LIST       some of the suites of the table of cases (default: all)
  --m LIST           tokens, in place of each suite's own
  --filter REGEX     only arms whose CASE/ARM it matches, for example 'llama3-8b/o/.*/m16/.*chain'
  --quick            fewer cases and repetitions
  --repetitions N    samples of every arm
  --seconds S        budget: fewer repetitions, then fewer cases
  --json FILE        every number; bench/report turns files into a page
  --csv FILE         a line an arm
  --markdown FILE    a table
  --cases FILE       a table of cases in place of bench/cases/cases.json as it was compiled in
  --cublaslt PATH    libcublasLt.so to load
  --commit TEXT      recorded; default: git describe, else the commit that was compiled in
  --fact KEY=VALUE   recorded with the machine; may be repeated
  --no-bits          do not ask for the batch property
  --list             print CASE/ARM of what would run
  --dry              print how many cases and about how many seconds, and run nothing

Each arm of a case is one Google Benchmark with manual (device) time. The arms of a case are timed
in turn, A B .. B A, on operands that step through more memory than twice the last cache.

Examples:
  detgemm bench --quick
  detgemm bench --backend cuda --json h200.json
  detgemm bench --backend cpu --suite cpu-sweep --m 1,16,256

Exit codes: 0 measured; 1 failed; 2 asked wrongly; 3 nothing ran.
)";

namespace {

[[noreturn]] void wrong(const std::string& name, const std::string& value, const char* rule) {
  throw std::invalid_argument(name + " is \"" + value + "\": it must be " + rule);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::int64_t positive(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > 1 << 24) {
    wrong(name, text, "a whole number from 1 to 16777216");
  }
  return value;
}

double seconds(const std::string& name, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value <= 0) {
    wrong(name, text, "a positive number of seconds");
  }
  return value;
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options o;
  const std::map<std::string, bool*> flags = {{"--quick", &o.quick},
                                              {"--list", &o.list},
                                              {"--dry", &o.dry},
                                              {"--help", &o.help},
                                              {"-h", &o.help}};
  const std::map<std::string, std::string*> texts = {
      {"--filter", &o.filter}, {"--benchmark_filter", &o.filter},
      {"--cases", &o.cases},   {"--json", &o.json},
      {"--csv", &o.csv},       {"--markdown", &o.markdown},
      {"--commit", &o.commit}, {"--cublaslt", &o.cublaslt}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i];
    std::string value;
    const std::size_t equals = name.find('=');
    const bool has_value = name.rfind("--", 0) == 0 && equals != std::string::npos;
    if (has_value) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    if (const auto flag = flags.find(name); flag != flags.end() || name == "--no-bits") {
      if (has_value) throw std::invalid_argument(name + " takes no value");
      if (name == "--no-bits") {
        o.bits = false;
      } else {
        *flag->second = true;
      }
      continue;
    }
    const auto take = [&] {
      if (has_value) return value;
      if (i + 1 >= arguments.size()) throw std::invalid_argument(name + " needs a value");
      return arguments[++i];
    };
    if (const auto text = texts.find(name); text != texts.end()) {
      *text->second = take();
    } else if (name == "--backend") {
      o.backend = take();
      if (o.backend != "cpu" && o.backend != "cuda" && o.backend != "hip") {
        wrong(name, o.backend, "cpu, cuda or hip");
      }
    } else if (name == "--suite") {
      o.suites = split(take());
    } else if (name == "--m") {
      for (const std::string& m : split(take())) o.tokens.push_back(positive(name, m));
    } else if (name == "--repetitions") {
      o.repetitions = static_cast<int>(positive(name, take()));
    } else if (name == "--seconds") {
      o.seconds = seconds(name, take());
    } else if (name == "--fact") {
      const std::string fact = take();
      const std::size_t at = fact.find('=');
      if (at == std::string::npos || at == 0) wrong(name, fact, "KEY=VALUE");
      o.facts.emplace_back(fact.substr(0, at), fact.substr(at + 1));
    } else {
      throw std::invalid_argument("option is \"" + name + "\": see detgemm bench --help");
    }
  }
  return o;
}

}  // namespace detgemm::bench
