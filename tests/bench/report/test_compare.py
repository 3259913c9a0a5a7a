# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Two files: what became slower is a regression, what is noisy is not."""
import unittest

from report import HERE, ReportTest, run

GPU = HERE / "golden" / "gpu.json"
CPU = HERE / "golden" / "cpu.json"


def scaled(document, case, name, factor):
    for arm in document["results"][case]["arms"]:
        if arm["arm"] == name:
            arm.update({key: arm[key] * factor for key in ("us", "p10", "p90")})


class Compare(ReportTest):
    def compared(self, path, code):
        done = run("compare", GPU, path)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_a_file_with_itself(self):
        self.assertIn(", 0 regressions", self.compared(GPU, 0))

    def test_ours_slower(self):
        out = self.compared(self.changed(lambda d: scaled(d, 0, "chain", 1.2)), 1)
        self.assertIn("toy/wide/forward/m1/bf16 chain", out)
        self.assertIn("(+20.0 %): REGRESSION", out)
        self.assertIn(", 1 regressions", out)

    def test_within_the_threshold(self):
        self.assertIn(", 0 regressions",
                      self.compared(self.changed(lambda d: scaled(d, 0, "chain", 1.02)), 0))

    def test_ours_faster_and_a_slower_baseline_are_no_regressions(self):
        out = self.compared(self.changed(lambda d: scaled(d, 0, "chain", 0.8)), 0)
        self.assertIn("faster", out)
        out = self.compared(self.changed(lambda d: scaled(d, 0, "cublaslt", 1.5)), 0)
        self.assertIn("slower baseline", out)

    def test_noise_decides_nothing(self):
        def noisy(document):
            scaled(document, 0, "chain", 1.2)
            arm = document["results"][0]["arms"][0]
            arm.update(p10=arm["us"] * 0.5, p90=arm["us"] * 1.5, noise=1.0)
        self.assertIn("inconclusive: noisy", self.compared(self.changed(noisy), 0))

    def test_bits_that_changed_are_a_regression_whatever_the_time(self):
        def broken(document):
            arm = document["results"][2]["arms"][0]
            self.assertEqual((arm["arm"], arm["batch_invariant"]), ("chain", True))
            arm["batch_invariant"] = False
        self.assertIn("row 0 no longer keeps its bits", self.compared(self.changed(broken), 1))

    def test_two_kinds_of_machine(self):
        self.refused("times of two kinds of machine are not compared", "compare", GPU, CPU)

    def test_no_case_in_common(self):
        path = self.changed(lambda d: [r.update(case=r["case"] + "x") for r in d["results"]])
        self.refused("hold no arm of the same case", "compare", GPU, path)


if __name__ == "__main__":
    unittest.main()
