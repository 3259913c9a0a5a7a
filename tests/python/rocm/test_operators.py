# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Every operator on tensors of an emulated MI300X: the bits of the reference, which computes the same call on the CPU."""
import fake_rocm
import pytest
import torch

import detgemm
import detgemm.torch as dt
from detgemm import _library, views
from detgemm.contract import contract as parsed

OPS = torch.ops.detgemm
CHAIN, FOLD, TREE = "cdna3/bf16/chain->bf16", "cdna3/bf16/fold:64->fp32", "cdna3/bf16/tree:64->bf16"
SNAP = "snap/bf16/tree:64->fp32"
CONTRACTS = [CHAIN, FOLD, TREE, SNAP]


def bits(shape, seed=0, dtype=torch.bfloat16):
    """Numbers of both signs and very different sizes, so that another order gives other bits."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator)
    return (x * torch.exp2(torch.randint(-6, 7, shape, generator=generator).float())).to(dtype)


def same(device, cpu):
    assert device.device == fake_rocm.GPU
    return dt.same_bits(fake_rocm.on_cpu(device).contiguous(), cpu.contiguous())


@pytest.mark.parametrize("contract", CONTRACTS)
def test_gemm(rocm, contract):
    for m, n, k in ((1, 48, 192), (37, 33, 200)):
        a, w = bits((m, k)), bits((n, k), 1)
        assert same(OPS.gemm(rocm.put(a), rocm.put(w).t(), contract), OPS.gemm(a, w.t(), contract))


@pytest.mark.parametrize("contract", CONTRACTS)
def test_gemm_with_everything(rocm, contract):
    out = torch.bfloat16 if contract.endswith("bf16") else torch.float32
    a, b, c, bias = bits((2, 9, 128)), bits((128, 24), 1), bits((18, 24), 2, out), bits((24,), 3)
    on_gpu = [rocm.put(x) for x in (a, b, c, bias)]
    options = dict(alpha=0.5, beta=-2.0, activation="gelu")
    assert same(OPS.gemm(*on_gpu[:2], contract, *on_gpu[2:], **options), OPS.gemm(a, b, contract, c, bias, **options))


@pytest.mark.parametrize("contract", CONTRACTS)
def test_gemm_out(rocm, contract):
    a, b = bits((20, 128)), bits((128, 40), 1)
    expected = OPS.gemm(a, b, contract)
    out = rocm.put(torch.full((20, 48), 7, dtype=expected.dtype))
    OPS.gemm.out(rocm.put(a), rocm.put(b), contract, out=out[:, :40])
    assert same(out[:, :40], expected) and (fake_rocm.on_cpu(out)[:, 40:] == 7).all()


@pytest.mark.parametrize("contract", CONTRACTS)
def test_bmm(rocm, contract):
    a, b = bits((3, 17, 128)), bits((3, 32, 128), 1)
    assert same(OPS.bmm(rocm.put(a), rocm.put(b).transpose(1, 2), contract), OPS.bmm(a, b.transpose(1, 2), contract))


@pytest.mark.parametrize("contract", ["cdna3/bf16/chain->fp32", FOLD, "snap/bf16/fold:64->fp32"])
def test_accumulate(rocm, contract):
    a, b, acc = bits((128, 24)), bits((128, 40), 1), bits((24, 40), 2, torch.float32)
    on_gpu = rocm.put(acc)
    OPS.accumulate_(on_gpu, rocm.put(a).t(), rocm.put(b), contract)
    OPS.accumulate_(acc, a.t(), b, contract)
    assert same(on_gpu, acc)


def test_operands_that_must_be_copied(rocm):
    a, b = bits((2, 12, 3, 64)), bits((64, 24), 1)
    before = dt.stats()["copies"]
    assert same(OPS.gemm(rocm.put(a)[:, ::2, 1:], rocm.put(b), CHAIN), OPS.gemm(a[:, ::2, 1:], b, CHAIN))
    assert dt.stats()["copies"] == before + 2


@pytest.mark.parametrize("contract", [CHAIN, FOLD, TREE, SNAP])
def test_linear_with_gradients(rocm, on_cpu, contract):
    """The backward pass is asked of the operator itself: PyTorch's engine asks CUDA for streams."""
    wgrad = "snap/bf16/fold:64->fp32" if contract == SNAP else FOLD
    policy = dt.Policy(contract, contract, wgrad)
    operands = bits((2, 40, 128)), bits((64, 128), 1), bits((64,), 2)
    given = dt.linear(*operands, policy)
    dy = bits(given.shape, 3).to(given.dtype)
    on_gpu = [rocm.put(x).requires_grad_() for x in operands]
    on_host = [x.clone().requires_grad_() for x in operands]
    result, expected = dt.linear(*on_gpu, policy), dt.linear(*on_host, policy)
    assert same(result.detach(), expected.detach())
    of_gpu, of_host = result.grad_fn.apply(rocm.put(dy)), expected.grad_fn.apply(dy)
    compared = 0
    for x, y in zip(of_gpu, of_host):
        if isinstance(y, torch.Tensor):
            assert same(x, y)
            compared += 1
    assert compared == 3


