# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""torch.compile and torch.export, without a code generator: what is traced has the eager bits."""
import subprocess
import sys

import pytest
import torch
from conftest import BF16, bits
from torch._dynamo.testing import CompileCounterWithBackend

import detgemm.torch as dt

OPS = torch.ops.detgemm


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def test_m_does_not_recompile():
    counter = CompileCounterWithBackend("aot_eager")
    run = torch.compile(lambda a, b: OPS.gemm(a, b, BF16).float() + 1, backend=counter, fullgraph=True, dynamic=True)
    a, b = bits((64, 32), torch.bfloat16), bits((32, 24), torch.bfloat16, 1)
    for m in (2, 3, 8, 33, 64):
        assert dt.same_bits(run(a[:m], b), OPS.gemm(a[:m], b, BF16).float() + 1)
    assert counter.frame_count == 1


def test_operators_that_write_are_functionalised():
    def run(a, b, acc):
        out = torch.empty(a.shape[0], b.shape[1], dtype=torch.bfloat16)
        OPS.gemm.out(a, b, BF16, out=out)
        OPS.accumulate_(acc, a, b, "hopper/bf16/chain->fp32")
        return out.float() + acc

    a, b = bits((5, 32), torch.bfloat16), bits((32, 6), torch.bfloat16, 1)
    accs = [torch.ones(5, 6) for _ in range(2)]
    eager = run(a, b, accs[0])
    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)(a, b, accs[1])
    assert dt.same_bits(eager, compiled) and dt.same_bits(*accs)


@pytest.mark.parametrize("accumulate", [False, True])
def test_compiled_layers_have_the_eager_gradients(policy, accumulate):
    def gradients(compile_it):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32)).bfloat16()
        dt.convert(model, policy)
        grads = dt.main_grads(model) if accumulate else None
        run = torch.compile(model, backend="aot_eager", fullgraph=True) if compile_it else model
        x = bits((128, 32), torch.bfloat16).requires_grad_()
        for part in x.split(64):
            run(part).float().sum().backward()
        return [x.grad, *(grads.values() if accumulate else (p.grad for p in model.parameters()))]

    assert all(map(dt.same_bits, gradients(True), gradients(False)))


def test_autocast_is_traced(policy):
    layer = torch.nn.Sequential(torch.nn.Linear(32, 8))
    dt.convert(layer, policy)
    x = torch.randn(5, 32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert dt.same_bits(torch.compile(layer, backend="aot_eager", fullgraph=True)(x), layer(x))


def test_weights_of_another_type_are_named_while_tracing(policy):
    layer = torch.nn.Sequential(torch.nn.Linear(32, 8))
    dt.convert(layer, policy)
    with pytest.raises(Exception, match="weights are fp32"):
        torch.compile(layer, backend="aot_eager")(torch.randn(5, 32))


def test_a_mistake_is_found_while_tracing():
    run = torch.compile(lambda a, b: OPS.gemm(a, b, BF16), backend="aot_eager", fullgraph=True)
    with pytest.raises(Exception, match="a has other columns than b has rows"):
        run(bits((4, 32), torch.bfloat16), bits((31, 4), torch.bfloat16))
    with pytest.raises(Exception, match="b.dtype is torch.float32: the contract needs torch.bfloat16"):
        run(bits((4, 32), torch.bfloat16), bits((32, 4), torch.float32))


def test_an_exported_program_runs_in_another_process(tmp_path):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = dt.Linear(32, 8, dtype=torch.bfloat16, policy=dt.Policy(BF16, BF16, "hopper/bf16/chain->fp32"))

        def forward(self, x):
            return self.layer(x).float() * 2

    module, x = Module().eval(), bits((4, 32), torch.bfloat16)
    rows = torch.export.Dim("rows", min=2, max=64)
    torch.export.save(torch.export.export(module, (x,), dynamic_shapes=({0: rows},)), tmp_path / "m.pt2")
    torch.save((bits((9, 32), torch.bfloat16, 1), module(bits((9, 32), torch.bfloat16, 1))), tmp_path / "io.pt")
    code = ("import sys, torch, detgemm.torch as dt\nx, y = torch.load(sys.argv[1] + '/io.pt')\n"
            "p = torch.export.load(sys.argv[1] + '/m.pt2').module()\nprint(dt.same_bits(p(x), y))")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    assert done.stdout.strip().endswith("True"), done.stdout
