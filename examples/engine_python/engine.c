/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* Python as an engine for `detgemm conform --engine`: every callback calls the function of that
   name in torch_engine.py with the addresses of its arguments. Nothing of detgemm is linked. */

#define _GNU_SOURCE /* dladdr */
#define PY_SSIZE_T_CLEAN
#include "detgemm/engine.h"

#include <Python.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static PyObject* module;

/* What went wrong, as Python says it. */
static void take_error(char* sentence, size_t size) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* text = value == NULL ? NULL : PyObject_Str(value);
  const char* utf8 = text == NULL ? NULL : PyUnicode_AsUTF8(text);
  if (sentence != NULL) snprintf(sentence, size, "%s", utf8 == NULL ? "Python failed" : utf8);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_Clear();
}

/* Calls a function with up to three numbers. An exception is -1 and its text. */
static long long ask(const char* name, char* sentence, size_t size, long long x, long long y,
                     long long z) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* answer = PyObject_CallMethod(module, name, "LLL", x, y, z);
  const long long number = answer == NULL ? -1 : PyLong_AsLongLong(answer);
  Py_XDECREF(answer);
  if (PyErr_Occurred()) take_error(sentence, size);
  PyGILState_Release(state);
  return number;
}
static long long at(const void* p) { return (long long)(intptr_t)p; }

static int supports(const detgemm_engine_spec* s, char* sentence, size_t size) {
  return (int)ask("supports", sentence, size, at(s), 0, 0);
}
static int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  return (int)ask("run", c->sentence, c->sentence_size, at(s), at(c), 0);
}
static int supports_groups(const detgemm_engine_spec* s, const detgemm_engine_groups* g,
                           char* sentence, size_t size) {
  return (int)ask("supports", sentence, size, at(s), at(g), 0);
}
static int run_groups(const detgemm_engine_spec* s, const detgemm_engine_groups* g,
                      const detgemm_engine_call* c) {
  return (int)ask("run_groups", c->sentence, c->sentence_size, at(s), at(g), at(c));
}
static void* allocate(size_t bytes) {
  const long long p = ask("allocate", NULL, 0, (long long)bytes, 0, 0);
  return p < 0 ? NULL : (void*)(intptr_t)p;
}
static void release(void* memory) { ask("release", NULL, 0, at(memory), 0, 0); }
static int to_device(void* device, const void* host, size_t bytes) {
  return (int)ask("to_device", NULL, 0, at(device), at(host), (long long)bytes);
}
static int to_host(void* host, const void* device, size_t bytes) {
  return (int)ask("to_host", NULL, 0, at(host), at(device), (long long)bytes);
}
static int create_stream(void** stream) {
  const long long p = ask("create_stream", NULL, 0, 0, 0, 0);
  *stream = (void*)(intptr_t)p;
  return p < 0;
}
static void destroy_stream(void* stream) { ask("destroy_stream", NULL, 0, at(stream), 0, 0); }
static size_t memory_bytes(void) {
  const long long bytes = ask("memory_bytes", NULL, 0, 0, 0, 0);
  return bytes < 0 ? 0 : (size_t)bytes;
}
static int synchronize(void* stream) { return (int)ask("synchronize", NULL, 0, at(stream), 0, 0); }

static detgemm_engine engine = {
    .struct_size = sizeof(detgemm_engine),
    .abi_version = DETGEMM_ENGINE_ABI_VERSION,
    .name = "python",
    .description = "PyTorch or DeepGEMM, through Python",
    .supports = supports,
    .run = run,
    .allocate = allocate,
    .release = release,
    .to_device = to_device,
    .to_host = to_host,
    .create_stream = create_stream,
    .destroy_stream = destroy_stream,
    .synchronize = synchronize,
    .takes = DETGEMM_ENGINE_SCALES | DETGEMM_ENGINE_LINE_SCALES,
    .supports_groups = supports_groups,
    .run_groups = run_groups,
    .memory_bytes = memory_bytes,
};

__attribute__((visibility("default"))) const detgemm_engine* detgemm_engine_query(
    uint32_t abi_version) {
  if (abi_version != DETGEMM_ENGINE_ABI_VERSION) return NULL;
  if (module != NULL) return &engine;
  const char* device = getenv("DETGEMM_ENGINE_DEVICE");
  engine.device = device != NULL && strcmp(device, "cuda") == 0;
  /* Extension modules look for Python's symbols in the whole process. */
  Dl_info self;
  if (dladdr((void*)Py_InitializeEx, &self) != 0) dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL);
  Py_InitializeEx(0);
  PyRun_SimpleString("import sys; sys.path.insert(0, '" ENGINE_FOLDER "')");
  module = PyImport_ImportModule("torch_engine");
  if (module == NULL) PyErr_Print();
  PyEval_SaveThread(); /* callbacks take the lock for themselves */
  return module == NULL ? NULL : &engine;
}
