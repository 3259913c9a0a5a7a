# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The functions of the name batch_invariant_ops, which forward to the switch."""
import os
import subprocess
import sys

import pytest
import torch
from conftest import BF16, bits

import detgemm
import detgemm.torch as dt
from detgemm.torch import batch_invariant_ops as ops

FP32 = "ieee_fma/fp32/chain->fp32"
NAMES = ["AttentionBlockSize", "addmm_batch_invariant", "disable_batch_invariant_mode", "enable_batch_invariant_mode",
         "get_batch_invariant_attention_block_size", "is_batch_invariant_mode_enabled", "log_softmax", "matmul_persistent", "mean_dim",
         "mm_batch_invariant", "set_batch_invariant_mode"]


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch):
    monkeypatch.setattr(ops, "device", lambda: "cpu")
    yield
    ops.disable_batch_invariant_mode()


def python(text, **environment):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_name_is_not_taken_until_it_is_registered(tmp_path, monkeypatch, capsys):
    """Without `register` the import fails; with it, or with a file that forwards, the functions are these."""
    absent = "import importlib.util, detgemm.torch; assert importlib.util.find_spec('batch_invariant_ops') is None"
    imports = "\n".join(f"from batch_invariant_ops import {name}" for name in NAMES)
    done = python(f"{absent}\nfrom detgemm.torch import batch_invariant_ops as ours\nours.register()\n{imports}\n"
                  "from batch_invariant_ops.batch_invariant_ops import mean_dim as again\nassert again is ours.mean_dim")
    assert done.returncode == 0, done.stderr
    monkeypatch.setattr(sys, "argv", ["batch_invariant_ops", str(tmp_path)])
    ops.main()
    assert capsys.readouterr().out == f"PYTHONPATH={tmp_path}\n"
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = python(f"{imports}\nimport batch_invariant_ops, detgemm.torch.batch_invariant_ops as ours\nassert batch_invariant_ops is ours",
                  PYTHONPATH=path)
    assert done.returncode == 0, done.stderr


def test_another_package_of_that_name_is_not_replaced(monkeypatch):
    monkeypatch.setitem(sys.modules, ops.NAME, sys)
    with pytest.raises(detgemm.DetgemmError, match="is imported already"):
        ops.register()


def test_the_mode_is_the_switch():
    a, b, bias = bits((5, 512), torch.float32), bits((512, 7), torch.float32, 1), bits((7,), torch.float32, 2)
    wanted, stock = dt.gemm(a, b, FP32), torch.mm(a, b)
    assert not ops.is_batch_invariant_mode_enabled() and not dt.same_bits(wanted, stock), "the control: PyTorch's bits are others"
    with ops.set_batch_invariant_mode():
        assert ops.is_batch_invariant_mode_enabled() and dt.same_bits(torch.mm(a, b), wanted)
        assert dt.same_bits(torch.addmm(bias, a, b), ops.addmm_batch_invariant(bias, a, b))
        assert dt.same_bits(a.bfloat16() @ b.bfloat16(), dt.gemm(a.bfloat16(), b.bfloat16(), BF16))
        with ops.set_batch_invariant_mode(False):
            assert dt.same_bits(torch.mm(a, b), stock)
        assert dt.same_bits(a @ b, wanted) and dt.same_bits(ops.mm_batch_invariant(a, b), wanted)
        assert ops.used()["mm", torch.float32, FP32] == 1, "counts start again where the mode is entered again"
    assert dt.same_bits(torch.mm(a, b), stock) and not ops.is_batch_invariant_mode_enabled()
    ops.enable_batch_invariant_mode()
    ops.enable_batch_invariant_mode()
    ops.disable_batch_invariant_mode()
    assert dt.same_bits(torch.mm(a, b), stock)
    assert ops.get_batch_invariant_attention_block_size() == (16, 16)


def test_a_program_may_put_its_own_kernel_over_bmm():
    """As torchtitan's generator does with vLLM's. The mode's own is there again behind it, and mm stays the mode's."""
    a, b = bits((2, 5, 64), torch.float32), bits((2, 64, 7), torch.float32, 1)
    ops.enable_batch_invariant_mode()
    wanted = torch.bmm(a, b)
    theirs = torch.library.Library("aten", "IMPL")
    theirs.impl("bmm", lambda a, b: torch.zeros(a.shape[0], a.shape[1], b.shape[2]), "CPU")
    assert not torch.bmm(a, b).any() and dt.same_bits(torch.mm(a[0], b[0]), wanted[0])
    with pytest.raises(RuntimeError, match="already"):
        theirs.impl("mm", torch.mul, "CPU")
    theirs._destroy()
    assert dt.same_bits(torch.bmm(a, b), wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("dim", [-1, 0])
def test_log_softmax_and_its_gradient(dtype, dim):
    x, dy = (bits((60, 333), dtype) * 0.05).requires_grad_(), bits((60, 333), dtype, 3)
    wanted = dt.log_softmax(x, dim, dtype)
    wanted_grad, = torch.autograd.grad(wanted, x, dy)
    plain = torch.log_softmax(x, dim)
    with ops.set_batch_invariant_mode():
        found = torch.log_softmax(x, dim)
        grad, = torch.autograd.grad(found, x, dy)
    assert dt.same_bits(found, wanted) and dt.same_bits(grad, wanted_grad) and dt.same_bits(ops.log_softmax(x, dim), wanted)
    assert torch.allclose(found.float(), plain.float(), rtol=1e-2, atol=1e-1)
    assert dt.same_bits(torch.log_softmax(x, dim), plain) and (dtype == torch.bfloat16 or not dt.same_bits(found, plain)), "PyTorch's again"


@pytest.mark.parametrize("dim, keepdim", [(-1, True), ([0, 2], False), ((), False), ([1], True)])
def test_means(dim, keepdim):
    x = bits((3, 5, 300), torch.float32)
    with ops.set_batch_invariant_mode():
        found = torch.mean(x, dim, keepdim)
        half = torch.mean(x.bfloat16(), dim, keepdim, dtype=torch.float32)
    wide = x.double().mean(dim, keepdim)
    assert found.shape == wide.shape == half.shape and (found.double() - wide).abs().max() < 1e-4 and half.dtype == torch.float32
    one = torch.zeros(())
    for value in x[0, 0]:
        one = one + value
    assert dt.same_bits(ops.mean_dim(x, -1)[0, 0], one / 300)


def test_what_has_no_contract_is_refused():
    x = torch.ones(4, 4, dtype=torch.float64)
    with ops.set_batch_invariant_mode():
        for call in (lambda: torch.mm(x, x), lambda: x.mean(-1), lambda: ops.matmul_persistent(x, x)):
            with pytest.raises(RuntimeError, match="float64"):
                call()
    with pytest.raises(detgemm.DetgemmError, match=r"dim is 3: input has 2 dimensions"):
        ops.mean_dim(x.float(), 3)
