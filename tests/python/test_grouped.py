# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Many products in one call: the bits of each alone, gradients, graphs, the switch, wrong calls."""
import functools
import importlib
import itertools
import pathlib
import re
import sys

import pytest
import torch
from conftest import BF16, bits, devices
from torch._dynamo.testing import CompileCounterWithBackend

import detgemm.torch as dt

OPS = torch.ops.detgemm
FP32 = "hopper/bf16/chain->fp32"
FOLD = "hopper/bf16/fold:32->fp32"


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """Each device on which groups are computed."""
    if request.param not in devices():
        pytest.skip("no device of compute capability 9.0, or no CUDA build")
    try:
        dt.grouped_gemm(*(bits(s, torch.bfloat16, 0, request.param) for s in ((1, 2, 16), (1, 16, 2))), None, BF16)
    except RuntimeError as refusal:
        pytest.skip(str(refusal))
    return request.param


def where_computed(test):
    """Skips with the sentence of a GPU's backend that computes some groups and refuses these."""
    @functools.wraps(test)
    def run(*args, **options):
        try:
            test(*args, **options)
        except RuntimeError as refusal:
            if "no backend on cuda:" not in str(refusal):
                raise
            pytest.skip(str(refusal))

    return run


def ends(*numbers, dtype=torch.int32, device="cpu"):
    return torch.tensor(numbers, dtype=dtype, device=device)


def slices(offs):
    return [slice(begin, end) for begin, end in itertools.pairwise([0, *offs.tolist()])]


def by_slices(a, b, offs, contract, bias=None, counts=None):
    """What the dimensions say, one product after the other; rows of no group are zeros."""
    output = dt.operators.output_type(contract)
    row = [None] * 1000 if bias is None else bias
    if a.dim() == b.dim() == 2:
        return torch.stack([OPS.gemm(a[:, s], b[s], contract, None, row[g]) for g, s in enumerate(slices(offs))])
    if a.dim() == b.dim():
        d = torch.zeros(a.shape[0], a.shape[1], b.shape[2], dtype=output, device=a.device)
        for g, count in enumerate([a.shape[1]] * len(a) if counts is None else counts.tolist()):
            d[g, :count] = OPS.gemm(a[g, :count], b[g], contract, None, row[g])
        return d
    d = torch.zeros(a.shape[-2], b.shape[-1], dtype=output, device=a.device)
    for g, s in enumerate(slices(offs)):
        if a.dim() == 2:
            d[s] = OPS.gemm(a[s], b[g], contract, None, row[g])
        else:
            d[:, s] = OPS.gemm(a[g], b[:, s], contract)
    return d


OFFS = (5, 5, 18, 19)  # of 21: an empty group, and rows of nobody
SHAPES = {"rows": ((21, 48), (4, 48, 6)), "columns": ((4, 6, 48), (48, 21)), "products": ((7, 21), (21, 6)),
          "batch": ((4, 5, 48), (4, 48, 6)), "masked": ((4, 9, 48), (4, 48, 6))}


def problem(kind, dtype=torch.bfloat16, device="cpu", of=torch.int32):
    a, b = (bits(shape, dtype, seed, device) for seed, shape in enumerate(SHAPES[kind]))
    offs = ends(*OFFS, dtype=of, device=device) if kind in ("rows", "columns", "products") else None
    return a, b, offs, ends(0, 9, 4, 1, dtype=of, device=device) if kind == "masked" else None


@pytest.mark.parametrize("contract", [BF16, FOLD, "hopper/bf16/tree:32->bf16", "ieee_fma/fp32/chain->fp32"])
@pytest.mark.parametrize("kind", SHAPES)
@where_computed
def test_each_group_has_the_bits_of_its_product(kind, contract, device):
    for of in (torch.int32, torch.int64):
        a, b, offs, counts = problem(kind, dt.operators.input_type(contract), device, of)
        wanted = by_slices(a, b, offs, contract, None, counts)
        assert dt.same_bits(OPS.grouped_gemm(a, b, offs, contract, None, counts), wanted)
        turned = [x.transpose(-1, -2).contiguous().transpose(-1, -2) for x in (a, b)]
        assert dt.same_bits(OPS.grouped_gemm(*turned, offs, contract, None, counts), wanted)
        out = torch.full_like(wanted, 7.0)
        assert dt.grouped_gemm(a, b, offs, contract, counts=counts, out=out) is out
        written = by_slices(torch.ones_like(a), torch.ones_like(b), offs, contract, None, counts) != 0
        written |= wanted != 0
        assert dt.same_bits(torch.where(written, out, 7.0), torch.where(written, wanted, 7.0))
        assert (out[~written] == 7).all() or kind == "products"  # a group without products is zeros
    if kind not in ("columns",):
        row = bits((4, 6), torch.float32, 5, device)
        assert dt.same_bits(OPS.grouped_gemm(a, b, offs, contract, row, counts), by_slices(a, b, offs, contract, row, counts))


