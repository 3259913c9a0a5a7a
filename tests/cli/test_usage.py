# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is asked wrongly gets a sentence and the right exit code, and nothing crashes."""

import os

import command

HUGE = 4611686018427387904  # 2^62
OVER = "99999999999999999999"


def problem(subcommand="run", **changes):
    """A small valid command line with some options replaced (None: left out)."""
    options = {"contract": "hopper/bf16/chain", "m": 2, "n": 3, "k": 4, **changes}
    line = [subcommand]
    for key, value in options.items():
        if value is not None:
            line += [f"--{key.replace('_', '-')}", value]
    return line


# Command line, code, part of the sentence; all exit 2.
WORDS = [
    ([], "invalid_argument", "A subcommand is required"),
    (["frobnicate"], "invalid_argument", 'subcommand is "frobnicate": it must be one of info'),
    (["info", "extra"], "invalid_argument", "extra"),
    (["info", "--frobnicate"], "invalid_argument", "--frobnicate"),
    (["run"], "invalid_argument", "--contract is required"),
    (["golden"], "invalid_argument", "path is required"),
    (["digest"], "invalid_argument", "digest takes either a FILE"),
    (["digest", "x.bin", "--contract", "hopper/bf16/chain"], "invalid_argument", "either a FILE"),
    (["digest", "x.bin", "--rows", "1"], "invalid_argument", "--rows, --cols and --dtype"),
    (["digest", "--contract", "hopper/bf16/chain", "--rows", "1"], "invalid_argument", "takes no"),
    (["digest", "--contract", "hopper"], "invalid_argument", 'contract is "hopper": it must read'),
    (["digest", "--contract", ""], "invalid_argument", "digest takes either"),
    (["golden", "x.bin", "--contract", "tesla"], "not_found", 'contract is "tesla": it must be'),
    (["golden", "x.bin", "--threads", "-1"], "invalid_argument", "threads is -1"),
]

# Changes to a valid problem, code, part of the sentence; `run` and `explain` must agree.
PROBLEMS = [
    ({"m": None}, "invalid_argument", "--m is required"),
    ({"n": None}, "invalid_argument", "--n is required"),
    ({"k": None}, "invalid_argument", "--k is required"),
    ({"contract": None}, "invalid_argument", "--contract is required"),
    ({"m": -1}, "invalid_argument", "m is -1: it must not be negative"),
    ({"n": -2}, "invalid_argument", "n is -2: it must not be negative"),
    ({"k": -9223372036854775808}, "invalid_argument", "it must not be negative"),
    ({"m": OVER}, "invalid_argument", f'm is "{OVER}": it must be an integer below 2^63'),
    ({"k": f"-{OVER}"}, "invalid_argument", "it must be an integer below 2^63"),
    ({"m": "abc"}, "invalid_argument", 'm is "abc": it must be an integer'),
    ({"m": "1.5"}, "invalid_argument", 'm is "1.5": it must be an integer'),
    ({"m": ""}, "invalid_argument", 'm is "": it must be an integer'),
    ({"n": "0x10"}, "invalid_argument", 'n is "0x10": it must be an integer'),
    ({"n": " 4"}, "invalid_argument", 'n is " 4": it must be an integer'),
    ({"k": "4\n"}, "invalid_argument", 'k is "4?": it must be an integer'),
    ({"m": HUGE}, "invalid_argument", "its bytes must fit 2^63"),
    ({"n": HUGE, "k": 4}, "invalid_argument", "n * k must fit 2^63"),
    ({"m": HUGE, "n": HUGE, "k": 0}, "invalid_argument", "d is"),
    ({"m": 2**61, "n": 1, "k": 2}, "invalid_argument", "a is 2305843009213693952 x 2 of bf16"),
    ({"contract": ""}, "invalid_argument", 'contract is "": it must read'),
    ({"contract": "a" * 10000}, "invalid_argument", "it must read"),
    ({"contract": "volta/bf16/chain"}, "not_found", 'contract arithmetic is "volta"'),
    ({"contract": "hopper/int8/chain"}, "not_found", 'contract input is "int8"'),
    ({"contract": "hopper/fp32/chain"}, "invalid_argument", "hopper is defined for"),
    ({"contract": "hopper/bf16/heap"}, "invalid_argument", 'contract reduction is "heap"'),
    ({"contract": "hopper/bf16/tree:24"}, "invalid_argument", "contract leaf is 24"),
    ({"contract": "hopper/bf16/tree:0"}, "invalid_argument", "contract leaf is 0"),
    ({"contract": "hopper/bf16/tree"}, "invalid_argument", "contract reduction"),
    ({"contract": f"hopper/bf16/tree:{OVER}"}, "invalid_argument", "contract reduction"),
    ({"contract": "hopper/bf16/chain->e4m3"}, "invalid_argument", "contract output is e4m3"),
    ({"contract": "hopper/bf16/chain@2"}, "invalid_argument", "contract version"),
    ({"layout": "nn"}, "invalid_argument", 'layout is "nn": it must be one of NN, NT, TN, TT'),
    ({"layout": "NNN"}, "invalid_argument", 'layout is "NNN"'),
    ({"alpha": "nan"}, "invalid_argument", 'alpha is "nan": it must be a finite number'),
    ({"alpha": "-inf"}, "invalid_argument", 'alpha is "-inf"'),
    ({"alpha": "1e99"}, "invalid_argument", 'alpha is "1e99"'),
    ({"beta": "two"}, "invalid_argument", 'beta is "two"'),
    ({"beta": "1,5"}, "invalid_argument", 'beta is "1,5"'),
    ({"activation": "tanh"}, "not_found", 'activation is "tanh": it must be one of none, relu'),
    ({"bias_type": "int8"}, "not_found", 'dtype is "int8"'),
    ({"bias_type": "e4m3"}, "invalid_argument", "bias is e4m3"),
    ({"backend": "abacus"}, "not_found", 'backend is "abacus": this build has'),
]

