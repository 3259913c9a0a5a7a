// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch_ops/views.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "python/torch_ops/platform.hpp"

namespace detgemm::torch_ops {
namespace {

std::atomic<std::int64_t> copy_count{0};

/// Lines that may share a scale.
constexpr std::int64_t kBlock = 128;

/// torch's numbers are read once: they are constant in a process.
detgemm_dtype_t dtype_of(std::int32_t code) {
  static const std::array<std::pair<std::int32_t, detgemm_dtype_t>, 5> table{{
      {aoti_torch_dtype_bfloat16(), DETGEMM_BF16},
      {aoti_torch_dtype_float16(), DETGEMM_FP16},
      {aoti_torch_dtype_float32(), DETGEMM_FP32},
      {aoti_torch_dtype_float8_e4m3fn(), DETGEMM_E4M3},
      {aoti_torch_dtype_float8_e5m2(), DETGEMM_E5M2},
  }};
  for (const auto& [torch, ours] : table) {
    if (torch == code) return ours;
  }
  return DETGEMM_NONE;
}

std::int32_t torch_code_of(detgemm_dtype_t dtype) {
  switch (dtype) {
    case DETGEMM_BF16:
      return aoti_torch_dtype_bfloat16();
    case DETGEMM_FP16:
      return aoti_torch_dtype_float16();
    case DETGEMM_E4M3:
      return aoti_torch_dtype_float8_e4m3fn();
    case DETGEMM_E5M2:
      return aoti_torch_dtype_float8_e5m2();
    default:
      return aoti_torch_dtype_float32();
  }
}

/// torch's number of float8_e8m0fnu, which its stable interface has from release 2.11 on; -1
/// before.
std::int32_t e8m0_code() {
  static const std::int32_t code = [] {
    void* library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return -1;
    const auto number =
        reinterpret_cast<std::int32_t (*)()>(dlsym(library, "torch_dtype_float8_e8m0fnu"));
    return number == nullptr ? -1 : number();
  }();
  return code;
}

std::string list(std::span<const std::int64_t> numbers) {
  std::string text = "(";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  }
  return text + ")";
}

/// A new tensor with row-major strides, of a type by torch's number.
Tensor empty_of(std::span<const std::int64_t> sizes, std::int32_t code, const Place& place) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(sizes[i], 1);
  }
  AtenTensorHandle handle = nullptr;
  const bool host = place.kind == DETGEMM_HOST;
  const std::int32_t device = host ? aoti_torch_device_type_cpu() : aoti_torch_device_type_cuda();
  if (aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.data(),
                               strides.data(), code, device, host ? -1 : place.index,
                               &handle) != 0) {
    refuse("a result with the shape " + list(sizes) + " could not be allocated on " +
           name_of(place));
  }
  return Tensor(handle);
}

std::string label(std::string_view name) { return std::string(name); }

/// A row-major copy.
Tensor copy_of(const Tensor& tensor, const Description& d) {
  Tensor copy = empty(d.sizes, d.dtype, d.place);
  check(aoti_torch_copy_(copy.get(), tensor.get(), 0), "copy an argument");
  copy_count.fetch_add(1, std::memory_order_relaxed);
  return copy;
}

/// The leading dimensions as rows, where one stride says how to go from row to row.
struct Rows {
  std::int64_t count = 1;
  std::int64_t stride = 0;
  bool one_stride = true;
};
Rows flatten(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  Rows rows;
  bool first = true;
  std::int64_t next = 0;  // the stride that the next dimension outwards must have
  for (std::size_t i = sizes.size(); i-- > 0;) {
    rows.count *= sizes[i];
    if (sizes[i] == 1) continue;
    if (first) {
      rows.stride = strides[i];
      first = false;
    } else if (strides[i] != next) {
      rows.one_stride = false;
    }
    next = strides[i] * sizes[i];
  }
  return rows;
}

