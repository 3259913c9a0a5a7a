/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* The smallest engine: ieee_fma on fp32, without epilogue. Built several times, once as it should
   be and once with each mistake that the loader must put into a sentence. */

#include <stdio.h>

#include "triple_loop.h"

static int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
#ifdef ENGINE_REFUSES_TO_RUN
  snprintf(c->sentence, c->sentence_size, "out of order today");
  return 7;
#endif
  multiply(s, c);
  return 0;
}

static const detgemm_engine engine = {
#ifdef ENGINE_TRUNCATED
    .struct_size = 16,
#else
    .struct_size = sizeof(detgemm_engine),
#endif
#ifdef ENGINE_WRONG_ABI
    .abi_version = 99,
#else
    .abi_version = DETGEMM_ENGINE_ABI_VERSION,
#endif
#ifdef ENGINE_ON_A_DEVICE
    .device = 1,
#endif
#ifndef ENGINE_WITHOUT_NAME
    .name = "tiny",
#endif
    .description = "fmaf in three loops",
#ifndef ENGINE_WITHOUT_SUPPORTS
    .supports = supports,
#endif
#ifndef ENGINE_WITHOUT_RUN
    .run = run,
#endif
};

#ifdef ENGINE_WITHOUT_SYMBOL
const detgemm_engine* another_symbol(void) { return &engine; }
#elif defined(ENGINE_SAYS_NULL)
const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  (void)abi_version;
  return 0;
}
#else
const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  (void)abi_version;
  return &engine;
}
#endif
