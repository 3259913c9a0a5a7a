#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""test_preload.py COMMAND PROGRAM PROXY ENGINE: what a user of `detgemm preload` sees.

PROGRAM is tests/dropin/rows.c, PROXY a folder with proxies of the fake libraries, and ENGINE
tests/dropin/engine.c with the fake.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

COMMAND, PROGRAM, PROXY, ENGINE = "", "", "", ""
HOST = "backend = reference\n"


class Outcome:
    def __init__(self, done):
        self.exit, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __str__(self):
        return f"exit {self.exit}\nstdout: {self.out}\nstderr: {self.err}"


def run(*words, **more):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("DETGEMM_") and name != "LD_PRELOAD"}
    environment.update(OMP_PROC_BIND="false", **more)
    return Outcome(subprocess.run(list(words), stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=60, env=environment, check=False))


class Preload(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def config(self, text):
        path = self.folder / "preload.conf"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def preload(self, *words, config=HOST, options=(), **more):
        return run(COMMAND, "preload", "--config", self.config(config), *options, "--", *words,
                   **more)

    def test_the_program_alone_shows_its_batch(self):
        """The control: without the preload the fake's bits depend on the batch."""
        done = run(PROGRAM)
        self.assertEqual((done.exit, done.err), (1, ""), done)
        self.assertIn("other bytes", done.out)

    def test_a_token_has_the_same_bytes_in_any_batch(self):
        done = self.preload(PROGRAM)
        self.assertEqual(done.exit, 0, done)
        self.assertEqual(done.out, "the last token of 64: the same bytes\n")
        self.assertRegex(done.err, r"process \d+ called for 2 products, 2 of them under a contract")
        for shape in ("TN M=1", "TN M 17-128"):
            self.assertRegex(done.err, rf" 1  cublasGemmEx +{shape} +ieee_fma/fp32/chain->fp32 +\S+")

    def test_what_is_passed_on_is_named(self):
        done = self.preload(PROGRAM, config=HOST + "fp32 = pass\n")
        self.assertEqual(done.exit, 1, done)
        self.assertIn("2 products, 0 of them", done.err)
        self.assertRegex(done.err, "cublasGemmEx .*passed on +the configuration leaves fp32.TN to")

    def test_fp64_is_passed_on_or_refused(self):
        done = self.preload(PROGRAM, "double")
        self.assertEqual((done.exit, done.out), (0, "status 0, 2 * 3 = 6\n"), done)
        self.assertRegex(done.err, r"cublasDgemm_v2 +M=1 +passed on +fp64 has no contract")
        done = self.preload(PROGRAM, "double", config=HOST + "others = refuse\n")
        self.assertEqual((done.exit, done.out), (1, "status 15, 2 * 3 = 0\n"), done)
        self.assertIn("detgemm preload: cublasDgemm_v2 is refused: fp64 has no contract", done.err)

    def test_the_vendors_backend_without_a_device_is_passed_on(self):
        done = run(COMMAND, "preload", PROGRAM)
        self.assertEqual(done.exit, 1, done)
        self.assertRegex(done.err, "passed on +backend is \"cuda\"|passed on +cuda: ")

    def test_the_log(self):
        log = self.folder / "calls.jsonl"
        for _ in range(2):
            done = self.preload(PROGRAM, options=["--log", str(log)])
            self.assertEqual(done.exit, 0, done)
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(lines), 4)
        self.assertEqual({line["process"] for line in lines}.__len__(), 2)
        kernel = lines[0].pop("kernel")
        self.assertTrue(kernel)
        lines[0].pop("process")
        self.assertEqual(lines[0], {"function": "cublasGemmEx", "fate": "taken", "m": 64, "n": 24,
                                    "k": 192, "batch": 1, "direction": "TN",
                                    "contract": "ieee_fma/fp32/chain->fp32"})

    def test_the_signal(self):
        done = self.preload(PROGRAM, "signal", config=HOST + "table = none\n")
        self.assertEqual(done.exit, 0, done)
        self.assertEqual(done.err.count("called for 2 products"), 1, done)
        done = self.preload(PROGRAM, "signal")
        self.assertEqual(done.err.count("called for 2 products"), 2, done)
        done = self.preload(PROGRAM, "signal", config=HOST + "signal = none\n")
        self.assertEqual(done.exit, -10, "SIGUSR1 ends a program that has no handler")

    def test_a_forked_child_has_a_table_of_its_own(self):
        done = self.preload(PROGRAM, "fork")
        self.assertEqual(done.exit, 0, done)
        self.assertEqual(done.err.count("called for"), 1, done)

    def test_children_of_a_shell(self):
        done = self.preload("sh", "-c", f"{PROGRAM}; {PROGRAM}")
        self.assertEqual(done.exit, 0, done)
        self.assertEqual(done.err.count("called for 2 products"), 2, done)
        self.assertEqual(len(set(re.findall(r"process (\d+)", done.err))), 2, done)

    def test_faults_of_the_file_end_the_program(self):
        done = self.preload(PROGRAM, config="bf16 = hooper/bf16/chain\nothers = no\n")
        self.assertEqual((done.exit, done.out), (2, ""), done)
        self.assertRegex(done.err, r"detgemm preload: \S+preload.conf:1: bf16: .*hooper")
        self.assertRegex(done.err, r'preload.conf:2: others is "no": it must be pass or refuse')
        done = run(PROGRAM, LD_PRELOAD=library(), DETGEMM_PRELOAD=str(self.folder / "nowhere"))
        self.assertEqual((done.exit, done.out), (2, ""), done)
        self.assertIn("the file cannot be read", done.err)
        done = run(PROGRAM, LD_PRELOAD=library(),
                   DETGEMM_PRELOAD_LOG=str(self.folder / "no" / "log"))
        self.assertEqual((done.exit, done.out), (2, ""), done)
        self.assertIn("cannot be opened: No such file", done.err)

    def test_wrong_command_lines(self):
        for words, said in (((), "no program is named"), (("--",), "no program is named"),
                            (("--confg", "x", PROGRAM), '"--confg" is not an option of preload'),
                            (("--config", str(self.folder / "x"), PROGRAM), "No such file"),
                            (("--library", "mkl", PROGRAM), '--library is "mkl"'),
                            (("--log",), "--log has no value")):
            done = run(COMMAND, "preload", *words)
            self.assertEqual((done.exit, done.out), (2, ""), done)
            self.assertIn(said, done.err, done)

    def test_programs_that_cannot_run(self):
        done = run(COMMAND, "preload", "--", "no-program-of-this-name")
        self.assertEqual(done.exit, 127, done)
        done = run(COMMAND, "preload", "--", str(self.folder))
        self.assertEqual(done.exit, 126, done)

    def test_help(self):
        done = run(COMMAND, "preload", "--help")
        self.assertEqual((done.exit, done.err), (0, ""), done)
        self.assertIn("--config FILE", done.out)

    def test_the_programs_options_are_its_own(self):
        done = self.preload("sh", "-c", 'echo "$0 $*"', "--config", "--", "-x")
        self.assertEqual((done.exit, done.out), (0, "--config -- -x\n"), done)

    def test_the_conformance_harness(self):
        """The harness goes through the preloaded cuBLAS; without the preload it fails."""
        words = [COMMAND, "conform", "--engine", ENGINE, "--quick",
                 "--contract", "hopper/bf16/chain->bf16", "--contract", "ieee_fma/fp32/chain->fp32"]
        done = self.preload(*words, config=HOST + "others = refuse\n")
        self.assertEqual(done.exit, 0, done)
        self.assertRegex(done.out, r"PASSED: 3\d of \d+ cells passed, 0 failed")
        done = run(*words)
        self.assertEqual(done.exit, 1, done)
        self.assertRegex(done.out, r"\bbatch +\d* ?.*failed", done)

    def test_gelu_form(self):
        """The program that asks a GPU's cuBLASLt which GELU it has: the fake's is the one with erf."""
        words = [sys.executable, str(pathlib.Path(__file__).parent / "programs" / "gelu_form.py"), "--host",
                 "--library", str(pathlib.Path(PROGRAM).parent / "fake_cublas" / "libcublasLt.so.13")]
        done = run(*words)
        self.assertEqual((done.exit, done.out), (0, "gelu erf\n"), done)
        done = self.preload(*words)
        self.assertEqual((done.exit, done.out), (0, "gelu tanh\n"), done)

    def test_proxy(self):
        """A program that asks the library's own handle is not preloaded, and is met by a proxy."""
        real = str(pathlib.Path(PROGRAM).parent / "fake_cublas" / "libcublas.so.13")
        done = self.preload(PROGRAM, "dlopen", real)
        self.assertEqual(done.exit, 1, "the preload alone does not catch it")
        proxy = str(pathlib.Path(PROXY) / "libcublas.so.13")
        done = run(PROGRAM, "dlopen", proxy, DETGEMM_PRELOAD=self.config(HOST))
        self.assertEqual(done.exit, 0, done)
        self.assertIn("2 products, 2 of them", done.err)
        done = run(PROGRAM, LD_LIBRARY_PATH=PROXY, DETGEMM_PRELOAD=self.config(HOST))
        self.assertEqual(done.exit, 0, done)
        done = run(PROGRAM, "double", LD_LIBRARY_PATH=PROXY, DETGEMM_PRELOAD=self.config(HOST))
        self.assertEqual((done.exit, done.out), (0, "status 0, 2 * 3 = 6\n"), done)
        self.assertEqual(done.err.count("cublas"), 1, done)


def library():
    command = pathlib.Path(COMMAND).resolve()
    for folder in ("../../lib", "../lib"):
        path = command.parent / folder / "libdetgemm_cublas.so"
        if path.is_file():
            return str(path.resolve())
    raise FileNotFoundError("libdetgemm_cublas.so")


if __name__ == "__main__":
    COMMAND, PROGRAM, PROXY, ENGINE = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
