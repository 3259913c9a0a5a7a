# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Pages and plots, byte for byte: test_pages.py [--update] (which writes what it would compare)."""
import json
import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree as xml

from report import HERE, ROOT, ReportTest, run

GOLDEN = HERE / "golden"
UPDATE = "--update" in sys.argv


class Pages(ReportTest):
    def golden(self, name, text):
        if UPDATE:
            (GOLDEN / name).write_text(text, encoding="utf-8")
        self.assertEqual(text, (GOLDEN / name).read_text(encoding="utf-8"), name)

    def page(self, *files):
        done = run("page", *files, "-o", self.folder / "page")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / "page"

    def test_page_of_two_machines(self):
        page = self.page(GOLDEN / "gpu.json", GOLDEN / "cpu.json")
        self.golden("page.md", (page / "index.md").read_text(encoding="utf-8"))
        html = (page / "index.html").read_text(encoding="utf-8")
        self.assertNotRegex(html, r'(src|href)="')  # self-contained
        self.assertGreaterEqual(html.count("<svg"), 4)
        for drawn in re.findall(r"<svg.*?</svg>", html, re.S):
            xml.fromstring(drawn)

    def test_the_committed_table_of_targets(self):
        done = run("targets", *sorted((ROOT / "bench" / "results").glob("*.json")))
        self.assertEqual(done.returncode, 0, done.stderr)
        table = ROOT / "docs" / "bench" / "targets.md"
        if UPDATE:
            table.write_text(done.stdout, encoding="utf-8")
        self.assertEqual(done.stdout, table.read_text(encoding="utf-8"))

    def test_plot(self):
        done = run("plot", GOLDEN / "gpu.json", "-o", self.folder / "plot.svg")
        self.assertEqual(done.returncode, 0, done.stderr)
        drawn = (self.folder / "plot.svg").read_text(encoding="utf-8")
        xml.fromstring(drawn)
        self.golden("plot.svg", drawn)

    def test_a_rival_that_changes_row_0_is_said_to(self):
        page = (self.page(GOLDEN / "gpu.json") / "index.md").read_text(encoding="utf-8")
        self.assertIn("Ours kept row 0 in 11 of 11 comparisons; cuBLASLt in 2 of 5.", page)
        row = next(line for line in page.splitlines() if line.startswith("| toy/wide/forward/m16"))
        self.assertIn("| no |", row)

    def test_targets_are_computed(self):
        done = run("targets", GOLDEN / "gpu.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(x for x in done.stdout.splitlines() if x.startswith("| chain, M 1 .. 64, no"))
        # Vendor's time over ours at M = 1, 4, 16, 64: 1.2, 1.1, 1.0, 0.96.
        self.assertIn("| 4 | 1.061 / 0.960 | toy/wide/forward/m64/bf16 | missed |", line)
        self.assertIn("not measured", done.stdout)

    def test_a_hit_is_called_one(self):
        path = self.changed(lambda d: [arm.update(us=arm["us"] / 2, p10=arm["p10"] / 2,
                                                  p90=arm["p90"] / 2)
                                       for r in d["results"] for arm in r["arms"]
                                       if arm["arm"] == "chain"])
        done = run("targets", path)
        line = next(x for x in done.stdout.splitlines() if x.startswith("| chain, M 1 .. 64, no"))
        self.assertTrue(line.endswith("| hit |"), line)

    def test_the_committed_results_make_a_page(self):
        files = sorted((ROOT / "bench" / "results").glob("*.json"))
        page = (self.page(*files) / "index.md").read_text(encoding="utf-8")
        self.assertIn("NVIDIA H200", page)
        self.assertNotRegex(page, r"\bnan\b")

    def test_predictions_have_a_column_of_their_own_and_stand_in_the_docs(self):
        page = (self.page(GOLDEN / "gpu.json") / "index.md").read_text(encoding="utf-8")
        self.assertIn("gfx942, predicted |", page)
        predicted = json.loads((ROOT / "bench/predicted/gfx942.json").read_text(encoding="utf-8"))
        docs = (ROOT / "docs" / "hip.md").read_text(encoding="utf-8")
        for point in predicted["points"]:
            line = rf"\| {point['m']} x {point['n']} x {point['k']} \| \d+ \| {point['tflops']} \|"
            self.assertRegex(docs, line)

    def test_the_peers_run_the_cases_of_the_table(self):
        sys.path.insert(0, str(ROOT / "bench" / "peers"))
        import cases
        table = json.loads((ROOT / "bench/cases/cases.json").read_text(encoding="utf-8"))
        shapes = [tuple(table["models"][x.split("/")[0]][x.split("/")[1]])
                  for x in table["sets"]["linear"]]
        self.assertEqual(sorted(cases.SHAPES), sorted(shapes))


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--update"])
