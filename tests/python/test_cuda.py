# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Streams, graphs, threads, compiled graphs and several devices; each result has the reference's bits."""
import threading

import pytest
import torch
from conftest import BF16, bits, devices
from torch._dynamo.testing import CompileCounterWithBackend

import detgemm
import detgemm.torch as dt

OPS = torch.ops.detgemm
pytestmark = pytest.mark.skipif("cuda" not in devices(), reason="no device of compute capability 9.0, or no CUDA build")
TREE = "hopper/bf16/tree:64->bf16"


def problem(m=33, n=192, k=512, device="cuda"):
    return bits((m, k), torch.bfloat16, 0, device), bits((k, n), torch.bfloat16, 1, device)


def on_host(a, b, contract=BF16):
    return OPS.gemm(a.cpu(), b.cpu(), contract)


@pytest.mark.parametrize("contract", [BF16, TREE, "hopper/bf16/fold:64->fp32", "ieee_fma/bf16/chain->bf16"])
def test_the_device_has_the_hosts_bits(contract):
    a, b = problem()
    whole = OPS.gemm(a, b, contract)
    assert dt.same_bits(whole.cpu(), on_host(a, b, contract))
    for rows in (1, 7, 8, 32):
        assert dt.same_bits(OPS.gemm(a[:rows], b, contract), whole[:rows])


@pytest.mark.parametrize("logits", ["bf16", "fp32"])
def test_log_probabilities_have_the_hosts_bits(logits):
    policy = dt.Policy(f"hopper/bf16/chain->{logits}", "hopper/bf16/fold:64->bf16", "hopper/bf16/fold:16->fp32")
    x, weight = bits((40, 64), torch.bfloat16, 0) / 4, bits((3000, 64), torch.bfloat16, 1) / 4
    targets, scale = torch.arange(40) * 70 - 100, torch.linspace(0.5, 2, 40)

    def run(device):
        operands = [each.to(device, copy=True).requires_grad_() for each in (x, weight)]
        out = dt.linear_log_prob(*operands, targets.to(device), policy, scale=scale.to(device), entropy=True)
        (out.logp + 0.5 * out.entropy - 0.25 * out.lse).sum().backward()
        z = dt.gemm(operands[0].detach(), operands[1].detach().t(), policy.forward)
        stored = dt.log_probs_of(z, targets.to(device), scale=scale.to(device))
        return [each.detach().cpu() for each in (*out, stored, *(operand.grad for operand in operands))]

    host = run("cpu")
    for _ in range(2):  # a kernel may be refused at its second launch alone
        assert all(map(dt.same_bits, run("cuda"), host))


def test_the_current_stream_is_used():
    a, b = problem(4096, 4096, 4096)
    expected = OPS.gemm(a, b, BF16)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        late = torch.zeros_like(a)
        late.copy_(a)  # after the sleep, on this stream
        d = OPS.gemm(late, b, TREE)
        e = OPS.gemm(late, b, BF16)
        assert not stream.query()
    stream.synchronize()
    assert dt.same_bits(e, expected) and dt.same_bits(d, OPS.gemm(a, b, TREE))


