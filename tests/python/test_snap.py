# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Contracts of `snap` through PyTorch: the operator, layers whose weights are snapped once, and gradients."""
import copy
import io
import pickle
import subprocess
import sys

import pytest
import torch
from conftest import bits, devices

import detgemm
import detgemm.torch as dt

OPS = torch.ops.detgemm
SNAP, SNAP32 = "snap/bf16/fold:128->bf16", "snap/bf16/fold:128->fp32"
POLICY = dt.Policy(SNAP, SNAP, SNAP32)
ON = pytest.mark.parametrize("device", devices())


@ON
def test_the_operator_has_the_librarys_bits(device):
    x = bits((7, 300), torch.bfloat16)
    wanted = detgemm.snap(x, 128)
    assert not dt.same_bits(wanted, x)
    there = x.to(device)
    assert dt.same_bits(dt.snap(there, 128).cpu(), wanted)
    assert dt.same_bits(dt.snap(there.t().contiguous().t(), 128).cpu(), wanted)
    assert dt.same_bits(dt.snap(there.t(), 128, "rows").cpu(), wanted.t().contiguous())
    assert dt.same_bits(dt.snap(there.view(1, 7, 300).expand(2, 7, 300), 128)[1].cpu(), wanted)
    assert dt.snap(there[:0], 128).shape == (0, 300)
    assert dt.is_snapped(dt.snap(there, 128), 128) and not dt.is_snapped(there, 128)
    assert dt.is_snapped(dt.snap(there, 128).view(7, 1, 300), 128)
    assert not dt.is_snapped(dt.snap(there.t(), 128), 128, "rows")
    apart = torch.zeros(7, 600, dtype=torch.bfloat16, device=device)[:, ::2]  # no stride is 1
    apart.copy_(there)
    assert not dt.is_snapped(apart, 128) and dt.is_snapped(apart.copy_(dt.snap(there, 128)), 128)


@ON
def test_promises_do_not_change_bits(device):
    a, b = bits((9, 320), torch.bfloat16, 0, device), bits((320, 24), torch.bfloat16, 1, device)
    whole = OPS.gemm(a, b, SNAP)
    assert dt.same_bits(whole[:1], OPS.gemm(a[:1], b, SNAP))
    sa, sb = dt.snap(a, 128), dt.snap(b, 128, "rows")
    assert dt.same_bits(OPS.gemm(sa, sb, SNAP, a_snapped=True, b_snapped=True), whole)
    assert dt.same_bits(dt.gemm(a, sb, SNAP, out=torch.empty_like(whole), b_snapped=True), whole)
    assert dt.same_bits(OPS.bmm(sa[None], sb[None], SNAP, a_snapped=True, b_snapped=True)[0], whole)
    acc = torch.zeros(9, 24, device=device)
    OPS.accumulate_(acc, sa[:, :256], sb[:256], SNAP32, a_snapped=True, b_snapped=True)
    OPS.accumulate_(acc, a[:, 256:], b[256:], SNAP32)
    assert dt.same_bits(acc, OPS.gemm(a, b, SNAP32))
    # The control: promised, and snapped for another leaf.
    assert not dt.same_bits(OPS.gemm(dt.snap(a, 256), sb, SNAP, a_snapped=True, b_snapped=True), whole)


@ON
def test_gradients_round_their_own_operands(device):
    """dX reduces over N and dW over tokens. That x and W are snapped along K says nothing there: a backward pass that
    passed the promise on would have the bits of `broken`, which the data tell apart."""
    x, weight = dt.snap(bits((140, 256), torch.bfloat16, 0, device), 128), bits((192, 256), torch.bfloat16, 1, device)
    weight, dy = dt.snap(weight, 128), bits((140, 192), torch.bfloat16, 2, device)
    x.requires_grad_(), weight.requires_grad_()
    y = dt.linear(x, weight, None, POLICY, weight_snapped=True)
    y.backward(dy)
    still = weight.detach()
    assert dt.same_bits(y, OPS.gemm(x.detach(), still.t(), SNAP))
    assert dt.same_bits(x.grad, OPS.gemm(dt.snap(dy, 128), dt.snap(still, 128, "rows"), SNAP, a_snapped=True,
                                         b_snapped=True))
    assert dt.same_bits(weight.grad, OPS.gemm(dt.snap(dy, 128, "rows").t(), dt.snap(x.detach(), 128, "rows"), SNAP32,
                                              a_snapped=True, b_snapped=True).bfloat16())
    broken = OPS.gemm(dy, still, SNAP, b_snapped=True)
    assert not dt.same_bits(x.grad, broken)
    broken = OPS.gemm(dy.t(), x.detach(), SNAP32, a_snapped=True, b_snapped=True)
    assert not dt.same_bits(weight.grad, broken.bfloat16())