def test_copies_are_made_where_strides_need_them():
    a, b, offs, _ = problem("rows")
    wide = torch.stack((offs, offs), 1)
    wanted, before = by_slices(a, b, offs, BF16), dt.stats()["copies"]
    assert dt.same_bits(OPS.grouped_gemm(a, b, wide[:, 0], BF16), wanted) and dt.stats()["copies"] == before + 1
    strided = torch.zeros(4, 48, 12, dtype=torch.bfloat16)
    strided[..., ::2] = b
    assert dt.same_bits(OPS.grouped_gemm(a, strided[..., ::2], offs, BF16), wanted) and dt.stats()["copies"] == before + 2
    one = b[:1].expand(4, 48, 6)  # one matrix for all groups needs none
    assert dt.same_bits(OPS.grouped_gemm(a, one, offs, BF16)[:19], OPS.gemm(a[:19], b[0], BF16))
    assert dt.stats()["copies"] == before + 2


def test_a_plan_serves_all_sizes_and_offsets():
    a, b, offs, _ = problem("rows")
    OPS.grouped_gemm(a, b, offs, BF16)
    before = dt.stats()
    for rows in range(20):
        OPS.grouped_gemm(a[:rows], b, offs, BF16)  # ends beyond the rows are moved there
    assert dt.stats()["made"] == before["made"] and dt.stats()["hits"] == before["hits"] + 20


@where_computed
def test_shapes_are_those_of_pytorch(device):
    for kind in ("rows", "columns", "products", "batch"):
        shapes = {"rows": ((32, 48), (4, 48, 16)), "columns": ((4, 16, 48), (48, 32)), "products": ((16, 32), (32, 16)),
                  "batch": ((4, 16, 48), (4, 48, 16))}[kind]
        a, b = (bits(shape, torch.bfloat16, 3, device) for shape in shapes)
        b = b.transpose(-1, -2).contiguous().transpose(-1, -2)
        offs = None if kind == "batch" else ends(8, 8, 24, 32, device=device)
        ours, theirs = dt.grouped_gemm(a, b, offs, BF16), torch.nn.functional.grouped_mm(a, b, offs=offs)
        assert ours.shape == theirs.shape and torch.allclose(ours, theirs, rtol=0.05, atol=1.0)


@pytest.mark.parametrize("kind", SHAPES)
@where_computed
def test_gradients_are_products_under_the_contract(kind, device):
    a, b, offs, counts = problem(kind, device=device)
    a, b = a.requires_grad_(), b.requires_grad_()
    row = None if kind == "columns" else bits((4, 6), torch.float32, 5, device).requires_grad_()
    d = OPS.grouped_gemm(a, b, offs, BF16, row, counts)
    dd = bits(d.shape, torch.bfloat16, 7, device)
    d.backward(dd)
    x, y, g, c = a.detach(), b.detach(), dd, counts
    if kind == "masked":
        keep = (torch.arange(9, device=device) < counts[:, None])[..., None]
        x, g = torch.where(keep, x, 0), torch.where(keep, g, 0)
    assert dt.same_bits(a.grad, by_slices(g, y.mT, offs, BF16, None, c))
    assert dt.same_bits(b.grad, by_slices(x.mT, g, offs, BF16))
    if row is not None:
        one = torch.ones(1, 21, dtype=torch.bfloat16, device=device)
        of = by_slices(one, g, offs, FP32) if kind == "rows" else by_slices(one[:, :g.shape[1]].expand(4, -1, -1), g, None, FP32)
        assert dt.same_bits(row.grad, of[:, 0])


