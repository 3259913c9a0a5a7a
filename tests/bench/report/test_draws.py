# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""bench/draws.py: its problems fill every row of the targets over random problems."""
import copy
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import report

sys.path.insert(0, str(report.ROOT / "bench"))
import draws

TABLE = json.loads((report.ROOT / "bench/cases/cases.json").read_text(encoding="utf-8"))
ARMS = {**TABLE["arms"], **draws.ARMS}
SEEDS = (1, 7, 2026)


def timed(name, contract, us):
    arm = {"arm": name, "role": "detgemm" if contract else "baseline", "us": us, "p10": us, "p90": us}
    if contract:
        arm.update(contract=contract, stable="b" if "stable" in name else "none")
    return arm


def results(table, us_of):
    """What a run over that table of cases would leave, with times of us_of(arm, suite, epilogue)."""
    made = {}
    for suite in table["suites"]:
        model, layer = suite["layers"][0].split("/")
        n, k = ({**TABLE["models"], **table["models"]})[model][layer]
        m, kind = suite["tokens"][0], suite.get("kinds", ["forward"])[0]
        dtype, mode = suite.get("dtypes", ["bf16"])[0], suite.get("mode", "auto")
        out = "fp32" if suite.get("accumulate") or dtype == "fp32" else dtype
        if mode == "auto":
            mode = "stream" if m <= 512 and kind == "forward" else "burst"
        for epilogue in suite.get("epilogues", ["none"]):
            name = f"{model}/{layer}/{kind}/m{m}/{dtype}/{mode}/{epilogue}/{out}"
            result = made.setdefault(name, {
                "case": name, "suites": ["drawn"], "model": model, "layer": layer, "kind": kind, "m": m,
                "n": n, "k": k, "dtype": dtype, "mode": mode, "epilogue": epilogue,
                "accumulate": suite.get("accumulate", False), "arms": [timed("cublaslt", None, 10.0)]})
            for arm in suite["arms"]:
                contract = ARMS[arm]["contract"]
                for key, value in (("native", "hopper"), ("dtype", dtype), ("out", out), ("k/8", k // 8)):
                    contract = contract.replace("{" + key + "}", str(value))
                result["arms"].append(timed(arm, contract, us_of(arm, suite, epilogue)))
    return list(made.values())


class DrawsTest(report.ReportTest):
    def table(self, found, ceilings=True):
        document = copy.deepcopy(report.sample())
        document.update(results=found, falls=[])
        if not ceilings:
            document["ceilings"] = {}
        done = report.run("targets", self.file(document))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout[done.stdout.index("over random problems: projections"):
                            done.stdout.index("over random problems: every M")].splitlines()
        rows = [[part.strip() for part in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
        return {row[0]: row[1:] for row in rows[2:]}

    def test_every_row_has_enough_cases(self):
        for seed in SEEDS:
            rows = self.table(results(draws.table_of(seed), lambda *_: 10.0))
            self.assertGreater(len(rows), 30)
            for name, row in rows.items():
                self.assertNotEqual(row[-1], "not measured", f"seed {seed}: {name}")
                self.assertGreaterEqual(int(row[1]), draws.LEAST, f"seed {seed}: {name}")

    def test_rows_take_their_own_cases_alone(self):
        def us_of(arm, suite, epilogue):
            odd = suite["layers"][0].startswith("odd/")
            return 40.0 if odd else {"bias": 20.0, "beta": 80.0}.get(epilogue, 5.0 if "tree" in arm else 10.0)
        rows = self.table(results(draws.table_of(7), us_of))
        self.assertEqual(rows["chain, M 65 .. 512"][2], "1.000 / 1.000")
        self.assertEqual(rows["tree of 8 leaves, M > 512"][2], "2.000 / 2.000")
        self.assertEqual(rows["chain with a bias, beside our own chain"][2], "0.500 / 0.500")
        self.assertEqual(rows["chain with a bias, M > 512"][2], "0.500 / 0.500")
        self.assertEqual(rows["chain with beta = 1, M 1 .. 64"][2], "0.125 / 0.125")
        self.assertEqual(rows["chain with bias and gelu, beside our own chain"][2], "1.000 / 1.000")
        for name, row in rows.items():
            if name.startswith("N, K"):
                self.assertEqual(row[2], "0.250 / 0.250", name)

    def test_a_read_of_c_counts_for_beta(self):
        # 10 us without beta; what a read of C takes, at the sample's rate, comes on top.
        found = results(draws.table_of(7), lambda *_: 10.0)
        rate = report.sample()["ceilings"]["read_bytes_per_s"]
        longest = max(2e6 * r["m"] * r["n"] / rate for r in found if r["epilogue"] == "beta")
        row = self.table(found)["chain with beta = 1, beside our own chain and a read of C"]
        self.assertGreater(float(row[2].split(" / ")[0]), 1.0)
        self.assertLessEqual(float(row[2].split(" / ")[0]), 1 + longest / 10)
        self.assertEqual(self.table(found, ceilings=False)[
            "chain with beta = 1, beside our own chain and a read of C"][-1], "not measured")

    def test_without_a_neighbour_nothing_is_said_of_one(self):
        found = [r for r in results(draws.table_of(7), lambda *_: 10.0) if r["model"] == "odd"]
        rows = self.table(found)
        for name, row in rows.items():
            self.assertEqual(row[-1] == "not measured", name != "N, K or a leading dimension odd, against cuBLASLt")

    def test_draws_come_from_the_seed_alone(self):
        self.assertEqual(draws.table_of(5), draws.table_of(5))
        self.assertNotEqual(draws.table_of(5), draws.table_of(6))

    def test_random_problems_of_an_older_file_do_not_count(self):
        document = copy.deepcopy(report.sample())
        document.update(results=results(draws.table_of(1), lambda *_: 10.0), falls=[])
        old = self.file(document, "a.json")
        document.update(results=results(draws.table_of(2), lambda *_: 5.0))
        done = report.run("targets", old, self.file(document, "b.json"))
        line = next(x for x in done.stdout.splitlines() if x.startswith("| chain, M 65 .. 512 |"))
        self.assertIn("2.000 / 2.000", line)

    def test_a_few_newer_problems_do_not_stand_for_a_range(self):
        document = copy.deepcopy(report.sample())
        document.update(results=results(draws.table_of(1), lambda *_: 10.0), falls=[])
        old = self.file(document, "a.json")
        few = [r for r in results(draws.table_of(2), lambda *_: 5.0) if 64 < r["m"] <= 512][:3]
        document.update(results=few)
        done = report.run("targets", old, self.file(document, "b.json"))
        line = next(x for x in done.stdout.splitlines() if x.startswith("| chain, M 65 .. 512 |"))
        self.assertIn("1.000 / 1.000", line)


if __name__ == "__main__":
    unittest.main()
