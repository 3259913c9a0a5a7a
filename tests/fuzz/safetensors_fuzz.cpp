// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A safetensors file of any bytes: its tensors cover its data without a gap and have the bytes that
// their shapes need, or a sentence.

#include <sys/mman.h>
#include <unistd.h>

#include <set>
#include <string>

#include "core/cli/refusal.hpp"
#include "core/cli/safetensors.hpp"
#include "tests/fuzz/sentence.hpp"

using namespace detgemm;
using fuzz::require;

namespace {

/// A file in memory, which has a name as long as it is open.
class File {
 public:
  explicit File(const std::string& bytes) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    require(descriptor_ >= 0, "a file can be made");
    require(write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "a file can be written");
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Byte 0 decides whether the rest is the file, or byte 1 is how much data follows a header that is
/// the rest, with its right length in front.
std::string file_of(const std::uint8_t* data, std::size_t size) {
  const std::string rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[0] % 4 == 0) return rest;
  std::string file(8, '\0');
  for (int i = 0; i < 8; ++i) file[i] = static_cast<char>(rest.size() >> (8 * i));
  return file + rest + std::string(data[1], 'x');
}

void check(const cli::SafetensorsFile& found, const std::string& file) {
  require(file.compare(0, found.head.size(), found.head) == 0, "the head is the file's begin");
  std::set<std::string> names;
  std::uint64_t at = found.head.size();
  for (const cli::StoredTensor& tensor : found.tensors) {
    require(names.insert(tensor.name).second, "a name is there once");
    require(tensor.begin == at && tensor.end >= tensor.begin,
            "each tensor begins where the one before it ends");
    at = tensor.end;
    unsigned __int128 elements = 1;
    for (const std::int64_t extent : tensor.shape) {
      require(extent >= 0, "extents are not negative");
      elements *= static_cast<unsigned __int128>(extent);
      if (elements > file.size() || elements == 0) break;
    }
    for (const std::int64_t extent : tensor.shape) {
      if (extent == 0) elements = 0;
    }
    if (tensor.dtype == "BF16") {
      require(2 * elements == tensor.end - tensor.begin, "BF16 has the bytes of its shape");
    }
  }
  require(at == file.size(), "tensors reach to the file's end");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string bytes = file_of(data, size);
  const File file(bytes);
  try {
    check(cli::read_safetensors(file.name()), bytes);
  } catch (const cli::Refusal& refusal) {
    fuzz::require_sentence(refusal.what());
  }
  return 0;
}
