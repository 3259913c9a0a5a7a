#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""summary_test.py ROOT: what scripts/summary.py makes of ctest's reports, and what scripts/test.sh and
scripts/setup.sh say to words that they do not know; and the recipes of package managers."""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
PASSED = '<testcase name="good" status="run"/>'
FAILED = '<testcase name="bad" status="fail"><failure message=""/></testcase>'


def skipped(name, said):
    return (f'<testcase name="{name}" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
            f"<system-out>{said}</system-out></testcase>")


class Summary(unittest.TestCase):
    def summary(self, *cases):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "host.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>")
            done = subprocess.run([sys.executable, ROOT / "scripts/summary.py", folder], text=True,
                                  stdout=subprocess.PIPE, check=False)
        return done.returncode, done.stdout

    def test_counts(self):
        self.assertEqual(self.summary(PASSED), (0, "detgemm: 1 passed, 0 failed, 0 skipped\n"))
        self.assertEqual(self.summary(PASSED, FAILED)[0], 1)
        self.assertEqual(self.summary()[0], 1)

    def test_skips_with_one_reason_share_a_line(self):
        code, said = self.summary(PASSED, skipped("a", "starting\nno CUDA device\n"), skipped("b", "skipped: no CUDA device\nbye"))
        self.assertEqual(code, 0)
        self.assertIn("skipped: a (host), b (host): no CUDA device\n", said)
        self.assertNotIn("SKIP_RETURN_CODE", said)

    def test_a_skip_without_a_reason_fails(self):
        code, said = self.summary(PASSED, skipped("a", ""))
        self.assertEqual(code, 1)
        self.assertIn("failed: a (host): it was skipped and did not say why", said)

    def test_a_program_that_was_not_built_fails(self):
        case = ('<testcase name="a" status="notrun"><skipped message="Unable to find executable: /a"/>'
                "<system-out>tried /a\nUnable to find executable: /a</system-out></testcase>")
        code, said = self.summary(PASSED, case)
        self.assertEqual(code, 1)
        self.assertIn("failed: a (host): its program was not built\n", said)

    def test_a_stage_that_died_is_a_failure_of_its_own_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, cases in (("host", PASSED), ("host-asan", PASSED + FAILED)):
                (pathlib.Path(folder) / f"{name}.xml").write_text(f"<testsuite>{cases}</testsuite>")
            done = subprocess.run([sys.executable, ROOT / "scripts/summary.py", "--dead", "python=exit status 2",
                                   "--dead", "host-asan: test=exit status 8", folder],
                                  text=True, stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "failed: bad (host-asan)\nfailed: python: the stage died with exit status 2\n"
                                      "detgemm: 2 passed, 2 failed, 0 skipped; died: python\n")

    def test_a_report_that_is_not_whole_is_a_failure_of_its_own_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("host", f"<testsuite>{PASSED}</testsuite>"), ("cuda", f"<testsuite>{PASSED}<testca"), ("hip", "")):
                (pathlib.Path(folder) / f"{name}.xml").write_text(text)
            done = subprocess.run([sys.executable, ROOT / "scripts/summary.py", folder], text=True, stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: cuda: its report ", done.stdout)
        self.assertIn("failed: hip: its report ", done.stdout)
        self.assertTrue(done.stdout.endswith("\ndetgemm: 1 passed, 2 failed, 0 skipped\n"), done.stdout)

    def test_no_test_says_so(self):
        code, said = self.summary()
        self.assertEqual(code, 1)
        self.assertIn("failed: no test ran: 1 reports in ", said)
        self.assertTrue(said.endswith("detgemm: 0 passed, 1 failed, 0 skipped; no test ran\n"), said)


class Stages(unittest.TestCase):
    """scripts/test.sh and scripts/demo.sh with programs in place of CMake's, in a copy of scripts/."""

    def run_script(self, *words, build=0, setup=0, tests='<testcase name="good" status="run"/>', old=""):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            shutil.copytree(ROOT / "scripts", tree / "scripts")
            (tree / "scripts/setup.sh").write_text(f"#!/bin/sh\nexit {setup}\n")
            if old:
                (tree / "build/host").mkdir(parents=True)
                (tree / "build/host/CMakeCache.txt").write_text(old)
            (tree / "bin").mkdir()
            (tree / "bin/cmake").write_text(f'#!/bin/sh\necho "cmake $*" >>{tree}/calls\n'
                                            f'case "$*" in *--build*) exit {build} ;; esac\n')
            (tree / "bin/ctest").write_text(
                f'#!/bin/sh\nfor word; do out=$word; done\necho \'<testsuite>{tests}</testsuite>\' >"$out"\n'
                f'case \'{tests}\' in "") exit 8 ;; esac\n')
            for program in ("cmake", "ctest"):
                (tree / "bin" / program).chmod(0o755)
            done = subprocess.run([tree / "scripts" / words[0], *words[1:]], text=True, check=False, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "PATH": f"{tree}/bin:{os.environ['PATH']}"},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            calls = tree / "calls"
            return done.returncode, done.stdout, calls.read_text().splitlines() if calls.exists() else []

    def test_a_build_that_fails_is_named_in_the_last_lines(self):
        code, said, _ = self.run_script("test.sh", "--host", "--no-setup", build=1)
        self.assertEqual(code, 1, said)
        self.assertTrue(said.endswith("failed: host: build: the stage died with exit status 1\n"
                                      "detgemm: 0 passed, 1 failed, 0 skipped; died: host: build\n"), said)

    def test_a_setup_that_fails_is_named_in_the_last_lines(self):
        code, said, calls = self.run_script("test.sh", "--host", setup=3)
        self.assertEqual((code, calls), (1, []), said)
        self.assertTrue(said.endswith("failed: setup: the stage died with exit status 3\n"
                                      "detgemm: 0 passed, 1 failed, 0 skipped; died: setup\n"), said)

    def test_the_demo_names_what_did_not_work_in_its_last_line(self):
        code, said, _ = self.run_script("demo.sh", build=1)
        self.assertEqual(code, 1, said)
        self.assertTrue(said.endswith("demo: FAILED: building: exit status 1\n"), said)
        code, said, _ = self.run_script("demo.sh", setup=3)
        self.assertEqual(code, 3, said)
        self.assertTrue(said.endswith("demo: FAILED: installing what is missing (scripts/setup.sh): exit status 3\n"), said)

    def test_no_tests_is_a_failure(self):
        code, said, _ = self.run_script("test.sh", "--host", "--no-setup", tests="")
        self.assertEqual(code, 1, said)
        self.assertIn("failed: host: test: the stage died with exit status 8\n", said)

    def test_tests_are_switched_on_in_a_folder_of_the_demo(self):
        code, said, calls = self.run_script("test.sh", "--host", "--no-setup", old="DETGEMM_BUILD_TESTS:BOOL=OFF\n")
        self.assertEqual(code, 0, said)
        self.assertIn("-DDETGEMM_BUILD_TESTS=ON", calls[0])

    def test_both_scripts_configure_alike(self):
        found = {}
        for script in ("test.sh", "demo.sh"):
            text = (ROOT / "scripts" / script).read_text()
            self.assertIn(". scripts/options.sh", text)
            self.assertIsNone(re.search(r"-DCMAKE_UNITY_BUILD|-DDETGEMM_ENABLE_KOKKOS", text), script)
            found[script] = "${host_options[@]}" in text
        self.assertEqual(found, {"test.sh": True, "demo.sh": True})


