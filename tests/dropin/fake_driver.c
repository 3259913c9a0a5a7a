/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* The seven functions of CUDA's driver that the stand-in asks for, on the host. A stream whose
 * handle is 0x20 is being captured. Memory that is not given back is what fake_driver_live counts.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int live, waits;

int fake_driver_live(void) { return live; }
int fake_driver_waits(void) { return waits; }

int cuCtxGetDevice(int* device) {
  *device = 3;
  return 0;
}
int cuMemAllocAsync(void** memory, size_t bytes, void* stream) {
  (void)stream;
  if (bytes > (size_t)1 << 40) return 2;
  *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++live;
  return *memory == NULL ? 2 : 0;
}
int cuMemFreeAsync(void* memory, void* stream) {
  (void)stream;
  free(memory);
  --live;
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  (void)stream;
  memcpy(to, from, bytes);
  return 0;
}
int cuStreamSynchronize(void* stream) {
  (void)stream;
  ++waits;
  return 0;
}
int cuStreamIsCapturing(void* stream, int* capturing) {
  *capturing = (uintptr_t)stream == 0x20;
  return 0;
}
