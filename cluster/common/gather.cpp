// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/common/gather.hpp"

#include <type_traits>

namespace detgemm::cluster {
namespace {

template <class View>
View part(View whole, const Block& block) {
  const auto size = static_cast<std::int64_t>(size_of(whole.dtype));
  const std::int64_t at =
      (block.rows.begin * whole.row_stride + block.cols.begin * whole.col_stride) * size;
  using Byte = std::conditional_t<std::is_same_v<View, Matrix>, std::byte, const std::byte>;
  if (whole.data != nullptr) whole.data = static_cast<Byte*>(whole.data) + at;
  whole.rows = block.rows.size();
  whole.cols = block.cols.size();
  return whole;
}

bool has_rows_in_lines(const ConstMatrix& view) { return view.cols <= 1 || view.col_stride == 1; }

bool is_packed(const ConstMatrix& view) {
  return has_rows_in_lines(view) && (view.rows <= 1 || view.row_stride == view.cols);
}

}  // namespace

Matrix block_of(Matrix whole, const Block& block) { return part(whole, block); }
ConstMatrix block_of(ConstMatrix whole, const Block& block) { return part(whole, block); }

Status copy_matrix(Device& device, Stream stream, const ConstMatrix& from, const Matrix& to) {
  if (from.rows == 0 || from.cols == 0 || from.data == to.data) return {};
  const std::size_t size = size_of(from.dtype);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * size;
  };
  if (has_rows_in_lines(from) && has_rows_in_lines(to)) {
    return device.copy_2d(stream, to.data, bytes(to.row_stride), from.data, bytes(from.row_stride),
                          bytes(from.cols), static_cast<std::size_t>(from.rows));
  }
  for (std::int64_t j = 0; j < from.cols; ++j) {  // element by element down a column
    const Status s = device.copy_2d(
        stream, static_cast<std::byte*>(to.data) + bytes(j * to.col_stride), bytes(to.row_stride),
        static_cast<const std::byte*>(from.data) + bytes(j * from.col_stride),
        bytes(from.row_stride), size, static_cast<std::size_t>(from.rows));
    if (!s) return s;
  }
  return {};
}

Status Gather::run(const ConstMatrix& mine, const Matrix& to) const {
  const int ranks = state.transport->size();
  const int rank = state.transport->rank();
  std::vector<Matrix> packed;
  std::size_t used = 0;
  for (int r = 0; r < ranks; ++r) {
    const Matrix there = block_of(to, block(r));
    const bool direct = is_packed(there);
    packed.push_back(
        direct ? there
               : row_major(static_cast<void*>(static_cast<std::byte*>(staging.data) + used),
                           there.rows, there.cols, to.dtype));
    if (!direct) used += gather_bytes(there.rows, there.cols, to.dtype);
  }
  const auto bytes = [&](int r) { return gather_bytes(block(r).size(), 1, to.dtype); };
  const Matrix& own = packed[static_cast<std::size_t>(rank)];
  if (Status s = copy_matrix(device, stream, mine, own); !s) return s;
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) continue;
    if (bytes(rank) > 0) sends.push_back({r, own.data, bytes(rank)});
    if (bytes(r) > 0) receives.push_back({r, packed[static_cast<std::size_t>(r)].data, bytes(r)});
  }
  if (Status s =
          state.after(state.transport->exchange(stream, sends, receives, state.options.patience));
      !s) {
    return s;
  }
  for (int r = 0; r < ranks; ++r) {
    const Matrix there = block_of(to, block(r));
    if (there.data == mine.data) continue;  // it was there before
    const Matrix& from = packed[static_cast<std::size_t>(r)];
    if (Status s = copy_matrix(device, stream, from, there); !s) return s;
  }
  return {};
}

}  // namespace detgemm::cluster
