# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`run`: seeded data, raw files in and out, and bits that do not move."""

import os
import struct

import arithmetic
import command

CHAIN = "hopper/bf16/chain->fp32"

# Command line, digest of D. They follow from the contract and the documented random data alone,
# so they are the same on every platform and may change only with a contract's version.
PINNED = [
    (["--contract", "hopper/bf16/chain", "--m", 8, "--n", 64, "--k", 256], "6e8ee812e6daac08"),
    (["--contract", "hopper/e4m3/tree:64->fp32", "--m", 5, "--n", 33, "--k", 300, "--seed", 7,
      "--dist", "wide"], "e2707935626c21e1"),
    (["--contract", "hopper/e5m2/fold:32->fp16", "--m", 3, "--n", 7, "--k", 65, "--dist",
      "cancel"], "8d4ec1a569608b41"),
    (["--contract", "hopper/tf32/chain", "--m", 9, "--n", 17, "--k", 31, "--dist", "bits"], "5c57b26be83d5984"),
    (["--contract", "ampere/fp16/chain->fp32", "--m", 4, "--n", 20, "--k", 50, "--dist",
      "specials"], "681e2d7d1189e16b"),
    (["--contract", "ieee_fma/fp32/fold:10->fp16", "--m", 6, "--n", 11, "--k", 35, "--alpha",
      "0.5", "--beta", "-2", "--bias-type", "bf16", "--activation", "gelu"], "1aa7be4921713dbf"),
    (["--contract", "hopper/fp16/chain->fp32", "--m", 6, "--n", 11, "--k", 35, "--continue",
      "--dist", "subnormal", "--seed", 18446744073709551615], "96e1017f8e220e41"),
    (["--contract", "hopper/bf16/tree:16->bf16", "--m", 6, "--n", 11, "--k", 35, "--dist",
      "positive", "--activation", "silu"], "2666f0ad1f2f74a3"),
]


def problem(contract, m, n, k, *more):
    """A command line."""
    return ["run", "--contract", contract, "--m", m, "--n", n, "--k", k, *more]


class Data(command.CommandTest):
    """Where the elements come from."""

    def test_random_data_is_what_the_header_says(self):
        answer = self.ask(*problem(CHAIN, 3, 4, 5, "--seed", 42))
        a = arithmetic.normal_bf16(42, 1, 3, 5)
        columns = arithmetic.normal_bf16(42, 2, 4, 5)
        b = b"".join(columns[2 * (5 * j + i):][:2] for i in range(5) for j in range(4))
        self.assertEqual(answer["digests"]["a"], arithmetic.matrix_digest("bf16", 3, 5, a))
        self.assertEqual(answer["digests"]["b"], arithmetic.matrix_digest("bf16", 5, 4, b))

    def test_files_in_and_out(self):
        a = self.write("a.bin", struct.pack("<6f", 1, 2, 3, 4, 5, 6))
        b = self.write("b.bin", struct.pack("<6f", 1, 0, 0, 1, 2, 2))
        c = self.write("c.bin", struct.pack("<4f", 1, 1, 1, 1))
        bias = self.write("bias.bin", struct.pack("<2f", 100, -1000))
        d = self.path("d.bin")
        files = ["--a", a, "--b", b, "-o", d]
        answer = self.ask(*problem("ieee_fma/fp32/chain", 2, 2, 3, *files))
        self.assertEqual(struct.unpack("<4f", self.read("d.bin")), (7, 8, 16, 17))
        self.assertEqual(answer["output"], d)
        self.assertEqual(answer["digests"]["d"],
                         arithmetic.matrix_digest("fp32", 2, 2, self.read("d.bin")))
        self.ask(*problem("ieee_fma/fp32/chain", 2, 2, 3, *files, "--c", c, "--beta", "10",
                          "--alpha", "2", "--bias", bias, "--activation", "relu"))
        self.assertEqual(struct.unpack("<4f", self.read("d.bin")), (124, 0, 142, 0))

    def test_transposed_files(self):
        a = self.write("a.bin", struct.pack("<6f", 1, 4, 2, 5, 3, 6))
        b = self.write("b.bin", struct.pack("<6f", 1, 0, 2, 0, 1, 2))
        self.ask(*problem("ieee_fma/fp32/chain", 2, 2, 3, "--a", a, "--b", b, "--layout", "TT",
                          "-o", self.path("d.bin")))
        self.assertEqual(struct.unpack("<4f", self.read("d.bin")), (7, 8, 16, 17))

    def test_ones_count_k(self):
        for contract in (CHAIN, "hopper/e4m3/tree:32", "ieee_fma/fp32/fold:7"):
            with self.subTest(contract=contract):
                self.ask(*problem(contract, 2, 3, 257, "--dist", "ones", "-o", self.path("d")))
                self.assertEqual(struct.unpack("<6f", self.read("d")), (257.0,) * 6)

    def test_empty_sums(self):
        self.ask(*problem(CHAIN, 2, 2, 0, "-o", self.path("d.bin")))
        self.assertEqual(self.read("d.bin"), bytes(16))
        self.ask(*problem(CHAIN, 0, 2, 4, "-o", self.path("d.bin")))
        self.assertEqual(self.read("d.bin"), b"")


