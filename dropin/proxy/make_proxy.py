#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""make_proxy.py LIBRARY --stand-in LIBDETGEMM --out FOLDER: a library in the name of another.

LIBRARY is the vendor's BLAS or BLASLt. The proxy has its file name, its soname and its symbols with
their versions. What the stand-in answers is the stand-in's; everything else is forwarded to LIBRARY,
whose path is written into the proxy. Put FOLDER first on the library path of a program that asks the
vendor's library for its functions by handle, which no preload can catch.

It needs nm, readelf and a C compiler for x86-64 or AArch64 (--cc, or CC, or cc).
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

# One jump per symbol, through a table that is filled when the proxy is loaded.
JUMPS = {
    "x86_64": "  jmp *detgemm_proxy_table+{offset}(%rip)\n",
    "aarch64": "  adrp x16, detgemm_proxy_table+{offset}\n"
               "  ldr x16, [x16, #:lo12:detgemm_proxy_table+{offset}]\n  br x16\n",
}

LOADER = r"""
/* Made by make_proxy.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void detgemm_preload_vendor(const char* blas, const char* blas_lt);

enum {{ COUNT = {count} }};
__attribute__((visibility("hidden"))) void* detgemm_proxy_table[COUNT];
static const char* const names[COUNT] = {{
{names}
}};

static void missing(void) {{
  fputs("detgemm preload: a function that the vendor's library no longer has was called\n", stderr);
  abort();
}}

__attribute__((constructor)) static void fill(void) {{
  static const char real_path[] = "{real}";
  detgemm_preload_vendor({blas}, {blas_lt});
  void* real = dlopen(real_path, RTLD_LAZY | RTLD_LOCAL);
  void* ours = dlopen("{stand_in}", RTLD_LAZY | RTLD_LOCAL);
  if (real == NULL || ours == NULL) {{
    fprintf(stderr, "detgemm preload: %s\n", dlerror());
    _exit(2);
  }}
  for (int i = 0; i < COUNT; ++i) {{
    void* found = dlsym(ours, names[i]);
    Dl_info from, own;
    /* What the stand-in's dependencies have is not its own. */
    if (found != NULL && (dladdr(found, &from) == 0 ||
                          dladdr((void*)&detgemm_preload_vendor, &own) == 0 ||
                          from.dli_fbase != own.dli_fbase)) {{
      found = NULL;
    }}
    if (found == NULL) found = dlsym(real, names[i]);
    detgemm_proxy_table[i] = found == NULL ? (void*)missing : found;
  }}
}}
"""


def output_of(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def soname(path):
    match = re.search(r"\(SONAME\).*\[(.*)\]", output_of("readelf", "-d", str(path)))
    return match.group(1) if match else path.name


def exports(path):
    """(name, version) of every function; the version may be empty."""
    found = []
    for line in output_of("nm", "-D", "--defined-only", "--with-symbol-versions",
                          str(path)).splitlines():
        match = re.match(r"[0-9a-f]+ [TWi] ([^@\s]+)(?:@@?(\S+))?$", line)
        if match:
            found.append((match.group(1), match.group(2) or ""))
    return sorted(set(found))


def assembly(symbols, machine):
    text = ".text\n"
    for index, (name, _) in enumerate(symbols):
        text += (f".globl {name}\n.type {name}, %function\n.p2align 4\n{name}:\n"
                 + JUMPS[machine].format(offset=8 * index) + f".size {name}, .-{name}\n")
    return text + '.section .note.GNU-stack,"",%progbits\n'


def version_script(symbols):
    nodes = {}
    for name, version in symbols:
        nodes.setdefault(version, []).append(name)
    text = ""
    for number, (version, names) in enumerate(sorted(nodes.items())):
        rest = " local: *;" if number == 0 else ""
        text += f"{version} {{ global: {' '.join(name + ';' for name in names)}{rest} }};\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--stand-in", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--cc", default=os.environ.get("CC", "cc"))
    asked = parser.parse_args()
    for path in (asked.library, asked.stand_in):
        if not path.is_file():
            parser.error(f"{path}: there is no such file")
    machine = os.uname().machine
    if machine not in JUMPS:
        parser.error(f"this machine is {machine}: proxies are written for {', '.join(JUMPS)}")
    real, stand_in = asked.library.resolve(), asked.stand_in.resolve()
    name = soname(real)
    symbols = exports(real)
    if not symbols:
        parser.error(f"{asked.library} exports no function")
    asked.out.mkdir(parents=True, exist_ok=True)
    parts = asked.out / "parts"
    parts.mkdir(exist_ok=True)
    lt = "lt" in name.lower()
    quoted = f'"{real}"'
    (parts / f"{name}.c").write_text(LOADER.format(
        count=len(symbols), names=",\n".join(f'  "{symbol}"' for symbol, _ in symbols),
        real=real, stand_in=stand_in, blas="0" if lt else quoted, blas_lt=quoted if lt else "0"),
        encoding="ascii")
    (parts / f"{name}.s").write_text(assembly(symbols, machine), encoding="ascii")
    (parts / f"{name}.map").write_text(version_script(symbols), encoding="ascii")
    subprocess.run(
        [asked.cc, "-O1", "-fPIC", "-shared", f"-Wl,-soname,{name}",
         f"-Wl,--version-script={parts / (name + '.map')}", "-Wl,-z,now", "-o",
         str(asked.out / name), str(parts / f"{name}.c"), str(parts / f"{name}.s"), str(stand_in),
         f"-Wl,-rpath,{stand_in.parent}", "-ldl"], check=True)
    print(f"{asked.out / name}: {len(symbols)} functions of {real}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
