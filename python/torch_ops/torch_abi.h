/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_TORCH_ABI_H
#define DETGEMM_TORCH_ABI_H

/* The part of libtorch's stable C ABI that the operators use, declared here so that a build needs
 * neither PyTorch nor its headers. PyTorch promises these declarations from release 2.10 on
 * ("LibTorch Stable ABI" in its documentation). tests/python/test_stable_abi.py compiles this file
 * together with the headers of an installed PyTorch, where a declaration that differs is an error.
 *
 * A value on an operator's stack has 64 bits. Tensors and strings are handles that the callee owns;
 * an optional is a null pointer, or a pointer from `new` to one value that the callee deletes;
 * bool, int and float lie in the lowest bytes. Functions return 0 for success. */

#include <stddef.h>
#include <stdint.h>

using StableIValue = uint64_t;
using AOTITorchError = int32_t;
struct AtenTensorOpaque;
using AtenTensorHandle = AtenTensorOpaque*;
struct TorchLibraryOpaque;
using TorchLibraryHandle = TorchLibraryOpaque*;
struct StringOpaque;
using StringHandle = StringOpaque*;
struct DeviceGuardOpaque;
using DeviceGuardHandle = DeviceGuardOpaque*;

extern "C" {

/* Registration. */
AOTITorchError aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line,
                                           TorchLibraryHandle* library);
AOTITorchError aoti_torch_library_init_impl(const char* ns, const char* key, const char* file,
                                            uint32_t line, TorchLibraryHandle* library);
AOTITorchError aoti_torch_library_def(TorchLibraryHandle library, const char* schema);
AOTITorchError torch_library_impl(TorchLibraryHandle library, const char* name,
                                  void (*function)(StableIValue*, uint64_t, uint64_t),
                                  uint64_t built_for);

/* Tensors. The pointers that these return are borrowed. */
AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** data);
AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* dim);
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** sizes);
AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** strides);
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* dtype);
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* type);
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* index);
AOTITorchError aoti_torch_copy_(AtenTensorHandle to, AtenTensorHandle from, int32_t non_blocking);
AOTITorchError aoti_torch_empty_strided(int64_t dim, const int64_t* sizes, const int64_t* strides,
                                        int32_t dtype, int32_t device_type, int32_t device_index,
                                        AtenTensorHandle* tensor);
AOTITorchError aoti_torch_zero_(AtenTensorHandle tensor);
AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle tensor, int64_t dim,
                                              const int64_t* sizes, const int64_t* strides,
                                              int64_t offset, AtenTensorHandle* view);

/* Text on the stack. */
AOTITorchError torch_string_length(StringHandle text, size_t* length);
AOTITorchError torch_string_c_str(StringHandle text, const char** data);
AOTITorchError torch_delete_string(StringHandle text);

/* Numbers of types and devices. */
int32_t aoti_torch_device_type_cpu();
int32_t aoti_torch_device_type_cuda();
int32_t aoti_torch_dtype_bfloat16();
int32_t aoti_torch_dtype_float16();
int32_t aoti_torch_dtype_float32();
int32_t aoti_torch_dtype_float8_e4m3fn();
int32_t aoti_torch_dtype_float8_e5m2();
int32_t aoti_torch_dtype_float8_e4m3fnuz();
int32_t aoti_torch_dtype_float8_e5m2fnuz();
int32_t aoti_torch_dtype_int32();
int32_t aoti_torch_dtype_int64();
int32_t aoti_torch_dtype_uint8();

/* The current device of the calling thread. */
AOTITorchError aoti_torch_get_current_device_index(int32_t* index);
AOTITorchError aoti_torch_create_device_guard(int32_t index, DeviceGuardHandle* guard);
AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle guard);

void aoti_torch_warn(const char* function, const char* file, uint32_t line, const char* message);
}

#endif /* DETGEMM_TORCH_ABI_H */