class Bits(command.CommandTest):
    """What must not move a bit."""

    def test_pinned_digests(self):
        for line, digest in PINNED:
            with self.subTest(line=line):
                self.assertEqual(self.ask("run", *line)["digests"]["d"], digest)

    def test_layouts(self):
        for contract in ("hopper/bf16/tree:32->bf16", "ieee_fma/fp32/chain", "hopper/e5m2/chain"):
            digests = {layout: self.ask(*problem(contract, 17, 33, 70, "--layout", layout,
                                                 "--dist", "wide"))["digests"]
                       for layout in ("NN", "NT", "TN", "TT")}
            with self.subTest(contract=contract):
                self.assertEqual(len({d["d"] for d in digests.values()}), 1)
                self.assertNotEqual(digests["NN"]["a"], digests["TN"]["a"])

    def test_variants_and_threads(self):
        line = problem("hopper/bf16/fold:64->bf16", 19, 40, 200, "--dist", "wide")
        answer = self.ask(*line)
        explained = self.ask("explain", *line[1:9])
        backend = next(b for b in explained["backends"] if b["name"] == answer["backend"])
        for variant in backend["variants"]:
            with self.subTest(variant=variant):
                forced = self.ask(*line, "--variant", variant, "--backend", answer["backend"])
                self.assertEqual(forced["digests"], answer["digests"])
                self.assertEqual(forced["kernel"], variant)
        for threads in (1, 2):
            with self.subTest(threads=threads):
                self.assertEqual(self.ask(*line, "--threads", threads)["digests"],
                                 answer["digests"])

    def test_a_stable_operand_changes_nothing(self):
        line = problem(CHAIN, 5, 7, 48)
        digests = self.ask(*line)["digests"]
        for operand in ("none", "a", "b"):
            with self.subTest(stable=operand):
                answer = self.ask(*line, "--stable", operand)
                self.assertEqual((answer["digests"], answer["stable"]), (digests, operand))

    def test_rows_and_columns(self):
        def d(m, n):
            self.ask(*problem(CHAIN, m, n, 100, "--dist", "wide", "-o", self.path("d.bin")))
            words = struct.unpack(f"<{m * n}I", self.read("d.bin"))
            return [words[i * n:(i + 1) * n] for i in range(m)]

        large = d(37, 70)
        self.assertEqual(d(1, 70)[0], large[0])
        self.assertEqual(d(5, 70), large[:5])
        self.assertEqual(d(5, 3), [row[:3] for row in large[:5]])

    def test_a_cut_k_continues(self):
        m, n, k, cut = 3, 4, 64, 32
        a = arithmetic.normal_bf16(1, 1, m, k)
        b = arithmetic.normal_bf16(1, 2, n, k)  # NT: rows of B are columns of the product
        halves = {}
        for name, data, lines in (("a", a, m), ("b", b, n)):
            rows = [data[2 * k * i:2 * k * (i + 1)] for i in range(lines)]
            halves[name, 0] = self.write(f"{name}0", b"".join(row[:2 * cut] for row in rows))
            halves[name, 1] = self.write(f"{name}1", b"".join(row[2 * cut:] for row in rows))
        whole = self.ask(*problem(CHAIN, m, n, k, "--layout", "NT"))["digests"]["d"]
        self.ask(*problem(CHAIN, m, n, cut, "--layout", "NT", "--a", halves["a", 0], "--b",
                          halves["b", 0], "-o", self.path("c")))
        second = self.ask(*problem(CHAIN, m, n, k - cut, "--layout", "NT", "--a", halves["a", 1],
                                   "--b", halves["b", 1], "--c", self.path("c"), "--continue"))
        self.assertEqual(second["digests"]["d"], whole)

    def test_the_seed_and_the_contract_do_move_bits(self):
        line = problem("hopper/bf16/chain->fp32", 4, 4, 100)
        digest = self.ask(*line)["digests"]["d"]
        self.assertNotEqual(self.ask(*line, "--seed", 2)["digests"]["d"], digest)
        other = self.ask(*problem("ieee_fma/bf16/chain->fp32", 4, 4, 100))["digests"]["d"]
        self.assertNotEqual(other, digest)


