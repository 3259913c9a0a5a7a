#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A page, a record and a list; then one false or stale figure at a time."""
import io
import lzma
import pathlib
import tarfile
import tempfile
import unittest

import figures

RECORD = "# A run\n\n3,340,900,330 outputs, 12,345 problems, 41.576 and 9.646 us, 0.965 of the time; row 0 kept in 664 of 664.\n"
PAGE = """# A page

See [the record](../tests/results/run.md). It has 12,345 problems with 3.3 * 10^9 outputs at 41.6, 0.97 of the time, and row 0
in 664 of 664. With PyTorch 2.11 and `9.99` of code, it printed 2.5 elsewhere.

## Another section

It took 7.5, and 12,288 rows.

## A table

[The record](../tests/results/run.md) has these, and its JSON the last.

| wide | narrow | ratio | again |
|---|---|---|---|
| 41.576 | 9.646 | 4.31 | 0.4321 |
"""
LISTED = {"docs/page.md": {"2.5": "in tests/results/old.tar.xz:run.json.xz", "7.5": "= gmean(3, 6.75) + 6 / 2 in tests/results/run.json",
                           "12,288": "in core/rows.hpp"}}
FALSE = {"12,345 problems": "12,346 problems", "3.3 * 10^9": "3.4 * 10^9", "41.6": "41.5", "0.97 of": "0.98 of", "664 of 664": "64 of 664",
         "2.5 elsewhere": "2.6 elsewhere", "It took 7.5,": "It took 7.5 and 12,345,", "12,288": "12,289", "0.4321": "0.4323", "4.31 |": "4.33 |"}


class Figures(unittest.TestCase):
    def check(self, page=PAGE, listed=None, source="constexpr int kRows = 12'288;  // 11 * 1024"):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for path, text in {"README.md": "# Nothing\n", "docs/page.md": page, "tests/results/run.md": RECORD,
                               "core/rows.hpp": source, "tests/results/run.json": '{"us": 0.43211, "ms": [3, 6.75, 2, 6]}'}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            with tarfile.open(root / "tests/results/old.tar.xz", "w:xz") as archive:
                packed = lzma.compress(b'{"s": 2.5}')
                member = tarfile.TarInfo("run.json.xz")
                member.size = len(packed)
                archive.addfile(member, io.BytesIO(packed))
            figures.source_text.cache_clear()
            figures.measured.cache_clear()
            return figures.check(root, LISTED if listed is None else listed)

    def test_a_true_page(self):
        wrong, left, total = self.check()
        self.assertEqual((wrong, left["docs/page.md"], total), ([], ["2.5", "7.5", "12,288"], 12))

    def test_one_false_figure_at_a_time(self):
        for true, false in FALSE.items():
            self.assertIn(true, PAGE)
            wrong, _, _ = self.check(PAGE.replace(true, false))
            self.assertTrue(wrong, false)

    def test_a_source_that_has_another_number(self):
        for source in ("constexpr int kRows = 12'289;", "constexpr int kRows = 112288;", "constexpr double kRows = 12288.5;"):
            wrong, _, _ = self.check(source=source)
            self.assertEqual(wrong, ["docs/page.md: 12,288 is not in core/rows.hpp"], source)

    def test_evidence_that_is_none(self):
        for reason in ("a constant", "printed by a run", "in tests/results/run.md", "in tests/results/none.json", "= 3 + 4.5 in tests/results/run.json",
                       "= 3 + 6.75 in tests/results/run.json", "= 3 + 6.75 - 2 in core/rows.hpp", "= open('x') in tests/results/run.json"):
            wrong, _, _ = self.check(listed={"docs/page.md": {**LISTED["docs/page.md"], "7.5": reason}})
            self.assertEqual(len(wrong), 1, reason)
            self.assertIn("7.5", wrong[0])

    def test_a_list_that_is_stale(self):
        wrong, _, _ = self.check(listed={"docs/page.md": {**LISTED["docs/page.md"], "41.576": "in tests/results/run.md"}})
        self.assertEqual(wrong, [f"{figures.LISTED}: docs/page.md has no 41.576 without a record any more"])
        wrong, _, _ = self.check(listed={**LISTED, "docs/gone.md": {"41.576": "in tests/results/run.md"}})
        self.assertEqual(wrong, [f"{figures.LISTED}: there is no page docs/gone.md"])

    def test_the_list_is_read_as_it_is_written(self):
        self.assertEqual(figures.read_list("# a comment\n" + figures.write_list(LISTED)), LISTED)


if __name__ == "__main__":
    unittest.main()