/// Gives strides along extents of 0 and 1 values that every rule accepts; they are never used.
void settle(detgemm_const_matrix_t& m) {
  if (m.rows <= 1 && m.cols <= 1) {
    m.row_stride = 1;
    m.col_stride = 1;
  } else if (m.rows == 0 || m.cols == 0) {
    m.row_stride = std::max<std::int64_t>(m.cols, 1);
    m.col_stride = 1;
  } else if (m.rows == 1) {
    m.row_stride = m.col_stride == 1 ? m.cols : 1;
  } else if (m.cols == 1) {
    m.col_stride = m.row_stride == 1 ? m.rows : 1;
  }
}

/// One unit stride, and the other one at least the extent along it.
bool plain(const detgemm_const_matrix_t& m) {
  return (m.col_stride == 1 && m.row_stride >= m.cols) ||
         (m.row_stride == 1 && m.col_stride >= m.rows);
}

/// The last two dimensions, or N dimensions with `rows` in place of the leading ones.
detgemm_const_matrix_t matrix_of(const Description& d, const Rows& rows) {
  detgemm_const_matrix_t m{};
  detgemm_const_matrix_init(&m, sizeof m);
  m.dtype = d.dtype;
  m.data = d.data;
  m.rows = rows.count;
  m.cols = d.sizes.back();
  m.row_stride = rows.stride;
  m.col_stride = d.strides.back();
  settle(m);
  return m;
}

[[noreturn]] void refuse_strides(std::string_view name, const Description& d) {
  refuse(label(name) + " has the shape " + list(d.sizes) + " and the strides " + list(d.strides) +
         ": it must be a matrix with one stride of 1 whose rows do not overlap, since results are "
         "never written through a copy");
}

}  // namespace

detgemm_matrix_t writable(const detgemm_const_matrix_t& view) {
  detgemm_matrix_t m{};
  detgemm_matrix_init(&m, sizeof m);
  m.dtype = view.dtype;
  m.data = const_cast<void*>(view.data);  // tensors of torch are writable
  m.rows = view.rows;
  m.cols = view.cols;
  m.row_stride = view.row_stride;
  m.col_stride = view.col_stride;
  return m;
}

void transpose(detgemm_const_matrix_t& m) {
  std::swap(m.rows, m.cols);
  std::swap(m.row_stride, m.col_stride);
}

std::int64_t copies() { return copy_count.load(std::memory_order_relaxed); }

std::string name_of(const Place& place) {
  if (place.kind == DETGEMM_HOST) return "cpu";
  // PyTorch calls its AMD devices so too; a sentence that says which it is saves a search.
  return "cuda:" + std::to_string(place.index) + (place.kind == DETGEMM_HIP ? " (HIP)" : "");
}

namespace {

/// Everything but the type, of which torch's number is returned.
std::int32_t describe_without_type(const Tensor& tensor, std::string_view name, Description& d) {
  std::int64_t dim = 0;
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;
  std::int32_t code = 0;
  std::int32_t device = 0;
  AtenTensorHandle handle = tensor.get();
  const auto checked = [name](AOTITorchError error) {
    if (error != 0) check(error, ("describe " + label(name)).c_str());
  };
  checked(aoti_torch_get_dim(handle, &dim));
  checked(aoti_torch_get_sizes(handle, &sizes));
  checked(aoti_torch_get_strides(handle, &strides));
  checked(aoti_torch_get_dtype(handle, &code));
  checked(aoti_torch_get_device_type(handle, &device));
  static const std::int32_t cpu = aoti_torch_device_type_cpu();
  static const std::int32_t cuda = aoti_torch_device_type_cuda();
  if (device == cuda) {
    d.place.kind = platform().kind;
    checked(aoti_torch_get_device_index(handle, &d.place.index));
  } else if (device != cpu) {
    refuse(label(name) +
           " is neither on a CPU nor on a CUDA or ROCm device: only these are computed on");
  }
  checked(aoti_torch_get_data_ptr(handle, &d.data));
  d.sizes = {sizes, static_cast<std::size_t>(dim)};
  d.strides = {strides, static_cast<std::size_t>(dim)};
  return code;
}

}  // namespace

