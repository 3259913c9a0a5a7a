/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

/* What the operators ask PyTorch's libtorch_hip.so for: the current stream of a device, which a
 * test sets. PyTorch for ROCm gives it by this name. */

#include <stddef.h>
#include <stdint.h>

static void* current;

__attribute__((visibility("default"))) void detgemm_fake_set_stream(void* stream) {
  current = stream;
}

__attribute__((visibility("default"))) int32_t aoti_torch_get_current_cuda_stream(int32_t index,
                                                                                  void** stream) {
  if (index != 0) return 1;
  *stream = current;
  return 0;
}
