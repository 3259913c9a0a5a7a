#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""compiled_for_nothing_test.py NINJA: what a second script's other options cost is found in ninja's log."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

NINJA = sys.argv.pop(1)
CHECK = pathlib.Path(__file__).with_name("compiled_for_nothing.py")


class Compiled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, *objects, option):
        """As a script configures and builds; CMake tidies the log in the same way when it has written the rules."""
        rules = [f"rule compile\n  command = echo {option} >$out\n", *(f"build {name}: compile\n" for name in objects)]
        (self.folder / "build.ninja").write_text("".join(rules))
        for words in (["-t", "recompact"], ["-t", "cleandead"], []):
            subprocess.run([NINJA, *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def wasted(self, *objects, option):
        """What the first script compiled in vain, where the second has these objects and this option."""
        self.build("a.o", "b.o", option="one")
        first = self.folder / "first.log"
        shutil.copy(self.folder / ".ninja_log", first)
        self.build(*objects, option=option)
        done = subprocess.run([sys.executable, CHECK, first, self.folder], check=True, capture_output=True, text=True)
        return done.stdout.split()

    def test_more_targets_with_the_same_options_waste_nothing(self):
        self.assertEqual(self.wasted("a.o", "b.o", "c.o", option="one"), [])

    def test_an_object_that_is_compiled_again_is_named(self):
        self.assertEqual(self.wasted("a.o", "b.o", "c.o", option="another"), ["a.o", "b.o"])

    def test_objects_of_a_unity_build_that_is_switched_off_are_named(self):
        self.assertEqual(self.wasted("a.o", "b_1.o", "b_2.o", option="one"), ["b.o"])

    def test_a_log_without_objects_is_refused(self):
        empty = self.folder / "empty.log"
        empty.write_text("# ninja log v5\n")
        done = subprocess.run([sys.executable, CHECK, empty, self.folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, f"compiled_for_nothing.py: {empty} names no object\n"))


if __name__ == "__main__":
    unittest.main()
