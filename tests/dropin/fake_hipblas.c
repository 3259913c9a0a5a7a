/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* The least of a hipBLAS and a hipBLASLt: handles that are null or not, and descriptions of one
 * kind. Products answer a status of their own, by which a test knows them. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { PASSED = 77 };

EXPORT int hipblasGetStream(void* handle, void** stream) {
  *stream = NULL;
  return handle == NULL ? 1 : 0;
}
EXPORT int hipblasGetPointerMode(void* handle, int* mode) {
  *mode = 0;
  return handle == NULL ? 1 : 0;
}
EXPORT int hipblasGemmEx(void* handle, ...) { return handle == NULL ? 1 : PASSED; }
EXPORT int hipblasDgemm(void* handle, ...) { return handle == NULL ? 1 : PASSED; }

static int get(const int64_t* from, int attribute, void* value, size_t bytes, size_t* written) {
  memcpy(value, &from[attribute], bytes);
  *written = bytes;
  return 0;
}
EXPORT int hipblasLtMatmulDescCreate(void** desc, int compute, int scale) {
  (void)compute, (void)scale;
  int64_t* at = calloc(16, sizeof *at);
  at[0] = at[1] = 111;
  at[2] = 1;
  at[4] = 255;
  *desc = at;
  return 0;
}
EXPORT int hipblasLtMatmulDescDestroy(void* desc) {
  free(desc);
  return 0;
}
EXPORT int hipblasLtMatmulDescGetAttribute(void* desc, int attribute, void* value, size_t bytes,
                                           size_t* written) {
  return get(desc, attribute, value, bytes, written);
}
EXPORT int hipblasLtMatrixLayoutGetAttribute(void* layout, int attribute, void* value, size_t bytes,
                                             size_t* written) {
  return get(layout, attribute, value, bytes, written);
}
EXPORT int hipblasLtMatmul(void* handle, ...) { return handle == NULL ? 1 : PASSED; }