@ON
def test_gradients_of_gemm_and_bmm_pass_no_promise_on(device):
    a, b = bits((130, 256), torch.bfloat16, 0, device), bits((256, 136), torch.bfloat16, 1, device)
    dy = bits((130, 136), torch.bfloat16, 2, device)
    a, b = dt.snap(a, 128), dt.snap(b, 128, "rows")
    found = []
    for promised in (False, True):
        for product in (OPS.gemm, lambda x, y, *more, **options: OPS.bmm(x[None], y[None], *more, **options)[0]):
            x, w = a.clone().requires_grad_(), b.clone().requires_grad_()
            product(x, w, SNAP, a_snapped=promised, b_snapped=promised).backward(dy)
            found.append((x.grad, w.grad))
    assert all(dt.same_bits(p, q) for pair in found[1:] for p, q in zip(pair, found[0]))
    assert not dt.same_bits(found[0][0], OPS.gemm(dy, b.t(), SNAP, a_snapped=True, b_snapped=True))


def test_gradients_are_right():
    """Within the contract's bound of the exact ones, so that no factor or transpose is wrong."""
    x, weight = torch.randn(130, 256).bfloat16().requires_grad_(), torch.randn(64, 256).bfloat16().requires_grad_()
    dy = torch.randn(130, 64).bfloat16()
    dt.linear(x, weight, None, POLICY).backward(dy)
    for found, exact in ((x.grad, dy.double() @ weight.detach().double()), (weight.grad, dy.double().t() @ x.detach().double())):
        assert (found.double() - exact).norm() < 4e-3 * exact.norm()
    y = bits((4, 128), torch.bfloat16).requires_grad_()
    dt.snap(y, 64).backward(torch.full((4, 128), 3.0).bfloat16())
    assert (y.grad == 3).all()


def layers():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(256, 192), torch.nn.ReLU(), torch.nn.Linear(192, 128)).bfloat16()


@ON
def test_weights_snapped_once(device):
    x = bits((33, 256), torch.bfloat16, 0, device)
    plain, once = layers().to(device), layers().to(device)
    dt.convert(plain, POLICY)
    dt.convert(once, POLICY, snap_weights=True)
    assert dt.is_snapped(once[0].weight, 128) and not dt.is_snapped(plain[0].weight, 128)
    assert dt.same_bits(once(x), plain(x)) and dt.same_bits(once(x)[:1], once(x[:1]))
    # A checkpoint of it is an ordinary one, which another model loads and snaps to the same bytes.
    again = layers().to(device)
    again.load_state_dict(once.state_dict())
    dt.convert(again, POLICY, snap_weights=True)
    assert all(dt.same_bits(p, q) for p, q in zip(again.parameters(), once.parameters()))
    # Gradients need no promise: the backward pass rounds the weight for its own K.
    once(x).float().square().sum().backward()
    rows = [layer.weight.grad.clone() for layer in (once[0], once[2])]
    once.zero_grad()
    for layer in (once[0], once[2]):
        layer.weight_snapped_at = None
    once(x).float().square().sum().backward()
    assert all(dt.same_bits(p, layer.weight.grad) for p, layer in zip(rows, (once[0], once[2])))


