# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Contracts of snap against OpenBLAS and MKL, one product per leaf: tests/peers/snap_vendor.py in short, and that it would
notice."""
import argparse
import pathlib
import sys

import pytest
import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import snap_rule
import snap_vendor


def run(**given):
    wanted = {"device": "cpu", "outputs": 8e4, "problems": 96, "seconds": 60, "seed": 1}
    return snap_vendor.run(argparse.Namespace(**{**wanted, **given}))


def test_libraries_return_the_contracts_bits():
    found = run()
    assert found["passed"], found["why"]
    assert "OpenBLAS" in found["libraries"][0] and found["total"]["nan_outputs"] > 0
    assert all(2 * control["differ"] > control["outputs"] for name, control in found["controls"].items()
               if name in snap_rule.FAULTS)


@pytest.mark.parametrize("fault", snap_rule.FAULTS)
def test_operands_that_are_wrongly_snapped_are_noticed(monkeypatch, fault):
    right = snap_rule.snap
    monkeypatch.setattr(snap_rule, "snap", lambda x, leaf, which=None: right(x, leaf, which or fault))
    found = run(outputs=1e3, problems=6, seed=2)
    assert not found["passed"] and found["total"]["mismatches"] > 0


def test_one_bit_of_a_library_is_noticed(monkeypatch):
    libraries = snap_vendor.libraries("cpu")

    def planted(a, b):
        d = libraries["OpenBLAS"](a, b)
        d.view(torch.int32)[-1, -1] ^= 1
        return d

    planted.said = lambda: "OpenBLAS with a fault"
    monkeypatch.setattr(snap_vendor, "libraries", lambda device: {**libraries, "OpenBLAS": planted})
    found = run(outputs=1e3, problems=6, seed=3)
    assert not found["passed"] and found["by"]["who"]["OpenBLAS"]["mismatches"] > 0
    assert found["by"]["who"]["PyTorch's BLAS"]["mismatches"] == 0


def test_too_few_outputs_do_not_pass():
    found = run(outputs=1e9, seconds=0)
    assert not found["passed"] and any("fewer than" in sentence for sentence in found["why"])
