# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`golden`: captured data agrees, and every planted fault is counted exactly."""

import os
import pathlib
import shutil
import struct

import command

DATA = pathlib.Path(__file__).parent.parent / "golden"
SAMPLE = "bf16_cancel_k48.bin"
D_AT = 2 * 64 * 48 * 2 + 64 * 64 * 4  # where D begins in the sample


class Golden(command.CommandTest):
    """`detgemm golden`."""

    def sample(self, name=SAMPLE, flips=()):
        """A copy of the sample with one bit flipped in each of these outputs."""
        data = bytearray((DATA / SAMPLE).read_bytes())
        for output, bit in flips:
            data[D_AT + 4 * output + bit // 8] ^= 1 << bit % 8
        return self.write(name, bytes(data))

    def test_all_agree(self):
        answer = self.ask("golden", DATA)
        files = sorted(DATA.glob("*.bin"))
        self.assertEqual(len(files), 51)
        self.assertEqual(answer["files"], 51)
        self.assertEqual(answer["outputs"], 51 * 4096)
        self.assertEqual((answer["mismatches"], answer["bad_files"]), (0, 0))
        self.assertEqual([result["path"] for result in answer["results"]], [str(f) for f in files])
        kinds = {(result["type"], result["distribution"]) for result in answer["results"]}
        self.assertEqual(len(kinds), 5 * 7 + 2)  # and tiny, for bf16 and tf32
        text = command.run("golden", DATA).out
        self.assertIn("51 files checked against hopper, 208896 outputs, 0 mismatches\n", text)

    def test_every_variant_agrees(self):
        backend = next(b for b in self.ask("info")["backends"] if b["available"])
        for variant in backend["variants"]:
            with self.subTest(variant=variant):
                answer = self.ask("golden", DATA, "--backend", backend["name"], "--variant",
                                  variant)
                self.assertEqual({r["kernel"] for r in answer["results"]}, {variant})
                self.assertEqual((answer["files"], answer["mismatches"]), (51, 0))

    def test_planted_faults_are_counted(self):
        for flips in ([(0, 0)], [(4095, 31)], [(64 * 3 + 5, 22), (64 * 3 + 6, 1), (4000, 30)]):
            with self.subTest(flips=flips):
                path = self.sample(flips=flips)
                answer = self.ask("golden", path, exit_code=1)
                self.assertEqual(answer["mismatches"], len(flips))
                result = answer["results"][0]
                self.assertEqual(result["mismatches"], len(flips))
                output, bit = flips[0]
                first = result["first_mismatch"]
                self.assertEqual((first["row"], first["col"]), divmod(output, 64))
                self.assertEqual(int(first["expected"], 16) ^ int(first["got"], 16), 1 << bit)
                text = command.run("golden", path).out
                self.assertIn(f"{len(flips)} of 4096 differ; first at", text)

    def test_faults_in_the_inputs_show(self):
        data = bytearray((DATA / SAMPLE).read_bytes())
        c_at = D_AT - 4 * 64 * 64
        (word,) = struct.unpack_from("<I", data, c_at)
        struct.pack_into("<I", data, c_at, word ^ 0x80000000)
        answer = self.ask("golden", self.write(SAMPLE, bytes(data)), exit_code=1)
        self.assertEqual(answer["mismatches"], 1)
        self.assertEqual(answer["results"][0]["first_mismatch"]["col"], 0)

    def test_one_bad_file_in_a_folder(self):
        folder = self.path("deep/er")
        os.makedirs(folder)
        shutil.copy(DATA / SAMPLE, folder)
        self.sample(f"deep/{SAMPLE}", flips=[(1, 1)])
        self.write("deep/notes.txt", b"not looked at")
        os.symlink(self.path("deep"), self.path("deep/loop"))
        answer = self.ask("golden", self.path("deep"), exit_code=1)
        self.assertEqual((answer["files"], answer["mismatches"]), (2, 1))

    def test_another_arithmetic_differs(self):
        answer = self.ask("golden", DATA / "bf16_wide_k256.bin", "--contract", "ampere",
                          exit_code=1)
        self.assertGreater(answer["mismatches"], 100)
        self.assertEqual(answer["contract"], "ampere")

    def test_bad_files(self):
        whole = (DATA / SAMPLE).read_bytes()
        for name, data, sentence in (
                (SAMPLE, whole[:-1], "must have exactly 45056"),
                (SAMPLE, whole + b"x", "must have exactly 45056"),
                (SAMPLE, b"", "it has 0 bytes"),
                ("bf16_cancel_k16.bin", whole, "must have exactly 36864"),
                ("int8_cancel_k48.bin", whole, 'dtype is "int8"'),
                ("bf16_k48.bin", whole, "its name must read TYPE_DIST_kK.bin"),
                ("bf16__k48.bin", whole, "with DIST a word"),
                ("bf16_cancel_k.bin", whole, "K an integer"),
                ("bf16_cancel_k-48.bin", whole, "K an integer"),
                ("bf16_cancel_k99999999999999999999.bin", whole, "K an integer"),
                ("bf16_cancel_k281474976710656.bin", whole, "must have exactly 72057594037960704"),
                ("bf16_cancel_k48.raw", whole, "its name must read")):
            with self.subTest(name=name, size=len(data)):
                path = self.write(name, data)
                answer = self.ask("golden", path, exit_code=2)
                self.assertEqual((answer["files"], answer["bad_files"]), (0, 1))
                self.assertIn(sentence, answer["results"][0]["error"]["message"])
                self.assertIn("not checked: ", command.run("golden", path).out)

    def test_a_type_that_the_arithmetic_lacks_is_no_bad_file(self):
        path = self.write("fp32_cancel_k48.bin", bytes(57344))
        answer = self.ask("golden", path, exit_code=3)
        self.assertEqual((answer["files"], answer["bad_files"], answer["skipped_files"]), (0, 0, 1))
        self.assertIn("hopper is defined for", answer["results"][0]["error"]["message"])

    def test_a_path_that_is_not_there_is_said_to_be(self):
        outcome = command.run("golden", self.path("nowhere"))
        self.assertEqual(outcome.exit, 2, str(outcome))
        self.assertIn("there is no file of that name", outcome.out)

    def test_bad_files_do_not_hide_the_others(self):
        good = self.sample()
        bad = self.write("bf16_x_k1.bin", b"")
        missing = self.path("bf16_y_k1.bin")
        answer = self.ask("golden", bad, good, missing, exit_code=2)
        self.assertEqual((answer["files"], answer["bad_files"]), (1, 2))
        faulty = self.sample("bf16_faulty_k48.bin", flips=[(7, 7)])
        self.ask("golden", bad, faulty, exit_code=1)

    def test_nothing_to_check(self):
        answer = self.ask("golden", self.folder, exit_code=3)
        self.assertEqual((answer["files"], answer["bad_files"]), (0, 0))
        self.assertIn("no *.bin file was found", command.run("golden", self.folder).out)

    def test_names(self):
        self.refused(["golden", DATA, "--backend", "x"], 2, "not_found", 'backend is "x"')
        self.refused(["golden", DATA, "--variant", "x"], 2, "not_found", 'variant is "x"')
        for backend in self.ask("info")["backends"]:
            if not backend["available"]:
                self.refused(["golden", DATA, "--backend", backend["name"]], 3, "unavailable",
                             backend["reason"])


if __name__ == "__main__":
    command.main(needs_backend=True)
