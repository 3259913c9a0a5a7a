# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Pages and plots, byte for byte: test_pages.py [--update] (which writes what it would compare)."""
import json
import math
import re
import sys
import unittest
import xml.etree.ElementTree as xml

from report import HERE, ROOT, ReportTest, run

sys.path.insert(0, str(ROOT / "bench" / "report"))

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
        self.assertNotRegex(html, r'(src|href)="[^#]')  # self-contained
        self.assertGreaterEqual(html.count("<svg"), 4)
        for drawn in re.findall(r"<svg.*?</svg>", html, re.S):
            xml.fromstring(drawn)

    def committed(self, command, pattern, page):
        done = run(command, *sorted((ROOT / "bench" / "results").glob(pattern)))
        self.assertEqual(done.returncode, 0, done.stderr)
        path = ROOT / "docs" / "bench" / page
        if UPDATE:
            path.write_text(done.stdout, encoding="utf-8")
        self.assertEqual(done.stdout, path.read_text(encoding="utf-8"))

    def test_the_committed_table_of_targets(self):
        self.committed("targets", "*.json.xz", "targets.md")

    def test_the_committed_page_of_the_sm90_kernels(self):
        self.committed("sm90", "*-h200-*.json.xz", "sm90.md")

    def test_every_link_of_the_contents_leads_somewhere(self):
        page = self.page(GOLDEN / "gpu.json", GOLDEN / "cpu.json")
        html = (page / "index.html").read_text(encoding="utf-8")
        links = re.findall(r'href="#([^"]+)"', html)
        names = re.findall(r' id="([^"]+)"', html)
        self.assertGreater(len(links), 10)
        self.assertEqual(sorted(set(links) - set(names)), [])
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("prefers-color-scheme: dark", html)
        text = (page / "index.md").read_text(encoding="utf-8")
        self.assertLess(text.index("### At a glance"), text.index("## Machines and runs"))

    def test_all_cases_are_on_a_page_of_their_own(self):
        page = self.page(GOLDEN / "gpu.json")
        text = (page / "cases-toy-gpu.md").read_text(encoding="utf-8")
        cases = {result["case"] for result in
                 json.loads((GOLDEN / "gpu.json").read_text(encoding="utf-8"))["results"]}
        for case in cases:
            self.assertIn(f"| {case} |", text)
        self.assertIn(f"[All {len(cases)} cases of Toy GPU](cases-toy-gpu.md)",
                      (page / "index.md").read_text(encoding="utf-8"))
        self.assertNotIn("@64x32-load8", text)  # no kernel that was forced, and no ceiling
        self.assertNotIn("read128", text)

    def test_falls_of_the_time_against_tokens_are_marked(self):
        page = self.page(GOLDEN / "gpu.json")
        text = (page / "index.md").read_text(encoding="utf-8")
        # 65, 72, 104 and 120 tokens take 20 us and more, 128 take 16.
        self.assertIn("| toy tall bf16 | chain | 10 | 4 | 1.28 | 20.5 us at 120 | 16 us at 128 |", text)
        drawn = (page / "toy-gpu-tokens-toy-tall-bf16.svg").read_text(encoding="utf-8")
        self.assertEqual(drawn.count("us at M = 128"), 4)
        xml.fromstring(drawn)

    def test_each_of_five_others_has_looks_of_its_own(self):
        import svg
        for names in (["cublaslt", "cublaslt0", "cublaslt-best", "triton", "torch"],
                      ["one", "two", "three", "four", "five"], ["cublaslt", "a", "triton", "b", "c"]):
            for look in (svg.colour, svg.dash, svg.shape):
                self.assertEqual(len({look(name, names) for name in names}), 5, names)
            self.assertNotIn(svg.SOLID, [svg.dash(name, names) for name in names])
            self.assertNotIn(svg.CIRCLE, [svg.shape(name, names) for name in names])
            self.assertEqual((svg.dash("chain", names), svg.shape("chain", names)), (svg.SOLID, svg.CIRCLE))
            self.assertEqual([], [n for n in names if svg.colour(n, names) in svg.COLOURS.values()])

    def test_rates_leave_digits_to_read(self):
        import charts
        self.assertEqual(charts.rate_words(0.0123), "12.3 GFLOP/s")
        self.assertEqual(charts.rate_words(812.34), "812.3 TFLOP/s")
        page = self.page(GOLDEN / "cpu.json")
        for drawn in page.glob("*.svg"):
            self.assertNotIn("0.000 TFLOP/s", drawn.read_text(encoding="utf-8"))
            self.assertNotRegex(drawn.read_text(encoding="utf-8"), r"\b0\.\d+ TFLOP/s")

    def test_problems_drawn_at_random_fill_their_own_targets_alone(self):
        text = run("targets", GOLDEN / "gpu.json").stdout
        rows = [x for x in text.splitlines() if x.startswith("| chain, M 1 .. 64, B promised stable |")]
        # Vendor's time over ours: 1.2 and 0.9.
        self.assertIn("| 2 | 1.039 / 0.900 | toy/drawn/forward/m53/bf16 | missed |", rows[1])
        self.assertNotIn("drawn", rows[0])
        row = next(x for x in text.splitlines() if x.startswith("| time falls"))
        self.assertIn("| - / 0.97 | 1 | 0.784 / 0.784 | toy/tall/forward/m104/bf16 | missed |", row)

    def test_a_weight_measured_again_counts_once_wherever_its_worst_m_lies(self):
        document = json.loads((GOLDEN / "gpu.json").read_text(encoding="utf-8"))
        fall = next(x for x in document["falls"] if (x["m"], x["layer"]) == (104, "tall"))
        fall.update(m=120, later_m=fall["later_m"] + 16)
        again = self.folder / "later.json"
        again.write_text(json.dumps(document), encoding="utf-8")
        text = run("targets", GOLDEN / "gpu.json", again).stdout
        row = next(x for x in text.splitlines() if x.startswith("| time falls"))
        self.assertIn("| - / 0.97 | 1 | 0.784 / 0.784 | toy/tall/forward/m120/bf16 | missed |", row)

    def test_targets_of_a_reduction_take_arms_by_their_contract(self):
        def named_by_contract(document):
            result = next(r for r in document["results"] if "drawn" in r["suites"])
            arm = result["arms"][0]
            result.update(m=2048)
            arm.update(arm="hopper/bf16/fold:256->bf16", contract="hopper/bf16/fold:256->bf16", stable="none")
            result["arms"].append({**arm, "arm": "promised", "stable": "b", "us": 1.0})
            result["arms"].append({**arm, "arm": "fma", "contract": "ieee_fma/bf16/fold:256->bf16", "us": 1.0})
        text = run("targets", self.changed(named_by_contract)).stdout
        row = next(x for x in text.splitlines() if x.startswith("| fold:256, M >= 1024"))
        self.assertIn("| 0.94 / - | 1 | 1.200 / 1.200 | toy/drawn/forward/m37/bf16 | hit |", row)

    def test_every_target_over_random_problems_names_its_draws(self):
        asked = json.loads((ROOT / "bench/targets.json").read_text(encoding="utf-8"))
        for target in asked["targets"]:
            drawn = target["select"].get("suite") == "drawn" or "against" in target
            self.assertEqual(drawn, target.get("draw") in asked["draws"], target["name"])

    def test_plot(self):
        done = run("plot", GOLDEN / "gpu.json", "-o", self.folder / "plot.svg")
        self.assertEqual(done.returncode, 0, done.stderr)
        drawn = (self.folder / "plot.svg").read_text(encoding="utf-8")
        xml.fromstring(drawn)
        self.golden("plot.svg", drawn)
        # The left panel's dots: hollow where row 0 moved, and nowhere else.
        dots = re.findall(r"<(?:circle|polygon)([^>]*)><title>([^<]*row 0[^<]*)", drawn)
        hollow = {words for attributes, words in dots if 'class="on"' in attributes}
        self.assertEqual(hollow, {words for _, words in dots if words.endswith("row 0 depends on M")})
        self.assertEqual((len(dots), len(hollow)), (15, 3))

    def test_a_baseline_that_changes_row_0_is_said_to(self):
        page = (self.page(GOLDEN / "gpu.json") / "index.md").read_text(encoding="utf-8")
        self.assertIn("Ours kept row 0 in 11 of 11 comparisons; cuBLASLt in 2 of 5.", page)
        row = next(line for line in page.splitlines() if line.startswith("| toy/wide/forward/m16"))
        self.assertRegex(row, r"\| [\d.]+ \* \|")

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

    def test_the_committed_page_and_its_charts(self):
        results = ROOT / "bench" / "results"
        files = [file for pattern in ("*-cuda-*", "*-triton", "*-cpu-*")
                 for file in sorted(results.glob(pattern + ".json.xz"))]
        done = run("page", "--no-html", *files, "-o", self.folder / "page")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("plot", *sorted(results.glob("*-cuda-*.json.xz")), "-o", self.folder / "bench.svg")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = {ROOT / "docs" / "bench" / file.name: file for file in (self.folder / "page").iterdir()}
        made[ROOT / "docs" / "images" / "bench.svg"] = self.folder / "bench.svg"
        for committed, file in made.items():
            if UPDATE:
                committed.write_bytes(file.read_bytes())
            self.assertEqual(file.read_bytes(), committed.read_bytes(), committed)
        stale = {file for file in (ROOT / "docs" / "bench").iterdir()
                 if file.name not in ("sm90.md", "targets.md")} - set(made)
        self.assertEqual(stale, set())

    def test_the_committed_results_make_a_page(self):
        files = sorted((ROOT / "bench" / "results").glob("*.json.xz"))
        page = (self.page(*files) / "index.md").read_text(encoding="utf-8")
        self.assertIn("NVIDIA H200", page)
        self.assertNotRegex(page, r"\bnan\b")

    def test_no_prediction_stands_beside_a_measurement(self):
        page = (self.page(GOLDEN / "gpu.json") / "index.md").read_text(encoding="utf-8")
        committed = (ROOT / "docs" / "bench" / "index.md").read_text(encoding="utf-8")
        for text in (page, committed):
            self.assertNotIn("predict", text)

    def test_the_peers_run_the_cases_of_the_table(self):
        sys.path.insert(0, str(ROOT / "bench" / "peers"))
        import cases
        table = json.loads((ROOT / "bench/cases/cases.json").read_text(encoding="utf-8"))
        shapes = [tuple(table["models"][x.split("/")[0]][x.split("/")[1]])
                  for x in table["sets"]["linear"]]
        self.assertEqual(sorted(cases.SHAPES), sorted(shapes))
        import load
        for result in cases.points():
            arm = {"arm": "triton", "role": "baseline", "us": 1.0, "p10": 1.0, "p90": 1.0}
            load.check_result("triton.json", {**result, "arms": [arm]})
            self.assertEqual(2.0 * math.prod(result["gemm"]), result["flops"])


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--update"])
