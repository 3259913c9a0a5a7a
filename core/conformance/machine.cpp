// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/machine.hpp"

#include <sys/utsname.h>

#include <fstream>
#include <thread>

namespace detgemm::conformance {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

std::string machine_description() {
  std::string text =
      processor() + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
  utsname system{};
  if (uname(&system) == 0) {
    text += std::string(", ") + system.sysname + " " + system.release + " " + system.machine;
  }
  return text;
}

std::string machine_name() {
  utsname system{};
  return uname(&system) == 0 && system.nodename[0] != '\0' ? system.nodename : "unknown";
}

}  // namespace detgemm::conformance
