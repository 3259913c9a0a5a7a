#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""bench/fit/replay.py: which recorded times are of kernels that were replaced since."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/fit"))
import replay

OLD, DAY, NEW = "results/2026-11-24-h200-x.json.xz", "results/2026-11-28-h200-x.json.xz", "results/2026-11-29-h200-x.json.xz"


class Replaced(unittest.TestCase):
    def assert_left_out(self, reduction, kind, kernel, paths, k=4096):
        problem = replay.Problem("hopper", "bf16", "fp32", reduction, kind, 512, 4096, k)
        self.assertEqual([path for path in (OLD, DAY, NEW, "new.json") if replay.was_replaced(problem, kernel, path)], paths)

    def test_wide_trees_until_they_had_a_kernel_of_their_own(self):
        for kernel in ("128x160", "128x192", "128x192/swapped"):
            self.assert_left_out("tree:128", "forward", kernel, [OLD, DAY])
        self.assert_left_out("tree:128", "forward", "128x128", [])

    def test_folds_that_go_on_from_c_until_they_had_the_kernel_of_folds(self):
        for kernel in ("128x128", "128x192-pair-x", "128x128-pair-y/swapped"):
            self.assert_left_out("fold:128", "dB+c", kernel, [OLD, DAY])
        self.assert_left_out("fold:128", "dB+c", "64x128", [])
        self.assert_left_out("fold:128", "dB", "128x128", [])

    def test_trees_of_two_leaves_until_they_ran_as_folds(self):
        self.assert_left_out("tree:128", "forward", "128x128", [OLD], k=256)
        self.assert_left_out("tree:128", "forward", "128x128-cluster2", [], k=256)


if __name__ == "__main__":
    unittest.main()