def test_a_weight_that_was_written_since_is_refused():
    x = bits((3, 256), torch.bfloat16)
    for write in (lambda m: torch.optim.SGD(m.parameters(), lr=1.0).step(),
                  lambda m: m.load_state_dict(layers().state_dict()),
                  lambda m: setattr(m[0], "weight", torch.nn.Parameter(layers()[0].weight.detach().clone()))):
        model = layers()
        dt.convert(model, POLICY, snap_weights=True)
        model(x).float().sum().backward()
        write(model)
        with pytest.raises(RuntimeError, match="was written or moved after it was snapped: call detgemm.torch.snap_weights"):
            model(x)
        assert dt.snap_weights(model) == ["0", "2"]
        plain = layers()
        plain.load_state_dict(model.state_dict())
        dt.convert(plain, POLICY)
        assert dt.same_bits(model(x), plain(x))


def snapped():
    model = layers()
    dt.convert(model, POLICY, snap_weights=True)
    return model


def numpy_write(model):
    model[0].weight.detach().view(torch.int16).numpy()[:] = layers()[0].weight.detach().view(torch.int16).numpy()


# Writes that PyTorch does not count: how loaders write weights.
UNCOUNTED = {
    "data.copy_": lambda m: m[0].weight.data.copy_(layers()[0].weight),
    "data.mul_": lambda m: m[0].weight.data.mul_(1.1),
    "numpy": numpy_write,
    "the last row": lambda m: m[0].weight.data[-1].copy_(layers()[0].weight[-1]),
}


