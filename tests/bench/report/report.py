# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Runs bench/report and makes result files for it; shared by the tests of this folder."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def run(*arguments):
    command = [sys.executable, str(ROOT / "bench" / "report"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def sample():
    """The committed small result file: a made-up GPU."""
    return json.loads((HERE / "golden" / "gpu.json").read_text(encoding="utf-8"))


class ReportTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, document, name="r.json"):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document),
                        encoding="utf-8")
        return path

    def changed(self, change, name="r.json"):
        """The sample with one change, as a file."""
        document = copy.deepcopy(sample())
        change(document)
        return self.file(document, name)

    def refused(self, sentence, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertTrue(done.stderr.startswith("bench/report: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)  # one sentence, no traceback
        self.assertIn(sentence, done.stderr)