def test_two_threads_on_two_streams():
    problems = [problem(m, 256, 1024) for m in (3, 130)]
    expected = [OPS.gemm(a, b, TREE) for a, b in problems]
    torch.cuda.synchronize()
    wrong = []

    def work(index):
        a, b = problems[index]
        with torch.cuda.stream(torch.cuda.Stream()) as _:
            for _ in range(200):
                d = OPS.gemm(a, b, TREE)
            torch.cuda.current_stream().synchronize()
            wrong.append(not dt.same_bits(d, expected[index]))

    threads = [threading.Thread(target=work, args=(index,)) for index in (0, 1)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == [False, False]


@pytest.mark.parametrize("contract", [BF16, TREE])
def test_captured_graphs_replay(contract):
    a, b = problem()
    OPS.gemm(a, b, contract)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d = OPS.gemm(a, b, contract)
        e = OPS.gemm(d, b[:192, :64], contract)
    for seed in range(100):
        if seed % 25 == 0:
            a.copy_(bits(a.shape, torch.bfloat16, seed + 10))
        graph.replay()
    assert dt.same_bits(d.cpu(), on_host(a, b, contract)) and dt.same_bits(e.cpu(), on_host(d, b[:192, :64], contract))


def test_a_plan_may_be_made_while_capturing():
    a, b = problem(5, 208, 560)
    dt.clear_plans()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d = OPS.gemm(a, b, BF16)
    graph.replay()
    assert dt.same_bits(d.cpu(), on_host(a, b))


def test_a_new_process_captures_its_first_call():
    import subprocess
    import sys
    code = ("import torch, detgemm.torch as dt\n"
            "a = torch.ones(3, 64, device='cuda', dtype=torch.bfloat16)\ng = torch.cuda.CUDAGraph()\n"
            "try:\n with torch.cuda.graph(g):\n  d = dt.gemm(a, a.t(), 'hopper/bf16/chain->bf16')\n g.replay()\n"
            " print('replayed', d.sum().item())\nexcept RuntimeError as error: print('refused', error)")
    said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False).stdout
    assert "replayed 576.0" in said or "refused detgemm:" in said, said


def model():
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.SiLU(), torch.nn.Linear(256, 64)).cuda().bfloat16()
    policy = dt.Policy(BF16, BF16, "hopper/bf16/fold:64->fp32")
    dt.convert(layers, policy)
    return layers


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compiled_operators_have_the_eager_bits(mode):
    multiply = torch.compile(lambda a, b: OPS.gemm(OPS.gemm(a, b, BF16), b.t(), TREE), mode=mode, fullgraph=True, dynamic=True)
    a, b = problem(64, 256, 512)
    for m in (64, 2, 3, 7, 33, 64):
        expected = OPS.gemm(OPS.gemm(a[:m], b, BF16), b.t(), TREE)
        for _ in range(3):
            torch.compiler.cudagraph_mark_step_begin()
            assert dt.same_bits(multiply(a[:m], b).clone(), expected), m


def test_m_does_not_recompile():
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("inductor")
    multiply = torch.compile(lambda a, b: OPS.gemm(a, b, BF16), backend=counter, fullgraph=True, dynamic=True)
    a, b = problem(64)
    for m in range(2, 65):
        assert dt.same_bits(multiply(a[:m], b), OPS.gemm(a[:m], b, BF16))
    assert counter.frame_count == 1


def test_compiled_training_accumulates_in_main_grad():
    x = bits((128, 64), torch.bfloat16, 0, "cuda")

    def gradients(run_of):
        layers = model()
        grads = dt.main_grads(layers)
        run = run_of(layers)
        for part in x.split(64):
            run(part).float().square().sum().backward()
        return list(grads.values())

    eager = gradients(lambda layers: layers)
    assert all(grad.any() for grad in eager)
    # aot_eager: no fusion between the products, so every operand has the eager run's bits.
    assert all(map(dt.same_bits, gradients(lambda layers: torch.compile(layers, backend="aot_eager", fullgraph=True)), eager))


def test_the_switch_covers_compiled_graphs_and_out_types():
    a, b = problem()
    contracts = {torch.bfloat16: BF16, torch.float32: "ieee_fma/fp32/chain->fp32"}
    compiled = torch.compile(lambda a, b: torch.relu(a @ b) + 1, fullgraph=True)
    compiled(a, b)
    with dt.aten(contracts) as used:
        inside = compiled(a, b)
        wide = torch.mm(a, b, out_dtype=torch.float32)
        c = torch.ones(33, 192, device="cuda")
        added = torch.addmm(c, a, b, out_dtype=torch.float32) if hasattr(torch.ops.aten.addmm, "dtype") else None
    assert {op for op, _, _ in used} >= {"mm.out", "mm.dtype"}
    assert dt.same_bits(inside, torch.relu(OPS.gemm(a, b, BF16)) + 1)
    assert dt.same_bits(wide, OPS.gemm(a, b, "hopper/bf16/chain->fp32"))
    assert added is None or dt.same_bits(added, OPS.gemm(a, b, "hopper/bf16/chain->fp32", c, beta=1.0))


