# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`conform` as its siblings: the same refusals, exit codes, JSON and files. The harness itself is
tested in tests/conformance and tests/controls."""

import json
import os
import resource
import subprocess
import unittest
import xml.etree.ElementTree

import command

CHAIN = "hopper/bf16/chain->bf16"
# The skeleton is in every build: one cell that passes, and one control that must fail.
PASSES = ["conform", "--backend", "skeleton", "--contract", CHAIN, "--property", "k_tails"]
FAILS = ["conform", "--backend", "control:dropped_tail", "--contract", CHAIN, "--property", "k_tails"]
SKIPS = ["conform", "--backend", "skeleton", "--contract", CHAIN, "--property", "ranks"]

FORMATS = ("text", "markdown", "summary", "json", "junit", "badge")

# Command line after `conform`, code, part of the sentence; all exit 2.
WORDS = [
    (["--threads", "-3"], "invalid_argument", "threads is -3: it must be 0 (all) or between 1"),
    (["--threads", "two"], "invalid_argument", 'threads is "two": it must be an integer'),
    (["--seed", "abc"], "invalid_argument", 'seed is "abc": it must be an integer between 0'),
    (["--case", "-1"], "invalid_argument", "case is -1: it must not be negative"),
    (["--case", "x"], "invalid_argument", 'case is "x": it must be an integer'),
    (["--report", "html"], "invalid_argument", 'report is "html": it must be one of text, markdown'),
    (["--contract", "hopper"], "invalid_argument", 'contract is "hopper": it must read'),
    (["--property", "speed"], "not_found", 'property is "speed": it must be one of run_to_run'),
    (["--backend", "abacus"], "not_found", 'backend is "abacus": this build has'),
    (["--backend", "control:none"], "not_found", "conform also takes all, skeleton and control:NAME"),
    (["--engine", "/nowhere/e.so"], "io", 'engine "/nowhere/e.so" cannot be opened'),
    (["--engine", "e.so", "--backend", "skeleton"], "invalid_argument", "either --backend or --engine"),
    (["--quick", "--full"], "invalid_argument", "either --quick or --full"),
    (["--list", "--controls"], "invalid_argument", "either --controls or --list"),
    (["--controls", "--backend", "cuda"], "invalid_argument", "--controls and --list take no --backend"),
    (["--list", "--property", "batch"], "invalid_argument", "--controls and --list take no --backend"),
    (["--controls", "--report", "junit"], "invalid_argument", "--controls and --list take text"),
    (["--skip", "speed"], "not_found", 'skip is "speed": it must be one of those to be tested'),
    (["--property", "batch", "--skip", "batch"], "invalid_argument", "skip leaves no property"),
    (["--timeout", "0"], "invalid_argument", 'timeout is "0": it must be more than 0 seconds'),
    (["--timeout", "soon"], "invalid_argument", 'timeout is "soon": it must be a finite number'),
    (["--jobs", "-1"], "invalid_argument", 'jobs is -1: it must not be negative'),
    (["--backend", "skeleton", "--jobs", "1025"], "invalid_argument", "jobs is 1025: it must be 1 to 1024"),
    (["--in-process", "--jobs", "2"], "invalid_argument", "take no --jobs"),
    (["--fail-on", "passed"], "invalid_argument", 'fail-on is "passed": it must be unsupported or'),
    (["--expect", "/nowhere/list"], "io", 'expect is "/nowhere/list": it cannot be read'),
    (["--save", "junit"], "invalid_argument", 'save is "junit": it must read FORMAT=FILE'),
    (["--save", "html=x"], "invalid_argument", 'report is "html": it must be one of text'),
    (["--save", "json=/nowhere/r"], "io", 'output is "/nowhere/r": it cannot be written: No such'),
    (["--list", "--save", "json=x"], "invalid_argument", "--controls and --list take no --save"),
    (["--list", "--report", "badge"], "invalid_argument", "--controls and --list take text"),
    (["-o", "/nowhere/report"], "io", 'output is "/nowhere/report": it cannot be written: No such'),
    (["--transport", "threads:0"], "invalid_argument", 'transport is "threads:0": it must be mpi or threads:P'),
    (["--transport", "threads:x"], "invalid_argument", 'transport is "x": it must be an integer'),
    (["--transport", "smoke"], "invalid_argument", 'transport is "smoke": it must be mpi or threads:P'),
    (["--transport", "threads:2", "--list"], "invalid_argument", "--transport takes no --engine and no --list"),
    (["--transport", "threads:2", "--controls"], "invalid_argument", "the job has 2 ranks: planted faults"),
    (["--transport", "threads:2", "--backend", "abacus"], "not_found", 'backend is "abacus": this build has'),
    (["extra"], "invalid_argument", "extra"),
]


class Conform(command.CommandTest):
    """`detgemm conform`."""

    def test_words(self):
        for line, code, sentence in WORDS:
            with self.subTest(line=line):
                self.refused(["conform", *line], 2, code, sentence)

    def test_absent_backend_is_not_a_usage_error(self):
        absent = [b["name"] for b in self.ask("info")["backends"] if not b["built"]]
        for name in absent:
            with self.subTest(backend=name):
                self.refused(["conform", "--backend", name], 3, "unavailable",
                             f"backend {name} is not in this build: ")

    def test_exit_codes(self):
        for line, exit_code, words in ((PASSES, 0, "PASSED: 1 of 1 cells passed"),
                                       (FAILS, 1, "FAILED: 0 of 1 cells passed, 1 failed"),
                                       (SKIPS, 3, "NOTHING RAN: 0 of 1 cells passed")):
            with self.subTest(line=line):
                outcome = command.run(*line)
                self.assertEqual(outcome.exit, exit_code, str(outcome))
                self.assertIn(words, outcome.out)
                self.assertEqual(outcome.err, "")
                answer = self.ask(*line, exit_code=exit_code)
                self.assertEqual(answer["schema"], "detgemm-conformance-1")
                self.assertEqual(answer["reports"][0]["passed"], exit_code == 0)

    def test_formats(self):
        text = command.run(*FAILS, "--report", "json").out
        self.assertIn("detgemm-conformance-1", text)
        answer = json.loads(text)
        self.assertEqual(answer["reports"][0]["cells"][0]["verdict"], "failed")
        self.assertIn("| contract | digest |", command.run(*PASSES, "--report", "markdown").out)
        for name in FORMATS:
            with self.subTest(format=name):
                self.assertIn("skeleton", command.run(*PASSES, "--report", name).out)
        tree = xml.etree.ElementTree.fromstring(command.run(*FAILS, "--report", "junit").out)
        self.assertEqual(len(tree.findall(".//failure")), 1)

    def test_output_file(self):
        for line, exit_code, verdict in ((PASSES, 0, "passed"), (FAILS, 1, "failed")):
            with self.subTest(line=line):
                path = self.path("report.json")
                outcome = command.run(*line, "--report", "json", "-o", path)
                self.assertEqual(outcome.exit, exit_code, str(outcome))
                self.assertEqual(outcome.out, f"{verdict}; the report is in {path}\n")
                self.assertEqual(json.loads(self.read("report.json"))["schema"],
                                 "detgemm-conformance-1")

    def test_refused_output_leaves_nothing(self):
        self.refused([*PASSES, "-o", self.folder], 2, "io", "it is a directory, and must be a file")
        path = self.path("none.txt")
        self.refused(["conform", "--backend", "abacus", "-o", path], 2, "not_found", "abacus")
        self.assertFalse(os.path.exists(path))

    def test_a_lost_report_is_a_failure(self):
        for line in (PASSES, [*PASSES, "--json"], ["conform", "--list"],
                     *([*PASSES, "--report", name] for name in FORMATS)):
            with self.subTest(line=line), open("/dev/full", "wb") as full:
                outcome = command.run(*line, stdout=full)
                self.assertEqual(outcome.exit, 1, str(outcome))
                self.assertIn("stdout could not be written", outcome.err)

    @unittest.skipIf("DETGEMM_SANITIZED" in os.environ, "under a sanitizer all planted faults take minutes")
    def test_controls(self):
        outcome = command.run("conform", "--controls")
        self.assertEqual(outcome.exit, 0, str(outcome))
        count = len(outcome.out.splitlines()) - 3  # the title, the honest engine and the sum
        self.assertGreater(count, 150)
        self.assertIn(f"{count} of {count} planted faults were caught; the same code without one passes", outcome.out)

    def test_list(self):
        names = [one["property"] for one in self.ask("conform", "--list")["properties"]]
        self.assertIn("batch", names)
        lines = command.run("conform", "--list").out.splitlines()
        self.assertEqual([line.split()[0] for line in lines], names)
        self.assertEqual(len(names), 40)

    def test_contracts_and_properties_may_be_repeated(self):
        answer = self.ask(*PASSES, "--contract", "ieee_fma/fp32/chain", "--property", "strides")
        cells = answer["reports"][0]["cells"]
        self.assertEqual(len(cells), 4)

    def test_a_property_may_be_left_out(self):
        answer = self.ask(*PASSES, "--property", "strides", "--skip", "k_tails")
        self.assertEqual([c["property"] for c in answer["reports"][0]["cells"]], ["strides"])

    def test_what_is_named_twice_counts_once(self):
        answer = self.ask(*PASSES, "--contract", CHAIN + "@1", "--property", "k_tails")
        self.assertEqual(len(answer["reports"][0]["cells"]), 1)

    def test_saved_reports(self):
        names = {"junit": "r.xml", "badge": "b.json", "summary": "s.md", "text": "t.txt"}
        saves = [word for format, name in names.items()
                 for word in ("--save", f"{format}={self.path(name)}")]
        outcome = command.run(*FAILS, *saves)
        self.assertEqual(outcome.exit, 1, str(outcome))
        self.assertEqual(self.read("t.txt").decode(), outcome.out)
        suite = xml.etree.ElementTree.fromstring(self.read("r.xml")).find("testsuite")
        self.assertEqual(suite.get("failures"), "1")
        self.assertRegex(suite.find("testcase").get("time"), r"^\d+\.\d{3}$")
        self.assertNotIn(",", suite.get("hostname"))
        badge = json.loads(self.read("b.json"))
        self.assertEqual((badge["schemaVersion"], badge["color"]), (1, "red"))
        self.assertIn("**FAILED**", self.read("s.md").decode())

    def test_fail_on(self):
        both = [*PASSES, "--property", "ranks"]
        self.assertEqual(command.run(*both).exit, 0)
        self.assertEqual(command.run(*both, "--fail-on", "unsupported").exit, 0)
        self.assertEqual(command.run(*both, "--fail-on", "skipped").exit, 1)

    def test_expected_failures(self):
        known = self.write("known", f"k_tails {CHAIN}  # a reason\n".encode())
        outcome = command.run(*FAILS, "--expect", known)
        self.assertEqual(outcome.exit, 0, str(outcome))
        self.assertIn("PASSED: 0 of 1 cells passed, 0 failed, 1 failed as expected", outcome.out)
        outcome = command.run(*PASSES, "--expect", known)
        self.assertEqual(outcome.exit, 1, str(outcome))
        self.assertIn("expected to fail, and did not: k_tails", outcome.err)
        wrong = self.write("wrong", b"k_tails\n")
        self.refused([*PASSES, "--expect", wrong], 2, "invalid_argument", "it must read PROPERTY")

    def test_a_file_is_replaced_by_a_whole_report_or_not_at_all(self):
        path = self.write("report.md", b"old")
        command.run(*PASSES, "-o", path)
        self.assertIn("PASSED", self.read("report.md").decode())
        self.write("report.md", b"old")
        # No file may grow beyond 100 bytes, as on a full disk.
        small = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        done = subprocess.run([*command.COMMAND, *PASSES, "-o", path], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=small,
                              restore_signals=False, timeout=100, check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(b"the report could not be written", done.stderr)
        self.assertIn(b"PASSED", done.stdout, "it is not lost")
        self.assertEqual(self.read("report.md"), b"old")
        self.assertEqual(os.listdir(self.folder), ["report.md"])


if __name__ == "__main__":
    command.main()