@pytest.mark.parametrize("contract", CONTRACTS)
def test_grouped(rocm, contract):
    a, b, offs = bits((50, 128)), bits((4, 128, 32), 1), torch.tensor([7, 7, 30, 50], dtype=torch.int32)
    assert same(dt.grouped_gemm(rocm.put(a), rocm.put(b), rocm.put(offs), contract), dt.grouped_gemm(a, b, offs, contract))


@pytest.mark.parametrize("k", ["cols", "rows"])
def test_snap(rocm, k):
    x, b = bits((24, 192)), bits((192, 16), 1)
    snapped = dt.snap(rocm.put(x), 64, k)
    assert same(snapped, dt.snap(x, 64, k))
    if k == "cols":
        assert same(OPS.gemm(snapped, rocm.put(b), SNAP, a_snapped=True), OPS.gemm(x, b, SNAP))


def test_snapped_operands_are_recognised(rocm):
    x = rocm.put(bits((24, 192)))
    current = torch.cuda.current_stream
    torch.cuda.current_stream = lambda device=None: type("Stream", (), {"cuda_stream": 0})
    try:
        assert not dt.is_snapped(x, 64) and dt.is_snapped(dt.snap(x, 64), 64)
    finally:
        torch.cuda.current_stream = current


def test_the_switch(rocm, on_cpu):
    a, b, c, x, y = bits((9, 64)), bits((64, 24), 1), bits((9, 24), 2), bits((2, 9, 64), 3), bits((2, 64, 24), 4)
    on_gpu = [rocm.put(t) for t in (a, b, c, x, y)]
    on_cpu.kept = {"aten::mm", "aten::addmm", "aten::bmm"}

    def products(a, b, c, x, y):
        return a @ b, torch.addmm(c, a, b, beta=0.5), x @ y

    with dt.aten({torch.bfloat16: CHAIN}, devices=["cuda", "cpu"]) as used:
        given, expected = products(*on_gpu), products(a, b, c, x, y)
    assert all(map(same, given, expected))
    assert {name: count for (name, _, _), count in used.items()} == {"mm": 2, "addmm": 2, "bmm": 2}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_capture(rocm, contract):
    a, b, b2 = bits((33, 128)), bits((128, 128), 1), bits((128, 40), 2)
    out_type = parsed(contract).with_output("bf16").text
    on_gpu = rocm.put(a), rocm.put(b), rocm.put(b2)
    OPS.gemm(*on_gpu[:2], out_type)
    with rocm.captured(rocm.stream()) as launch:
        first = OPS.gemm(*on_gpu[:2], out_type)
        second = OPS.gemm(first, on_gpu[2], contract)
    assert (fake_rocm.on_cpu(first).view(torch.int16) == -1).all(), "a capture computes nothing"
    for seed in (0, 9):
        a = bits((33, 128), seed)
        fake_rocm.on_cpu(on_gpu[0]).copy_(a)
        launch[0]()
        middle = OPS.gemm(a, b, out_type)
        assert same(first, middle) and same(second, OPS.gemm(middle, b2, contract))


