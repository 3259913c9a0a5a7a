// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <detgemm/detgemm.hpp>
#include <detgemm/dlpack.hpp>
#include <string>
#include <vector>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#else
/// The structs of DLPack 0.6 and later, as its documentation gives them.
struct DLDevice {
  int device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
#endif

namespace {

using detgemm::DType;
int failures = 0;
void expect(bool good, const char* what) {
  if (!good) std::printf("failed: %s\n", what), ++failures;
}

/// A tensor that borrows `data`, with a shape and strides of its own.
struct Owner {
  std::array<std::int64_t, 2> shape, strides;
  DLTensor tensor{};

  Owner(void* data, std::int64_t rows, std::int64_t cols, int code = 2, int bits = 32)
      : shape{rows, cols}, strides{cols, 1} {
    tensor.data = data;
    tensor.device.device_type = static_cast<decltype(tensor.device.device_type)>(1);
    tensor.ndim = 2;
    tensor.dtype = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
    tensor.shape = shape.data();
  }
  Owner(const Owner&) = delete;
};

void refused(const DLTensor& tensor, const std::string& part, const char* what) {
  const auto view = detgemm::from_dlpack(tensor);
  const bool good = !view.ok() && view.status().message().find(part) != std::string::npos;
  if (!good) std::puts(view.status().message().c_str());
  expect(good, what);
}

void views(float* data) {
  Owner t(data, 3, 4);
  auto view = detgemm::from_dlpack(t.tensor);
  expect(view && view->data == data && view->rows == 3 && view->cols == 4 &&
             view->row_stride == 4 && view->col_stride == 1 && view->dtype == DType::fp32,
         "null strides are row-major");
  t.strides = {1, 7};
  t.tensor.strides = t.strides.data();
  t.tensor.byte_offset = 8;
  view = detgemm::from_dlpack(t.tensor);
  expect(view && view->data == data + 2 && view->row_stride == 1 && view->col_stride == 7,
         "strides and byte_offset");
  const struct {
    int code, bits;
    DType type;
  } types[] = {{2, 32, DType::fp32},
               {2, 16, DType::fp16},
               {4, 16, DType::bf16},
               {10, 8, DType::e4m3},
               {12, 8, DType::e5m2}};
  for (const auto& one : types) {
    const Owner typed(data, 2, 2, one.code, one.bits);
    view = detgemm::from_dlpack(typed.tensor);
    expect(view && view->dtype == one.type, "element types");
  }
  const Owner empty(nullptr, 0, 4);
  expect(detgemm::from_dlpack(empty.tensor).ok(), "no elements, no memory");
}

void refusals(float* data) {
  Owner t(data, 3, 4);
  const DLTensor good = t.tensor;
  auto bad = good;
  bad.ndim = 3;
  refused(bad, "tensor.ndim is 3: a matrix has 2", "rank");
  bad = good;
  bad.dtype.lanes = 2;
  refused(bad, "32 bits and 2 lanes", "lanes");
  bad = good;
  bad.dtype.bits = 64;
  refused(bad, "tensor.dtype is code 2 with 64 bits", "fp64");
  bad = good;
  bad.dtype.code = 0;
  refused(bad, "tensor.dtype is code 0", "integers");
  bad = good;
  bad.device.device_type = static_cast<decltype(bad.device.device_type)>(8);
  refused(bad, "tensor.device.device_type is 8", "Metal");
  bad = good;
  bad.byte_offset = 2;
  refused(bad, "tensor.byte_offset is 2: it must be a multiple of 4", "offset");
  bad = good;
  bad.data = nullptr;
  refused(bad, "tensor.data is null", "no memory");
  bad = good;
  bad.shape = nullptr;
  refused(bad, "tensor.shape is null", "no shape");
  t.shape[0] = -1;
  refused(good, "tensor.shape is -1 x 4", "negative extents");
}

/// C = A*B from borrowed tensors has the bits of raw pointers; a tensor elsewhere is refused.
void product() {
  const std::int64_t m = 9, n = 7, k = 130;
  std::vector<float> a(m * k + 1), b(k * n), d(m * n), raw(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1.0F / static_cast<float>(1 + i % 89);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1.0F / static_cast<float>(1 + i % 71);
  Owner ta(a.data(), m, k), tb(b.data(), k, n), td(d.data(), m, n);
  ta.tensor.byte_offset = 4;
  const auto contract = detgemm::Contract::parse("ieee_fma/fp32/chain->fp32");
  const auto runtime = detgemm::Runtime::start();
  if (!runtime || !contract) return expect(false, "starting");
  const auto view = [](const float* data, std::int64_t rows, std::int64_t cols) {
    return detgemm::row_major(data, rows, cols, DType::fp32);
  };
  const auto expected = detgemm::gemm({}, view(a.data() + 1, m, k), view(b.data(), k, n),
                                      detgemm::row_major(raw.data(), m, n, DType::fp32), *contract);
  const auto status = detgemm::dlpack::gemm({}, ta.tensor, tb.tensor, td.tensor, *contract);
  expect(expected.ok() && status.ok() &&
             std::memcmp(raw.data(), d.data(), d.size() * sizeof(float)) == 0,
         "the bits of raw pointers");
  tb.tensor.device.device_type = static_cast<decltype(tb.tensor.device.device_type)>(2);
  const auto elsewhere = detgemm::dlpack::gemm({}, ta.tensor, tb.tensor, td.tensor, *contract);
  expect(elsewhere.message() == "b is in memory of kind cuda: the stream's kind is host",
         "memory of another device");
}

}  // namespace

int main() {
  std::vector<float> data(64);
  views(data.data());
  refusals(data.data());
  product();
  if (failures == 0) std::puts(detgemm::version());
  return failures;
}
