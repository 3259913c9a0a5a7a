#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""summary_test.py ROOT: what scripts/summary.py makes of ctest's reports, and what scripts/test.sh and
scripts/setup.sh say to words that they do not know; and the recipes of package managers."""
import pathlib
import re
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