@pytest.mark.parametrize("write", UNCOUNTED)
def test_writes_that_pytorch_does_not_count_are_found_on_a_cpu(write):
    x = bits((3, 256), torch.bfloat16)
    with torch.no_grad():
        model = snapped()
        model(x)
        state = model[0].weight._version
        assert dt.check_snapped(model) == ["0", "2"]
        UNCOUNTED[write](model)
        assert model[0].weight._version == state
        with pytest.raises(RuntimeError, match="the weights of 1 layers were written after they were snapped: 0: call"):
            dt.check_snapped(model)
        with pytest.raises(RuntimeError, match="was written or moved after it was snapped"):
            for _ in range(1 if write != "the last row" else 192 // 16):  # as many passes as there are samples
                model(x)
        dt.snap_weights(model)
        model(x)
        assert dt.check_snapped(model) == ["0", "2"]


@ON
def test_what_the_forward_pass_and_the_check_see_on_a_device(device):
    """A device is not waited for: a forward pass there finds a move, and `check_snapped` finds every write."""
    model = snapped().to(device)
    x = bits((3, 256), torch.bfloat16, 0, device)
    model(x)  # moved, looked at once
    model[0].weight.data.copy_(layers()[0].weight)
    with pytest.raises(RuntimeError, match="written after they were snapped: 0"):
        dt.check_snapped(model)


def reloaded(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def checkpointed(model):
    model.load_state_dict(snapped().state_dict())
    return model


# What moves or copies the bytes and does not change them.
KEPT = {"deepcopy": copy.deepcopy, "torch.load": reloaded, "share_memory": lambda m: m.share_memory(), "a checkpoint": checkpointed,
        "pickle": lambda m: pickle.loads(pickle.dumps(m))}


@pytest.mark.parametrize("way", KEPT)
def test_a_copy_of_a_snapped_model_is_snapped(way):
    x, model = bits((3, 256), torch.bfloat16), snapped()
    y = model(x)
    there = KEPT[way](model)
    assert dt.same_bits(there(x), y) and dt.check_snapped(there) == ["0", "2"]
    # The control: a copy that was written is refused.
    with torch.no_grad():
        there[0].weight.mul_(1.1)
    with pytest.raises(RuntimeError, match="call detgemm.torch.snap_weights"):
        there(x)


def test_another_leaf_is_another_promise():
    model = snapped()
    with torch.no_grad():
        model[0].weight.copy_(dt.snap(layers()[0].weight, 64))
        model[0].policy = dt.Policy("snap/bf16/fold:64->bf16", SNAP, SNAP32)
        model(bits((3, 256), torch.bfloat16))
        model[0].policy = POLICY
        with pytest.raises(RuntimeError, match="call detgemm.torch.snap_weights"):
            model(bits((3, 256), torch.bfloat16))


def test_the_command_makes_the_same_checkpoint(tmp_path):
    files = pytest.importorskip("safetensors.torch")
    model = layers()
    files.save_file(model.state_dict(), tmp_path / "in.safetensors", {"format": "pt"})
    subprocess.run([sys.executable, "-m", "detgemm", "snap", tmp_path / "in.safetensors", tmp_path / "out.safetensors"],
                   check=True, stdout=subprocess.DEVNULL)
    dt.convert(model, POLICY, snap_weights=True)
    found = files.load_file(tmp_path / "out.safetensors")
    assert set(found) == set(model.state_dict())
    assert all(dt.same_bits(found[name], tensor) for name, tensor in model.state_dict().items())


def test_shared_weights_and_compiled_layers():
    model = torch.nn.Sequential(torch.nn.Linear(128, 128, bias=False), torch.nn.Linear(128, 128, bias=False)).bfloat16()
    model[1].weight = model[0].weight
    dt.convert(model, POLICY, snap_weights=True)
    x = bits((5, 128), torch.bfloat16)
    y = model(x)
    assert dt.same_bits(torch.compile(model, backend="eager", fullgraph=True)(x), y)
    model[1].policy = dt.Policy("snap/bf16/fold:64->bf16", SNAP, SNAP32)
    with pytest.raises(RuntimeError, match="shared by layers with LEAF 128 and 64"):
        dt.snap_weights(model)


def test_the_switch_takes_contracts_of_snap():
    a, b = bits((5, 256), torch.bfloat16), bits((256, 24), torch.bfloat16, 1)
    with dt.aten({torch.bfloat16: SNAP}, devices="cpu"):
        assert dt.same_bits(a @ b, OPS.gemm(a, b, SNAP))


def test_opcheck():
    x = bits((5, 130), torch.bfloat16)
    torch.library.opcheck(OPS.snap.default, (x, 64))
    torch.library.opcheck(OPS.snap.default, (x.clone().requires_grad_(), 64, "rows"))
    torch.library.opcheck(OPS.gemm.default, (x, bits((130, 6), torch.bfloat16, 1), SNAP), {"a_snapped": False})
    weight = bits((6, 130), torch.bfloat16, 1)
    torch.library.opcheck(OPS.linear.default, (x.clone().requires_grad_(), dt.snap(weight, 128).requires_grad_(), None, None,
                                               None, SNAP, SNAP, SNAP32), {"weight_snapped": True})


WRONG = {
    "leaf": (lambda x: dt.snap(x, 96), "leaf_k is 96: it must be a multiple of 64"),
    "k": (lambda x: dt.snap(x, 64, "depth"), 'k is "depth": it must be "cols" or "rows"'),
    "rows of three dimensions": (lambda x: dt.snap(x[None], 64, "rows"), "x has 3 dimensions"),
    "one dimension": (lambda x: dt.snap(x[0], 64), "two dimensions or more"),
    "type": (lambda x: dt.snap(x.float(), 64), "dtype is fp32: snap is defined for bf16"),
    "no tensor": (lambda x: dt.is_snapped([1.0], 64), "x is a list: it must be a tensor"),
    "a promise of another contract": (lambda x: OPS.gemm(x, x.t(), "hopper/bf16/chain", b_snapped=True), "b_snapped is set"),
    "weights of another contract": (lambda x: dt.convert(layers(), dt.Policy(*["hopper/bf16/chain->bf16"] * 2, SNAP32),
                                                         snap_weights=True), "weights are snapped for contracts of snap"),
    "weights of fp32": (lambda x: dt.convert(layers().float(), POLICY, snap_weights=True), 'the weight of layer "0" is torch.float32'),
    "no layer": (lambda x: dt.snap_weights(layers()), "has no detgemm.torch.Linear: convert it first"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_sentence(case):
    call, said = WRONG[case]
    with pytest.raises(RuntimeError, match=said):
        call(bits((3, 128), torch.bfloat16))
