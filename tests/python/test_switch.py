# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The switch for aten: what it catches, in which bits, and that it leaves nothing behind."""
import functools
import threading

import pytest
import torch
from conftest import BF16, bits

import detgemm
import detgemm.torch as dt

OPS = torch.ops.detgemm
CONTRACTS = {torch.bfloat16: BF16, torch.float32: "ieee_fma/fp32/chain->fp32"}


def switch(**options):
    return dt.aten(CONTRACTS, devices="cpu", **options)


A, B = bits((9, 32), torch.bfloat16), bits((32, 8), torch.bfloat16, 1)
BIAS, C = bits((8,), torch.bfloat16, 2), bits((9, 8), torch.bfloat16, 3)
X, Y = bits((3, 9, 32), torch.bfloat16, 4), bits((3, 32, 8), torch.bfloat16, 5)
PRODUCT = OPS.gemm(A, B, BF16)
OUT = torch.empty(9, 8, dtype=torch.bfloat16)

# What a program calls, the operator that it arrives as, and the bits that it must have.
CALLS = {
    "mm": (lambda: A @ B, "mm", PRODUCT),
    "mm out": (lambda: torch.mm(A, B, out=torch.empty_like(OUT)), "mm.out", PRODUCT),
    "mm resized out": (lambda: torch.mm(A, B, out=torch.empty(0, dtype=torch.bfloat16)), "mm.out", PRODUCT),
    "linear": (lambda: torch.nn.functional.linear(A, B.t()), "mm", PRODUCT),
    "linear 3-d": (lambda: torch.nn.functional.linear(X, B.t()), "mm", torch.stack([OPS.gemm(x, B, BF16) for x in X])),
    "linear bias": (lambda: torch.nn.functional.linear(A, B.t(), BIAS), "addmm", OPS.gemm(A, B, BF16, None, BIAS)),
    "addmm": (lambda: torch.addmm(C, A, B, beta=0.5, alpha=2), "addmm",
              OPS.gemm(A, B, BF16, C, alpha=2.0, beta=0.5)),
    "addmm beta 0": (lambda: torch.addmm(C / 0, A, B, beta=0), "addmm", PRODUCT),
    "addmm column": (lambda: torch.addmm(C[:, :1], A, B), "addmm", OPS.gemm(A, B, BF16, C[:, :1].expand(9, 8), beta=1.0)),
    "addmm out": (lambda: torch.addmm(BIAS, A, B, out=torch.empty_like(OUT)), "addmm.out", OPS.gemm(A, B, BF16, None, BIAS)),
    "addmm in place": (lambda: C.clone().addmm_(A, B), "addmm_", OPS.gemm(A, B, BF16, C, beta=1.0)),
    "bmm": (lambda: X @ Y, "bmm", OPS.bmm(X, Y, BF16)),
    "bmm out": (lambda: torch.bmm(X, Y, out=torch.empty(3, 9, 8, dtype=torch.bfloat16)), "bmm.out", OPS.bmm(X, Y, BF16)),
    "einsum": (lambda: torch.einsum("bij,bjk->bik", X, Y), "bmm", OPS.bmm(X, Y, BF16)),
    "baddbmm": (lambda: torch.baddbmm(C, X, Y), "baddbmm", OPS.bmm(X, Y, BF16, C.expand(3, 9, 8), beta=1.0)),
    "mv": (lambda: A @ B[:, 0], "mv", OPS.gemm(A, B[:, :1], BF16)[:, 0]),
    "addmv": (lambda: torch.addmv(C[:, 0], A, B[:, 0]), "addmv", OPS.gemm(A, B[:, :1], BF16, C[:, :1], beta=1.0)[:, 0]),
    "dot": (lambda: torch.dot(A[0], B[:, 0]), "dot", OPS.gemm(A[:1], B[:, :1], BF16)[0, 0]),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_product_is_caught_with_its_bits(call):
    run, operator, expected = CALLS[call]
    with switch() as used:
        result = run()
    assert {op: count for (op, _, _), count in used.items()} == {operator: 1}
    assert dt.same_bits(result.contiguous(), expected.contiguous())


def test_backward_passes_are_caught():
    a, b, bias = (t.clone().requires_grad_() for t in (A, B, BIAS))
    with switch() as used:
        torch.nn.functional.linear(a, b.t(), bias).backward(C)
    assert sum(used.values()) == 3
    assert dt.same_bits(a.grad, OPS.gemm(C, B.t(), BF16)) and dt.same_bits(b.grad, OPS.gemm(A.t(), C, BF16))


def test_compiled_graphs_are_caught():
    compiled = torch.compile(lambda a, b: a @ b, fullgraph=True)  # inductor writes into `out`; no C++ to compile
    compiled(A, B)  # compiled outside, used inside
    with switch() as used:
        inside = compiled(A, B)
    assert dict(used) == {("mm.out", torch.bfloat16, BF16): 1} and dt.same_bits(inside, PRODUCT)
    compiled(A, B)
    assert sum(used.values()) == 1


def kernels():
    return {name: torch._C._dispatch_dump("aten::" + name)
            for name in ("mm", "mm.out", "addmm", "addmm.out", "bmm", "bmm.out", "baddbmm", "mv", "addmv.out", "dot", "vdot")}


def test_it_leaves_nothing_behind():
    before = kernels()
    with switch():
        assert kernels() != before
    assert kernels() == before
    with pytest.raises(ZeroDivisionError):
        with switch():
            raise ZeroDivisionError
    assert kernels() == before


def test_scopes_nest():
    with switch() as outer:
        with dt.aten({torch.float32: "ieee_fma/fp32/fold:16->fp32"}, devices="cpu") as inner:
            a, b = A.float(), B.float()
            assert dt.same_bits(a @ b, OPS.gemm(a, b, "ieee_fma/fp32/fold:16->fp32"))
            with pytest.raises(RuntimeError, match="mm was called with torch.bfloat16"):
                A @ B
        assert dt.same_bits(A @ B, PRODUCT)
    assert (sum(outer.values()), sum(inner.values())) == (1, 1)


def test_other_types_are_refused_or_passed():
    d = torch.randn(3, 3, dtype=torch.float64)
    with switch(), pytest.raises(RuntimeError, match='mm was called with torch.float64: the switch has contracts for .*"pass"'):
        d @ d
    expected = d @ d
    with switch(others="pass") as used:
        assert dt.same_bits(d @ d, expected)
        assert torch.equal(torch.arange(4).reshape(2, 2) @ torch.eye(2, dtype=torch.int64), torch.arange(4).reshape(2, 2))
    assert set(used) == {("mm", torch.float64, "aten"), ("mm", torch.int64, "aten")} and "aten" in str(used)


def test_another_thread_may_not_enter():
    said = []

    def enter():
        try:
            with switch():
                pass
        except detgemm.DetgemmError as error:
            said.append(str(error))

    with switch() as used:
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        other = threading.Thread(target=lambda: A @ B)  # but the switch holds for it
        other.start()
        other.join()
    assert "another thread is inside" in said[0] and sum(used.values()) == 1


def test_compiled_templates_are_refused():
    from torch._inductor import config
    with config.patch(max_autotune=True, max_autotune_gemm_backends="ATEN,TRITON"):
        with pytest.raises(detgemm.DetgemmError, match='max_autotune_gemm_backends is "ATEN,TRITON"'):
            switch().__enter__()
    with config.patch(max_autotune=True, max_autotune_gemm_backends="ATEN"), switch():
        pass


@pytest.mark.parametrize("arguments, said", [
    (({torch.bfloat16: "hopper/fp16/chain"},), "it reads torch.float16"), (({}, "x"), "devices has 'x'"),
    (({torch.float8_e5m2: "hopper/e5m2/tree:128"},), "aten multiplies fp8 with scales"),
    (({torch.bfloat16: "hoper/bf16/chain"},), "hoper")])
def test_wrong_tables_are_refused(arguments, said):
    with pytest.raises(detgemm.DetgemmError, match=said):
        dt.aten(arguments[0], devices=arguments[1] if len(arguments) > 1 else "cpu")
    with pytest.raises(detgemm.DetgemmError, match="others is 'maybe'"):
        dt.aten(CONTRACTS, others="maybe")


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("second", [0, 1])
def test_scopes_may_be_left_in_any_order(first, second):
    """Generators and fixtures leave the outer scope first. The products that follow are those of the innermost that is left."""
    contracts = [BF16, "hopper/bf16/fold:16->bf16", "ieee_fma/bf16/chain->bf16"]
    scopes = [dt.aten({torch.bfloat16: each}, devices="cpu") for each in contracts]
    plain = A @ B
    for scope in scopes:
        scope.__enter__()
    left = [0, 1, 2]
    for which in (left[first], [each for each in left if each != left[first]][second]):
        scopes[which].__exit__(None, None, None)
        left.remove(which)
        before = scopes[left[-1]].used.total()
        assert dt.same_bits(A @ B, OPS.gemm(A, B, contracts[left[-1]]))
        assert scopes[left[-1]].used.total() == before + 1
    scopes[left[0]].__exit__(None, None, None)
    assert dt.same_bits(A @ B, plain)
    with pytest.raises(detgemm.DetgemmError, match="this scope is not entered: it was left already, or never entered"):
        scopes[0].__exit__(None, None, None)
    with switch() as used:
        assert dt.same_bits(A @ B, PRODUCT) and used.total() == 1


def test_generators_that_are_closed_in_the_order_they_were_made():
    def inside():
        with switch() as used:
            yield used

    outer, inner = inside(), inside()
    next(outer)
    used = next(inner)
    outer.close()
    assert dt.same_bits(A @ B, PRODUCT) and used.total() == 1
    thread = threading.Thread(target=inner.close)  # as a collector of garbage may
    thread.start()
    thread.join()
    with switch() as again:
        A @ B
    assert used.total() == 1 and again.total() == 1


def test_devices_are_registered_as_long_as_a_scope_names_them():
    outer, inner = switch(), dt.aten(CONTRACTS, devices=["cuda", "cpu"])
    outer.__enter__(), inner.__enter__()
    inner.__exit__(None, None, None)
    A @ B
    assert outer.used.total() == 1
    outer.__exit__(None, None, None)
    A @ B
    assert outer.used.total() == 1


SUMS = "ieee_fma/fp32/chain->fp32"


def in_parts(values):
    """Parts of 1024, one addition after the other, then sums of parts in the same way."""
    while len(values) > 1:
        values = [functools.reduce(lambda a, b: a + b, values[at:at + 1024], torch.zeros(())) for at in range(0, len(values), 1024)]
    return values[0]


def test_sums_have_a_contract_where_one_is_named():
    x = bits((3, 1500), torch.float32)
    calls = {"sum": lambda x: x.sum(-1), "mean": lambda x: x.mean(1), "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
             "bf16": lambda x: x.bfloat16().sum(1)}
    with dt.aten({}, devices="cpu", others="pass", sums=SUMS) as used, dt.audit() as report:
        found = {name: call(x) for name, call in calls.items()}
        alone = {name: call(x[1:2]) for name, call in calls.items()}
        whole, norms = x.sum(), torch.nn.utils.get_total_norm([x, x[0]])
        counts = torch.ones(5, dtype=torch.int64).sum()
    assert report.uncovered == [] and counts == 5 and sum(used.values()) > 8
    for row in range(3):
        assert dt.same_bits(found["sum"][row], in_parts(list(x[row]))) and dt.same_bits(found["mean"][row], in_parts(list(x[row])) / 1500)
        assert dt.same_bits(found["norm"][row], in_parts([each * each for each in x[row]]).sqrt())
        assert dt.same_bits(found["bf16"][row], in_parts(list(x[row].bfloat16().float())).bfloat16())
    assert all(dt.same_bits(alone[name], found[name][1:2]) for name in calls), "a row depends on the row alone"
    assert dt.same_bits(whole, in_parts(list(x.flatten()))) and torch.allclose(norms, torch.cat((x.flatten(), x[0])).norm())
    one = torch.ones(1, 1)
    with dt.aten({}, devices="cpu", others="pass", sums=SUMS):
        one.sum(-1).add_(1)
        x[0, 0].sum().add_(1)
        assert one.item() == 1 and torch.zeros(0, 5).sum(-1).shape == (0,) and torch.tensor(3.0).sum() == 3
        for wrong in (5, (0, 0)):
            with pytest.raises((IndexError, RuntimeError)):
                x.sum(wrong)
    with dt.aten({}, devices="cpu", others="pass"), dt.audit() as report:
        same = [dt.same_bits(call(x), found[name]) for name, call in calls.items()]
    assert not all(same) and {row[0] for row in report.uncovered} >= {"aten.sum.dim_IntList", "aten.mean.dim", "aten.linalg_vector_norm"}
