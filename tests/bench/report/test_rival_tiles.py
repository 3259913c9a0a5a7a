# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""bench/fit/rival_tiles.py: cuBLASLt's tiles by name, and which of them the table of chains lacks."""
import subprocess
import sys
import unittest

import report

SCRIPT = report.ROOT / "bench" / "fit" / "rival_tiles.py"
HEADER = "  CUBLASLT_MATMUL_TILE_192x208 = 470,\n  CUBLASLT_MATMUL_TILE_128x256 = 22,\n  CUBLASLT_MATMUL_TILE_192x128 = 23,\n"


class RivalTiles(report.ReportTest):
    def run_on(self, header, what, change=lambda result: None):
        def one(document):
            result = document["results"][0]
            result.update(kind="forward", epilogue="none", accumulate=False, dtype="bf16", gemm=[412, 4096, 4096])
            result["arms"] = result["arms"][:1]
            result["arms"][0].update(arm="chain", us=20.0, what="sm90/256x192")
            result["arms"].append({**result["arms"][0], "arm": "cublaslt", "role": "baseline", "us": 10.0, "what": what})
            change(result)
            document["results"] = [result]
        head = self.file(header, "cublasLt.h")
        return subprocess.run([sys.executable, SCRIPT, head, self.changed(one)], capture_output=True, text=True, check=False, timeout=60)

    def test_a_tile_that_the_table_lacks_is_named_with_what_ours_lose(self):
        done = self.run_on(HEADER.replace("192x208 = 470", "192x77 = 470"), "algo 66 tile 470 stages 35 cluster 5 split-K 1 reduction 0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("M from 65: 1 problems, 1 in tiles that are not ours", done.stdout)
        self.assertIn("192x77", done.stdout)
        self.assertIn("0.500 / 0.500", done.stdout)

    def test_a_tile_that_the_table_has_in_either_role_is_not_listed(self):
        for tile in (22, 23):
            done = self.run_on(HEADER.replace("192x128", "208x128"), f"algo 66 tile {tile} stages 35 cluster 5 split-K 1 reduction 0")
            self.assertIn("M from 65: 1 problems, 0 in tiles that are not ours", done.stdout, done.stderr)

    def test_a_product_that_is_cut_along_k_is_left_out_and_so_is_an_epilogue(self):
        for what, change in (("algo 66 tile 470 stages 35 cluster 5 split-K 3 reduction 2", lambda r: None),
                             ("algo 66 tile 470 stages 35 cluster 5 split-K 1 reduction 0", lambda r: r.update(epilogue="bias"))):
            self.assertIn("M from 65: 0 problems", self.run_on(HEADER, what, change).stdout)

    def test_another_header_is_refused_in_a_sentence(self):
        done = self.run_on("int main() {}", "algo 66 tile 470 stages 35 cluster 5 split-K 1 reduction 0")
        self.assertEqual((done.returncode, done.stderr), (1, "HEADER names no tile: it must be cublasLt.h\n"))


if __name__ == "__main__":
    unittest.main()