def test_rows_of_nobody_have_zeros_and_zero_gradients():
    a, b, offs, _ = problem("rows")
    a[19:] = float("nan")
    a = a.requires_grad_()
    d = OPS.grouped_gemm(a, b.requires_grad_(), offs, BF16)
    d.float().sum().backward()
    assert not d[19:].any() and not a.grad[19:].any() and not b.grad.isnan().any()


@pytest.mark.parametrize("kind", SHAPES)
def test_opcheck(kind):
    a, b, offs, counts = problem(kind)
    inputs = (a.requires_grad_(), b.requires_grad_(), offs, BF16, None, counts)
    torch.library.opcheck(OPS.grouped_gemm.default, inputs)
    if kind == "rows":
        weight = bits((4, 6, 48), torch.bfloat16, 1).requires_grad_()
        torch.library.opcheck(OPS.grouped_linear, (a, weight, offs, None, BF16, BF16, FOLD, False))
    if kind == "products":
        torch.library.opcheck(OPS.grouped_gemm.out, (a.detach(), b.detach(), offs, FP32), {"out": torch.empty(4, 7, 6)})
        torch.library.opcheck(OPS.grouped_accumulate_.default, (torch.zeros(4, 7, 6), a.detach(), b.detach(), offs, FP32))


@where_computed
def test_compiled_graphs_have_the_eager_bits(device, policy):
    def layer(x, weight, keys):
        offs, index, places = dt.segments(keys, 4, 16)
        y = dt.grouped_linear(dt.gather_rows(x, index, places, 2), weight, offs, policy)
        return dt.gather_rows(y, places, index)

    keys = torch.randint(0, 4, (26,), generator=torch.Generator().manual_seed(1)).to(device)
    found = []
    for run in (layer, torch.compile(layer, fullgraph=True, backend="aot_eager")):
        x, weight = (bits(shape, torch.bfloat16, 1, device).requires_grad_() for shape in ((13, 48), (4, 32, 48)))
        y = run(x, weight, keys)
        y.backward(bits(y.shape, torch.bfloat16, 2, device))
        found.append((y, x.grad, weight.grad))
    assert all(map(dt.same_bits, *found)) and found[0][1].any()


