// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace detgemm::cli {

/// One tensor of a safetensors file. Its bytes are row-major and little-endian.
struct StoredTensor {
  std::string name;
  std::string dtype;  ///< as the format writes it, for example "BF16"
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< of its bytes in the file
  std::uint64_t end = 0;
};

/// The layout of a safetensors file: 8 bytes with the length of a header, the header, which is
/// JSON, and the tensors' bytes without a gap.
struct SafetensorsFile {
  std::string head;                   ///< everything before the tensors, as it lies in the file
  std::vector<StoredTensor> tensors;  ///< in the order of their bytes
};

/// Reads the head and checks it against the file's size: names once, offsets without gaps and
/// overlaps, BF16 tensors with the bytes that their shapes need. Throws a Refusal with the rule
/// that is broken.
SafetensorsFile read_safetensors(const std::string& path);

}  // namespace detgemm::cli
