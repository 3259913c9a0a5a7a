# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m detgemm preload -- PROGRAM` with the package's own library, against a fake cuBLAS (tests/dropin)."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
COMMAND = (sys.executable, "-m", "detgemm", "preload")


def run(*words, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DETGEMM_PRELOAD")}
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60, check=False,
                          env={**clean, "OMP_PROC_BIND": "false", **environment})


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program in C that knows cuBLAS alone, linked with a fake one whose bits depend on the batch."""
    if COMPILER is None:
        pytest.skip("there is no C compiler to make the program that calls cuBLAS")
    folder = tmp_path_factory.mktemp("fake")
    fakes, cc = ROOT / "tests/dropin/fake_cublas", (*COMPILER.split(), "-std=gnu11", "-O1", f"-I{ROOT}", f"-L{folder}")
    for source, name, libraries in (("cublaslt.c", "cublasLt", ["-lm"]), ("cublas.c", "cublas", ["-l:libcublasLt.so.13", "-lm"])):
        subprocess.run([*cc, "-shared", "-fPIC", fakes / source, "-o", folder / f"lib{name}.so.13", f"-Wl,-soname,lib{name}.so.13",
                        "-Wl,-rpath,$ORIGIN", *libraries], check=True)
    subprocess.run([*cc, ROOT / "tests/dropin/rows.c", "-o", folder / "rows", "-l:libcublas.so.13", "-Wl,-rpath,$ORIGIN",
                    f"-Wl,-rpath-link,{folder}", "-ldl"], check=True)
    (folder / "host.conf").write_text("backend = reference\n")
    return folder / "rows"


def test_the_program_alone_shows_its_batch(program):
    done = run(program)
    assert (done.returncode, done.stdout) == (1, "the last token of 64: other bytes\n"), done


def test_under_the_preload_it_has_the_bits_of_its_batch(program):
    done = run(*COMMAND, "--config", program.with_name("host.conf"), "--", program)
    assert (done.returncode, done.stdout) == (0, "the last token of 64: the same bytes\n"), done
    assert "called for 2 products, 2 of them under a contract" in done.stderr
    assert "ieee_fma/fp32/chain->fp32" in done.stderr


def test_what_the_file_leaves_to_the_vendor_is_the_vendors(program):
    program.with_name("pass.conf").write_text("backend = reference\nfp32 = pass\n")
    done = run(*COMMAND, "--config", program.with_name("pass.conf"), "--", program)
    assert (done.returncode, done.stdout) == (1, "the last token of 64: other bytes\n"), done
    assert "2 products, 0 of them" in done.stderr


def test_a_program_in_python_runs_and_its_options_are_its_own():
    said = "import os, detgemm; print(detgemm.version(), os.environ['LD_PRELOAD'])"
    done = run(*COMMAND, "--", sys.executable, "-c", said)
    version, _, library = done.stdout.strip().partition(" ")
    assert done.returncode == 0 and version and library.endswith("/lib/libdetgemm_cublas.so"), done
    assert pathlib.Path(library).is_file()


def test_what_cannot_run_says_why():
    done = run(*COMMAND)
    assert done.returncode == 2 and "no program is named" in done.stderr, done
    done = run(*COMMAND, "--", "/nowhere/program")
    assert done.returncode == 127 and "/nowhere/program cannot be run" in done.stderr, done
    done = run(*COMMAND, "--library", "mkl", "--", "true")
    assert done.returncode == 2 and '--library is "mkl": it must be cublas or hipblas' in done.stderr, done
