// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>

#include "cluster/common/state.hpp"

namespace detgemm::cluster {

/// Rows and columns of a matrix that one rank owns.
struct Block {
  Range rows, cols;
  std::int64_t size() const { return rows.size() * cols.size(); }
};

/// That part of a matrix.
Matrix block_of(Matrix whole, const Block& block);
ConstMatrix block_of(ConstMatrix whole, const Block& block);

/// Copies a matrix onto one of the same extents, any strides, on the stream.
Status copy_matrix(Device& device, Stream stream, const ConstMatrix& from, const Matrix& to);

/// Every rank has one block of a matrix; afterwards every rank has all of it in `to`. Blocks travel
/// packed by rows, whatever the layout on either side, so ranks may store the matrix differently:
///
///     mine ----copy----> packed ----to all----> packed ----copy----> to
///
/// A block that is packed in `to` travels from there and arrives there. The others need `staging`
/// of gather_bytes.
struct Gather {
  Communicator::State& state;
  Device& device;
  Stream stream;
  std::function<Block(int rank)> block;
  Workspace staging;

  /// `mine` may be this rank's block of `to` itself.
  Status run(const ConstMatrix& mine, const Matrix& to) const;
};

/// Bytes that a matrix takes when it is packed.
inline std::size_t gather_bytes(std::int64_t rows, std::int64_t cols, DType dtype) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * size_of(dtype);
}

}  // namespace detgemm::cluster
