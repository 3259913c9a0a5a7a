/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* A vendor's library that takes a while to load. Its functions are those of the fake cuBLAS, which
 * it is linked with. */

#include <stdlib.h>
#include <time.h>

__attribute__((constructor)) static void load(void) {
  const struct timespec while_others_fork = {0, 400000000};
  setenv("SLOW_VENDOR", "loads", 1);
  nanosleep(&while_others_fork, NULL);
}
