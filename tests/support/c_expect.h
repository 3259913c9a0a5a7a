/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_TESTS_SUPPORT_C_EXPECT_H
#define DETGEMM_TESTS_SUPPORT_C_EXPECT_H

/* Checks of test programs in C: a check that fails is printed with the library's last sentence, and
 * counted in `failures`. One thread. */

#include <stdio.h>
#include <string.h>

#include "detgemm/detgemm.h"

static int failures = 0;
#define EXPECT(condition)                                                             \
  do {                                                                                \
    if (!(condition)) {                                                               \
      ++failures;                                                                     \
      printf("%d: %s; last error: %s\n", __LINE__, #condition, detgemm_last_error()); \
    }                                                                                 \
  } while (0)
#define OK(call) EXPECT((call) == DETGEMM_OK)
#define REFUSED(call, code, part) \
  EXPECT((call) == (code) && strstr(detgemm_last_error(), (part)) != NULL)

#endif