Description describe(const Tensor& tensor, std::string_view name) {
  Description d;
  const std::int32_t code = describe_without_type(tensor, name, d);
  d.dtype = dtype_of(code);
  const bool e4m3fnuz = code == aoti_torch_dtype_float8_e4m3fnuz();
  if (e4m3fnuz || code == aoti_torch_dtype_float8_e5m2fnuz()) {
    refuse(label(name) + ".dtype is torch." + (e4m3fnuz ? "float8_e4m3fnuz" : "float8_e5m2fnuz") +
           ", the fp8 of MI300 whose exponents mean half of what the standard's mean: it must be "
           "another type; torch.bfloat16 holds each of its numbers");
  }
  if (d.dtype == DETGEMM_NONE) {
    refuse(label(name) +
           ".dtype is a type that no contract has: it must be torch.bfloat16, float16, float32, "
           "float8_e4m3fn or float8_e5m2");
  }
  return d;
}

OffsetsOf::OffsetsOf(const Tensor& tensor, std::string_view name) {
  Description d;
  const std::int32_t code = describe_without_type(tensor, name, d);
  static const std::int32_t narrow = aoti_torch_dtype_int32();
  static const std::int32_t wide = aoti_torch_dtype_int64();
  if (code != narrow && code != wide) {
    refuse(label(name) + ".dtype is not an integer's: it must be torch.int32 or torch.int64");
  }
  if (d.sizes.size() != 1) {
    refuse(label(name) + " has the shape " + list(d.sizes) + ": it must have one dimension");
  }
  if (d.sizes[0] > 1 && d.strides[0] != 1) {
    copy_ = empty_of(d.sizes, code, d.place);
    check(aoti_torch_copy_(copy_.get(), tensor.get(), 0), "copy an argument");
    copy_count.fetch_add(1, std::memory_order_relaxed);
    check(aoti_torch_get_data_ptr(copy_.get(), &d.data), "describe a copy");
  }
  data_ = d.data;
  count_ = d.sizes[0];
  type_ = code == narrow ? DETGEMM_I32 : DETGEMM_I64;
  place_ = d.place;
}

namespace {

std::int32_t describe_scales(const Tensor& tensor, std::string_view name, Description& d) {
  const std::int32_t code = describe_without_type(tensor, name, d);
  if (code != aoti_torch_dtype_float32() && code != e8m0_code()) {
    refuse(label(name) +
           ".dtype is not a scale's: it must be torch.float32, or torch.float8_e8m0fnu with "
           "PyTorch 2.11 and newer");
  }
  return code;
}

}  // namespace

