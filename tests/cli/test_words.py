# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Words a newcomer types: misspellings get a hint; `help`, `version`, the manual page and the
completions say what --help says."""

import os
import re
import shutil
import subprocess

import command

RUN = ["run", "--m", 2, "--n", 3, "--k", 4]
# Command line, parts of the sentence; all exit 2.
MISSES = [
    (["inof"], "did you mean info?"),
    (["confrom"], "did you mean conform?"),
    ([*RUN, "--contrat", "hopper/bf16/chain"],
     'option is "--contrat": detgemm run has no option of that name; did you mean --contract?'),
    ([*RUN, "--contrat=hopper/bf16/chain"], "did you mean --contract?"),
    (["explain", "--layuot", "NN"], "did you mean --layout?"),
    (["run", "hopper/bf16/chain", 1, 1, 1],
     'argument is "hopper/bf16/chain": detgemm run takes options alone, each with its name, such as '
     "--contract hopper/bf16/chain"),
    (["info", "twice"], 'argument is "twice": detgemm info takes options alone'),
    (["completion", "tcsh"], 'shell is "tcsh": it must be one of bash, zsh, fish'),
    # What an unquoted `hopper/bf16/chain->bf16` leaves of the contract.
    ([*RUN, "--contract", "hopper/bf16/chain-"], "quote it: a shell writes the output to a file"),
    (["digest", "--contract", "hopper/bf16/chain-"], "quote it"),
]


def options_of(subcommand):
    """The long options in a subcommand's --help."""
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", command.run(subcommand, "--help").out, re.M))


def subcommands():
    """All but bench, whose options are another program's."""
    listed = command.run("--help").out.split("Subcommands:")[-1]
    return [name for name in re.findall(r"^  (\w+) ", listed.split("Start here")[0], re.M)
            if name not in ("bench", "tune", "calibrate")]


# The same for the words of a contract; these exit 2 as well.
CONTRACT_MISSES = {
    "hoper/bf16/chain": ("not_found", "did you mean hopper?"),
    "hopper/bf61/chain": ("not_found", "did you mean bf16?"),
    "hopper/bf16/chian": ("invalid_argument", "did you mean chain?"),
    "hopper/bf16/fodl:512": ("invalid_argument", "did you mean fold?"),
    "hopper/bf16/chain->fp23": ("not_found", "it must be bf16, fp16 or fp32; did you mean fp32?"),
    "hopper/bf16/chain->int8": ("not_found", 'contract output is "int8": it must be bf16, fp16 or fp32'),
}


class Misses(command.CommandTest):
    def test_hints_for_the_words_of_a_contract(self):
        for contract, (code, sentence) in CONTRACT_MISSES.items():
            with self.subTest(contract=contract):
                self.refused(["digest", "--contract", contract], 2, code, sentence)

    def test_hints(self):
        for line, sentence in MISSES:
            with self.subTest(line=line):
                self.refused(line, 2, "invalid_argument", sentence)

    def test_no_hint_where_nothing_is_near(self):
        for line in (["frobnicate"], [*RUN, "--frobnicate"], ["digest", "--contract", "volta/bf16/chain"],
                     ["digest", "--contract", "hopper/bf16/chain->int8"],
                     ["digest", "--contract", "hopper/bf16/fold:51x"]):
            outcome = command.run(*line)
            self.assertEqual(outcome.exit, 2, str(outcome))
            self.assertNotIn("did you mean", outcome.err)

    def test_values_are_not_taken_for_words(self):
        line = ["explain", "--contract", "hopper/bf16/chain", "--m", 2, "--n", 3, "--k", 4, "--alpha"]
        self.assertIn("alpha -1.5", command.run(*line, "-1.5", "--beta=-2").out)

    def test_environment(self):
        """Kokkos's own variables are named where they stand in the way, without its own text."""
        self.assertIn("backend", command.run("info").out)
        if not command.some_backend():
            return
        for value in ("3", "abc"):
            with self.subTest(value=value):
                os.environ["KOKKOS_NUM_THREADS"] = value
                self.addCleanup(os.environ.pop, "KOKKOS_NUM_THREADS", None)
                outcome = command.run(*RUN, "--contract", "hopper/bf16/chain", "--threads", 2)
                self.assertIn(outcome.exit, (0, 2), str(outcome))  # a newer Kokkos prefers the argument
                self.assertEqual(outcome.exit == 2, "KOKKOS_NUM_THREADS" in outcome.err, str(outcome))
                for leak in ("?", "Traceback", "kokkos-threads", "argc"):
                    self.assertNotIn(leak, outcome.err)


class Pages(command.CommandTest):
    def test_help_and_version(self):
        self.assertIn("Usage: detgemm [OPTIONS] SUBCOMMAND", command.run("--help").out)
        self.assertEqual(command.run("help").out, command.run("--help").out)
        self.assertEqual(command.run("version").out, command.run("--version").out)
        for name in subcommands():
            with self.subTest(name=name):
                self.assertEqual(command.run("help", name).out, command.run(name, "--help").out)

    def test_help_on_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            outcome = command.run("--help", stdout=full)
        self.assertEqual(outcome.exit, 1, str(outcome))
        self.assertIn("stdout could not be written", outcome.err)

    def test_manual_page(self):
        page = command.run("man").out.replace("\\-", "-")
        names = subcommands()
        self.assertGreater(len(names), 6)
        for name in names:
            self.assertIn(f'.SS "detgemm {name}"', page)
            for option in options_of(name):
                self.assertIn(f"\\fB{option}\\fR", page)
        if shutil.which("groff"):
            checked = subprocess.run(["groff", "-man", "-ww", "-z", "-"], input=command.run("man").out,
                                     text=True, capture_output=True, check=False)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_bash_completes(self):
        script = self.write("detgemm", command.run("completion", "bash").out.encode())

        def complete(*words):
            quoted = " ".join(f"'{word}'" for word in ("detgemm", *words))
            asked = (f". '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _detgemm; "
                     'printf "%s\\n" "${COMPREPLY[@]}"')
            done = subprocess.run(["bash", "-euc", asked], text=True, capture_output=True, check=False,
                                  cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            return set(done.stdout.split())

        self.assertEqual(complete("conf"), {"conform"})
        for name in subcommands():
            if name != "completion":
                self.assertEqual({o for o in complete(name, "--") if len(o) > 2}, options_of(name), name)
        self.assertEqual(complete("completion", "b"), {"bash"})
        self.assertEqual(complete("run", "--a", "det"), {"detgemm"})  # the file that lies there

    def test_other_shells(self):
        self.assertGreater(len(subcommands()), 6)
        for shell, mark in (("zsh", "--{}["), ("fish", "-l {} ")):
            script = command.run("completion", shell).out
            for name in subcommands():
                for option in options_of(name):
                    self.assertIn(mark.format(option[2:]), script)
            if shutil.which(shell):
                path = self.write("script", script.encode())
                self.assertEqual(subprocess.run([shell, "-n", path], check=False).returncode, 0)


if __name__ == "__main__":
    command.main()
