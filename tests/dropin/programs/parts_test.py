#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""parts_test.py: a part that hangs, fails or finds no time does not keep the others from running."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run
from parts import Parts


def quietly(parts, *words):
    with contextlib.redirect_stdout(io.StringIO()):
        parts.part(*words)


class PartsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "lines"

    def lines(self):
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def test_a_part_that_hangs_is_killed_with_its_children(self):
        parts = Parts(60, self.path)
        start = time.monotonic()
        # The grandchild keeps the pipes open, so killing the shell alone would wait for it.
        quietly(parts, "hangs", 0.5, lambda found: parts.run(["sh", "-c", "sleep 50 & echo begun; wait"]))
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(self.lines()[0]["outcome"], "LATE")
        self.assertIn("begun", self.lines()[0]["why"])
        quietly(parts, "after it", 10, lambda found: parts.run(["true"])[0] == 0)
        self.assertEqual([line["outcome"] for line in self.lines()], ["LATE", "good"])
        self.assertEqual(parts.exit_code(), 1)

    def test_every_outcome(self):
        parts = Parts(60, self.path)
        quietly(parts, "raises", 5, lambda found: {}["x"])
        quietly(parts, "absent", 5, lambda found: None)
        self.assertEqual(list(parts.outcomes.values()), ["FAILED", "not run"])
        late = Parts(0.1)
        quietly(late, "any", 5, lambda found: self.fail("it ran"))
        self.assertEqual((late.outcomes, late.exit_code()), ({"any": "no time left"}, 4))
        nothing = Parts(60)
        quietly(nothing, "absent", 5, lambda found: None)
        self.assertEqual(nothing.exit_code(), 3)

    def rows_say(self, preloaded, alone, taken):
        """run.rows over a program that prints these verdicts with and without an argument."""
        script = self.path.with_suffix(".py")
        script.write_text(
            "import os, sys\n"
            f"sys.stderr.write('detgemm preload: process 1 called for 3 products, {taken} of them\\n')\n"
            f"print({preloaded!r} if os.environ.get('UNDER') else {alone!r})\n", encoding="utf-8")
        parts = Parts(60)
        quietly(parts, "rows", 20, run.rows(parts, [sys.executable, script], ["env", "UNDER=1"]))
        return parts.outcomes["rows"]

    def test_rows(self):
        self.assertEqual(self.rows_say("mm same", "mm other", 3), "good")
        self.assertEqual(self.rows_say("mm other", "mm other", 3), "FAILED")  # a row depends on its batch
        self.assertEqual(self.rows_say("mm same", "mm same", 3), "FAILED")  # the control shows nothing
        self.assertEqual(self.rows_say("mm same", "mv other", 3), "FAILED")  # another case
        self.assertEqual(self.rows_say("mm same", "mm other", 0), "FAILED")  # nothing was taken
        self.assertEqual(self.rows_say("", "", 3), "FAILED")


if __name__ == "__main__":
    unittest.main()
