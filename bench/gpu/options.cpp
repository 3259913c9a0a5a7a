// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/gpu/options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace detgemm::bench {
namespace {

constexpr const char* kUsage =
    R"(detgemm_gpu_bench: ours against cuBLASLt, in one process

  --group LIST     small,middle,large,settled,dA,dB,odd,fp16,fma (default: all)
  --shape LIST     NxK,NxK,... (default: the thirteen)
  --m LIST         tokens, in place of each group's own
  --arms LIST      early,plain,serial,cublas,cublas0,read (default: all)
                   early: B is promised stable and may be read early; plain: no promise;
                   serial: no programmatic dependent launch;
                   cublas: default choice, 32 MiB workspace; cublas0: no workspace
  --variant NAME   force this kernel of ours
  --all-variants   time every kernel of ours that takes the problem, best against chosen;
                   with --variant, those whose name holds it
  --quick          fewer points and repetitions
  --reps N         repetitions of every arm
  --seconds S      budget: fewer repetitions, then fewer points
  --json FILE      every number
  --cublaslt PATH  libcublasLt.so to load
  --commit TEXT    recorded; default: git describe
  --no-bits        do not compare bits first
  --dry            list the points and the estimated time
)";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

[[noreturn]] void leave(int code, const std::string& complaint) {
  if (!complaint.empty()) std::fprintf(stderr, "detgemm_gpu_bench: %s\n\n", complaint.c_str());
  std::fputs(kUsage, code == 0 ? stdout : stderr);
  std::exit(code);
}

}  // namespace

bool wanted(const std::vector<std::string>& list, const std::string& item) {
  return list.empty() || std::find(list.begin(), list.end(), item) != list.end();
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    std::string inline_value;
    const std::size_t equals = name.find('=');
    const bool has_inline = equals != std::string::npos;
    if (has_inline) {
      inline_value = name.substr(equals + 1);
      name.resize(equals);
    }
    const auto value = [&]() -> std::string {
      if (has_inline) return inline_value;
      if (i + 1 >= argc) leave(2, name + " needs a value");
      return argv[++i];
    };
    try {
      if (name == "--help" || name == "-h")
        leave(0, "");
      else if (name == "--group")
        options.groups = split(value());
      else if (name == "--shape")
        options.shapes = split(value());
      else if (name == "--arms")
        options.arms = split(value());
      else if (name == "--variant")
        options.variant = value();
      else if (name == "--cublaslt")
        options.cublaslt = value();
      else if (name == "--json")
        options.json = value();
      else if (name == "--commit")
        options.commit = value();
      else if (name == "--seconds")
        options.seconds = std::stod(value());
      else if (name == "--reps")
        options.repetitions = std::stoi(value());
      else if (name == "--quick")
        options.quick = true;
      else if (name == "--all-variants")
        options.all_variants = true;
      else if (name == "--no-bits")
        options.bits = false;
      else if (name == "--dry")
        options.dry = true;
      else if (name == "--m")
        for (const auto& m : split(value())) options.tokens.push_back(std::stoll(m));
      else
        leave(2, "unknown option " + name);
    } catch (const std::exception&) {
      leave(2, name + " needs a number");
    }
  }
  return options;
}

}  // namespace detgemm::bench
