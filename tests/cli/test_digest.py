# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`digest`: against a second writing of FNV-1a, and digests that may never change."""

import arithmetic
import command

# Contract, canonical line, digest: the same on every platform and in every later release.
CONTRACTS = [
    ("hopper/bf16/tree:512->bf16",
     "detgemm-contract version=1 arithmetic=hopper input=bf16 k_block=16 k_order=ascending "
     "reduction=tree leaf_k=512 rounding=nearest_even output=bf16", "762d74aba7f49e72"),
    ("ieee_fma/fp32/chain->fp32",
     "detgemm-contract version=1 arithmetic=ieee_fma input=fp32 k_block=1 k_order=ascending "
     "reduction=chain leaf_k=0 rounding=nearest_even output=fp32", "12b77801c51f0978"),
]


class Digest(command.CommandTest):
    """`detgemm digest`."""

    def test_contracts(self):
        for text, canonical, digest in CONTRACTS:
            with self.subTest(contract=text):
                self.assertEqual(self.ask("digest", "--contract", text), {
                    "command": "digest", "contract": text, "canonical": canonical,
                    "digest": digest})
                self.assertEqual(arithmetic.fnv(canonical.encode()), digest)
                self.assertEqual(command.run("digest", "--contract", text).out,
                                 f"{digest}  {text}\n")

    def test_files(self):
        for dtype, size in (("bf16", 2), ("fp16", 2), ("fp32", 4), ("e4m3", 1), ("e5m2", 1)):
            for rows, cols in ((3, 5), (5, 3), (15, 1), (0, 7), (7, 0)):
                with self.subTest(dtype=dtype, rows=rows, cols=cols):
                    data = bytes(range(1, 1 + rows * cols * size))
                    path = self.write("x.bin", data)
                    answer = self.ask("digest", path, "--rows", rows, "--cols", cols,
                                      "--dtype", dtype)
                    self.assertEqual(answer["digest"],
                                     arithmetic.matrix_digest(dtype, rows, cols, data))

    def test_names_that_are_not_text(self):
        path = self.write("\udcff\n.bin", bytes(2))
        line = ["digest", path, "--rows", 1, "--cols", 1, "--dtype", "bf16"]
        self.assertTrue(self.ask(*line)["digest"])
        self.assertNotIn("\n.bin", command.run(*line).out)

    def test_a_full_disk_is_noticed(self):
        with open("/dev/full", "wb") as full:
            outcome = command.run("digest", "--contract", "hopper/bf16/chain", stdout=full)
        self.assertEqual(outcome.exit, 1)
        self.assertIn("stdout could not be written", outcome.err)


if __name__ == "__main__":
    command.main()
