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
OPTIONS = pathlib.Path(__file__).resolve().parents[2] / "scripts/options.sh"


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

    def launcher(self, cache):
        """The compiler's cache that CMake is told of, where scripts have one and a build folder has this CMakeCache.txt."""
        (self.folder / "build/host").mkdir(parents=True, exist_ok=True)
        if cache is not None:
            (self.folder / "build/host/CMakeCache.txt").write_text(cache)
        tools = self.folder / ".deps/tools/bin"
        tools.mkdir(parents=True, exist_ok=True)
        (tools / "cmake").write_text('#!/bin/sh\necho "$* ${CMAKE_CXX_COMPILER_LAUNCHER-none}"\n')
        (tools / "cmake").chmod(0o755)
        script = f"export CMAKE_CXX_COMPILER_LAUNCHER=ccache; . {OPTIONS}; configure host -DX=1; echo $CMAKE_CXX_COMPILER_LAUNCHER"
        done = subprocess.run(["bash", "-euc", script], cwd=self.folder, capture_output=True, text=True, check=True)
        said, after = done.stdout.splitlines()
        self.assertEqual(after, "ccache")  # for the next folder
        return said.removeprefix("--preset host -DX=1 ")

    def test_a_folder_keeps_the_launcher_that_it_was_configured_with(self):
        self.assertEqual(self.launcher(None), "ccache")
        self.assertEqual(self.launcher("CMAKE_CXX_COMPILER_LAUNCHER:STRING=ccache\n"), "ccache")
        self.assertEqual(self.launcher("CMAKE_CXX_COMPILER:FILEPATH=/usr/bin/c++\n"), "none")
        self.assertEqual(self.launcher("CMAKE_CXX_COMPILER_LAUNCHER:STRING=\n"), "none")

    def test_a_log_without_objects_is_refused(self):
        empty = self.folder / "empty.log"
        empty.write_text("# ninja log v5\n")
        done = subprocess.run([sys.executable, CHECK, empty, self.folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, f"compiled_for_nothing.py: {empty} names no object\n"))


if __name__ == "__main__":
    unittest.main()
