#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""built_test.py: what is said of samples and of ggml's tests, with scripts in their place."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import build_programs
import built
from parts import Parts

TAKES = "if [ -n \"$UNDER\" ]; then echo 'detgemm preload: process 1 called for 3 products, 2 of them under a contract' >&2; fi\n"
PRELOAD = ["env", "UNDER=1"]


class Built(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def outcome(self, check):
        parts = Parts(60)
        with contextlib.redirect_stdout(io.StringIO()):
            parts.part("it", 20, check(parts))
        return parts.outcomes["it"]

    def samples(self, *texts):
        for old in self.folder.glob("*"):
            old.unlink()
        for index, text in enumerate(texts):
            self.program(f"s{index}", text)
        return self.outcome(lambda parts: built.samples(parts, PRELOAD, self.folder))

    def test_samples(self):
        times = "date +%N\n"
        self.assertEqual(self.samples(TAKES + "echo 19 22"), "good")
        self.assertEqual(self.samples(TAKES + "echo 19 22", times), "good")  # a time is no difference
        self.assertEqual(self.samples(TAKES + "echo 19 22", "exit 1"), "good")  # it fails either way
        self.assertEqual(self.samples(TAKES + "echo 19 2$UNDER"), "FAILED")
        self.assertEqual(self.samples(TAKES + "echo 19 22", times + "exit ${UNDER:-0}"), "FAILED")
        self.assertEqual(self.samples("echo 19 22"), "FAILED")  # nothing was taken
        self.assertEqual(self.samples(TAKES + times), "FAILED")  # nothing could be compared
        self.assertEqual(self.samples(TAKES + "exit 1"), "FAILED")  # what was taken did not end well
        self.assertEqual(self.samples(), "not run")

    def test_slow_samples(self):
        with unittest.mock.patch.object(built, "SECONDS", 1.5):
            self.assertEqual(self.samples(TAKES + "echo 19 22", "sleep 9"), "good")  # the others are compared
            self.assertEqual(self.samples(TAKES + "echo 19 2$UNDER", "sleep 9"), "FAILED")
            self.assertEqual(self.samples("sleep 9"), "FAILED")  # nothing was compared
            self.assertEqual(self.samples(TAKES + "echo 19 22", "sleep ${UNDER:+9} 0"), "FAILED")  # it hangs

    def ggml(self, text):
        program = self.program("tests", text)
        return self.outcome(lambda parts: built.ggml_tests(parts, PRELOAD, program))

    def test_ggml(self):
        self.assertEqual(self.ggml(TAKES + "echo '  7/7 tests passed'"), "good")
        self.assertEqual(self.ggml(TAKES + "echo '  6/7 tests passed'; exit 1"), "good")  # one fails either way
        self.assertEqual(self.ggml(TAKES + "echo \"  $((7 - UNDER))/7 tests passed\""), "FAILED")
        self.assertEqual(self.ggml("echo '  7/7 tests passed'"), "FAILED")  # nothing was taken
        self.assertEqual(self.ggml(TAKES + "echo '  0/0 tests passed'"), "FAILED")
        self.assertEqual(self.ggml(TAKES + "echo '  7/7 tests passed'; exit ${UNDER:-0}"), "FAILED")
        missing = self.folder / "none"
        self.assertEqual(self.outcome(lambda parts: built.ggml_tests(parts, PRELOAD, missing)), "not run")

    def test_sources(self):
        for name in ("cuBLAS/Level-3/gemm/a.cu", "cuBLAS/Level-1/dot/b.cu", "cuBLASLt/LtSgemm/main.cpp",
                     "cuBLASLt/LtSgemm/c.cu", "cuBLASLt/Common/helpers.cpp", "cuBLAS/Emulation/gemm_grading/d.cpp"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).touch()
        found = build_programs.sources_of(self.folder)
        self.assertEqual({name: [file.name for file in files] for name, files in found.items()},
                         {"Level-3.gemm": ["a.cu"], "cuBLASLt.LtSgemm": ["c.cu", "main.cpp", "helpers.cpp"]})


if __name__ == "__main__":
    unittest.main()
