#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""hostile.py COMMAND ENGINE: no engine ends the harness, and no result is lost.

engines/hostile.c exits, crashes, hangs and corrupts memory. Each time the command must end by itself
with the right exit code, name the case, and have tested everything else; and a report of a run that
was killed must leave what was there.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

COMMAND = []
FP32 = "ieee_fma/fp32/chain->fp32"
PROPERTIES = ["run_to_run", "batch", "columns", "bad_input"]  # all but bad_input have wide problems

# How it misbehaves for more than 3 columns, and what a failure must say.
WAYS = {
    "exit": "ended itself with exit code 0",
    "quick_exit": "ended itself with exit code 0",
    "abort": "was ended by signal 6 (Aborted)",
    "null": "was ended by signal 11 (Segmentation fault)",
    "kill": "was ended by signal 9 (Killed)",
    "heap": "was ended by signal",
    "stack": "was ended by signal 11 (Segmentation fault)",
    "far": "was ended by signal 11 (Segmentation fault)",
    "orphan": "was ended by signal 6 (Aborted)",
    "close": "ended itself with exit code 99",
    "scribble": "wrote into the harness's messages",
    "hang": "did not return within 1 s",
    "spin": "did not return within 1 s",
}
SANITIZED = {"heap", "stack", "null", "far"}  # what a sanitizer makes of it has other words


def conform(way, *arguments, properties=("run_to_run", "columns", "bad_input"), timeout=60):
    """One run of the command on the engine that misbehaves in this way."""
    line = [COMMAND[0], "conform", "--engine", COMMAND[1], "--contract", FP32, "--threads", "1",
            "--timeout", str(timeout)]
    for name in properties:
        line += ["--property", name]
    return subprocess.run(line + list(arguments), env={**os.environ, "DETGEMM_HOSTILE": way},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=100, check=False)


class Hostile(unittest.TestCase):
    """What becomes of the harness."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_a_good_engine_passes(self):
        done = conform("")
        self.assertEqual(done.returncode, 0, done)

    def test_ways_to_end(self):
        for way, words in WAYS.items():
            with self.subTest(way=way):
                done = conform(way, "--report", "json", timeout=1 if "return" in words else 60)
                self.assertEqual(done.returncode, 1, done)
                cells = json.loads(done.stdout)["reports"][0]["cells"]
                verdicts = {cell["property"]: cell["verdict"] for cell in cells}
                self.assertEqual(verdicts.pop("bad_input"), "passed", "the rest is tested")
                self.assertEqual(set(verdicts.values()), {"failed"}, verdicts)
                self.assertEqual(len(verdicts), 2)
                failure = cells[0]["failures"][0]
                if not (way in SANITIZED and "detect" in os.environ.get("ASAN_OPTIONS", "")):
                    self.assertIn(words, failure["what"])
                self.assertIn("m=", failure["problem"], "the problem is named")
                self.assertIn(f"--case {failure['case']}", failure["repro"])

    def test_a_guard_is_a_named_failure(self):
        done = conform("fill_d", "--report", "json")
        self.assertEqual(done.returncode, 1, done)
        cells = json.loads(done.stdout)["reports"][0]["cells"]
        whats = " ".join(f["what"] for cell in cells for f in cell["failures"])
        self.assertRegex(whats, "bytes changed around|D was read or written [0-9]+ bytes before")

    def test_lost_before_the_first_case(self):
        for way in ("in_constructor", "in_query"):
            with self.subTest(way=way):
                done = conform(way)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(b"before the first case", done.stderr)

    def test_lost_where_it_says_what_it_supports(self):
        done = conform("in_supports", "--report", "json")
        self.assertEqual(done.returncode, 1, done)
        cells = json.loads(done.stdout)["reports"][0]["cells"]
        self.assertEqual([cell["verdict"] for cell in cells], ["failed"] * 3)
        self.assertIn("was ended by signal 6", cells[0]["reason"])

    def test_what_an_engine_prints_is_no_part_of_the_report(self):
        done = conform("chatty", "--report", "json")
        self.assertEqual(done.returncode, 0, done)
        json.loads(done.stdout)
        self.assertIn(b"stdout belongs to me", done.stderr)

    def test_many_timeouts_end_the_run(self):
        names = ["run_to_run", "chunked_prefill", "columns", "padding", "strides", "reference"]
        done = conform("hang", "--report", "json", properties=names, timeout=1)
        self.assertEqual(done.returncode, 1, done)
        report = json.loads(done.stdout)["reports"][0]
        self.assertEqual(len([c for c in report["cells"] if c["verdict"] == "failed"]), 3)
        self.assertIn("the rest was not run", report["cut_short"])

    def hanging(self, path, out):
        """A run that has finished one cell and hangs in the next one."""
        line = [COMMAND[0], "conform", "--engine", COMMAND[1], "--contract", FP32, "--threads", "1",
                "--property", "bad_input", "--property", "run_to_run", "--report", "json", "-o", path]
        child = subprocess.Popen(line, env={**os.environ, "DETGEMM_HOSTILE": "hang"},
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        for _ in range(600):
            if self.partial():
                return child
            time.sleep(0.05)
        child.kill()
        return self.fail("no cell finished within 30 s")

    def partial(self):
        """The lines of the file that the finished cells are written to as they come."""
        for name in os.listdir(self.folder):
            if name.endswith(".partial"):
                with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                    return file.readlines()
        return []

    def test_interrupt_prints_what_is_finished(self):
        path = os.path.join(self.folder, "report.json")
        for given, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=given), tempfile.TemporaryFile() as out:
                child = self.hanging(path, out)
                child.send_signal(given)
                self.assertEqual(child.wait(timeout=30), code)
                out.seek(0)
                report = json.load(out)["reports"][0]
                self.assertEqual([c["property"] for c in report["cells"]], ["bad_input"])
                self.assertTrue(report["interrupted"])
                self.assertEqual(os.listdir(self.folder), [], "half a report is not left as a file")

    def test_a_killed_run_leaves_the_old_report_and_the_finished_cells(self):
        path = os.path.join(self.folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("old")
        child = self.hanging(path, subprocess.DEVNULL)
        child.kill()
        child.wait(timeout=30)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual([json.loads(line)["property"] for line in self.partial()], ["bad_input"])

    def test_in_one_process_it_ends_the_command(self):
        done = conform("abort", "--in-process")
        self.assertEqual(done.returncode, -signal.SIGABRT, "otherwise this test shows nothing")

    def test_junit_of_a_crash(self):
        done = conform("abort", "--report", "junit")
        tree = xml.etree.ElementTree.fromstring(done.stdout)
        self.assertEqual(len(tree.findall(".//failure")), 2)


if __name__ == "__main__":
    COMMAND.extend(sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main(verbosity=2)