@pytest.mark.parametrize("contract", [CHAIN, TREE])
def test_groups_in_a_capture(rocm, contract):
    """One launch for all groups: a replay reads the offsets again."""
    a, b = bits((50, 128)), bits((4, 128, 32), 1)
    first, second = (torch.tensor(ends, dtype=torch.int32) for ends in ([7, 7, 30, 50], [0, 20, 21, 50]))
    on_gpu = rocm.put(a), rocm.put(b), rocm.put(first)
    dt.grouped_gemm(*on_gpu, contract)
    with rocm.captured(rocm.stream()) as launch:
        given = dt.grouped_gemm(*on_gpu, contract)
    for offs in (first, second):
        fake_rocm.on_cpu(on_gpu[2]).copy_(offs)
        launch[0]()
        assert same(given, dt.grouped_gemm(a, b, offs, contract))


def test_streams_of_the_caller_are_used(rocm):
    """The stream that PyTorch names takes the work: under capture it computes nothing."""
    a = rocm.put(bits((4, 64)))
    stream = rocm.stream()
    with rocm.captured(stream):
        result = OPS.gemm(a, a.t(), CHAIN)
    assert (fake_rocm.on_cpu(result).view(torch.int16) == -1).all()


def test_arrays_through_dlpack_are_the_devices(rocm):
    a, b = bits((5, 64)), bits((64, 7), 1)
    view = views.describe(rocm.put(a), "a")
    assert view.place == (_library.HIP, 0)
    with view.current():
        pass
    out = rocm.put(torch.zeros(5, 7, dtype=torch.bfloat16))
    detgemm.gemm(rocm.put(a), rocm.put(b), CHAIN, out=out)
    assert same(out, OPS.gemm(a, b, CHAIN))


@pytest.mark.parametrize("change, said", [
    (dict(contract="hopper/bf16/chain->bf16"), r"no backend on cuda:0 \(HIP\) computes hopper/bf16/chain->bf16"),
    (dict(backend="reference"), r'backend is "reference", which works with memory of kind host: a is on cuda:0 \(HIP\)'),
    (dict(b=torch.ones(64, 3, dtype=torch.bfloat16)), r"b is on cpu and a is on cuda:0 \(HIP\)"),
    (dict(variant="256x512"), "256x512")])
def test_wrong_calls_get_sentences(rocm, change, said):
    call = dict(a=rocm.put(bits((5, 64))), b=rocm.put(bits((64, 3))), contract=CHAIN)
    call.update(change)
    with pytest.raises(RuntimeError, match=said):
        OPS.gemm(call.pop("a"), call.pop("b"), call.pop("contract"), **call)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fnuz, torch.float8_e5m2fnuz])
def test_fp8_of_mi300_is_named(rocm, dtype):
    a = bits((4, 64)).to(dtype)
    with pytest.raises(RuntimeError, match=f"a.dtype is {dtype}, the fp8 of MI300.*torch.bfloat16 holds each of its numbers"):
        OPS.gemm(rocm.put(a), rocm.put(a).t(), CHAIN)
    numbers = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(dtype).float()
    finite = numbers[~numbers.isnan()]
    assert (finite == finite.bfloat16().float()).all()


def test_info_names_hip():
    info = detgemm.info()
    assert info["backends"]["hip"] == "available"
    assert "HIP kernels (AMD GPUs, not run on AMD hardware: " in info["summary"]
    assert "cdna3/{bf16,fp16} on gfx942" in info["summary"]
