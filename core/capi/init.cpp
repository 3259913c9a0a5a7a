// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/capi/descriptors.hpp"
#include "detgemm/quantize.hpp"
#include "detgemm/snap.hpp"

namespace detgemm::capi {
namespace {

template <class T>
T sized() {
  T ours{};
  ours.struct_size = sizeof(T);
  return ours;
}

template <class T>
T empty_matrix() {
  T ours = sized<T>();
  ours.col_stride = 1;
  return ours;
}

}  // namespace

template <>
detgemm_runtime_options_t defaults() {
  return sized<detgemm_runtime_options_t>();
}
template <>
detgemm_contract_t defaults() {
  auto ours = sized<detgemm_contract_t>();
  ours.version = 1;
  ours.k_block = 1;
  return ours;
}
template <>
detgemm_matrix_t defaults() {
  return empty_matrix<detgemm_matrix_t>();
}
template <>
detgemm_const_matrix_t defaults() {
  return empty_matrix<detgemm_const_matrix_t>();
}
template <>
detgemm_vector_t defaults() {
  auto ours = sized<detgemm_vector_t>();
  ours.dtype = DETGEMM_FP32;
  return ours;
}
template <>
detgemm_stream_t defaults() {
  return sized<detgemm_stream_t>();
}
template <>
detgemm_gemm_spec_t defaults() {
  auto ours = sized<detgemm_gemm_spec_t>();
  ours.alpha = 1.0F;
  ours.bias = DETGEMM_NONE;
  return ours;
}
template <>
detgemm_operands_t defaults() {
  return sized<detgemm_operands_t>();
}
template <>
detgemm_plan_options_t defaults() {
  return sized<detgemm_plan_options_t>();
}
template <>
detgemm_run_info_t defaults() {
  return sized<detgemm_run_info_t>();
}
template <>
detgemm_snap_spec_t defaults() {
  auto ours = sized<detgemm_snap_spec_t>();
  ours.leaf_k = SnapSpec{}.leaf_k;
  return ours;
}
template <>
detgemm_block_scales_t defaults() {
  auto ours = sized<detgemm_block_scales_t>();
  ours.per = 1;
  ours.leaf_stride = 1;
  return ours;
}
template <>
detgemm_quantize_spec_t defaults() {
  auto ours = sized<detgemm_quantize_spec_t>();
  ours.leaf_k = QuantizeSpec{}.leaf_k;
  ours.per = QuantizeSpec{}.per;
  return ours;
}
template <>
detgemm_scales_out_t defaults() {
  auto ours = sized<detgemm_scales_out_t>();
  ours.leaf_stride = 1;
  return ours;
}
template <>
detgemm_gemm_options_t defaults() {
  auto ours = sized<detgemm_gemm_options_t>();
  ours.alpha = 1.0F;
  return ours;
}

}  // namespace detgemm::capi

using detgemm::capi::init;

detgemm_status_t detgemm_runtime_options_init(detgemm_runtime_options_t* options,
                                              size_t struct_size) {
  return init("options", options, struct_size);
}
detgemm_status_t detgemm_contract_init(detgemm_contract_t* contract, size_t struct_size) {
  return init("contract", contract, struct_size);
}
detgemm_status_t detgemm_matrix_init(detgemm_matrix_t* matrix, size_t struct_size) {
  return init("matrix", matrix, struct_size);
}
detgemm_status_t detgemm_const_matrix_init(detgemm_const_matrix_t* matrix, size_t struct_size) {
  return init("matrix", matrix, struct_size);
}
detgemm_status_t detgemm_vector_init(detgemm_vector_t* vector, size_t struct_size) {
  return init("vector", vector, struct_size);
}
detgemm_status_t detgemm_stream_init(detgemm_stream_t* stream, size_t struct_size) {
  return init("stream", stream, struct_size);
}
detgemm_status_t detgemm_gemm_spec_init(detgemm_gemm_spec_t* spec, size_t struct_size) {
  return init("spec", spec, struct_size);
}
detgemm_status_t detgemm_operands_init(detgemm_operands_t* operands, size_t struct_size) {
  return init("operands", operands, struct_size);
}
detgemm_status_t detgemm_plan_options_init(detgemm_plan_options_t* options, size_t struct_size) {
  return init("options", options, struct_size);
}
detgemm_status_t detgemm_run_info_init(detgemm_run_info_t* info, size_t struct_size) {
  return init("info", info, struct_size);
}
detgemm_status_t detgemm_snap_spec_init(detgemm_snap_spec_t* spec, size_t struct_size) {
  return init("spec", spec, struct_size);
}
detgemm_status_t detgemm_block_scales_init(detgemm_block_scales_t* scales, size_t struct_size) {
  return init("scales", scales, struct_size);
}
detgemm_status_t detgemm_quantize_spec_init(detgemm_quantize_spec_t* spec, size_t struct_size) {
  return init("spec", spec, struct_size);
}
detgemm_status_t detgemm_scales_out_init(detgemm_scales_out_t* scales, size_t struct_size) {
  return init("scales", scales, struct_size);
}
detgemm_status_t detgemm_gemm_options_init(detgemm_gemm_options_t* options, size_t struct_size) {
  return init("options", options, struct_size);
}
