# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Records of runs: scripts/record.py, and the records that are committed."""
import hashlib
import importlib.util
import json
import lzma
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

from report import HERE, ROOT, ReportTest

SCRIPT = ROOT / "scripts" / "record.py"
ARCHIVE = ROOT / "scripts" / "archive_records.py"
RECORDS = ("tests/results", "bench/results")
CELL = {"property": "batch", "contract": "hopper/bf16/chain->bf16", "digest": "24f68fedb7bdc075",
        "verdict": "passed", "reason": "", "cases": 2, "runs": 8, "outputs": 640, "mismatches": 0,
        "kernels": ["sm90/128x256"]}
REPORT = {"schema": "detgemm-conformance-1", "reports": [{
    "engine": "toy", "description": "a toy", "device": "Toy GPU", "machine": "a table", "oracle": "reference",
    "version": "0.1.0", "date": "2026-01-02", "commit": "abc1234", "level": "quick", "seed": 1,
    "seconds": 2.0, "passed": False, "ran": True,
    "cells": [CELL, {**CELL, "property": "ranks", "verdict": "skipped", "reason": "only a tree | is shared",
                     "runs": 0, "outputs": 0, "kernels": []},
              {**CELL, "property": "strides", "verdict": "failed", "reason": "a row differs",
               "mismatches": 3},
              {**CELL, "contract": "cdna3/bf16/chain->bf16", "verdict": "unsupported", "outputs": 0}]}]}
COUNTS = {"runs": 12, "outputs": 9000, "mismatches": 0, "bytes_outside": 0, "inputs_changed": 0,
          "nan_outputs": 7}
SWEEP = {"subject": "cuda", "device": "Toy GPU", "oracle": "a loop", "seed": 3, "seconds": 1.5,
         "problems": 4, "distinct_outputs": 3000, "passed": True, "plant": None, "refused": {},
         "total": COUNTS, "by": {"data": {"wide": COUNTS}, "data, types": {"wide, bf16": COUNTS}}}


