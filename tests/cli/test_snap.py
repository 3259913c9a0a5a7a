# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`snap`: files in, files out, against the rule written a second time; bad files, and what is left after them."""

import os
import random
import resource
import signal
import subprocess

import command
import safetensors as st


def numbers(count, seed, exponents=(110, 140)):
    """bf16 words of both signs and very different sizes, a few zeros of both signs among them."""
    source = random.Random(seed)
    return [source.choice((0, 0x8000)) if source.random() < 0.02 else
            source.randrange(2) << 15 | source.randrange(*exponents) << 7 | source.randrange(128)
            for _ in range(count)]


W = numbers(3 * 150, 1)
MODEL = [("embed.weight", "BF16", (4, 70), st.bytes_of(numbers(280, 2))),
         ("norm.weight", "BF16", (70,), st.bytes_of(numbers(70, 3))),
         ("up.weight", "BF16", (3, 150), st.bytes_of(W)),
         ("experts", "BF16", (2, 3, 65), st.bytes_of(numbers(390, 4))),
         ("scale", "F32", (2, 2), bytes(range(16))),
         ("nothing", "BF16", (0, 2**62, 2**62), b""),
         ("down.weight", "BF16", (66, 2), st.bytes_of(numbers(132, 5)))]


def by_name(name):
    return next(entry for entry in MODEL if entry[0] == name)


class Snap(command.CommandTest):
    """`detgemm snap`."""

    def run_ok(self, *args):
        outcome = command.run("snap", *args)
        self.assertEqual(outcome.exit, 0, str(outcome))
        self.assertIn("snapped", outcome.out)

    def test_raw_files_have_the_rules_bits(self):
        for leaf, along in ((64, "cols"), (128, "cols"), (512, "cols"), (64, "rows")):
            with self.subTest(leaf=leaf, along=along):
                rows, cols = (3, 150) if along == "cols" else (150, 3)
                source = self.write("w.bin", st.bytes_of(W))
                self.run_ok(source, self.path("out.bin"), "--rows", rows, "--cols", cols, "--leaf", leaf,
                            "--k", along)
                found = st.words_of(self.read("out.bin"))
                self.assertEqual(found, st.snap(W, cols, leaf, along))
                self.assertNotEqual(found, W)  # or the data would show nothing
        # The other dimension and another leaf are other files, so a mistake in either would be seen.
        self.assertNotEqual(st.snap(W, 150, 64), st.snap(W, 150, 128))
        self.assertNotEqual(st.snap(W, 3, 64, "rows"), st.snap(W, 3, 64))

    def test_infinities_stay_and_take_no_part_in_the_grid(self):
        words = W[:64]
        words[5], words[9] = 0x7F80, 0xFF80
        source = self.write("w.bin", st.bytes_of(words))
        self.run_ok(source, self.path("out.bin"), "--rows", 1, "--cols", 64, "--leaf", 64)
        self.assertEqual(st.words_of(self.read("out.bin")), st.snap(words, 64, 64))

    def test_a_checkpoint_stays_a_checkpoint(self):
        source = self.write("in.safetensors", st.pack(MODEL, {"format": "pt"}))
        answer = self.ask("snap", source, self.path("out"), "--leaf", 64, "--skip", "embed*")
        content = self.read("out")
        before = self.read("in.safetensors")
        head = len(before) - sum(len(data) for *_, data in MODEL)
        self.assertEqual(content[:head], before[:head])  # the header, byte for byte
        self.assertEqual(len(content), len(before))
        found = st.unpack(content)
        for name, _, shape, data in MODEL:
            if name in ("up.weight", "down.weight"):
                data = st.bytes_of(st.snap(st.words_of(data), shape[1], 64))
            self.assertEqual(found[name], data, name)
        self.assertEqual([each["name"] for each in answer["tensors"]], ["up.weight", "down.weight"])
        self.assertEqual(answer["copied"], 5)
        up = answer["tensors"][0]
        self.assertEqual((up["rows"], up["cols"]), (3, 150))
        exact = [st.value(word) for word in W]
        now = [st.value(word) for word in st.words_of(found["up.weight"])]
        self.assertEqual(up["changed"], sum(x != y for x, y in zip(exact, now)))
        change = (sum((x - y) ** 2 for x, y in zip(exact, now)) / sum(x ** 2 for x in exact)) ** 0.5
        self.assertAlmostEqual(up["relative_change"], change, delta=1e-12)
        self.assertLess(change, 2e-3)

    def test_a_second_run_gives_the_same_file(self):
        source = self.write("in", st.pack(MODEL))
        for extra in ([], ["--k", "rows"], ["--tensor", "*"], ["--leaf", 256]):
            with self.subTest(extra=extra):
                self.run_ok(source, self.path("one"), *extra)
                self.run_ok(self.path("one"), self.path("two"), *extra)
                self.assertEqual(self.read("one"), self.read("two"))
                self.assertNotEqual(self.read("one"), self.read("in"))

    def test_a_list_of_matrices_is_snapped_matrix_by_matrix(self):
        source = self.write("in", st.pack(MODEL))
        for along in ("cols", "rows"):
            self.run_ok(source, self.path("out"), "--tensor", "experts", "--leaf", 64, "--k", along)
            words = st.words_of(by_name("experts")[3])
            parts = [st.snap(words[at:at + 195], 65, 64, along) for at in (0, 195)]
            self.assertEqual(st.unpack(self.read("out"))["experts"], st.bytes_of(sum(parts, [])))
            self.assertEqual(st.unpack(self.read("out"))["up.weight"], by_name("up.weight")[3])

    def test_check(self):
        source = self.write("in", st.pack(MODEL))
        self.assertIs(self.ask("snap", source, "--check", exit_code=1)["snapped"], False)
        self.assertIn("no: ", command.run("snap", source, "--check").out)
        self.run_ok(source, self.path("out"))
        self.assertIs(self.ask("snap", self.path("out"), "--check")["snapped"], True)
        # One number that is not on its leaf's grid is enough.
        content = bytearray(self.read("out"))
        words = st.words_of(st.unpack(bytes(content))["up.weight"])
        words[words.index(0)] = 110 << 7  # less than half a unit
        self.assertNotEqual(st.snap(words, 150, 128), words)
        at = bytes(content).index(st.unpack(bytes(content))["up.weight"])
        content[at:at + 2 * len(words)] = st.bytes_of(words)
        self.write("planted", bytes(content))
        answer = self.ask("snap", self.path("planted"), "--check", exit_code=1)
        self.assertEqual([each["name"] for each in answer["tensors"] if not each["snapped"]], ["up.weight"])

    def test_minus_zero_is_snapped(self):
        source = self.write("w", st.bytes_of([0x8000, 0x3F80]))
        line = [source, "--rows", 1, "--cols", 2]
        self.assertIs(self.ask("snap", *line, "--check")["snapped"], True)

    def test_a_leaf_beyond_every_grid_is_refused(self):
        words = list(W)
        words[150 + 7] = 0x7F00  # 2^127
        self.write("w.bin", st.bytes_of(words))
        self.refused(["snap", self.path("w.bin"), self.path("out"), "--rows", 3, "--cols", 150], 2,
                     "invalid_argument", "in row 1: no grid of snap is coarse enough")
        self.refused(["snap", self.path("w.bin"), self.path("out"), "--rows", 3, "--cols", 150, "--k", "rows"], 2,
                     "invalid_argument", "in column 7")
        self.assertEqual(os.listdir(self.folder), ["w.bin"])