ScalesOf::ScalesOf(const Tensor& tensor, std::string_view name, std::int64_t lines,
                   std::int64_t leaves, Lines where) {
  Description d;
  const std::int32_t code = describe_scales(tensor, name, d);
  const bool of_a = where == Lines::first;
  const std::int64_t blocks = (lines + kBlock - 1) / kBlock;
  const auto wanted = [&](std::int64_t count) {
    return of_a ? std::to_string(count) + " x " + std::to_string(leaves)
                : std::to_string(leaves) + " x " + std::to_string(count);
  };
  const std::string given = label(name) + " has the shape " + list(d.sizes);
  if (d.sizes.size() < 2 || (!of_a && d.sizes.size() != 2)) {
    refuse(given + ": it must have two dimensions" + (of_a ? " or more" : ""));
  }
  Rows rows = flatten(d.sizes.first(d.sizes.size() - 1), d.strides.first(d.strides.size() - 1));
  const std::int64_t found = of_a ? rows.count : d.sizes.back();
  if ((of_a ? d.sizes.back() : rows.count) != leaves || (found != lines && found != blocks)) {
    refuse(given + ": it must be " + wanted(lines) + " or " + wanted(blocks) + ", " +
           (of_a ? "rows of a, one by one or in blocks of 128, by leaves of K"
                 : "leaves of K by columns of b, one by one or in blocks of 128"));
  }
  if (!rows.one_stride && rows.count > 0 && leaves > 0) {
    copy_ = empty_of(d.sizes, code, d.place);
    check(aoti_torch_copy_(copy_.get(), tensor.get(), 0), "copy an argument");
    copy_count.fetch_add(1, std::memory_order_relaxed);
    describe_without_type(copy_, name, d);
    rows = flatten(d.sizes.first(d.sizes.size() - 1), d.strides.first(d.strides.size() - 1));
  }
  detgemm_block_scales_init(&scales_, sizeof scales_);
  scales_.type = code == aoti_torch_dtype_float32() ? DETGEMM_SCALE_FP32 : DETGEMM_SCALE_E8M0;
  scales_.data = d.data;
  scales_.per = found == lines ? 1 : kBlock;
  scales_.blocks = found;
  scales_.leaves = leaves;
  scales_.stride = of_a ? rows.stride : d.strides.back();
  scales_.leaf_stride = of_a ? d.strides.back() : rows.stride;
  place_ = d.place;
}

GroupScalesOf::GroupScalesOf(const Tensor& tensor, std::string_view name, std::int64_t groups,
                             std::int64_t lines, std::int64_t leaves, Lines where) {
  Description d;
  const std::int32_t code = describe_scales(tensor, name, d);
  const bool of_a = where == Lines::first;
  const std::int64_t blocks = (lines + kBlock - 1) / kBlock;
  const std::size_t line = of_a ? 1 : 2, leaf = of_a ? 2 : 1;
  const bool three = d.sizes.size() == 3;
  if (!three || d.sizes[0] != groups || d.sizes[leaf] != leaves ||
      (d.sizes[line] != lines && d.sizes[line] != blocks)) {
    const auto wanted = [&](std::int64_t count) {
      return std::to_string(groups) + " x " + std::to_string(of_a ? count : leaves) + " x " +
             std::to_string(of_a ? leaves : count);
    };
    refuse(label(name) + " has the shape " + list(d.sizes) + ": it must be " + wanted(lines) +
           " or " + wanted(blocks) + ", groups by " +
           (of_a ? "rows of a, one by one or in blocks of 128, by leaves of K"
                 : "leaves of K by columns of b, one by one or in blocks of 128"));
  }
  detgemm_block_scales_init(&scales_, sizeof scales_);
  scales_.type = code == aoti_torch_dtype_float32() ? DETGEMM_SCALE_FP32 : DETGEMM_SCALE_E8M0;
  scales_.data = d.data;
  scales_.per = d.sizes[line] == lines ? 1 : kBlock;
  scales_.blocks = d.sizes[line];
  scales_.leaves = leaves;
  scales_.stride = d.strides[line];
  scales_.leaf_stride = d.strides[leaf];
  distance_ = groups > 1 ? d.strides[0] : 0;
  place_ = d.place;
}

MatrixOf::MatrixOf(const Tensor& tensor, std::string_view name, Copies copies)
    : description_(describe(tensor, name)) {
  if (description_.sizes.size() < 2) {
    refuse(label(name) + " has the shape " + list(description_.sizes) +
           ": it must have two dimensions or more");
  }
  const auto rows_of = [](const Description& d) {
    return flatten(d.sizes.first(d.sizes.size() - 1), d.strides.first(d.strides.size() - 1));
  };
  Rows rows = rows_of(description_);
  matrix_ = matrix_of(description_, rows);
  if ((rows.one_stride && plain(matrix_)) || rows.count == 0) return;
  if (copies == Copies::refused) refuse_strides(name, description_);
  copy_ = copy_of(tensor, description_);
  description_ = describe(copy_, name);
  matrix_ = matrix_of(description_, rows_of(description_));
}