def test_rows_and_offsets_do_not_recompile():
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    multiply = torch.compile(lambda a, b, offs: OPS.grouped_gemm(a, b, offs, BF16), backend=counter, fullgraph=True, dynamic=True)
    a, b, _, _ = problem("rows")
    for rows in (2, 3, 7, 20):
        offs = ends(1, 1, 2, rows)
        assert dt.same_bits(multiply(a[:rows], b, offs), OPS.grouped_gemm(a[:rows], b, offs, BF16))
    assert counter.frame_count == 1


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
@where_computed
def test_graphs_read_the_offsets_anew(device, policy):
    keys = torch.zeros(64, dtype=torch.int64, device=device)
    x, weight = bits((64, 48), torch.bfloat16, 0, device), bits((4, 32, 48), torch.bfloat16, 1, device)

    def layer():
        offs, index, places = dt.segments(keys, 4, 16)
        return dt.gather_rows(dt.grouped_linear(dt.gather_rows(x, index, places), weight, offs, policy), places, index)

    layer()
    torch.cuda.synchronize()
    try:
        torch.cuda.set_sync_debug_mode("error")  # nothing waits for the device
        layer()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d = layer()
    for seed in range(4):
        keys.copy_(torch.randint(0, 3 + seed % 2, (64,), generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        wanted = torch.stack([OPS.gemm(x[i:i + 1], weight[key].t(), BF16)[0] for i, key in enumerate(keys.tolist())])
        assert dt.same_bits(d, wanted)


def test_autocast_rounds_to_the_contracts_type(policy):
    a, b, offs, _ = problem("rows", torch.float32)
    weight = b.mT.contiguous().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        d, y = dt.grouped_gemm(a, b, offs, BF16), dt.grouped_linear(a, weight, offs, policy)
    wanted = OPS.grouped_gemm(a.bfloat16(), b.bfloat16(), offs, BF16)
    assert dt.same_bits(d, wanted) and dt.same_bits(y, wanted)
    y.sum().backward()
    assert weight.grad.dtype == torch.float32 and weight.grad.any()
    with pytest.raises(RuntimeError, match="a.dtype is fp32: the contract needs bf16"):
        dt.grouped_gemm(a, b, offs, BF16)


def gradient(samples, cut, step, device):
    """The gradient of four experts' weights from samples (x, dy, expert of each row), `cut` at a time, each padded."""
    acc = torch.zeros(4, 24, 40, device=device)
    for first in range(0, len(samples), cut):
        x, dy, keys = (torch.cat(parts) for parts in zip(*samples[first:first + cut]))
        sample = torch.repeat_interleave(torch.arange(cut), torch.tensor([len(s[0]) for s in samples[first:first + cut]]))
        offs, index, places = dt.segments(keys * cut + sample.to(device), 4 * cut, step)
        x, dy = dt.gather_rows(x, index, places), dt.gather_rows(dy, index, places)
        dt.grouped_accumulate_(acc, dy.t(), x, offs[cut - 1::cut], FOLD)
    return acc


@where_computed
def test_padded_micro_batches_give_one_gradient(device):
    samples = []
    for seed, rows in enumerate((9, 30, 1, 17)):
        keys = torch.randint(0, 4, (rows,), generator=torch.Generator().manual_seed(seed))
        samples.append((bits((rows, 40), torch.bfloat16, seed, device), bits((rows, 24), torch.bfloat16, seed + 9, device),
                        keys.to(device)))
    whole = gradient(samples, 4, 32, device)
    assert whole.any() and all(dt.same_bits(gradient(samples, cut, 32, device), whole) for cut in (1, 2))
    assert not dt.same_bits(gradient(samples, 1, 1, device), gradient(samples, 4, 1, device))  # without padding


@where_computed
def test_main_grad_is_continued(policy, device):
    x, weight = bits((64, 48), torch.bfloat16, 0, device), bits((2, 32, 48), torch.bfloat16, 1, device).requires_grad_()
    offs = ends(64, 64, device=device)
    weight.main_grad = torch.zeros(weight.shape, device=device)
    for _ in range(2):
        y = dt.grouped_linear(x, weight, offs, policy)
        y.backward(torch.ones_like(y))
    assert weight.grad is None
    twice = OPS.gemm(torch.ones_like(y).repeat(2, 1).t(), x.repeat(2, 1), policy.wgrad)
    assert dt.same_bits(weight.main_grad[0], twice) and not weight.main_grad[1].any()


def test_segments_and_rows():
    keys = torch.tensor([2, 0, 2, 5, 0, -1, 2])
    offs, index, places = dt.segments(keys, 4, 2)
    assert offs.tolist() == [2, 2, 6, 6] and offs.dtype == torch.int32
    assert index.tolist() == [1, 4, 0, 2, 6, -1, -1, -1, -1, -1, -1] and places.tolist() == [2, 0, 3, -1, 1, -1, 4]
    assert dt.segments(keys, 4, 2, rows=6)[1].tolist() == [1, 4, 0, 2, 6, -1]
    assert dt.segments(keys, 4, 2, rows=3)[2].tolist() == [2, 0, -1, -1, 1, -1, -1]  # what does not fit is left out
    assert dt.segment_offsets(torch.tensor([0, 1, 16, 17]), 16).tolist() == [0, 16, 32, 64]
    x = torch.arange(14.0).view(7, 2) + 1
    with dt.audit() as report:
        dt.gather_rows(x, *dt.segments(keys, 4, 2)[1:])
    report.require_clean()
    assert [row[:4] for row in report.rows] == [("detgemm.gather_rows", "float32", "row-local", dt.auditing.ROW_LOCAL["gather_rows"])]
    there = dt.gather_rows(x, index, places)
    assert there[:5].tolist() == x[[1, 4, 0, 2, 6]].tolist() and not there[5:].any()
    kept = (places >= 0)[:, None]
    assert torch.equal(dt.gather_rows(there, places, index), torch.where(kept, x, 0))
    assert dt.gather_rows(x[:0], index - 20, places[:0]).shape == (11, 2)
    tokens = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    offs, index, places = dt.segments(torch.tensor([1, 0, 1, 1, 0, 0]), 2, 4)
    torch.autograd.gradcheck(lambda t: dt.gather_rows(t, index, places, 2) ** 2, (tokens,), atol=1e-3, eps=1e-3)
    torch.library.opcheck(OPS.gather_rows, (tokens.detach().float().requires_grad_(), index, places, 2))
    for call, said in ((lambda: dt.segments(keys[None], 4), "keys has 2 dimensions"), (lambda: dt.gather_rows(x, index, places, 2), "7 x 2"),
                       (lambda: dt.segment_offsets(keys, 0), "multiple is 0"), (lambda: dt.segment_offsets(x, 4), "it must have one dimension")):
        with pytest.raises(RuntimeError, match=said):
            call()


@where_computed
def test_the_switch_covers_grouped_mm(device):
    contracts = {torch.bfloat16: BF16}
    before = torch._C._dispatch_dump("aten::_grouped_mm")
    a, b, offs, _ = problem("rows", device=device)
    a, b = bits((32, 48), torch.bfloat16, 0, device).requires_grad_(), bits((4, 48, 16), torch.bfloat16, 1, device).requires_grad_()
    offs = ends(8, 8, 24, 32, device=device)
    with dt.aten(contracts, devices=device) as used, dt.audit() as report:
        d = torch.nn.functional.grouped_mm(a, b, offs=offs)
        d.backward(torch.ones_like(d))
        wide = torch._grouped_mm(a.detach(), b.detach(), offs, out_dtype=torch.float32) if device == "cpu" else None
    assert used["_grouped_mm", torch.bfloat16, BF16] == 3 and {row[2] for row in report.rows} <= {"contract"}
    assert dt.same_bits(d, by_slices(a, b, offs, BF16)) and dt.same_bits(a.grad, by_slices(torch.ones_like(d), b.mT, offs, BF16))
    assert dt.same_bits(b.grad.contiguous(), by_slices(a.mT, torch.ones_like(d), offs, BF16))
    assert wide is None or dt.same_bits(wide, by_slices(a, b, offs, FP32))
    assert torch._C._dispatch_dump("aten::_grouped_mm") == before
    with pytest.raises(ZeroDivisionError), dt.aten(contracts, devices=device):
        raise ZeroDivisionError
    assert torch._C._dispatch_dump("aten::_grouped_mm") == before


def test_the_lines_of_the_page():
    page = pathlib.Path(__file__).resolve().parents[2] / "docs/moe.md"
    if not page.exists():
        pytest.skip("docs/moe.md is not beside these tests")
    lines = next(block for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S))
    tokens, weight, experts = bits((9, 32), torch.bfloat16), bits((4, 8, 32), torch.bfloat16, 1), 4
    slots = torch.tensor([[0, 3], [3, 1], [0, 1]] * 3)
    found = {"dt": dt, "tokens": tokens, "weight": weight, "experts": experts, "expert_of_slot": slots.flatten()}
    exec(lines, found)  # the page's own lines
    assert found["offs"].tolist() == [64, 128, 128, 192]
    for token, slot in itertools.product(range(9), range(2)):
        wanted = OPS.gemm(tokens[token:token + 1], weight[slots[token, slot]].t(), BF16)
        assert dt.same_bits(found["rows"][token * 2 + slot:token * 2 + slot + 1], wanted)


A, B, E = bits((21, 48), torch.bfloat16), bits((4, 48, 6), torch.bfloat16, 1), ends(*OFFS)
WRONG = {
    "no ends": (lambda: OPS.grouped_gemm(A, B, None, BF16), "offs is None: it must hold the end of each group"),
    "ends of a batch": (lambda: OPS.grouped_gemm(B.mT, B, E, BF16), "offs is given and a and b have three dimensions"),
    "counts of rows": (lambda: OPS.grouped_gemm(A, B, E, BF16, None, E), "counts is given: it counts the rows of a and b of three"),
    "too few ends": (lambda: OPS.grouped_gemm(A, B, E[:3], BF16), "offs has 3 elements: it must have one for each of 4 groups"),
    "ends of floats": (lambda: OPS.grouped_gemm(A, B, E.float(), BF16), "offs.dtype is not an integer's"),
    "ends of two dimensions": (lambda: OPS.grouped_gemm(A, B, E[None], BF16), r"offs has the shape \(1, 4\): it must have one"),
    "matrices": (lambda: OPS.grouped_gemm(B.mT, B[:3], None, BF16), "b has 3 matrices and a has 4"),
    "K": (lambda: OPS.grouped_gemm(A[:, :47], B, E, BF16), "a has 47 columns and b has 48 rows: both are K"),
    "one dimension": (lambda: OPS.grouped_gemm(A[0], B, E, BF16), "a has 1 dimensions: it must have two or three"),
    "another type": (lambda: OPS.grouped_gemm(A.half(), B, E, BF16), "a.dtype is fp16: the contract needs bf16"),
    "bias": (lambda: OPS.grouped_gemm(A, B, E, BF16, torch.zeros(3, 6)), r"bias is 3 x 6: it must be 4 x 6 .groups x N."),
    "bias of columns": (lambda: OPS.grouped_gemm(B.mT, A.t(), E, BF16, torch.zeros(4, 6)), "segments of columns take none"),
    "out": (lambda: dt.grouped_gemm(A, B, E, BF16, out=torch.zeros(21, 5, dtype=torch.bfloat16)), "out has another shape than the result: it must be 21 x 6"),
    "accumulate in bf16": (lambda: OPS.grouped_accumulate_(torch.zeros(4, 21, 21, dtype=torch.bfloat16), A, A.t(), E, BF16), "bf16"),
    "accumulate another shape": (lambda: OPS.grouped_accumulate_(torch.zeros(3, 48, 48), A.t(), A, E, FP32), "it must be 4 x 48 x 48"),
    "a tree": (lambda: OPS.grouped_accumulate_(torch.zeros(4, 48, 48), A.t(), A, E, "hopper/bf16/tree:16->fp32"), "tree"),
    "stable": (lambda: OPS.grouped_gemm(B.mT, A.t(), E, BF16, stable=3), "stable is 3: it must be 0"),
    "backend": (lambda: OPS.grouped_gemm(A, B, E, BF16, backend="metal"), 'backend is "metal"'),
    "variant": (lambda: OPS.grouped_gemm(A, B, E, BF16, variant="fastest"), "fastest"),
    "x of another type": (lambda: dt.grouped_linear(A.float(), B.mT, E, dt.Policy(BF16, BF16, FOLD)),
                          r"x.dtype is torch.float32: .* needs torch.bfloat16"),
    "weight of another type": (lambda: dt.grouped_linear(A, B.mT.float(), E, dt.Policy(BF16, BF16, FOLD)),
                               r"weight.dtype is torch.float32: .* needs torch.bfloat16"),
    "another K": (lambda: dt.grouped_linear(A[:, :40], B.mT, E, dt.Policy(BF16, BF16, FOLD)), "x has 40 columns and weight 48"),
    "no policy": (lambda: dt.grouped_linear(A, B.mT, E, BF16), "policy is 'hopper/bf16/chain->bf16': it must be"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_sentence(case):
    call, said = WRONG[case]
    with pytest.raises(RuntimeError, match=said) as caught:
        call()
    assert "\n" not in str(caught.value) and ".cpp" not in str(caught.value)


@pytest.mark.parametrize("extra, status", [([], 0), (["--control"], 1)])
@where_computed
def test_the_program_proves_it_and_its_control_fails(extra, status, device, monkeypatch, capsys):
    monkeypatch.syspath_prepend(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python")
    program = importlib.import_module("moe")
    sizes = ["--hidden", "32", "--width", "32", "--experts", "4", "--sequences", "4"]
    monkeypatch.setattr(sys, "argv", ["moe", "--device", device, *sizes, *extra])
    with pytest.raises(SystemExit) as ended:
        program.main()
    said = capsys.readouterr().out
    assert ended.value.code == status and ("passed:" if status == 0 else "FAILED:") in said, said


def test_garbage_ends_touch_nothing_else():
    for garbage in ((-1, 50, 3, 7), (2**31 - 1, -2**31, 5, 5), (21, 0, 21, 0)):
        d = OPS.grouped_gemm(A, B, ends(*garbage), BF16)
        assert d.shape == (21, 6) and not d.isnan().any()


def test_a_gpu_computes_groups_or_says_why_not():
    if "cuda" not in devices():
        pytest.skip("no device of compute capability 9.0, or no CUDA build")
    try:
        d = OPS.grouped_gemm(A.cuda(), B.cuda(), E.cuda(), BF16)
    except RuntimeError as refusal:
        assert "no backend on cuda:0 computes" in str(refusal) and "run a Plan for each group" in str(refusal)
    else:
        assert dt.same_bits(d.cpu(), OPS.grouped_gemm(A, B, E, BF16))
