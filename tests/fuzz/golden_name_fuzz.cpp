// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Captured files by any name, some of which exist with the right size, too short or too long: a
// file whose size is what its name says, or a sentence.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/cli/golden_file.hpp"
#include "core/cli/refusal.hpp"
#include "tests/fuzz/bytes.hpp"

using detgemm::fuzz::require;

namespace {

namespace fs = std::filesystem;

/// A folder of files for the names to hit, gone at the end of the process.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "detgemm_fuzz_XXXXXX").string()) {
    require(mkdtemp(path_.data()) != nullptr, "a temporary folder can be made");
    put("bf16_a_k0.bin", 2 * 64 * 64 * 4);
    put("e4m3_b_k1.bin", 2 * 64 + 2 * 64 * 64 * 4);
    put("fp16_c_k2.bin", 100);
    put("tf32_d_k3.bin", 2 * 64 * 3 * 4 + 2 * 64 * 64 * 4 + 1);
    fs::create_directory(path_ + "/bf16_e_k4.bin");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string name(const std::string& file) const { return path_ + "/" + file; }

 private:
  void put(const char* file, std::uintmax_t size) const {
    std::ofstream(name(file)).put('\0');
    fs::resize_file(name(file), size);
  }
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  std::string file(reinterpret_cast<const char*>(data), size);
  if (file.find('/') != std::string::npos) return 0;  // stay in the folder
  try {
    const auto golden = detgemm::cli::open_golden(folder.name(file));
    require(fs::file_size(golden.path.c_str()) == golden.bytes(), "the size is what the name says");
  } catch (const detgemm::cli::Refusal& refusal) {
    const std::string said = refusal.what();
    require(!said.empty(), "a refusal has a sentence");
    for (unsigned char c : said) {  // names of files may be UTF-8
      require((c >= 0x20 && c != 0x7f) || c == '\n', "a sentence has no control characters");
    }
  }
  return 0;
}
