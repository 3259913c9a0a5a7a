// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/cli/arguments.hpp"
#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

Status unwritable(const std::string& path, const std::string& rule) {
  return {Errc::io, "output is " + in_quotes(path) + ": " + rule};
}

bool write_all(int descriptor, const std::string& text) {
  const char* next = text.data();
  for (std::size_t left = text.size(); left > 0;) {
    const ssize_t count = ::write(descriptor, next, left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    left -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

ReportFile::ReportFile(const std::string& path, const std::vector<std::string>& inputs)
    : path_(path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Refusal(unwritable(path, "it is a directory, and must be a file"));
  }
  for (const std::string& input : inputs) {
    if (!input.empty() && std::filesystem::equivalent(path, input, error)) {
      throw Refusal(
          unwritable(path, "it is the input " + in_quotes(input) + ", and must be another file"));
    }
  }
  const auto cannot = [&] {
    return Refusal(unwritable(path, std::string("it cannot be written: ") + std::strerror(errno)));
  };
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (there && !S_ISREG(info.st_mode)) {  // a pipe or a device: there is nothing to keep
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw cannot();
    return;
  }
  if (there && ::access(path.c_str(), W_OK) != 0) throw cannot();
  target_ = there ? std::filesystem::canonical(path, error).string() : path;
  partial_ = target_ + "." + std::to_string(::getpid()) + ".partial";
  constexpr mode_t kMode = 0666;
  descriptor_ =
      ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kMode);
  if (descriptor_ < 0) throw cannot();
  if (there) static_cast<void>(::fchmod(descriptor_, info.st_mode & 07777));
}

ReportFile::ReportFile(ReportFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::exchange(other.target_, {})),
      partial_(std::exchange(other.partial_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

ReportFile::~ReportFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void ReportFile::note(const std::string& line) {
  if (!target_.empty()) static_cast<void>(write_all(descriptor_, line + "\n"));
}

Status ReportFile::finish(const std::string& text) {
  bool good = target_.empty() || ::ftruncate(descriptor_, 0) == 0;
  good = good && write_all(descriptor_, text);
  good = ::close(std::exchange(descriptor_, -1)) == 0 && good;
  if (good && !target_.empty()) good = std::rename(partial_.c_str(), target_.c_str()) == 0;
  if (good) {
    partial_.clear();
    return {};
  }
  return {Errc::internal, "output is " + in_quotes(path_) + ": the report could not be written (" +
                              std::strerror(errno) + "), and what was there is as it was"};
}

}  // namespace detgemm::cli