class Python(unittest.TestCase):
    """tests/python/run.py where pytest crashes, and where it collects too little."""

    def reported(self, program):
        spec = importlib.util.spec_from_file_location("run", ROOT / "tests/python/run.py")
        run = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(run)
        with tempfile.TemporaryDirectory() as folder:
            run.WORK = pathlib.Path(folder)
            python = run.WORK / "venv/bin/python"
            python.parent.mkdir(parents=True)
            python.write_text(f"#!{sys.executable}\nimport os, sys\nreport = sys.argv[-2].partition('=')[2]\n{program}\n")
            python.chmod(0o755)
            with contextlib.redirect_stdout(io.StringIO()):
                code = run.test("plain", python, run.WORK, "tests")
            done = subprocess.run([sys.executable, ROOT / "scripts/summary.py", "--dead", f"python=exit status {code}", folder],
                                  text=True, stdout=subprocess.PIPE, check=False)
            return code, done.stdout

    def test_a_crash_is_named(self):
        code, said = self.reported("os.abort()")
        self.assertNotEqual(code, 0)
        self.assertIn("failed: python.pytest ended with exit status -6 and left no whole report", said)
        self.assertTrue(said.endswith("detgemm: 0 passed, 2 failed, 0 skipped\n"), said)

    def test_too_few_tests_are_a_failure(self):
        code, said = self.reported("""open(report, "w").write('<testsuites><testcase classname="a.b" name="c"/></testsuites>')""")
        self.assertEqual(code, 1)
        self.assertEqual(said, "failed: python.1 tests ran; at least 220 must (python-plain)\ndetgemm: 1 passed, 1 failed, 0 skipped\n")


class Words(unittest.TestCase):
    def test_unknown_options(self):
        for script in ("test.sh", "setup.sh"):
            done = subprocess.run([ROOT / "scripts" / script, "--hots"], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(f'{script}: option is "--hots": it must be --host', done.stdout)


class Recipes(unittest.TestCase):
    def test_they_are_python(self):
        recipes = sorted((ROOT / "packaging").rglob("*.py"))
        self.assertGreater(len(recipes), 1)
        for recipe in recipes:
            compile(recipe.read_text(), str(recipe), "exec")

    def test_options_of_the_build_that_they_set_exist(self):
        known = (ROOT / "docs/building.md").read_text()
        for recipe in (ROOT / "packaging").rglob("*.py"):
            for option in re.findall(r"DETGEMM_[A-Z_]+[A-Z]", recipe.read_text()):
                self.assertIn(option, known, recipe)


if __name__ == "__main__":
    unittest.main()