def script():
    spec = importlib.util.spec_from_file_location("record", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Records(ReportTest):
    def record(self, file, *more):
        return subprocess.run([sys.executable, SCRIPT, file, "-o", self.folder / "out", *more],
                              capture_output=True, text=True, check=False, timeout=60)

    def made(self, document, *more):
        done = self.record(self.file(document), *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "out" / "r.md").read_text(encoding="utf-8")

    def test_a_conformance_report(self):
        page = self.made(REPORT, "--command", "detgemm conform --quick")
        self.assertIn("## toy: FAILED", page)
        self.assertIn("4 cells: 1 passed, 1 failed, 1 skipped, 1 unsupported.", page)
        self.assertIn("| `strides` | 0 | 1 | 0 | 0 | 8 | 640 |", page)
        self.assertIn("| `hopper/bf16/chain->bf16` | `24f68fedb7bdc075` | 1 | 1 | 1 | 0 | 1 | 1,280 |", page)
        self.assertIn("- 1 skipped, `ranks`: only a tree | is shared", page)
        self.assertIn("1 more contracts are not supported", page)
        for fact in ("**commit:** abc1234", "**device:** Toy GPU", "**command:** `detgemm conform --quick`"):
            self.assertIn(fact, page)
        data = lzma.decompress((self.folder / "out" / "r.json.xz").read_bytes())
        self.assertEqual(data, self.file(REPORT).read_bytes())
        self.assertIn(hashlib.sha256(data).hexdigest(), page)

    def test_a_sweep(self):
        page = self.made(SWEEP, "--commit", "abc1234")
        self.assertIn("9,000 outputs compared: 0 differ", page)
        self.assertIn("| `wide` | 12 | 9,000 | 0 |", page)
        self.assertNotIn("wide, bf16", page)
        self.assertIn("**commit:** abc1234", page)
        self.assertIn("**command:** not recorded", page)

    def test_a_sweep_against_libraries(self):
        page = self.made({**SWEEP, "runs_by": "theirs", "libraries": ["a BLAS 1.2", "another"],
                          "controls": {"not snapped": {"outputs": 9000, "differ": 4000}}})
        self.assertIn("12 runs by theirs, 9,000 outputs compared", page)
        self.assertIn("**libraries:** a BLAS 1.2; another", page)
        self.assertIn("| not snapped | 9,000 | 4,000 |", page)

    def test_a_benchmark(self):
        page = self.made(json.loads((HERE / "golden" / "gpu.json").read_text(encoding="utf-8")))
        self.assertIn("| tokens | 10 | 20 | chain, cublaslt |", page)
        self.assertIn("| cublaslt | 2 of 5 |", page)

    def refused(self, sentence, file):
        done = self.record(file)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertTrue(done.stderr.startswith("record.py: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_what_is_refused(self):
        self.refused("cannot be read", self.folder / "absent.json")
        self.refused("is no result file", self.file(json.dumps(REPORT)[:-40]))  # truncated
        self.refused('schema is "detgemm-variants-1"', self.file({"schema": "detgemm-variants-1"}))
        self.refused("schema is 1", self.file({"schema": 1, "results": []}))
        self.refused("holds no reports", self.file({**REPORT, "reports": []}))
        self.refused("holds no cells", self.file({**REPORT, "reports": [{**REPORT["reports"][0], "cells": []}]}))
        broken = [{key: value for key, value in CELL.items() if key != "verdict"}]
        self.refused('lacks "verdict"', self.file(
            {**REPORT, "reports": [{**REPORT["reports"][0], "cells": broken}]}))
        self.refused("which no report holds", self.file(
            {**REPORT, "reports": [{**REPORT["reports"][0], "cells": [{**CELL, "verdict": "fine"}]}]}))
        self.refused('lacks "mismatches"', self.file(
            {**SWEEP, "total": {"runs": 1, "outputs": 1}}))
        self.refused("holds no cases", self.file({"schema": 2, "machine": {}, "date": "x", "commit": "x",
                                                  "backend": "cpu", "results": []}))


class Committed(unittest.TestCase):
    """Every compressed result has a page with its digest, and the page says what the result says."""

    def same(self, record, name, page, data, folder):
        """A page has the digest of its JSON, and its tables are made from it."""
        digest = re.search(r"\*\*sha256:\*\* `([0-9a-f]{64})`", page)[1]
        self.assertEqual(hashlib.sha256(data).hexdigest(), digest, name)
        file = folder / "r.json"
        file.write_bytes(data)
        self.assertTrue(page.endswith("\n\n" + record.body(file) + "\n"), name)

    def test_each_page_is_made_from_its_json(self):
        record = script()
        seen = 0
        with tempfile.TemporaryDirectory() as folder:
            for file in sorted(path for where in RECORDS for path in (ROOT / where).glob("*.json.xz")):
                page = file.with_name(file.name[:-len(".json.xz")] + ".md").read_text(encoding="utf-8")
                self.same(record, file.name, page, lzma.decompress(file.read_bytes()), pathlib.Path(folder))
                self.assertLessEqual(file.stat().st_size, record.MAX_XZ_BYTES, file)
                seen += 1
            for archive in sorted(path for where in RECORDS for path in (ROOT / where).glob("*.tar.xz")):
                with tarfile.open(archive, "r:xz") as opened:
                    files = {each.name: opened.extractfile(each).read() for each in opened.getmembers()}
                for name in sorted(name for name in files if name.endswith(".json")):
                    page = files.get(name.replace(".json", ".md"))
                    if page is None:
                        page = (archive.parent / name.replace(".json", ".md")).read_bytes()
                    self.assertIn(f"- **JSON:** `{name}` in [{archive.name}]({archive.name}), ", page.decode("utf-8"))
                    self.same(record, name, page.decode("utf-8"), files[name], pathlib.Path(folder))
                    seen += 1
        self.assertGreater(seen, 80)

    def test_a_date_is_archived(self):
        """Without losing a byte, in the same archive each time, and never where a page does not fit its JSON."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run(["git", "init", "--quiet", folder], check=True)
            texts = {"2026-01-02-a": json.dumps(SWEEP), "2026-01-02-b": json.dumps(REPORT)}
            for stem, text in texts.items():
                (folder / f"{stem}.json").write_text(text, encoding="utf-8")
                subprocess.run([sys.executable, SCRIPT, folder / f"{stem}.json", "-o", folder], check=True, stdout=subprocess.DEVNULL)
            (folder / "page.md").write_text("[a](2026-01-02-a.md)", encoding="utf-8")
            subprocess.run(["git", "add", "."], cwd=folder, check=True)
            good = (folder / "2026-01-02-b.md").read_text(encoding="utf-8")
            archive = lambda *dates: subprocess.run([sys.executable, ARCHIVE, folder, *dates], capture_output=True, text=True, check=False)
            (folder / "2026-01-02-b.md").write_text(good.replace("sha256:** `", "sha256:** `0"), encoding="utf-8")
            for dates, sentence in ((["2026-01-02"], "its sha256 is not that of the JSON"), (["2026-01-03"], "has no 2026-01-03-*"),
                                    (["today"], 'DATE is "today"')):
                done = archive(*dates)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn(sentence, done.stderr)
                self.assertTrue((folder / "2026-01-02-a.json.xz").exists())
            (folder / "2026-01-02-b.md").write_text(good, encoding="utf-8")
            self.assertEqual(archive("2026-01-02").returncode, 0)
            with tarfile.open(folder / "2026-01-02.tar.xz", "r:xz") as opened:
                files = {each.name: opened.extractfile(each).read() for each in opened.getmembers()}
            self.assertEqual(sorted(files), ["2026-01-02-a.json", "2026-01-02-b.json", "2026-01-02-b.md"])
            for stem, text in texts.items():
                self.assertEqual(files[stem + ".json"].decode("utf-8"), text)
            self.assertEqual(sorted(path.name for path in folder.glob("2026*.*")),
                             sorted(["2026-01-02.tar.xz", "2026-01-02-a.md", *(stem + ".json" for stem in texts)]))

    def test_every_record_says_what_ran_and_how(self):
        for folder in RECORDS:
            for file in sorted((ROOT / folder).glob("2*.md")):
                page = file.read_text(encoding="utf-8")
                for fact in ("device", "date", "commit", "command", "sha256"):
                    self.assertRegex(page, rf"(?m)^- \*\*{fact}:\*\* ", file)


if __name__ == "__main__":
    unittest.main()
