// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Raw files of any length, asked for with any other: they are read whole or refused, nothing is
// written past the room that was asked for, and what is written to a file is read back from it.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/cli/files.hpp"
#include "core/cli/refusal.hpp"
#include "tests/fuzz/sentence.hpp"

using detgemm::fuzz::require;
namespace cli = detgemm::cli;

namespace {

namespace fs = std::filesystem;
constexpr std::size_t kGuard = 32;

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "detgemm_raw_XXXXXX").string()) {
    require(mkdtemp(path_.data()) != nullptr, "a temporary folder can be made");
    require(symlink("nowhere", name("dangling").c_str()) == 0, "a link can be made");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string name(const std::string& file) const { return path_ + "/" + file; }

 private:
  std::string path_;
};

/// Reads `asked` bytes of a file that holds `content`.
void read_back(const std::string& path, const std::string& content, std::size_t asked) {
  std::vector<char> room(asked + kGuard, '\x5a');
  bool refused = false;
  try {
    cli::need_file("a", path, asked, "the rule");
    cli::read_file("a", path, room.data(), asked);
  } catch (const cli::Refusal& refusal) {
    refused = true;
    detgemm::fuzz::require_sentence(refusal.what());
  }
  require(refused == (asked != content.size()), "exactly the right length is read");
  if (!refused) require(std::memcmp(room.data(), content.data(), asked) == 0, "its own bytes");
  for (std::size_t i = asked; i < room.size(); ++i) {
    require(room[i] == '\x5a', "nothing is written past the end");
  }
}

template <class Call>
void refuses(const Call& call) {
  try {
    call();
  } catch (const cli::Refusal& refusal) {
    return detgemm::fuzz::require_sentence(refusal.what());
  }
  require(false, "this is refused");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  detgemm::fuzz::Bytes bytes(data, size);
  const std::size_t asked = bytes.byte();
  const int way = bytes.below(4);
  const std::string content(reinterpret_cast<const char*>(data), size);
  const std::string path = folder.name("file");
  if (way == 0) {  // a file that is made, and one that is left alone
    cli::OutputFile(path, {});
    require(!fs::exists(path), "a file that nothing was written to is not left behind");
  }
  {
    cli::OutputFile output(path, {folder.name("other")});
    output.write(content.data(), content.size());
  }
  read_back(path, content, asked);
  read_back(path, content, content.size());
  if (way == 1) refuses([&] { cli::OutputFile(path, {path}); });
  if (way == 2) refuses([&] { cli::OutputFile(folder.name(""), {}); });
  if (way == 3) refuses([&] { cli::need_file("a", folder.name("dangling"), asked, "the rule"); });
  fs::remove(path);
  return 0;
}
