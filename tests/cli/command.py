# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the `detgemm` command and says what it did; shared by the tests in this folder."""

import json
import subprocess
import sys
import tempfile
import unittest

COMMAND = []  # the command under test, set by `main`
NO_BACKEND = 77  # exit code that CTest counts as skipped


class Outcome:
    """What one command line gave."""

    def __init__(self, done):
        self.exit = done.returncode
        self.out = done.stdout.decode(errors="replace")
        self.err = done.stderr.decode(errors="replace")

    def __str__(self):
        return f"exit {self.exit}\nstdout: {self.out}\nstderr: {self.err}"


def run(*args, stdout=subprocess.PIPE):
    """Runs one command line."""
    done = subprocess.run(
        COMMAND + [str(arg) for arg in args],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    done.stdout = done.stdout or b""
    return Outcome(done)


class CommandTest(unittest.TestCase):
    """A test case with a folder of its own and the checks that all tests share."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        """A path inside the test's folder."""
        return f"{self.folder}/{name}"

    def write(self, name, data):
        """A file of those bytes inside the test's folder."""
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, name):
        """The bytes of a file inside the test's folder."""
        with open(self.path(name), "rb") as file:
            return file.read()

    def ask(self, *args, exit_code=0):
        """The one JSON object that the command prints with --json."""
        outcome = run(*args, "--json")
        self.assertEqual(outcome.exit, exit_code, str(outcome))
        try:
            answer = json.loads(outcome.out)  # refuses a second object after the first
        except ValueError as error:
            self.fail(f"{error}\n{outcome}")
        self.assertIsInstance(answer, dict)
        return answer

    def refused(self, args, exit_code, code, sentence):
        """The same refusal in both forms: a sentence on stderr, an object on stdout."""
        outcome = run(*args)
        self.assertEqual(outcome.exit, exit_code, str(outcome))
        self.assertIn(sentence, outcome.err)
        self.assertEqual(outcome.out, "")
        answer = self.ask(*args, exit_code=exit_code)
        self.assertEqual(list(answer), ["error"])
        self.assertEqual(answer["error"]["code"], code)
        self.assertIn(sentence, answer["error"]["message"])


def some_backend():
    """Whether the command under test can compute anything here."""
    answer = json.loads(run("info", "--json").out or '{"backends": []}')
    return any(backend["available"] for backend in answer["backends"])


def main(needs_backend=False):
    """Runs the calling script's tests on the command named in its arguments."""
    args = sys.argv[1:]
    all_must_fail = args[:1] == ["--all-must-fail"]
    COMMAND.extend(args[1:] if all_must_fail else args)
    if needs_backend and not all_must_fail and not some_backend():
        print("skipped: this build has no backend that is available here")
        sys.exit(NO_BACKEND)
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if result.testsRun == 0:
        sys.exit("no test ran")
    if not all_must_fail:
        sys.exit(0 if result.wasSuccessful() else 1)
    failed = {test.id() for test, _ in result.failures}  # subtests count as themselves
    failed |= {test.test_case.id() for test, _ in result.failures if hasattr(test, "test_case")}
    passed = sum(1 for test in tests_of(suite_of()) if test not in failed)
    print(f"{passed} tests passed on a command that does nothing, {len(result.errors)} broke")
    sys.exit(1 if passed or result.errors else 0)


def suite_of():
    """A fresh suite: running one forgets its tests."""
    return unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])


def tests_of(suite):
    """The ids of the tests in a suite."""
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item.id()
