# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What cannot be used is refused in one sentence and exit code 2."""
import json
import lzma
import unittest

from report import HERE, ReportTest, run

GPU = HERE / "golden" / "gpu.json"


class Refusals(ReportTest):
    def page_refused(self, sentence, *files):
        self.refused(sentence, "page", *files, "-o", self.folder / "page")

    def test_files(self):
        self.page_refused("cannot be read", self.folder / "absent.json")
        self.page_refused("is no result file", self.file("{"))
        self.page_refused("must hold one JSON object", self.file("[]"))
        (self.folder / "bytes.json").write_bytes(b"\xff\xfe\x00")
        self.page_refused("cannot be read", self.folder / "bytes.json")

    def test_missing_fields(self):
        for name in ("machine", "date", "commit", "backend", "results"):
            self.page_refused(f'lacks "{name}"', self.changed(lambda d, n=name: d.pop(n)))
        for name in ("case", "m", "n", "k", "kind", "dtype", "mode", "arms"):
            path = self.changed(lambda d, n=name: d["results"][2].pop(n))
            self.page_refused('r.json: result 3', path)
            self.page_refused(f'lacks "{name}"', path)
        for name in ("arm", "us", "p10", "p90", "role"):
            path = self.changed(lambda d, n=name: d["results"][0]["arms"][1].pop(n))
            self.page_refused(f'lacks "{name}"', path)

    def test_numbers_that_are_none(self):
        text = GPU.read_text(encoding="utf-8")
        for word in ("NaN", "Infinity", "-Infinity"):
            self.page_refused(f"it holds {word}, which no clock measures",
                              self.file(text.replace('"us":', f'"x": {word}, "us":', 1)))
        for value in (0, -1):
            path = self.changed(lambda d, v=value: d["results"][0]["arms"][0].update(us=v))
            self.page_refused(f'"us" is {value}: it must be a positive number', path)
        path = self.changed(lambda d: d["results"][0]["arms"][0].update(us="fast"))
        self.page_refused('"us" is "fast", which is of the wrong kind', path)
        path = self.changed(lambda d: d["results"][0].update(m=True))
        self.page_refused('"m" is true, which is of the wrong kind', path)

    def test_zero_cases(self):
        self.page_refused("holds no cases", self.changed(lambda d: d.update(results=[])))

    def test_versions(self):
        for schema in (1, 3, "detgemm-bench-gpu-1", True):
            self.page_refused(f"schema is {json.dumps(schema)}: this report reads schema 2",
                              self.changed(lambda d, s=schema: d.update(schema=s)))
        self.page_refused("schema is null", self.changed(lambda d: d.pop("schema")))
        other = self.changed(lambda d: d["results"][0]["arms"][0].update(digest="0" * 16),
                             "other.json")
        self.page_refused("results of different versions of a contract are not put on one page",
                          GPU, other)

    def test_medians_alone_need_a_word_where_they_come_from(self):
        def strip(document):
            for arm in document["results"][0]["arms"]:
                arm.update(p10=None, p90=None)
        self.page_refused('"p10" is null, which is of the wrong kind', self.changed(strip))
        def converted(document):
            strip(document)
            document["converted_from"] = "a file of another schema"
        done = run("page", self.changed(converted), "-o", self.folder / "page")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_falls(self):
        path = self.changed(lambda d: d["falls"][0].pop("later_m"))
        self.page_refused('lacks "later_m"', path)
        path = self.changed(lambda d: d["falls"][0].update(certain="yes"))
        self.page_refused('"certain" is "yes", which is of the wrong kind', path)

    def test_compressed_files(self):
        path = self.folder / "broken.json.xz"
        path.write_bytes(lzma.compress(GPU.read_bytes())[:-40])
        self.page_refused("cannot be read", path)
        path.write_bytes(GPU.read_bytes())
        self.page_refused("cannot be read", path)
        path.write_bytes(lzma.compress(GPU.read_bytes()))
        done = run("targets", path)
        self.assertEqual((done.returncode, done.stdout), (0, run("targets", GPU).stdout))

    def test_backends(self):
        self.page_refused('"backend" is tpu: it must be cpu, cuda or hip',
                          self.changed(lambda d: d.update(backend="tpu")))

    def test_roles(self):
        path = self.changed(lambda d: d["results"][0]["arms"][0].update(role="referee"))
        self.page_refused('"role" is referee: it must be detgemm, baseline or ceiling', path)

    def test_nothing_to_draw(self):
        path = self.changed(lambda d: d.update(results=d["results"][:2]))
        self.refused("four or more values of M", "plot", path, "-o", self.folder / "x.svg")
        self.refused("cannot be written", "plot", GPU, "-o", "/proc/no/such/place.svg")

    def test_usage(self):
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("page").returncode, 2)
        self.assertEqual(run("paint", GPU).returncode, 2)
        self.refused("--threshold is -1.0", "compare", GPU, GPU, "--threshold", "-1")


if __name__ == "__main__":
    unittest.main()
