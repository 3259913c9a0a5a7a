# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""linear_log_prob: stripes against stored logits, padding, micro-batches into main_grad, ranks, refusals."""
import os
import random
import subprocess
import sys

import pytest
import torch
from conftest import bits

import detgemm
import detgemm.torch as dt
from detgemm.torch import heads, log_prob_gradients, log_prob_sharded, shards
from detgemm.torch.plain import log_prob as plain

FORWARD = {"bf16": "hopper/bf16/chain->bf16", "fp32": "hopper/bf16/chain->fp32"}


def policy(logits="bf16", dgrad="fold:64", wgrad="fold:16"):
    return dt.Policy(FORWARD[logits], f"hopper/bf16/{dgrad}->bf16", f"hopper/bf16/{wgrad}->fp32")


def problem(tokens=40, hidden=48, columns=9000, seed=0):
    """Hidden states, a head, targets of which some are ignored, scales."""
    generator = torch.Generator().manual_seed(seed)
    x, weight = bits((tokens, hidden), torch.bfloat16, seed) / 8, bits((columns, hidden), torch.bfloat16, seed + 1) / 8
    targets = torch.randint(0, columns * 9 // 10, (tokens,), generator=generator)
    targets[::7] = -100
    return x, weight, targets, torch.rand(tokens, generator=generator) + 0.5


def plans_used():
    """Products that found or made a plan since the process began."""
    counts = dt.stats()
    return counts["hits"] + counts["made"]


def run(x, weight, targets, chosen, **options):
    """Results, dX and dW; the loss uses all three results that have gradients."""
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    out = dt.linear_log_prob(x, weight, targets, chosen, entropy=True, **options)
    factor = torch.linspace(-1, 1, targets.numel()).view(targets.shape)
    (out.logp * factor + 0.25 * out.entropy - 0.125 * out.lse * factor).sum().backward()
    return [*(each.detach() for each in out), x.grad, weight.grad]


def equal(first, second):
    return all(map(dt.same_bits, first, second))


@pytest.mark.parametrize("logits", ["bf16", "fp32"])
def test_stripes_have_the_bits_of_stored_logits(logits, monkeypatch):
    x, weight, targets, scale = problem()
    whole = run(x, weight, targets, policy(logits), scale=scale)
    z = dt.gemm(x, weight.t(), FORWARD[logits]).requires_grad_()
    stored = dt.log_probs_of(z, targets, scale=scale)
    assert dt.same_bits(stored.detach(), whole[0])
    assert equal(run(x, weight, targets, policy(logits), scale=scale, keep_logits=True), whole)
    assert equal(run(x, weight, targets, policy(logits), scale=scale, keep_logits=False), whole)
    plans = []
    for stripes in (1, 3):  # of 9024 columns in the backward pass; kept logits have four times as many bytes of G
        for keep in (False, True):
            monkeypatch.setattr(log_prob_gradients, "STRIPE_BYTES", 2 * 40 * 9024 // stripes // (4 if keep else 1))
            before = plans_used()
            assert equal(run(x, weight, targets, policy(logits), scale=scale, keep_logits=keep), whole)
            plans.append(plans_used() - before)
    assert plans == [3, 3, 9, 7]  # Z, dX and dW of each stripe; kept logits are one product
    assert dt.same_bits(dt.linear_log_prob(x, weight, targets, policy(logits), scale=scale).logp, whole[0])  # without entropy
    # autograd by hand: the gradient of stored logits, then the policy's products
    weight = weight.clone().requires_grad_()
    dt.linear_log_prob(x, weight, targets, policy(logits), scale=scale).logp.sum().backward()
    stored.sum().backward()
    g = z.grad.bfloat16()
    assert dt.same_bits(weight.grad, dt.gemm(g.t(), x, policy().wgrad).bfloat16())


@pytest.mark.parametrize("logits", ["bf16", "fp32"])
@pytest.mark.parametrize("columns", [400, 403])
def test_logits_that_exist_for_a_moment_move_no_bit(columns, logits, monkeypatch):
    """The product and the kernel of rows, at once and in turns of rows, against the kernel of a whole layer, which takes up to 128."""
    tokens = 260
    x, weight, targets, scale = problem(tokens, 640, columns, 7)
    targets[1], bias = columns - 1, bits((columns,), torch.bfloat16, 8) / 8
    bias[::9] = -torch.inf

    def call(rows):
        before = plans_used()
        found = dt.linear_log_prob(x[rows], weight, targets[rows], policy(logits), scale=scale[rows], bias=bias, entropy=True, alpha=0.5)
        return found, plans_used() - before

    parts = [call(slice(first, first + 100)) for first in range(0, tokens, 100)]
    assert [products for _, products in parts] == [0, 0, 0]
    expected, products = [torch.cat(each) for each in zip(*(found for found, _ in parts))], 1 + (columns % 8 > 0)
    size = 4 if logits == "fp32" else 2
    for rows, turns in ((260, 1), (259, 2), (128, 3)):  # that fit into the bytes
        monkeypatch.setattr(log_prob_gradients, "STRIPE_BYTES", rows * size * -(-columns // 8) * 8)
        found, used = call(slice(tokens))
        assert equal(found, expected) and used <= turns * products and used > (turns - 1) * products
    monkeypatch.setattr(log_prob_gradients, "STRIPE_BYTES", 127 * size * columns)
    assert call(slice(tokens))[1] == 0


@pytest.mark.parametrize("columns", [7, 257, 1003])
def test_vocabularies_that_are_no_multiple_of_8(columns):
    """Rows of kept logits and of G begin at multiples of 16 bytes; what is behind a row's last column does not exist."""
    x, weight, targets, scale = problem(6, columns=columns)
    padded = torch.cat([weight, torch.full((-columns % 8, 48), float("nan")).bfloat16()])
    for logits, keep in (("bf16", True), ("bf16", False), ("fp32", True)):
        stored = dt.log_probs_of(dt.gemm(x, weight.t(), FORWARD[logits]), targets, scale=scale)
        *found, dweight = run(x, weight, targets, policy(logits), scale=scale, keep_logits=keep)
        *wanted, dpadded = run(x, padded, targets, policy(logits), scale=scale, keep_logits=keep, valid=columns)
        assert dt.same_bits(found[0], stored) and equal(found, wanted) and dt.same_bits(dweight, dpadded[:columns])
    none = [None] * 4
    kept = torch.ops.detgemm.linear_log_prob(x, weight, targets, *none, FORWARD["bf16"], policy().dgrad, policy().wgrad, columns, False, True,
                                             False)[6]
    assert kept.shape == (6, len(padded))


def test_a_contract_for_dx_has_as_many_leaves_as_tiles_leave_room_for():
    for sizes, reduction in (((64, 2048, 151936), "fold:19008"), ((64, 4096, 151936), "fold:38016"), ((512, 2560, 262144), "fold:131072"),
                             ((4096, 4096, 151936), "chain"), ((1, 64, 100), "chain"), ((1, 64, 512), "fold:64")):
        assert heads.dgrad_of(*sizes) == f"hopper/bf16/{reduction}->bf16"
    x, weight, targets, scale = problem(3, columns=1000)
    chosen = dt.Policy(FORWARD["bf16"], heads.dgrad_of(3, 48, 1000), "hopper/bf16/fold:16->fp32")
    assert chosen.dgrad == "hopper/bf16/fold:128->bf16"
    assert equal(run(x, weight, targets, chosen, keep_logits=True), run(x, weight, targets, chosen, keep_logits=False))
    for wrong, sentence in (((0, 1, 1), "tokens is 0: it must be an integer of 1 or more"), ((1, 2.0, 1), "hidden is 2.0"),
                            ((1, 1, True), "vocabulary is True"), ((1, 1, 1, "fp16"), "output is 'fp16': it must be bf16 or fp32")):
        with pytest.raises(detgemm.DetgemmError, match=sentence):
            heads.dgrad_of(*wrong)


def test_stripes_end_where_the_contract_of_dx_may_be_cut():
    for dgrad, size, tokens, wanted in (("fold:64", 1 << 20, 40, 13056), ("chain", 1000, 3, 160), ("chain", 0, 3, 16),
                                        ("tree:64", 1, 40, 9000), ("fold:64", 1 << 20, 0, 1 << 19)):
        assert log_prob_sharded._gradient_stripe(f"hopper/bf16/{dgrad}->bf16".encode(), size, tokens, 9000) == wanted, (dgrad, size)
    assert log_prob_sharded._gradient_stripe(b"no contract", 1, 1, 1) == 0


def test_rows_alone_in_a_batch_and_permuted():
    x, weight, targets, scale = problem(12, columns=700)
    whole = run(x, weight, targets, policy(), scale=scale)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))
    moved = dt.linear_log_prob(x[order], weight, targets[order], policy(), scale=scale[order], entropy=True)
    assert equal(moved, [each[order] for each in whole[:4]])
    for t in range(12):
        assert equal(dt.linear_log_prob(x[t], weight, targets[t], policy(), scale=scale[t], entropy=True), [each[t] for each in whole[:4]])
    cut = dt.linear_log_prob(x.view(3, 4, -1), weight, targets.view(3, 4), policy(), scale=scale.view(3, 4))
    assert dt.same_bits(cut.logp.view(-1), whole[0])
    assert dt.linear_log_prob(x[:0], weight, targets[:0], policy()).logp.shape == (0,)


def test_padding_does_not_exist():
    x, weight, targets, scale = problem(10, columns=5000)
    padded = torch.cat([weight, torch.full((120, 48), float("nan")).bfloat16()])
    for dgrad in ("fold:64", "chain"):
        *wanted, dweight = run(x, weight, targets, policy(dgrad=dgrad), scale=scale)
        *found, dpadded = run(x, padded, targets, policy(dgrad=dgrad), scale=scale, valid=5000)
        assert equal(found, wanted) and dt.same_bits(dpadded[:5000], dweight) and dpadded[5000:].eq(0).all()


def test_gradients_are_near_those_of_fp64_and_not_worse_than_pytorchs():
    x, weight, targets, _ = problem(32, columns=1000)
    x, weight = x * 4, weight * 4

    def grads(dtype, values):
        x64, w64 = (each.to(dtype, copy=True).requires_grad_() for each in (x, weight))
        logp = torch.log_softmax((x64 @ w64.t()).to(values), -1).gather(1, targets.clamp(min=0)[:, None])[:, 0]
        torch.where(targets < 0, 0.0, logp).sum().backward()
        return x64.grad.double(), w64.grad.double()

    exact, theirs = grads(torch.float64, torch.float64), grads(torch.bfloat16, torch.float32)
    a, b = x.clone().requires_grad_(), weight.clone().requires_grad_()
    dt.linear_log_prob(a, b, targets, policy("fp32")).logp.sum().backward()
    for found, torchs, wanted in zip((a.grad, b.grad), theirs, exact):
        assert (found.double() - wanted).norm() <= 1.01 * (torchs - wanted).norm()


@pytest.mark.parametrize("logits", ["bf16", "fp32"])
def test_alpha_is_a_factor_of_the_product(logits):
    x, weight, targets, scale = problem(24, columns=1000)
    bias = torch.linspace(-2, 2, 1000).bfloat16()
    found = run(x, weight, targets, policy(logits), scale=scale, bias=bias, alpha=0.3)
    assert equal(run(x, weight, targets, policy(logits), scale=scale, bias=bias, alpha=0.3, keep_logits=False), found)
    z = dt.gemm(x, weight.t(), FORWARD[logits], bias=bias, alpha=0.3)
    assert dt.same_bits(dt.log_probs_of(z, targets, scale=scale), found[0])
    # A power of two moves no bit but the exponent's: dX of the halved product is half of it, in G, and so is dW.
    whole = run(x, weight, targets, policy(logits), scale=scale)
    assert equal(run(x, weight * 2, targets, policy(logits), scale=scale, alpha=0.5)[:4], whole[:4])
    head, added = weight.clone().requires_grad_(), torch.zeros(1000).bfloat16().requires_grad_()
    out = dt.linear_log_prob(x, head, targets, policy(logits), bias=added, alpha=0.5)
    out.logp.sum().backward()
    z = dt.gemm(x, weight.t(), FORWARD[logits], alpha=0.5).requires_grad_()
    dt.log_probs_of(z, targets).sum().backward()
    g = z.grad.bfloat16()
    assert dt.same_bits(head.grad, dt.gemm((g * 0.5).t(), x, policy().wgrad).bfloat16())
    assert dt.same_bits(added.grad, dt.gemm(g.new_ones((1, 24)), g, policy().wgrad)[0].bfloat16())  # alpha is the product's alone


def test_the_bias_masks_and_has_a_gradient():
    x, weight, targets, _ = problem(16, columns=300)
    bias = torch.zeros(300).bfloat16()
    bias[250:] = float("-inf")
    bias.requires_grad_()
    out = dt.linear_log_prob(x, weight, targets.clamp(max=100), policy("fp32"), bias=bias)
    out.logp.sum().backward()
    assert dt.same_bits(out.logp.detach(), dt.linear_log_prob(x, weight, targets.clamp(max=100), policy("fp32"), valid=250).logp)
    assert bias.grad[250:].eq(0).all() and bias.grad[:250].ne(0).any()


@pytest.mark.parametrize("flag", [False, True])
def test_micro_batches_continue_in_main_grad(flag):
    x, weight, targets, scale = problem(128, 32, 600)

    def train(cut):
        head = torch.nn.Parameter(weight.clone())
        head.main_grad = torch.zeros(weight.shape)
        if flag:
            head.grad_added_to_main_grad = False
        for rows in torch.arange(128).split(cut):
            part = x[rows].clone().requires_grad_()
            out = dt.linear_log_prob(part, head, targets[rows], policy(), scale=scale[rows])
            (out.logp * torch.linspace(-1, 1, 128)[rows]).sum().backward()
            assert (head.grad is not None and head.grad.eq(0).all() and head.grad_added_to_main_grad) if flag else head.grad is None
            head.grad = None
        return head.main_grad

    whole = train(128)
    assert dt.same_bits(train(64), whole) and dt.same_bits(train(16), whole)
    assert not dt.same_bits(train(8), whole)  # a cut inside of a leaf


def test_random_borders_have_the_bits_of_one_rank():
    """All that ranks do but for moving bytes: nodes of each, joined."""
    source = random.Random(5)
    z, ids = torch.randn((16, 20000), generator=torch.Generator().manual_seed(6)) * 3, torch.full((16, 1), 4096)
    wanted = plain.finish(plain.nodes(z, None, True), z.gather(1, ids), ids, 20000)
    for ranks in (1, 3, 8):
        borders = [0, *sorted(source.randrange(1251) * 16 for _ in range(ranks - 1)), 20000]
        every = []
        for begin, end in zip(borders, borders[1:]):
            parts = []
            for first, last, level in shards.stripes(begin, end, log_prob_sharded.STRIPE, False):
                parts += shards.pieces(level, first // 16 >> level, plain.nodes(z[:, first:last], None, True, level))
            parts = shards.merged(parts)
            assert [part[:2] for part in parts] == shards.aligned(begin // 16, -(-end // 16))
            every += parts
        assert equal(plain.finish(shards.top(every), z.gather(1, ids), ids, 20000), wanted), borders
    # Control: a border at 8
    cut = [plain.root(plain.nodes(part, None, True)) for part in (z[:, :10008], z[:, 10008:])]
    assert not dt.same_bits(plain.join(*cut).s, plain.root(plain.nodes(z, None, True)).s)


# One process imports PyTorch, which takes longer than the test, and becomes three.
RANKS = """
import datetime, os, sys, torch, torch.distributed as dist
sys.path.insert(0, {folder!r})
import test_log_prob_linear as t, detgemm, detgemm.torch as dt
children = []
for rank in range(3):
    child = os.fork()
    if child == 0:
        break
    children.append(child)
else:
    raise SystemExit(any([os.waitpid(child, 0)[1] for child in children]))
torch.set_num_threads(1)  # replaces the pool of threads, which autograd's threads of two GPUs would do at the same time
dist.init_process_group("gloo", init_method="file://{meeting}", rank=rank, world_size=3, timeout=datetime.timedelta(seconds=60))
x, weight, targets, scale = t.problem(8, 32, 4096)
tree = t.policy(dgrad="tree:64")
whole = t.run(x, weight, targets, tree, scale=scale)
groups = [dist.new_group(list(range(count))) for count in (1, 2, 3)]
for group, borders in zip(groups, ([0, 4096], [0, 2048, 4096], [0, 1040, 2512, 4096])):
    if rank >= len(borders) - 1:
        continue
    mine = slice(borders[rank], borders[rank + 1])
    own = weight[mine].clone().requires_grad_()
    if len(borders) < 4:
        found = t.run(x, own.detach(), targets, tree, scale=scale, group=group, vocab_start=mine.start)
        assert t.equal(found[:5], whole[:5]) and dt.same_bits(found[5], whole[5][mine]), borders
        continue
    out = dt.linear_log_prob(x, own, targets, tree, scale=scale, entropy=True, group=group, vocab_start=mine.start)
    assert t.equal([each.detach() for each in out], whole[:4]), borders
    cut = dt.linear_log_prob(x, own, targets.clamp(max=3000), tree, scale=scale, group=group, vocab_start=mine.start, valid=3001)
    assert dt.same_bits(cut.logp, dt.linear_log_prob(x, weight, targets.clamp(max=3000), tree, scale=scale, valid=3001).logp)
    for bad, sentence in (({{"vocab_start": 16}}, "rank 0 begins at column 16"), ({{"valid": 9000 + rank}}, "valid is [9000"),
                          ({{"vocab_start": mine.start, "valid": 9000}}, "the ranks have 4096 columns")):
        try:
            dt.linear_log_prob(x, own, targets, tree, group=group, **bad)
            raise SystemExit("not refused: " + sentence)
        except detgemm.DetgemmError as error:
            assert sentence in str(error), error
    try:
        dt.linear_log_prob(x.requires_grad_(), own, targets, t.policy(), group=group, vocab_start=mine.start)
        raise SystemExit("not refused")
    except detgemm.DetgemmError as error:
        assert "with 3 ranks dX is a sum over all of them, so it must be tree:LEAF" in str(error)
dist.destroy_process_group()
print("equal")
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="PyTorch has no torch.distributed here")
def test_one_two_and_three_processes(tmp_path):
    program = RANKS.format(folder=os.path.dirname(__file__), meeting=tmp_path / "meeting")
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=240)
    assert done.returncode == 0 and done.stdout.count("equal") == 3, done.stdout


def test_operators_that_are_called_directly_refuse_shapes():
    """Before a byte is read past an end."""
    x, weight, targets, _ = problem(4, 16, 50)
    p = policy()

    def call(x=x, weight=weight, valid=50, keep=True, bias=None, targets=targets):
        return torch.ops.detgemm.linear_log_prob(x, weight, targets, None, bias, None, None, p.forward, p.dgrad, p.wgrad, valid, False, keep,
                                                 False)

    def backward(ones=None, main_grad=None, valid=50, kept=None):
        logp, lse, entropy, _, k, r, made = call()
        kept = made if kept is None else kept
        return torch.ops.detgemm.linear_log_prob_backward(torch.ones(4), None, None, x, weight, targets, None, None, k, r, lse, entropy, kept,
                                                          main_grad, None, ones, p.forward, p.dgrad, p.wgrad, valid, 1 << 20, True, True,
                                                          ones is None)

    for wrong, sentence in ((lambda: call(weight=weight[None]), "weight has 3 dimensions"), (lambda: call(x=x[0]), "x has 1 dimensions"),
                            (lambda: call(valid=51), "weight has 50 rows and valid is 51: it must have at least as many"),
                            (lambda: call(valid=-1), "valid is -1: it must not be negative"), (backward, "ones is absent"),
                            (lambda: call(targets=targets.repeat(2)), "targets has 8 elements: it must have one for each of the 4 rows"),
                            (lambda: call(bias=torch.zeros(49)), "bias has 49 elements and valid is 50"),
                            (lambda: call(bias=torch.zeros(50, 1)), "bias has 2 dimensions: it must have 1"),
                            (lambda: backward(torch.ones(1, 4), kept=torch.zeros(4, 49).bfloat16()), "kept has 49 columns and valid is 50"),
                            (lambda: backward(torch.ones(1, 4), torch.zeros(40, 16)), "main_grad has 40 rows and valid is 50"),
                            (lambda: backward(torch.ones(1, 4), torch.zeros(50)), "main_grad has 1 dimensions: it must have 2")):
        with pytest.raises(RuntimeError, match=sentence):
            wrong()


def test_operators_follow_pytorchs_rules():
    x, weight, targets, scale = problem(4, 16, 50, 2)
    targets.clamp_(max=40)
    p = policy()
    torch.library.opcheck(torch.ops.detgemm.linear_log_prob.default, (
        x.requires_grad_(), weight.requires_grad_(), targets, scale, None, None, None, p.forward, p.dgrad, p.wgrad, 50, True, True,
        False), test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))
    with dt.audit() as report:
        dt.linear_log_prob(x, weight, targets, p).logp.sum().backward()
    assert {(row[0].split(".")[-1], row[3]) for row in report.rows if row[2] == "row-local"} == {
        ("linear_log_prob", "logsum16 tree"), ("linear_log_prob_backward", "logsum16 tree")}


@pytest.mark.parametrize("accumulate", [False, True])
def test_compiled_heads_have_the_eager_gradients(accumulate):
    from torch._dynamo.testing import CompileCounterWithBackend
    x, weight, targets, scale = problem(48, 32, 200)
    targets.clamp_(max=99)
    chosen = policy()
    torch._dynamo.reset()

    def gradients(compile_it):
        head = torch.nn.Parameter(weight.clone())
        if accumulate:
            head.main_grad = torch.zeros(weight.shape)

        def loss(part, ids, factor):
            out = dt.linear_log_prob(part, head, ids, chosen, scale=factor, entropy=True)
            return (out.logp - out.entropy).sum()

        counter = CompileCounterWithBackend("aot_eager")
        call = torch.compile(loss, backend=counter, fullgraph=True, dynamic=True) if compile_it else loss
        found = []
        for rows in (slice(0, 16), slice(16, 48)):
            part = x[rows].clone().requires_grad_()
            call(part, targets[rows], scale[rows]).backward()
            found.append(part.grad)
        assert counter.frame_count == int(compile_it)
        return [*found, head.main_grad if accumulate else head.grad]

    assert equal(gradients(True), gradients(False))


def test_a_scale_may_change_under_compile():
    """A number that changes is a symbol, of which the compiler makes no sentence."""
    from torch._dynamo.testing import CompileCounterWithBackend
    x, weight, targets, _ = problem(4, 16, 50)
    counter, chosen = CompileCounterWithBackend("eager"), policy()
    torch._dynamo.reset()
    call = torch.compile(lambda factor: dt.linear_log_prob(x, weight, targets, chosen, scale=factor).logp, backend=counter, fullgraph=True)
    for factor in (0.7, 0.9, 1.3):
        assert dt.same_bits(call(factor), dt.linear_log_prob(x, weight, targets, chosen, scale=factor).logp)
    assert counter.frame_count == 2


@pytest.mark.parametrize("change, sentence", [
    ({"x": torch.zeros(3, 8)}, r"x is fp32: hopper/bf16/chain->bf16 reads bf16: call .bfloat16\(\) on it"),
    ({"weight": torch.zeros(50, 9).bfloat16()}, r"weight \(50, 9\): they must be \[..., H\] and V x H"),
    ({"targets": torch.zeros(4, dtype=torch.int64)}, r"targets has the shape \(4,\)"),
    ({"targets": torch.zeros(3)}, "targets.dtype is torch.float32: it must be int64 or int32"),
    ({"targets": torch.tensor([0, 50, 1])}, r"targets\[1,0\] is 50: it must be below the vocabulary's end, 50"),
    ({"policy": None}, "policy is None"), ({"entropy": 1}, "entropy is 1: it must be True or False"),
    ({"policy": dt.Policy("ieee_fma/fp16/chain->fp16", *["ieee_fma/fp16/chain->fp32"] * 2), "x": torch.zeros(3, 8).half(),
      "weight": torch.zeros(50, 8).half()}, "policy.input is torch.float16: gradients of logits are bf16"),
    ({"valid": 51}, "valid is 51: it must be an integer from 1 to the 50 rows"), ({"vocab_start": 16}, "vocab_start is 16"),
    ({"bias": torch.zeros(3)}, r"bias has the shape \(3,\)"), ({"scale": -1.0}, "scale is -1.0"),
    ({"alpha": float("nan")}, "alpha is nan: it must be 0, or a finite number"), ({"alpha": 1e39}, "alpha is 1e[+]39: it must be 0, or a finite number"),
    ({"scale": 1e-50}, "scale is 1e-50: it must be finite and above zero"), ({"scale": 1e39}, "scale is 1e[+]39"),
    ({"valid": True}, "valid is True: it must be an integer"),
    ({"scale": torch.tensor([1.0, 0.0, 1.0])}, r"scale\[1\] is 0.000000: it must be finite and positive"),
])
def test_wrong_calls_are_refused_in_a_sentence(change, sentence):
    given = {"x": torch.zeros(3, 8).bfloat16(), "weight": torch.zeros(50, 8).bfloat16(), "targets": torch.tensor([0, 1, 49]),
             "policy": policy(), **change}
    with pytest.raises(RuntimeError, match=sentence):
        dt.linear_log_prob(**given)
