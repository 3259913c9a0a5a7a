/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_TESTS_SUPPORT_C_BACKEND_H
#define DETGEMM_TESTS_SUPPORT_C_BACKEND_H

#include "detgemm/detgemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The skeleton backend, which is in no registry, as the C interface sees a backend. */
const detgemm_backend_t* skeleton_for_c(void);
/* The skeleton with a workspace (scratch_backend.hpp). */
const detgemm_backend_t* scratch_for_c(void);

#ifdef __cplusplus
}
#endif

#endif