class Answer(command.CommandTest):
    """What is printed."""

    def test_object(self):
        answer = self.ask(*problem(CHAIN, 2, 3, 4, "--bias-type", "fp16"))
        self.assertEqual(answer["command"], "run")
        self.assertEqual(answer["contract"], CHAIN)
        self.assertEqual(answer["contract_digest"], "3b14f61118a9e50d")
        self.assertEqual(sorted(answer["digests"]), ["a", "b", "bias", "d"])
        for key in ("backend", "kernel", "workspace_bytes", "seconds", "products_per_second"):
            self.assertIn(key, answer)
        self.assertIsNone(answer["output"])

    def test_text(self):
        outcome = command.run(*problem(CHAIN, 2, 3, 4))
        self.assertEqual((outcome.exit, outcome.err), (0, ""))
        for part in ("contract", "digest d", "products/s", "normal, seed 1"):
            self.assertIn(part, outcome.out)


class Output(command.CommandTest):
    """The file for D."""

    LINE = problem(CHAIN, 2, 3, 4)

    def test_refused_before_computing(self):
        a = self.write("a.bin", bytes(16))
        os.mkfifo(self.path("pipe"))
        for path, sentence in ((self.folder, "it is a directory"),
                               (self.path("none/d.bin"), "it cannot be written"),
                               (a + "/d.bin", "it cannot be written"),
                               (self.path("pipe"), "it cannot be written"),
                               (a, "it is the input")):
            with self.subTest(path=path):
                self.refused(problem(CHAIN, 2, 3, 4, "--a", a, "-o", path), 2, "io", sentence)
        os.symlink(a, self.path("alias"))
        line = problem(CHAIN, 2, 3, 4, "--a", a, "-o", self.path("alias"))
        self.refused(line, 2, "io", "it is the input")
        self.assertEqual(self.read("a.bin"), bytes(16))

    def test_a_full_disk_is_a_failure(self):
        self.refused([*self.LINE, "-o", "/dev/full"], 1, "internal", "the file is not complete")

    def test_refusals_leave_files_alone(self):
        old = self.write("d.bin", b"old")
        self.refused([*self.LINE, "-o", old, "--variant", "x"], 2, "not_found", 'variant is "x"')
        self.refused([*self.LINE, "-o", self.path("new"), "--variant", "x"], 2, "not_found", "x")
        self.assertEqual(self.read("d.bin"), b"old")
        self.assertFalse(os.path.exists(self.path("new")))

    def test_a_file_that_grew_while_reading(self):
        # Linux states 0 bytes for this file and then gives some, as one that grows would.
        line = problem(CHAIN, 0, 3, 4, "--a", "/proc/self/status", "-o", self.path("new"))
        self.refused(line, 2, "io", "it could not be read as exactly 0 bytes")
        self.assertFalse(os.path.exists(self.path("new")))

    def test_an_old_file_is_replaced_whole(self):
        self.write("d.bin", bytes(4096))
        self.ask(*self.LINE, "-o", self.path("d.bin"))
        self.assertEqual(len(self.read("d.bin")), 24)


if __name__ == "__main__":
    command.main(needs_backend=True)
