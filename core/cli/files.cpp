// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/cli/arguments.hpp"
#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

[[noreturn]] void refuse_file(std::string_view what, const std::string& path,
                              const std::string& rule) {
  throw Refusal(Status{Errc::io, std::string(what) + " is " + in_quotes(path) + ": " + rule});
}

std::string reason() { return std::strerror(errno); }

}  // namespace

std::uint64_t size_of_file(std::string_view what, const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) refuse_file(what, path, reason());
  if (S_ISDIR(info.st_mode)) refuse_file(what, path, "it is a directory, and must be a file");
  if (!S_ISREG(info.st_mode)) refuse_file(what, path, "it must be a regular file");
  return static_cast<std::uint64_t>(info.st_size);
}

void need_file(std::string_view what, const std::string& path, std::uint64_t bytes,
               const std::string& rule) {
  const std::uint64_t size = size_of_file(what, path);
  if (size != bytes) {
    refuse_file(what, path,
                "it has " + std::to_string(size) + " bytes, and must have exactly " +
                    std::to_string(bytes) + " (" + rule + ")");
  }
  if (access(path.c_str(), R_OK) != 0) refuse_file(what, path, reason());
}

void read_file(std::string_view what, const std::string& path, void* out, std::size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse_file(what, path, "it could not be opened: " + reason());
  file.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes));
  const bool whole = static_cast<std::size_t>(file.gcount()) == bytes;
  if (!whole || file.peek() != std::ifstream::traits_type::eof()) {
    refuse_file(what, path, "it could not be read as exactly " + std::to_string(bytes) + " bytes");
  }
}

OutputFile::OutputFile(const std::string& path, const std::vector<std::string>& inputs)
    : path_(path) {
  if (std::error_code error; std::filesystem::is_directory(path, error)) {
    refuse_file("output", path, "it is a directory, and must be a file");
  }
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!input.empty() && std::filesystem::equivalent(path, input, error)) {
      refuse_file("output", path,
                  "it is the input " + in_quotes(input) + ", and must be another file");
    }
  }
  constexpr mode_t kMode = 0666;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  made_here_ = descriptor_ >= 0;
  if (!made_here_ && errno == EEXIST) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  }
  if (descriptor_ < 0) refuse_file("output", path, "it cannot be written: " + reason());
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (made_here_) ::unlink(path_.c_str());
}

void OutputFile::write(const void* data, std::size_t bytes) {
  // Pipes and devices have no length to cut.
  bool good = ::ftruncate(descriptor_, 0) == 0 || errno == EINVAL;
  const auto* next = static_cast<const char*>(data);
  while (good && bytes > 0) {
    const ssize_t count = ::write(descriptor_, next, bytes);
    if (count < 0 && errno == EINTR) continue;
    good = count > 0;
    if (good) {
      next += count;
      bytes -= static_cast<std::size_t>(count);
    }
  }
  if (good) {
    good = ::close(descriptor_) == 0;
    descriptor_ = -1;
  }
  if (!good) {
    throw Refusal(
        Status{Errc::internal, "output is " + in_quotes(path_) +
                                   ": writing stopped, the file is not complete: " + reason()});
  }
  made_here_ = false;
}

}  // namespace detgemm::cli
