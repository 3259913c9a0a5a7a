// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/cli/arguments.hpp"
#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

[[noreturn]] void refuse_output(const std::string& path, const std::string& rule) {
  throw Refusal(Status{Errc::io, "output is " + in_quotes(path) + ": " + rule});
}

std::string reason() { return std::strerror(errno); }

/// The rights that a file made in the ordinary way would have.
mode_t ordinary_mode() {
  constexpr mode_t kAll = 0666;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return kAll & ~mask;
}

}  // namespace

WholeFile::WholeFile(const std::string& path, const std::string& input)
    : path_(path), target_(path) {
  namespace fs = std::filesystem;
  std::error_code error;
  mode_t mode = ordinary_mode();
  if (struct stat info{}; ::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) refuse_output(path, "it is a directory, and must be a file");
    if (!S_ISREG(info.st_mode)) refuse_output(path, "it must be a regular file, or a new name");
    if (fs::equivalent(path, input, error)) {
      refuse_output(path, "it is the input " + in_quotes(input) + ", and must be another file");
    }
    if (::access(path.c_str(), W_OK) != 0) refuse_output(path, "it cannot be written: " + reason());
    mode = info.st_mode & 07777;
    target_ = fs::canonical(path, error).string();
    if (error) refuse_output(path, "it cannot be written: " + error.message());
  }
  std::string name = target_ + ".XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) refuse_output(path, "it cannot be written: " + reason());
  beside_ = name;
  if (::fchmod(descriptor_, mode) != 0) fail();
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void WholeFile::fail() const {
  throw Refusal(
      Status{Errc::internal, "output is " + in_quotes(path_) +
                                 ": writing stopped, and nothing was left there: " + reason()});
}

void WholeFile::write(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, next, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail();
    next += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void WholeFile::finish() {
  if (::fsync(descriptor_) != 0) fail();
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail();
  if (std::rename(beside_.c_str(), target_.c_str()) != 0) fail();
  beside_.clear();
}

}  // namespace detgemm::cli