detgemm_matrix_t MatrixOf::output() const { return writable(matrix_); }

BatchOf::BatchOf(const Tensor& tensor, std::string_view name, Copies copies)
    : description_(describe(tensor, name)) {
  if (description_.sizes.size() != 3) {
    refuse(label(name) + " has the shape " + list(description_.sizes) +
           ": it must have three dimensions");
  }
  const auto one_of = [](const Description& d) {
    return matrix_of(d, Rows{d.sizes[1], d.strides[1], true});
  };
  matrix_ = one_of(description_);
  const bool empty_matrix = matrix_.rows == 0 || matrix_.cols == 0;
  if (!empty_matrix && !plain(matrix_)) {
    if (copies == Copies::refused) refuse_strides(name, description_);
    copy_ = copy_of(tensor, description_);
    description_ = describe(copy_, name);
    matrix_ = one_of(description_);
  }
  count_ = description_.sizes[0];
  batch_stride_ = description_.strides[0];
}

detgemm_const_matrix_t BatchOf::input(std::int64_t index) const {
  detgemm_const_matrix_t m = matrix_;
  const auto bytes = static_cast<std::int64_t>(detgemm_dtype_size(m.dtype));
  if (m.data != nullptr) {
    m.data = static_cast<const char*>(m.data) + index * batch_stride_ * bytes;
  }
  return m;
}

detgemm_matrix_t BatchOf::output(std::int64_t index) const { return writable(input(index)); }

VectorOf::VectorOf(const Tensor& tensor, std::string_view name)
    : description_(describe(tensor, name)) {
  if (description_.sizes.size() != 1) {
    refuse(label(name) + " has the shape " + list(description_.sizes) +
           ": it must have one dimension");
  }
  if (description_.sizes[0] > 1 && description_.strides[0] != 1) {
    copy_ = copy_of(tensor, description_);
    description_ = describe(copy_, name);
  }
  detgemm_vector_init(&vector_, sizeof vector_);
  vector_.dtype = description_.dtype;
  vector_.data = description_.data;
  vector_.size = description_.sizes[0];
}

Tensor empty(std::span<const std::int64_t> sizes, detgemm_dtype_t dtype, const Place& place) {
  return empty_of(sizes, torch_code_of(dtype), place);
}

Tensor empty_scales(std::span<const std::int64_t> sizes, detgemm_scale_type_t type,
                    const Place& place) {
  if (type == DETGEMM_SCALE_FP32) return empty(sizes, DETGEMM_FP32, place);
  if (e8m0_code() < 0) {
    refuse("scale_type is \"e8m0\": this PyTorch has no number for it, 2.11 and newer do");
  }
  return empty_of(sizes, e8m0_code(), place);
}

Tensor empty_bytes(std::size_t bytes, const Place& place) {
  const std::int64_t size = static_cast<std::int64_t>(bytes);
  const std::int64_t stride = 1;
  const bool host = place.kind == DETGEMM_HOST;
  AtenTensorHandle handle = nullptr;
  if (aoti_torch_empty_strided(1, &size, &stride, aoti_torch_dtype_uint8(),
                               host ? aoti_torch_device_type_cpu() : aoti_torch_device_type_cuda(),
                               host ? -1 : place.index, &handle) != 0) {
    throw NoRoom("detgemm: a workspace of " + std::to_string(bytes) +
                 " bytes could not be allocated on " + name_of(place));
  }
  return Tensor(handle);
}

void check_same_place(const Place& x, std::string_view x_name, const Place& y,
                      std::string_view y_name) {
  if (x == y) return;
  refuse(label(x_name) + " is on " + name_of(x) + " and " + label(y_name) + " is on " + name_of(y) +
         ": all operands must be on one device");
}

}  // namespace detgemm::torch_ops
