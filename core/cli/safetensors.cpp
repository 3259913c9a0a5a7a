// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/safetensors.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/cli/arguments.hpp"
#include "core/cli/files.hpp"
#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr int kDeepest = 16;  // the format has three levels: the object, a tensor, a list

/// What is wrong with one file.
class Complaint {
 public:
  explicit Complaint(const std::string& path) : path_(path) {}
  [[noreturn]] void operator()(const std::string& rule) const {
    throw Refusal(Status{Errc::io, "input is " + in_quotes(path_) + ": " + rule});
  }
  [[noreturn]] void tensor(const std::string& name, const std::string& rule) const {
    (*this)("its tensor " + in_quotes(name) + " " + rule);
  }

 private:
  const std::string& path_;
};

/// Whether brackets outside of JSON's strings nest more than `most` levels deep.
bool deeper_than(int most, const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

/// The header's JSON; a name that comes twice is refused, since readers differ in which one counts.
json parse(const std::string& text, const Complaint& complain) {
  // Before the parser, which takes memory for every level.
  if (deeper_than(kDeepest, text)) {
    complain("it is not a safetensors file: its header nests more than " +
             std::to_string(kDeepest) + " levels deep");
  }
  std::set<std::string> names;
  std::string twice;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth == 1 && event == json::parse_event_t::key) {
      const auto name = value.get<std::string>();
      if (!names.insert(name).second) twice = name;
    }
    return true;
  };
  json header = json::parse(text, watch, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) {
    complain("it is not a safetensors file: its header is not a JSON object");
  }
  if (!twice.empty()) complain.tensor(twice, "is in the header twice");
  return header;
}

bool is_size(const json& value) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMax;
}

bool are_sizes(const json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), is_size);
}

StoredTensor tensor_of(const std::string& name, const json& entry, const Complaint& complain) {
  const auto field = [&](const char* key) {
    return entry.is_object() && entry.contains(key) ? entry[key] : json();
  };
  const json dtype = field("dtype");
  const json shape = field("shape");
  const json offsets = field("data_offsets");
  if (!dtype.is_string()) complain.tensor(name, "has no dtype that is text");
  if (!are_sizes(shape)) complain.tensor(name, "has no shape that is a list of sizes");
  if (!are_sizes(offsets) || offsets.size() != 2 || offsets[0] > offsets[1]) {
    complain.tensor(name, "has no data_offsets that are two offsets, the lower one first");
  }
  StoredTensor tensor{name, dtype, shape, offsets[0], offsets[1]};
  if (tensor.dtype != "BF16") return tensor;  // others are copied, whatever they hold
  std::uint64_t bytes = 2;
  bool fits = true;
  for (const std::int64_t size : tensor.shape) {
    fits &= !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  if (!fits || bytes != tensor.end - tensor.begin) {
    complain.tensor(name, "has " + std::to_string(tensor.end - tensor.begin) +
                              " bytes, which is not what its shape needs in BF16");
  }
  return tensor;
}

}  // namespace

SafetensorsFile read_safetensors(const std::string& path) {
  const Complaint complain(path);
  const std::uint64_t size = size_of_file("input", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) complain("it could not be opened: " + std::string(std::strerror(errno)));
  unsigned char length[kLengthBytes] = {};
  file.read(reinterpret_cast<char*>(length), kLengthBytes);
  std::uint64_t header_bytes = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) header_bytes = header_bytes << 8 | length[i];
  if (size < kLengthBytes || header_bytes > size - kLengthBytes || header_bytes > kLongestHeader) {
    complain(
        "it is not a safetensors file: its first 8 bytes are not the length of a header that "
        "follows (a raw file needs --rows and --cols)");
  }
  SafetensorsFile found;
  found.head.assign(reinterpret_cast<const char*>(length), kLengthBytes);
  std::string text(header_bytes, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(header_bytes))) {
    complain("its header could not be read");
  }
  found.head += text;
  const json header = parse(text, complain);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") found.tensors.push_back(tensor_of(name, entry, complain));
  }
  std::sort(found.tensors.begin(), found.tensors.end(), [](const auto& x, const auto& y) {
    return x.begin != y.begin ? x.begin < y.begin : x.end < y.end;
  });
  std::uint64_t at = 0;
  for (StoredTensor& tensor : found.tensors) {
    if (tensor.begin != at) {
      complain.tensor(tensor.name, "begins at byte " + std::to_string(tensor.begin) +
                                       " of the data, and the one before it ends at " +
                                       std::to_string(at));
    }
    at = tensor.end;
    tensor.begin += found.head.size();
    tensor.end += found.head.size();
  }
  if (at != size - found.head.size()) {
    complain("it has " + std::to_string(size - found.head.size()) +
             " bytes of data, and its header describes " + std::to_string(at));
  }
  return found;
}

}  // namespace detgemm::cli
