/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* An engine that takes its process along, in the way that the environment variable DETGEMM_HOSTILE
   names: in run() for more than 3 columns, or while it is opened. hostile.py says what the harness
   must make of it. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "triple_loop.h"

static const char* way(void) {
  const char* text = getenv("DETGEMM_HOSTILE");
  return text == NULL ? "" : text;
}
static int is(const char* word) { return strcmp(way(), word) == 0; }

static volatile int deep;
static int recurse(int n) {
  volatile char frame[4096];
  frame[n % 4096] = (char)n;
  deep = n;
  return recurse(n + 1) + frame[(n * 7) % 4096];
}

static void corrupt_the_heap(void) {
  volatile char* block = malloc(40);
  for (int i = -32; i < 224; ++i) block[i] = 0x41;
  free((void*)block);
}

static void misbehave(const detgemm_engine_call* c) {
  if (is("exit")) exit(0);
  if (is("quick_exit")) _exit(0);
  if (is("abort")) abort();
  if (is("null")) *(volatile char*)NULL = 1;
  if (is("kill")) kill(getpid(), SIGKILL);
  if (is("heap")) corrupt_the_heap();
  if (is("stack")) recurse(1);
  if (is("hang")) {
    for (;;) pause();
  }
  if (is("spin")) {
    for (;;) deep = deep + 1;
  }
  if (is("far")) ((volatile char*)c->d.data)[1 << 30] = 1;
  if (is("close")) {
    for (int i = 0; i < 1024; ++i) close(i);
  }
  if (is("orphan") && fork() == 0) {
    sleep(600); /* holds the pipe open */
    _exit(0);
  }
  if (is("orphan")) abort();
  if (is("scribble")) {
    for (int i = 3; i < 1024; ++i) {
      if (write(i, "{\"is\": \"end\"\n", 13) < 0) continue;
    }
  }
  if (is("fill_d")) memset((char*)c->d.data - 1024, 0, 512); /* a guard in front of D */
}

static int supports_or_not(const detgemm_engine_spec* s, char* sentence, size_t size) {
  if (is("in_supports")) abort();
  return supports(s, sentence, size);
}

static int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  if (s->n > 3) misbehave(c);
  if (is("chatty")) printf("stdout belongs to me\n");
  multiply(s, c);
  return 0;
}

static const detgemm_engine engine = {
    .struct_size = sizeof(detgemm_engine),
    .abi_version = DETGEMM_ENGINE_ABI_VERSION,
    .name = "hostile",
    .description = "takes its process along",
    .supports = supports_or_not,
    .run = run,
};

const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  if (is("in_query")) exit(0);
  return abi_version == DETGEMM_ENGINE_ABI_VERSION ? &engine : NULL;
}

__attribute__((constructor)) static void when_opened(void) {
  if (is("in_constructor")) abort();
}
