/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_FAKE_CALLS_H
#define DETGEMM_FAKE_CALLS_H

/* Counts one call of the fake's function of that name; the table lies in the fake of cuBLASLt. */
void fake_count(const char* name);

#endif /* DETGEMM_FAKE_CALLS_H */
