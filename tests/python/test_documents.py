# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of the documents run and print what the documents say."""
import pathlib
import re
import subprocess
import sys

import pytest
import torch

import detgemm.torch as dt

ROOT = pathlib.Path(__file__).parents[2]
PAGE, OTHERS = ROOT / "docs/python.md", (ROOT / "docs/scaled.md", ROOT / "docs/log-prob.md")
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="docs/python.md is not beside these tests")


def test_the_first_program():
    text = PAGE.read_text(encoding="utf-8")
    program = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    printed = re.search(r"```text\n(.*?)```", text, re.S).group(1)
    assert len(program.splitlines()) <= 12
    said = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said == printed


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.stem)
def test_the_first_program_of_other_pages(page, capsys):
    text = page.read_text(encoding="utf-8")
    program, printed = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", text, re.S).groups()
    exec(program, {})  # the page's own lines
    assert capsys.readouterr().out == printed


def test_the_lines_of_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = next(block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "convert" in block)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).bfloat16()
    exec(lines, {"model": model})  # the README's own lines
    assert isinstance(model[0], dt.Linear)
    x = torch.randn(40, 32).bfloat16()
    assert dt.same_bits(model(x)[:1], model(x[:1]))


def test_the_page_names_what_there_is():
    text = PAGE.read_text(encoding="utf-8")
    for name in dt.__all__:
        assert re.search(rf"\b{name}\b", text), f"docs/python.md does not speak of {name}"
