/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_DETGEMM_TUNING_H
#define DETGEMM_DETGEMM_TUNING_H

/* Measured choices of kernels for one kind of device, in C, as `detgemm tune` writes them.
 * tuning.hpp says what the terms mean; errors, ownership and threads are as in detgemm.h. No bit
 * depends on what a file holds. */

#include "detgemm/detgemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a text for a backend on the current device; *tuning belongs to the caller, and is NULL
 * after a refusal: DETGEMM_INVALID_ARGUMENT for a text that is damaged, DETGEMM_UNAVAILABLE for
 * other kernels, another version or device, DETGEMM_NOT_FOUND for a kernel that does not compute
 * its product, DETGEMM_UNSUPPORTED for a backend without tuning. */
DETGEMM_API detgemm_status_t detgemm_tuning_parse(const detgemm_backend_t* backend,
                                                  const char* text, detgemm_tuning_t** tuning);
/* The same from a file; DETGEMM_IO where it cannot be read. */
DETGEMM_API detgemm_status_t detgemm_tuning_load(const detgemm_backend_t* backend, const char* path,
                                                 detgemm_tuning_t** tuning);
/* Plans that were created with it, and the process that uses it, keep what they need. NULL is
 * accepted. */
DETGEMM_API void detgemm_tuning_destroy(detgemm_tuning_t* tuning);
/* From now on plans of its backend that name no tuning of their own take this one, in every thread
 * of the process and in detgemm_gemm; NULL ends it. */
DETGEMM_API detgemm_status_t detgemm_tuning_use(const detgemm_tuning_t* tuning);
/* What detgemm_tuning_parse reads. */
DETGEMM_API detgemm_status_t detgemm_tuning_text(const detgemm_tuning_t* tuning, char* buffer,
                                                 size_t size, size_t* needed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DETGEMM_DETGEMM_TUNING_H */
