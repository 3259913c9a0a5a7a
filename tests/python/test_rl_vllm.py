# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""examples/python/rl_vllm.py on a CPU: vLLM samples, transformers trains, weights are reloaded. The stage `trainers` of run.py."""
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

import detgemm.torch  # noqa: F401 - this file is not collected without PyTorch

if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("trl") is None:
    pytest.skip("vLLM is not installed here: the stage trainers of run.py installs it", allow_module_level=True)

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "examples/python/rl_vllm.py"


def run(folder, *options):
    done = subprocess.run([sys.executable, PROGRAM, "--device", "cpu", "--json", folder / "rows", *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=400)
    assert (folder / "rows").exists(), done.stdout[-4000:]
    return done, json.loads((folder / "rows").read_text())


@pytest.mark.long
def test_the_divergence_is_zero(tmp_path):
    """In every step, after every reload, byte for byte; vLLM and PyTorch as they are differ in most log-probabilities."""
    done, rows = run(tmp_path, "--arms", "stock,ours", "--steps", "3")
    assert done.returncode == 0 and "passed:" in done.stdout, done.stdout[-3000:]
    ours, stock = rows["ours"], rows["stock"]
    assert len(ours) == len(stock) == 3 and all(row["cached"] for row in ours), "the prefix cache was not used"
    assert all(row["other"] == 0 and row["largest"] == 0 and row["k3"] == 0 and row["ratio"] == [1, 1] for row in ours)
    assert all(row["other"] > row["of"] // 2 and row["k3"] > 0 for row in stock)
    left = [line for line in done.stdout.splitlines() if " outside " in line or " unknown " in line]
    assert not left, left


@pytest.mark.long
def test_a_fused_head_has_the_engines_bits(tmp_path):
    """vLLM in the order logsum16 over the logits that it samples from, and a trainer without logits."""
    done, rows = run(tmp_path, "--arms", "ours", "--steps", "2", "--head", "fused")
    assert done.returncode == 0 and "passed:" in done.stdout, done.stdout[-3000:]
    assert all(row["other"] == 0 and row["k3"] == 0 for row in rows["ours"])


@pytest.mark.long
@pytest.mark.parametrize("arm", ["control", "stale"])
def test_controls_fail(tmp_path, arm):
    """A hook that is left out; weights that are not reloaded, which are equal in the first step alone."""
    done, rows = run(tmp_path, "--arms", arm, "--steps", "2")
    assert done.returncode == 1 and "FAILED:" in done.stdout, done.stdout[-3000:]
    assert rows[arm][1]["other"] > 0 and (rows[arm][0]["other"] == 0) == (arm == "stale")
