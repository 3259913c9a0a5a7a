// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/capi/error.hpp"
#include "core/capi/text.hpp"
#include "detgemm/backend.hpp"
#include "detgemm/contract.hpp"
#include "detgemm/types.hpp"
#include "detgemm/version.hpp"

using namespace detgemm;
using capi::guarded;
using capi::interned;
using capi::null_argument;

const char* detgemm_version(void) { return version(); }
int32_t detgemm_abi_version(void) { return DETGEMM_ABI_VERSION; }

const char* detgemm_status_name(detgemm_status_t status) {
  return interned(name(static_cast<Errc>(status)));
}
const char* detgemm_dtype_name(detgemm_dtype_t dtype) {
  return interned(name(static_cast<DType>(dtype)));
}
const char* detgemm_op_name(detgemm_op_t op) { return interned(name(static_cast<Op>(op))); }
const char* detgemm_activation_name(detgemm_activation_t activation) {
  return interned(name(static_cast<Activation>(activation)));
}
const char* detgemm_device_kind_name(detgemm_device_kind_t kind) {
  return interned(name(static_cast<DeviceKind>(kind)));
}
const char* detgemm_arithmetic_name(detgemm_arithmetic_t arithmetic) {
  return interned(name(static_cast<Arithmetic>(arithmetic)));
}
const char* detgemm_reduction_name(detgemm_reduction_t reduction) {
  return interned(name(static_cast<ReductionKind>(reduction)));
}
const char* detgemm_stable_name(detgemm_stable_t stable) {
  return interned(name(static_cast<Stable>(stable)));
}
const char* detgemm_evidence(detgemm_arithmetic_t arithmetic) {
  return interned(evidence(static_cast<Arithmetic>(arithmetic)));
}

detgemm_status_t detgemm_dtype_parse(const char* text, detgemm_dtype_t* dtype) {
  return guarded([&]() -> Status {
    if (text == nullptr) return null_argument("text", "the name of a type");
    if (dtype == nullptr) return null_argument("dtype", "a place for the answer");
    auto parsed = parse_dtype(text);
    if (!parsed) return parsed.status();
    *dtype = static_cast<detgemm_dtype_t>(*parsed);
    return {};
  });
}

detgemm_status_t detgemm_activation_parse(const char* text, detgemm_activation_t* activation) {
  return guarded([&]() -> Status {
    if (text == nullptr) return null_argument("text", "the name of an activation");
    if (activation == nullptr) return null_argument("activation", "a place for the answer");
    auto parsed = parse_activation(text);
    if (!parsed) return parsed.status();
    *activation = static_cast<detgemm_activation_t>(*parsed);
    return {};
  });
}

size_t detgemm_dtype_size(detgemm_dtype_t dtype) { return size_of(static_cast<DType>(dtype)); }
