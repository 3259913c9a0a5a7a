# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`verify`: on a machine without a GPU there is nothing to verify, and a sentence says so.

What it prints on devices is that of Backend::verify, which test_cuda_verify runs on a fake one.
"""

import os

import command


class Verify(command.CommandTest):
    """`detgemm verify`."""

    def with_device(self):
        """The backends here that have a device beside the host."""
        return [b["name"] for b in self.ask("info")["backends"] if b["available"] and b["name"] in ("cuda", "hip")]

    def test_without_a_device(self):
        if self.with_device():
            self.skipTest("there is a device")
        self.refused(["verify"], 3, "unavailable", "no backend here has an arithmetic to verify")
        report = self.path("verify.json")
        self.refused(["verify", "--report", report], 3, "unavailable", "no backend here")
        self.assertFalse(os.path.exists(report), "nothing ran, so nothing was written")

    def test_files(self):
        self.refused(["verify", "--report", self.folder], 2, "io", "directory")
        self.refused(["verify", "--report", self.path("no/file.json")], 2, "io", "no/file.json")

    def test_help(self):
        text = command.run("verify", "--help").out
        for part in ("Use it", "Examples:\n  detgemm verify", "Exit codes: 0", "--report"):
            self.assertIn(part, text)


if __name__ == "__main__":
    command.main()
