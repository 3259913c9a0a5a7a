# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The digits of docs/three-vendors.md, computed again on the reference."""

import json
import pathlib
import re
import shlex

import command

PAGE = pathlib.Path(__file__).parents[2] / "docs/three-vendors.md"
LAYOUTS = ("NN", "NT", "TN", "TT")


def rows(text, heads):
    """The rows of the table whose first line has these heads."""
    lines = iter(text.splitlines())
    for line in lines:
        if cells(line) == list(heads):
            next(lines)
            return [row for row in map(cells, iter(lambda: next(lines, ""), "")) if row]
    return []


def cells(line):
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def asked(text):
    """The page's first command line as options and their values."""
    words = shlex.split(re.search(r"^    detgemm (run .*)$", text, re.M).group(1))
    return dict(zip(words[1::2], words[2::2]))


def digests(options):
    """What the command prints for these options."""
    line = [word for pair in options.items() for word in pair]
    outcome = command.run("run", *line, "--json")
    return json.loads(outcome.out)["digests"] if outcome.exit == 0 and outcome.out else {}


def wrong(text):
    """What the page says otherwise than the command."""
    options = asked(text)
    for contract, dist, said in rows(text, ("contract", "--dist", "digest d")):
        for layout in LAYOUTS:
            found = digests({**options, "--contract": contract, "--dist": dist, "--layout": layout}).get("d")
            if found != said:
                yield f"{contract}, {dist}, {layout}: the page says {said}, the reference {found}"
    for dist, *said in rows(text, ("--dist", "digest a", "digest b")):
        found = digests({**options, "--dist": dist})
        if [found.get("a"), found.get("b")] != said:
            yield f"{dist}: the page says {said}, the reference {found}"


class Vendors(command.CommandTest):
    """docs/three-vendors.md."""

    def setUp(self):
        super().setUp()
        self.text = PAGE.read_text(encoding="utf-8")

    def test_the_pages_digits(self):
        self.assertEqual(asked(self.text)["--backend"], "reference")
        self.assertGreaterEqual(len(rows(self.text, ("contract", "--dist", "digest d"))), 6)
        self.assertEqual(len(rows(self.text, ("--dist", "digest a", "digest b"))), 2)
        self.assertEqual(list(wrong(self.text)), [])

    def test_a_changed_digit_is_noticed(self):
        table = rows(self.text, ("contract", "--dist", "digest d"))
        digest = table[2][-1]
        planted = self.text.replace(digest, digest[:-1] + ("0" if digest[-1] != "0" else "1"))
        for row in table[:2] + table[3:]:
            planted = planted.replace(f"| `{row[0]}` | {row[1]} | {row[2]} |\n", "")
        # Against a command that says nothing the operands' digests would be wrong too.
        self.assertEqual(len(list(wrong(planted))), len(LAYOUTS))

    def test_without_snap_the_digits_are_others(self):
        options = {**asked(self.text), "--m": "5"}
        said = digests(options).get("d")
        for arithmetic in ("hopper", "ieee_fma", "cdna3"):
            contract = options["--contract"].replace("snap", arithmetic)
            found = digests({**options, "--contract": contract}).get("d")
            self.assertIsNotNone(found, contract)
            self.assertNotEqual(found, said)


if __name__ == "__main__":
    command.main(needs_backend=True)