class Files(command.CommandTest):
    """What is no file of the format, or no place to write to: a sentence, and nothing is left."""

    def refuse_content(self, content, sentence, *args, code="io"):
        source = self.write("in", content)
        before = set(os.listdir(self.folder))
        self.refused(["snap", source, self.path("out"), *args], 2, code, sentence)
        self.assertEqual(set(os.listdir(self.folder)), before)

    def test_bad_files(self):
        good = st.pack(MODEL)
        entry = '{"dtype":"BF16","shape":[1,2],"data_offsets":[%s]}'
        cases = [
            (b"", "it is not a safetensors file: its first 8 bytes"),
            (good[:7], "its first 8 bytes"),
            (bytes(8), "its header is not a JSON object"),
            (b"\xff" * 64, "are not the length of a header that follows"),
            (st.with_header("[]", b""), "its header is not a JSON object"),
            (st.with_header('{"a":', b""), "its header is not a JSON object"),
            (st.with_header(b'{"\xff":1}', b""), "its header is not a JSON object"),
            (st.with_header("[" * 20_000_000, b""), "its header nests more than 16 levels deep"),
            (st.with_header('{"a":1}', b""), 'its tensor "a" has no dtype'),
            (st.with_header('{"a":{"dtype":"BF16"}}', b""), 'its tensor "a" has no shape'),
            (st.with_header('{"a":{"dtype":"BF16","shape":[-1,2],"data_offsets":[0,4]}}', bytes(4)), "no shape"),
            (st.with_header('{"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,0]}}', bytes(4)), "two offsets"),
            (st.with_header('{"a":%s}' % (entry % "0,4,4"), bytes(4)), "two offsets"),
            (st.with_header('{"a":%s}' % (entry % "0,2"), bytes(2)), "has 2 bytes, which is not what its shape"),
            (st.with_header('{"a":{"dtype":"BF16","shape":[4611686018427387904,8],"data_offsets":[0,4]}}', bytes(4)),
             "has 4 bytes, which is not what its shape"),
            (st.with_header('{"a":%s,"a":%s}' % (entry % "0,4", entry % "4,8"), bytes(8)), '"a" is in the header twice'),
            (st.with_header('{"a":%s,"b":%s}' % (entry % "0,4", entry % "2,6"), bytes(6)), '"b" begins at byte 2'),
            (st.with_header('{"a":%s}' % (entry % "2,6"), bytes(6)), '"a" begins at byte 2'),
            (good[:-1], "bytes of data, and its header describes"),
            (good + b"x", "bytes of data, and its header describes"),
        ]
        for content, sentence in cases:
            with self.subTest(sentence=sentence, content=content[:40]):
                self.refuse_content(content, sentence)

    def test_patterns_that_choose_nothing(self):
        good = st.pack(MODEL)
        for option in ("--tensor", "--skip"):
            for pattern in ("nobody", "norm.weight", "scale", "UP.weight"):
                self.refuse_content(good, f'{option[2:]} is "{pattern}": it matches no BF16 tensor', option, pattern,
                                    code="invalid_argument")
        self.refuse_content(good, "nothing in it would be snapped", "--skip", "*", code="invalid_argument")
        self.refuse_content(st.pack(MODEL[1:2]), "nothing in it would be snapped", code="invalid_argument")

    def test_raw_sizes(self):
        self.refuse_content(bytes(10), "must have exactly 12 (2 x 3 of bf16)", "--rows", 2, "--cols", 3)
        self.refuse_content(bytes(10), "must fit 2^63", "--rows", 2**62, "--cols", 3, code="invalid_argument")

    def test_arguments(self):
        source = self.write("in", st.pack(MODEL))
        out = self.path("out")
        lines = [
            ([], "in is missing"), ([source], "out is missing"), ([source, out, "--check"], "--check writes nothing"),
            ([source, out, "--leaf", 100], "leaf_k is 100: it must be a multiple of 64"),
            ([source, out, "--leaf", 0], "leaf_k is 0"), ([source, out, "--leaf", "x"], 'leaf is "x"'),
            ([source, out, "--k", "depth"], 'k is "depth": it must be cols or rows'),
            ([source, out, "--rows", 4], "--rows and --cols describe a raw file: give both"),
            ([source, out, "--rows", 4, "--cols", 4, "--skip", "x"], "a raw file has none"),
        ]
        for line, sentence in lines:
            with self.subTest(line=line):
                self.refused(["snap", *line], 2, "invalid_argument", sentence)
        self.refused(["snap", self.path("none"), out], 2, "io", "No such file")
        self.refused(["snap", self.folder, out], 2, "io", "it is a directory")
        self.assertEqual(os.listdir(self.folder), ["in"])

    def test_places_that_cannot_be_written(self):
        source = self.write("in", st.pack(MODEL))
        os.symlink("in", self.path("link"))
        os.mkfifo(self.path("pipe"))
        for place, sentence in ((source, "it is the input"), (self.path("link"), "it is the input"),
                                (self.folder, "it is a directory"), (self.path("pipe"), "it must be a regular file"),
                                (self.path("no/where"), "No such file"), ("/dev/full", "it must be a regular file")):
            with self.subTest(place=place):
                self.refused(["snap", source, place], 2, "io", sentence)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", "link", "pipe"])

    def test_a_file_that_was_there_is_replaced_whole_or_not_at_all(self):
        source = self.write("in", st.pack(MODEL))
        self.write("out", b"old")
        os.chmod(self.path("out"), 0o640)
        os.symlink("out", self.path("link"))
        self.assertEqual(command.run("snap", source, self.path("link")).exit, 0)
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(os.stat(self.path("out")).st_mode & 0o777, 0o640)
        self.assertEqual(len(self.read("out")), len(self.read("in")))
        # Planted: the disk is full (a limit of the file's size) in the middle of the file.
        whole = self.write("in", st.pack([*MODEL, ("last", "U8", (100000,), bytes(100000))]))

        def limited():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        kept = self.read("out")
        for place in ("out", "new"):
            done = subprocess.run(command.COMMAND + ["snap", whole, self.path(place)], preexec_fn=limited, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(b"writing stopped, and nothing was left there: File too large", done.stderr)
        self.assertEqual(self.read("out"), kept)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", "link", "out"])


if __name__ == "__main__":
    command.main(needs_backend=True)
