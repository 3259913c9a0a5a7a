#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""every_kernel.py goes on from results in OUT only where they are of the same texts and options. A stand-in for the sweep
says that all is equal; no kernel is executed."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().with_name("every_kernel.py")
# One unit, with the outputs that are wanted; of the groups nothing.
SWEEP = """#!/usr/bin/env python3
import json, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "--list" in given:
    print("ieee_fma/fp32/chain/simt-64x64/drawn")
    sys.exit(0)
counts = {"runs": 1, "outputs": 1e7, "mismatches": 0, "bytes_outside": 0}
with open(given["--json"], "w") as file:
    json.dump({"total": {"outputs": 1e7}, "seconds": 1, "distinct_outputs": 1, "by": {"compiled": {"simt_first": counts}}}, file)
"""
TEXT = "\t.amdhsa_kernel simt_first\n"


class Key(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "sweep").write_text(SWEEP)
        (self.folder / "sweep").chmod(0o755)
        for chip in ("gfx942", "gfx90a"):
            self.text(TEXT, chip)

    def text(self, text, chip="gfx942"):
        (self.folder / "code" / chip).mkdir(parents=True, exist_ok=True)
        (self.folder / "code" / chip / "kernels.s").write_text(text)

    def run_it(self, *more, chips="gfx942", out="out"):
        return subprocess.run([sys.executable, PROGRAM, self.folder / "sweep", "groups", self.folder / "code", self.folder, self.folder / out,
                               "--chips", chips, "--only", "^ieee_fma/fp32/chain/simt", *more],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def assert_refused(self, done, sentence):
        self.assertEqual(done.returncode, 1)
        self.assertIn(sentence, done.stderr)

    def test_the_same_texts_and_options_go_on(self):
        self.assertEqual(self.run_it().returncode, 0)
        self.text(TEXT + "\t.type __hip_cuid_0123,@object\n")  # names the folder of a build
        self.assertEqual(self.run_it().returncode, 0)
        self.assertEqual(self.run_it(chips="gfx90a").returncode, 0)  # a chip more
        self.assertEqual(self.run_it(chips="gfx942,gfx90a").returncode, 0)
        self.assertEqual(sorted(json.loads((self.folder / "out/key.json").read_text())["texts"]), ["gfx90a", "gfx942"])

    def test_other_texts_are_refused(self):
        self.assertEqual(self.run_it().returncode, 0)
        before = (self.folder / "out/summary.json").read_text()
        self.text(TEXT + "\ts_endpgm\n")
        self.assert_refused(self.run_it(), "the texts of gfx942 are others")
        self.assert_refused(self.run_it("--plant"), "the texts of gfx942 are others")
        self.assertEqual((self.folder / "out/summary.json").read_text(), before)
        self.assertEqual(self.run_it(out="another").returncode, 0)

    def test_other_options_are_refused(self):
        self.assertEqual(self.run_it().returncode, 0)
        for name, value, was in (("mfma", "adverse", "model"), ("outputs", "3e6", "2000000.0"), ("products", "2e6", "1000000.0"),
                                 ("seed", "2", "1")):
            with self.subTest(name):
                self.assert_refused(self.run_it(f"--{name}", value), f"and was {was}; OUT must be")

    def test_results_of_unknown_texts_are_refused(self):
        self.assertEqual(self.run_it().returncode, 0)
        (self.folder / "out/key.json").unlink()
        self.assert_refused(self.run_it(), "holds results without key.json")

    def test_a_folder_without_texts_is_refused(self):
        self.assert_refused(self.run_it(chips="gfx950"), "gfx950 has no texts")
        self.assertEqual(self.run_it().returncode, 0)


if __name__ == "__main__":
    unittest.main()
