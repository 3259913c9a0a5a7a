# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Block-scaled products of arrays, against the reading of the contract's page in exact integers that tests/contract has."""
import pathlib
import sys

import pytest

import detgemm
from detgemm import views

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")

PAGE = pathlib.Path(__file__).parents[1] / "contract"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="tests/contract is not beside these tests")
if PAGE.exists():
    sys.path.append(str(PAGE))
    import agree
    import cases
    import fp32
    import reduction

CONTRACT = "hopper/e4m3/scaled:128->fp32"
WORDS = {"bf16": (np.uint16, ml_dtypes.bfloat16), "fp16": (np.uint16, np.float16), "fp32": (np.uint32, np.float32),
         "e4m3": (np.uint8, ml_dtypes.float8_e4m3fn), "e5m2": (np.uint8, ml_dtypes.float8_e5m2),
         "e8m0": (np.uint8, ml_dtypes.float8_e8m0fnu)}


def array(words, fmt, shape):
    stored, dtype = WORDS[fmt]
    return np.array(words, stored).reshape(shape).view(dtype)


def words(x):
    return x.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[x.dtype.itemsize])


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and np.ascontiguousarray(x).tobytes() == np.ascontiguousarray(y).tobytes()


def product(case):
    """A case of tests/contract, computed by the package."""
    fmt, output = case.contract.split("/")[1], case.contract.split("->")[1]
    leaves = reduction.Contract(case.contract).leaves(case.k)
    a, b = array(case.a, fmt, (case.m, case.k)), array(case.b, fmt, (case.k, case.n))
    scales = []
    for given, lines in ((case.scale_a, case.m), (case.scale_b, case.n)):
        kind, per, blocks = given or ("fp32", 1, [[]] * lines)
        scales.append(array(blocks, kind, (-(-lines // per), leaves)))
    start = array(case.c, "fp32", (case.m, case.n)) if case.continued else None
    alpha = float(np.array(case.alpha, np.uint32).view(np.float32))
    found = detgemm.scaled_gemm(a, scales[0], b, np.ascontiguousarray(scales[1].T), case.contract, c=start, alpha=alpha,
                                continue_from_c=case.continued)
    assert found.dtype == WORDS[output][1]
    return words(found)


def drawn(count, seed=1):
    """Cases with random words, NaN, Inf, subnormals, cancellations, zeros and tails, of each arithmetic and output."""
    index = 0
    while count:
        case = cases.scaled_case(seed, index)
        index += 1
        if "/tf32/" not in case.contract:  # no array holds it
            count -= 1
            yield case


def fp8():
    """Small cases under the contract that users take, some of whose numbers and scales are NaN, Inf, subnormal or zero."""
    seed = 0
    for m, n, k in ((3, 5, 1), (2, 7, 300), (1, 131, 300), (130, 2, 257), (4, 4, 384), (3, 3, 384)):
        seed += 1
        draw = cases.Draw(seed)
        kind = ("bits", "near", "near", "cancel", "specials", "near")[seed - 1]
        a, columns, _ = cases.operands(draw, kind, "e4m3", m, n, k)
        leaves = -(-k // 128)
        if seed == 5:
            a[0][3] = 0x7f  # NaN; there is no Inf
        for row in a if seed == 2 else ():  # a block of zeros, of both signs
            row[128:256] = [draw.choice((0, 128)) for _ in range(128)]
        scales = [(kind, per, [[cases.scale_word(draw, kind, 0) for _ in range(leaves)] for _ in range(-(-lines // per))])
                  for kind, per, lines in (("e8m0" if seed in (1, 5) else "fp32", 1, m), ("fp32", 128 if seed % 2 else 1, n))]
        yield cases.Case(CONTRACT, m, n, k, cases.ONE, 0, "none", "none", False, a, [list(row) for row in zip(*columns)], None,
                         None, *scales)


def differing(case):
    return int((product(case) != np.array(agree.expected(case)[1])).sum())


def test_bits_are_those_of_the_page():
    compared = nans = 0
    for case in [*drawn(40), *fp8()]:
        assert differing(case) == 0, case.contract
        compared += case.m * case.n
        nans += int(np.isnan(product(case).view(np.float32)).sum()) if case.contract.endswith("fp32") else 0
    assert compared > 2000 and 0 < nans < compared / 2


def line_product(case):
    """A case of chain or fold with scales of whole lines, and any epilogue."""
    fmt, output = case.contract.split("/")[1], case.contract.split("->")[1]
    a, b = array(case.a, fmt, (case.m, case.k)), array(case.b, fmt, (case.k, case.n))
    row, column = (array(blocks, kind, (-1, 1)) for kind, _, blocks in (case.scale_a, case.scale_b))
    start = array(case.c, "fp32" if case.continued else output, (case.m, case.n)) if case.c else None
    bias = array(case.bias, case.bias_type, (case.n,)) if case.bias else None
    alpha, beta = (float(np.array(word, np.uint32).view(np.float32)) for word in (case.alpha, case.beta))
    return words(detgemm.scaled_gemm(a, row, b, np.ascontiguousarray(column.T), case.contract, c=start, bias=bias, alpha=alpha,
                                     beta=beta, activation=case.activation, continue_from_c=case.continued))


def test_scales_of_lines_are_those_of_the_page(monkeypatch):
    compared, chosen = 0, []
    for index in (*range(80, 120, 3), *range(0, 80, 13)):  # results of fp32 show the last bits; then the others
        case = cases.line_case(1, index)
        if "/tf32/" not in case.contract and case.k > 0:  # no array holds tf32
            chosen.append(case)
    for case in chosen:
        assert int((line_product(case) != np.array(agree.expected(case)[1])).sum()) == 0, case.contract
        compared += case.m * case.n
    assert compared > 1000
    # The control: the other order of both products is noticed.
    finish = agree.epilogue.finish
    monkeypatch.setattr(agree.epilogue, "finish", lambda *x: finish(*x[:-1], x[-1] and x[-1][::-1]))
    assert sum(int((line_product(case) != np.array(agree.expected(case)[1])).sum()) for case in chosen) > 10


# Other readings of section 4.1: of (scales of a row and a column) and leaves, the sum that a fault would make.
FAULTS = {
    "the scale of the next leaf": lambda pairs, leaves, i, acc: fp32.fma(fp32.mul(*pairs[(i + 1) % len(pairs)]), leaves[i], acc),
    "multiply and add in place of fma": lambda pairs, leaves, i, acc: fp32.add(fp32.mul(fp32.mul(*pairs[i]), leaves[i]), acc),
    "one scale after the other": lambda pairs, leaves, i, acc: fp32.fma(pairs[i][0], fp32.mul(pairs[i][1], leaves[i]), acc),
    "the sum is scaled": lambda pairs, leaves, i, acc: fp32.mul(fp32.mul(*pairs[i]), fp32.add(leaves[i], acc)),
    "no scale": lambda pairs, leaves, i, acc: fp32.add(leaves[i], acc),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_another_reading_of_the_page_is_noticed(fault, monkeypatch):
    """The control of the test above: its data tell these readings apart from the right one."""
    def accumulator(contract, a, b, start=0, scales=()):
        leaves = [reduction.chain(contract, a[k:k + contract.leaf], b[k:k + contract.leaf], 0)
                  for k in range(0, len(a), contract.leaf)]
        acc = start
        for i in range(len(leaves)):
            acc = FAULTS[fault](scales, leaves, i, acc)
        return fp32.QUIET if fp32.is_nan(acc) else acc

    monkeypatch.setattr(agree, "accumulator", accumulator)
    assert sum(map(differing, list(fp8())[1:3])) > 10


DOOR = {"all leaves share a scale": dict(leaf_stride=0), "all lines share a scale": dict(stride=0)}


@pytest.mark.parametrize("fault", [*DOOR, "scales are transposed"])
def test_a_fault_of_the_package_is_noticed(fault, monkeypatch):
    """The same, with a fault planted between the arrays and the C interface."""
    right = views.View.scales

    def planted(view, lines, leaves, of_a):
        scales = right(view, lines, leaves, of_a)
        for field, value in DOOR.get(fault, {}).items():
            setattr(scales, field, value)
        if fault == "scales are transposed":
            scales.stride, scales.leaf_stride = scales.leaf_stride, scales.stride
        return scales

    square = list(fp8())[-1:]  # as many rows as leaves and columns, so that nothing outside of an array is read
    monkeypatch.setattr(views.View, "scales", planted)
    assert sum(map(differing, square)) > 5


def operands(m=9, n=260, k=300, seed=1):
    random = np.random.default_rng(seed)
    make = lambda *shape: (random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape))).astype(np.float32)
    return make(m, k), make(n, k)


def test_the_rule_in_words():
    """Scales of one give the bits of a fold; a row has its bits alone; cuts of K at leaves continue to the uncut bits."""
    x, w = operands(140)
    a, b = x.astype(ml_dtypes.float8_e4m3fn), w.astype(ml_dtypes.float8_e4m3fn).T
    ones = np.ones((140, 3), np.float32), np.ones((3, 260), np.float32)
    assert same(detgemm.scaled_gemm(a, ones[0], b, ones[1], CONTRACT), detgemm.gemm(a, b, "hopper/e4m3/fold:128->fp32"))
    q, s = detgemm.quantize(x)
    qw, sw = detgemm.quantize(w, per=128)
    whole = detgemm.scaled_gemm(q, s, qw.T, sw.T, CONTRACT)
    for i in (0, 1, 139):
        assert same(detgemm.scaled_gemm(*detgemm.quantize(x[i:i + 1]), qw.T, sw.T, CONTRACT), whole[i:i + 1])
    part = detgemm.scaled_gemm(q[:, :256], s[:, :2], qw[:, :256].T, sw[:, :2].T, CONTRACT)
    last = q[:, 256:], s[:, 2:], qw[:, 256:].T, sw[:, 2:].T, CONTRACT
    assert same(detgemm.scaled_gemm(*last, c=part, continue_from_c=True), whole)
    # Controls: parts that are added, and a scale that is made from the whole batch, which moves with the batch.
    assert not same(part + detgemm.scaled_gemm(*last), whole)
    static = np.float32(np.abs(x).max() / 448), np.float32(np.abs(x[:1]).max() / 448)
    assert static[0] != static[1]


def test_layouts_and_kinds_of_scales_do_not_change_bits():
    x, w = operands(130)
    (a, sa), (b, sb) = detgemm.quantize(x), detgemm.quantize(np.ascontiguousarray(w.T), per=128, k="rows")
    whole = detgemm.scaled_gemm(a, sa, b, sb, CONTRACT)
    wide = np.zeros((130, 9), np.float32)
    wide[:, 1:7:2] = sa
    for other in (np.asfortranarray(sa), wide[:, 1:7:2]):
        assert same(detgemm.scaled_gemm(a, other, b, np.asfortranarray(sb), CONTRACT), whole)
    assert same(detgemm.scaled_gemm(a, sa, b, np.repeat(sb, 128, axis=1)[:, :260], CONTRACT), whole)
    out = np.zeros((260, 130), np.float32).T
    assert detgemm.scaled_gemm(np.asfortranarray(a), sa, b, sb, CONTRACT, out=out) is out and same(out, whole)
    shared = np.broadcast_to(np.float32(0.5), (130, 3))
    assert same(detgemm.scaled_gemm(a, shared, b, sb, CONTRACT),
                detgemm.scaled_gemm(a, np.full((2, 3), 0.5, np.float32), b, sb, CONTRACT))
    (a, sa), (b, sb) = detgemm.quantize(x, scale_type="e8m0"), detgemm.quantize(w, scale_type="e8m0")
    whole = detgemm.scaled_gemm(a, sa, b.T, sb.T, CONTRACT)
    assert same(detgemm.scaled_gemm(a, sa.astype(np.float32), b.T, sb.astype(np.float32).T, CONTRACT), whole)
    plain = {"a": "e4m3", "scale_a": "e8m0"}
    assert same(detgemm.scaled_gemm(a.view(np.uint8), sa.view(np.uint8), b.T, sb.T, CONTRACT, dtypes=plain), whole)


def call(**change):
    x, w = operands(4, 6, 300)
    (a, sa), (b, sb) = detgemm.quantize(x), detgemm.quantize(w)
    arguments = dict(a=a, scale_a=sa, b=b.T, scale_b=sb.T, contract=CONTRACT)
    arguments.update({key: value(arguments.get(key)) if callable(value) else value for key, value in change.items()})
    return detgemm.scaled_gemm(**arguments)


@pytest.mark.parametrize("change, said", [
    (dict(contract="hopper/e4m3/tree:128->fp32"), 'contract is "hopper/e4m3/tree:128->fp32": scaled_gemm needs .* scaled:LEAF'),
    (dict(contract="hopper/bf16/scaled:128"), "a.dtype is e4m3: the contract needs bf16"),
    (dict(scale_a=lambda s: s[:3]), r"scale_a has the shape \(3, 3\): it must be 4 x 3 or 1 x 3, rows of a"),
    (dict(scale_a=lambda s: s[:, :2]), r"scale_a has the shape \(4, 2\)"), (dict(scale_a=lambda s: s[0]), r"shape \(3,\)"),
    (dict(scale_b=lambda s: s.T), r"scale_b has the shape \(6, 3\): it must be 3 x 6 or 3 x 1, leaves of K by columns of b"),
    (dict(scale_a=lambda s: s.astype(np.float64)), "scale_a.dtype is float64: a scale is float32 or float8_e8m0fnu"),
    (dict(scale_b=lambda s: s.astype(ml_dtypes.bfloat16)), "scale_b.dtype is bfloat16: a scale is float32"),
    (dict(a=lambda x: x.view(ml_dtypes.float8_e8m0fnu)), "a.dtype is float8_e8m0fnu: it must be bfloat16"),
    (dict(scale_a=lambda s: s[::-1]), "scale_a.stride is -3: it must not be negative"),
    (dict(scale_a=[1.0]), "scale_a is a list"), (dict(b=lambda x: x[:200]), "a has 300 columns and b has 200 rows"),
    (dict(continue_from_c=True), "c is None: it must be given"), (dict(backend="metal"), '"metal"'), (dict(activation="swish"), "activation is 'swish'"),
    (dict(out=np.ones((4, 6), np.float16)), "out.dtype is fp16: it must be fp32"),
    (dict(out=np.ones((6, 6), np.float32)), r"out has the shape \(6, 6\): it must be \(4, 6\)")])
def test_a_wrong_product_gets_a_sentence(change, said):
    before = change["out"].copy() if "out" in change else None
    with pytest.raises(detgemm.DetgemmError, match=said):
        call(**change)
    assert before is None or (change["out"] == before).all()


def test_a_result_over_its_scales_is_refused():
    x, w = operands(4, 3, 300)
    (a, sa), (b, sb) = detgemm.quantize(x), detgemm.quantize(w)
    before = sa.copy()
    with pytest.raises(detgemm.DetgemmError, match="d overlaps scale_a: they must not share memory"):
        detgemm.scaled_gemm(a, sa, b.T, sb.T, CONTRACT, out=sa)
    assert same(sa, before)


def test_a_product_without_scales_says_which_are_missing():
    x, _ = operands(4, 4, 64)
    with pytest.raises(detgemm.DetgemmError, match="scale_a has no scales: the contract ieee_fma/fp32/scaled:64->fp32 needs"):
        detgemm.gemm(x, x.T, "ieee_fma/fp32/scaled:64")