# Changes that only `run` knows.
RUNS = [
    ({"seed": "-1"}, "invalid_argument", 'seed is "-1": it must be an integer between 0'),
    ({"seed": "18446744073709551616"}, "invalid_argument", "between 0 and 2^64 - 1"),
    ({"dist": "uniform"}, "not_found", 'dist is "uniform": it must be one of normal, wide'),
    ({"threads": "-1"}, "invalid_argument", "threads is -1"),
    ({"threads": "1025"}, "invalid_argument", "threads is 1025"),
    ({"threads": "two"}, "invalid_argument", 'threads is "two"'),
    ({"m": 1000000000, "n": 1000000000, "k": 1}, "invalid_argument", "the arrays take"),
    ({"c": "c.bin"}, "invalid_argument", "C is read only with --beta or --continue"),
    ({"a": "/nowhere/a.bin"}, "io", 'a is "/nowhere/a.bin": No such file'),
]


class Usage(command.CommandTest):
    """Refusals that need neither a file nor a backend."""

    def test_words(self):
        for line, code, sentence in WORDS:
            with self.subTest(line=line):
                self.refused(line, 2, code, sentence)

    def test_problems(self):
        for subcommand in ("run", "explain"):
            for changes, code, sentence in PROBLEMS:
                with self.subTest(subcommand=subcommand, changes=changes):
                    self.refused(problem(subcommand, **changes), 2, code, sentence)

    def test_runs(self):
        for changes, code, sentence in RUNS:
            with self.subTest(changes=changes):
                self.refused(problem(**changes), 2, code, sentence)

    def test_continue_needs_an_order_that_can(self):
        tree = problem(contract="hopper/bf16/tree:16") + ["--continue"]
        self.refused(tree, 2, "unsupported", "a tree's shape depends on the whole of K")
        self.refused(problem(beta=1) + ["--continue"], 2, "invalid_argument", "beta is 1")

    def test_stable_operands(self):
        for word in ("c", "B", "", "2"):
            with self.subTest(stable=word):
                sentence = f'stable is "{word}": it must be one of none, a, b'
                self.refused(problem() + ["--stable", word], 2, "not_found", sentence)

    def test_option_twice(self):
        self.refused(problem() + ["--m", "3"], 2, "invalid_argument", "--m")

    def test_absent_backend_is_not_a_usage_error(self):
        answer = self.ask("info")
        absent = [b["name"] for b in answer["backends"] if not b["built"]]
        for name in absent:
            with self.subTest(backend=name):
                how = ("it requires Kokkos" if name == "reference-device"
                       else "configure with -DDETGEMM_ENABLE_")
                sentence = f"backend {name} is not in this build: {how}"
                self.refused(problem(backend=name), 3, "unavailable", sentence)


class Files(command.CommandTest):
    """Refusals of `run`'s and `digest`'s files. A is 2 x 4 of bf16: 16 bytes."""

    def test_input_sizes(self):
        sentence = "bytes, and must have exactly 16 (2 x 4 of bf16)"
        for size in (0, 15, 17, 4096):
            with self.subTest(size=size):
                path = self.write("a.bin", bytes(size))
                self.refused(problem(a=path), 2, "io", f"it has {size} {sentence}")
        self.write("b.bin", bytes(24))
        self.refused(problem(b=self.path("b.bin"), k=5), 2, "io", "must have exactly 30")
        self.refused(problem(bias=self.path("b.bin")), 2, "io", "must have exactly 12 (1 x 3 of fp32)")

    def test_inputs_that_are_no_files(self):
        self.refused(problem(a=self.folder), 2, "io", "it is a directory, and must be a file")
        os.mkfifo(self.path("pipe"))
        self.refused(problem(a=self.path("pipe")), 2, "io", "it must be a regular file")
        self.refused(problem(a="/dev/zero"), 2, "io", "it must be a regular file")

    def test_digest_files(self):
        path = self.write("x.bin", bytes(12))
        line = ["digest", path, "--cols", 3, "--dtype"]
        self.refused([*line, "bf16", "--rows", 3], 2, "io", "must have exactly 18")
        self.refused([*line, "bf16", "--rows", -2], 2, "invalid_argument", "rows is -2")
        self.refused([*line, "bf16", "--rows", 2**62], 2, "invalid_argument", "must fit 2^63")
        self.refused([*line, "int8", "--rows", 2], 2, "not_found", 'dtype is "int8"')
        self.refused([*line, "tf32", "--rows", 1], 2, "invalid_argument", "memory holds bf16")
        self.refused(["digest", self.folder, *line[2:], "bf16", "--rows", 2], 2, "io", "directory")


class Help(command.CommandTest):
    """The help teaches: purpose, examples and exit codes of every subcommand."""

    def test_help(self):
        for name in ("info", "explain", "run", "digest", "golden", "snap", "conform",
                     "verify"):
            with self.subTest(subcommand=name):
                outcome = command.run(name, "--help")
                self.assertEqual(outcome.exit, 0)
                for part in ("Use it", "Examples:\n  detgemm " + name, "Exit codes: 0", "--json"):
                    self.assertIn(part, outcome.out)
                self.assertIn("\n  " + name, command.run("--help").out)

    def test_version(self):
        self.assertRegex(command.run("--version").out, r"^detgemm \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    command.main()