E4M3 = "hopper/e4m3/chain->bf16"


def test_segments_of_columns_may_end_anywhere():
    """D has columns along memory, and a segment begins at row 100, which is 200 bytes: no multiple of 16."""
    for contract, dtype in ((BF16, torch.bfloat16), (E4M3, torch.float8_e4m3fn)):
        a = torch.randn(2, 64, 128, generator=torch.Generator().manual_seed(0)).to(dtype)
        b = torch.randn(256, 128, generator=torch.Generator().manual_seed(1)).to(dtype)
        for ends in ([100, 256], [1, 255], [64, 256]):
            offs = torch.tensor(ends, dtype=torch.int32)
            there = dt.grouped_gemm(a.cuda(), b.cuda().t(), offs.cuda(), contract)
            torch.cuda.synchronize()
            assert dt.same_bits(there.cpu(), dt.grouped_gemm(a, b.t(), offs, contract))


def test_groups_of_columns_may_lie_side_by_side():
    """Group 1 begins at row 132 of memory, which is 264 bytes: no multiple of 16."""
    for rows in (132, 131, 136):
        a, b = bits((2, rows, 64), torch.bfloat16, 0), bits((2, 64, 64), torch.bfloat16, 1)
        out = torch.empty(64, 2, rows, dtype=torch.bfloat16, device="cuda").permute(1, 2, 0)
        OPS.grouped_gemm.out(a.cuda(), b.cuda(), None, BF16, out=out)
        torch.cuda.synchronize()
        assert dt.same_bits(out.cpu().contiguous(), dt.grouped_gemm(a, b, None, BF16))


def test_the_reference_is_not_tried_silently():
    a, b = problem()
    with pytest.raises(RuntimeError, match='backend is "reference", which works with memory of kind host: a is on cuda:0'):
        OPS.gemm(a, b, BF16, backend="reference")
    with pytest.raises(RuntimeError, match="b is on cpu and a is on cuda:0: all operands must be on one device"):
        OPS.gemm(a, b.cpu(), BF16)


def test_more_elements_than_32_bits_count():
    if torch.cuda.mem_get_info()[0] < 12 << 30:
        pytest.skip("needs 12 GiB of device memory")
    a = torch.zeros(1 << 20, 2080, dtype=torch.bfloat16, device="cuda")  # 2^31 and more
    a[-1].fill_(1)
    a[-2, :16].fill_(2)
    b = bits((2080, 16), torch.bfloat16, 1, "cuda")
    d = OPS.gemm(a, b, BF16)
    assert not d[:-2].any() and dt.same_bits(d[-2:].cpu(), on_host(a[-2:], b))


def test_a_second_device():
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    a, b = problem()
    there = OPS.gemm(a.to("cuda:1"), b.to("cuda:1"), TREE)
    assert there.device.index == 1 and torch.cuda.current_device() == 0
    assert dt.same_bits(there.cpu(), OPS.gemm(a, b, TREE).cpu())
    with pytest.raises(RuntimeError, match="b is on cuda:1 and a is on cuda:0"):
        OPS.gemm(a, b.to("cuda:1"), BF16)


def test_arrays_of_other_libraries_on_the_device():
    a, b = problem()
    out = torch.empty(33, 192, dtype=torch.bfloat16, device="cuda")
    detgemm.gemm(a, b, BF16, out=out, stream=torch.cuda.current_stream().cuda_stream)
    assert dt.same_bits(out, OPS.gemm(a, b, BF16))
