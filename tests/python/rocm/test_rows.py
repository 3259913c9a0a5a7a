# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Row operations on tensors of an emulated MI300X: Triton compiles them for gfx942, the emulator executes that text, and the bits are
those of the plain definitions. Emulated; not run on AMD hardware."""
import functools
import os

import fake_rocm
import pytest
import texts
import torch
from test_operators import bits

import detgemm
import detgemm.torch as dt
import detgemm.torch.combining
import detgemm.torch.log_prob
import detgemm.torch.paged
import detgemm.torch.rotary
from detgemm.torch import attend, dispatch
from detgemm.torch.plain import attention as plain

pytest.importorskip("triton", reason="Triton is not installed")
OPS = torch.ops.detgemm
ALL = os.environ.get("DETGEMM_ROCM_ROWS") == "all"  # every type and size, for which CI has no time
TYPES = [torch.bfloat16, torch.float16, torch.float32] if ALL else [torch.bfloat16]
CHIP = os.environ.get("GCN_ARCH")
if CHIP == "gfx950":  # by hand: the package refuses that chip, whose arithmetic no one has described; here it has cdna3's
    dispatch.CHIPS += ("gfx950",)
CHAIN = "cdna2/bf16/chain->fp32" if CHIP == "gfx90a" else "cdna3/bf16/chain->fp32"


@pytest.fixture
def device(rocm, on_cpu):
    """Triton's launches go to the emulator, and PyTorch's own operators to the CPU."""
    import fake_triton
    return fake_triton.installed(rocm.hip)


def same(found, wanted):
    """The device's results, some of which may be missing on both sides, against the CPU's."""
    found, wanted = ([x for x in (each if isinstance(each, tuple | list) else [each]) if x is not None] for each in (found, wanted))
    assert len(found) == len(wanted) > 0
    return all(dt.same_bits(fake_rocm.on_cpu(a).contiguous(), b.contiguous()) for a, b in zip(found, wanted))


def compared(rocm, call, *operands):
    """call(operands) on the device and on the CPU; the first returns what the device gave."""
    found = call(*(rocm.put(x) if isinstance(x, torch.Tensor) else x for x in operands))
    assert same(found, call(*operands)), call
    return found


def any_bits(shape, dtype, seed=0):
    """Every bit pattern: NaNs of any payload, infinities, subnormals."""
    width = torch.int32 if dtype == torch.float32 else torch.int16
    info = torch.iinfo(width)
    return torch.randint(info.min, info.max, shape, generator=torch.Generator().manual_seed(seed)).to(width).view(dtype)


# gfx950 has an instruction that rounds to bf16; no manual says what it makes of a NaN.
NAN = 1.0 if CHIP == "gfx950" else float("nan")


def odd_bits(shape, dtype):
    return bits(shape, dtype=dtype) if CHIP == "gfx950" else any_bits(shape, dtype)


def near(shape, seed=0, dtype=torch.bfloat16):
    """Numbers of like size, whose powers all count in a sum."""
    return (2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))).to(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind, rows, n", [(bits, 3, 600), (near, 3, 600), (any_bits, 5, 60)] + [(bits, 2, 2500), (any_bits, 3, 1000), (bits, 1, 1)] * ALL)
def test_norms_and_softmax(rocm, device, kind, rows, n, dtype):
    x, weight, dy = kind((rows, n), dtype=dtype), bits((n,), 1, dtype), bits((rows, n), 2, dtype)
    y, scale = OPS.rms_norm(x, weight, None, 1e-6, "ieee_fma/fp32/chain->fp32", False)
    compared(rocm, lambda x, w: OPS.rms_norm(x, w, None, 1e-6, "ieee_fma/fp32/chain->fp32", False), x, weight)
    compared(rocm, lambda dy, x, w, s: OPS.rms_norm_backward(dy, x, w, s)[0], dy, x, weight, scale)
    for name in ("softmax", "log_softmax"):
        y = getattr(OPS, name)(x, torch.float32)
        compared(rocm, functools.partial(getattr(OPS, name), dtype=torch.float32), x)
        compared(rocm, functools.partial(getattr(OPS, name + "_backward"), dtype=dtype), dy, y)


def test_the_smallest_eps(rocm, device):
    """A square root whose residual would be subnormal."""
    x = bits((200, 30), dtype=torch.float32) * 2.0 ** -66
    x[0] = 0
    call = lambda x, w: OPS.rms_norm(x, w, None, 2.0 ** -126, "ieee_fma/fp32/chain->fp32", False)
    compared(rocm, call, x, bits((30,), 1, torch.float32))


@pytest.mark.parametrize("dtype", TYPES)
def test_long_rows(rocm, device, dtype):
    x = near((2, 33000), dtype=dtype)
    x[1, 32900:] = -float("inf")
    for name in ("softmax", "log_softmax") if ALL else ("softmax",):
        compared(rocm, functools.partial(getattr(OPS, name), dtype=torch.float32), x)


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_of_an_engine(rocm, device, dtype):
    for n in (600, 9000) if ALL else (600,):
        x, residual, weight = bits((3, n), dtype=dtype), bits((3, n), 1, dtype), bits((n,), 2, dtype)
        x[0, 3], x[1, :40] = NAN, odd_bits((40,), dtype)
        for _ in range(2):  # the second time by the table of compiled kernels
            compared(rocm, lambda x, r, w: OPS.add_rms_norm(x, r, w, 1e-6), x, residual, weight)
    compared(rocm, OPS.silu_mul, odd_bits((3, 200), dtype), bits((3, 200), 1, dtype))
    compared(rocm, OPS.silu_mul, near((3, 200), 4, dtype), bits((3, 200), 1, dtype))
    compared(rocm, OPS.silu_mul_backward, bits((3, 100), 3, dtype), odd_bits((3, 200), dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_rotary(rocm, device, dtype):
    q, k, cache = bits((5, 4, 64), dtype=dtype), bits((5, 2, 64), 1, dtype), bits((9, 64), 2, torch.float32)
    positions, weights = torch.tensor([0, 8, 3, 3, 1]), (bits((64,), 3, dtype), bits((64,), 4, dtype))
    compared(rocm, lambda *each: OPS.rotary_pair(*each, False, None, None, 0.0), q, k, positions, cache)
    compared(rocm, lambda q, k, p, c, *w: OPS.rotary_pair(q, k, p, c, True, *w, 1e-6), q, k, positions, cache, *weights)


def test_experts(rocm, device):
    x, weights, places = bits((8, 100)), bits((4, 2), 1).abs(), torch.tensor([3, 1, -1, 0, 7, 2, 5, -1], dtype=torch.int32)
    compared(rocm, lambda *each: OPS.combine_experts(*each, None, torch.bfloat16, None), x, places, weights)
    compared(rocm, OPS.combine_experts_backward, bits((4, 100), 2), x, places, weights)


def test_embedding(rocm, device):
    ids, dy, acc = torch.randint(0, 7, (20,)), bits((20, 40)), bits((9, 40), 1, torch.float32)

    def accumulated(acc, ids, dy):
        acc = acc.clone()
        OPS.embedding_accumulate_(acc, ids, dy)
        return acc
    compared(rocm, accumulated, acc, ids, dy)


def test_log_probs(rocm, device):
    z, ids, scale = near((5, 4200)), torch.randint(0, 4200, (5, 1)), torch.linspace(0.5, 1.5, 5)
    z[1, 60], z[2, 3], z[3, 1:] = float("nan"), float("inf"), -float("inf")
    _, k, r = compared(rocm, lambda z, ids, s: OPS.log_probs_of(z, ids, s, 4200), z, ids, scale)
    k, r = fake_rocm.on_cpu(k), fake_rocm.on_cpu(r)
    compared(rocm, lambda d, z, ids, s, k, r: OPS.log_probs_of_backward(d, z, ids, s, k, r, 4200), bits((5, 1), 1, torch.float32), z, ids,
             scale, k, r)


def test_both_passes_of_a_cross_entropy(rocm, device):
    x = any_bits((4, 2500), torch.bfloat16)
    x[1:3] = near((2, 2500))
    top = x.nan_to_num(-1.0).amax(-1).float()
    compared(rocm, lambda x, top: dispatch.chosen(x, "cross_entropy").powers(x, top), x, top)
    call = (bits((4, 2500), dtype=torch.float32), bits((4,), 1, torch.float32), torch.tensor([0, 2499, -1, 7]), bits((4,), 2, torch.float32))
    compared(rocm, lambda *each: dispatch.chosen(each[0], "cross_entropy").gradient(*each, torch.bfloat16), *call)


def by_the_reference(a, b):
    """Products of attention's plain order by the chip's chain."""
    lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (x.expand(*lead, *x.shape[-2:]).reshape(-1, *x.shape[-2:]).bfloat16() for x in (a, b))
    return dt.bmm(a, b.transpose(1, 2), CHAIN).view(*lead, a.shape[1], b.shape[1])


@pytest.mark.parametrize("dim", [64, 128] if ALL else [64])
def test_attention(rocm, device, dim):
    """Prefill has the contract's bits, and decode, chunks and pages have those of prefill. 136 tokens are two blocks of keys."""
    q, k, v, dout = (near((1, h, 136, dim), seed) / 2 for seed, h in enumerate((2, 1, 1, 2)))
    table, scale = attend.dense(1, 136, 136, "cpu"), dim ** -0.5
    wanted, stats = plain.attention(q, k, v, table, scale, dot=by_the_reference)
    on_gpu = [rocm.put(x) for x in (q, k, v, table)]
    whole, found = OPS.attention(*on_gpu, scale, 0, 0, True)
    assert same((whole, found), (wanted, stats))
    assert not same(found, plain.attention(q, k, v, table, scale)[1]), "the order of products shows"
    for count, end in ((1, 136), (9, 133), (1, 128)):
        last = torch.tensor([[0, 0, count, 0, 0, end]], dtype=torch.int32)
        part = rocm.put(q[:, :, end - count:end].contiguous())
        few, _ = OPS.attention(part, on_gpu[1], on_gpu[2], rocm.put(last), scale, count, 0, False)
        assert same(few, wanted[:, :, end - count:end])
    pages = [rocm.put(x.view(1, 17, 8, dim).permute(1, 2, 0, 3).flip(0).contiguous()) for x in (k, v)]
    row = rocm.put(torch.arange(16, -1, -1, dtype=torch.int32)[None])
    few = OPS.paged_attention(rocm.put(q[0, :, 135:].transpose(0, 1).contiguous()), *pages, row,
                              rocm.put(torch.tensor([[0, 0, 1, 0, 0, 136]], dtype=torch.int32)), scale, 1, 136)
    assert same(few, wanted[0, :, 135:].transpose(0, 1))
    gradients = OPS.attention_backward(rocm.put(dout), *on_gpu[:3], whole, found, on_gpu[3], scale, 0, 0)
    expected = plain.attention_backward(dout, q, k, v, wanted, stats, table, scale, dot=by_the_reference)
    # In the text for gfx950 some of these products have another order of k.
    assert all(same(*each) for each in zip(gradients, expected)) == (CHIP != "gfx950")


def sentences(chip, driver, tmp_path):
    """What is wrong with what was compiled, and how many kernels were."""
    kernels = [kernel for name, text in driver.texts.items() for kernel in texts.kernels_of(text, tmp_path / f"{name}.s")]
    return [f"{kernel.name}: {said}" for kernel in kernels for said in texts.faults(chip, kernel)], kernels


def attend_to(q, k, table, by_keys):
    from detgemm.torch.kernels import attention
    attention.attention(q, k, k, table, 0.125, 0, 0, False, by_keys=by_keys)


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"] + ["gfx90a"] * ALL)
def test_texts(device, chip, tmp_path):
    """What ran is as it must be, and so is what other chips would run; kernels of large and small tiles have one instruction."""
    if chip == device.arch:
        found, kernels = sentences(chip, device, tmp_path)
        least = 15  # of the tests above
    else:
        import fake_triton

        from detgemm.torch.kernels import norms
        with fake_triton.compiling_for(chip) as compiled:
            q, k = torch.zeros(1, 2, 136, 64).bfloat16(), torch.zeros(1, 1, 136, 64).bfloat16()
            for by_keys in (False, True):
                attend_to(q[:, :, :8] if by_keys else q, k, torch.zeros(1, 6, dtype=torch.int32), by_keys)
            norms.rms_norm(torch.zeros(3, 600), torch.zeros(600), 1e-6)
        found, kernels = sentences(chip, compiled, tmp_path)
        least = 4
    assert not found and len(kernels) >= least, (found, len(kernels))
    assert any(kernel.count("v_mfma") for kernel in kernels)


def test_planted_texts(device, tmp_path):
    """Triton's own choice of instructions, and each fault of a text, are found."""
    import fake_triton

    from detgemm.torch.kernels import attention, norms
    with fake_triton.compiling_for("gfx942") as compiled, pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "PRODUCTS", {})
        q, k = torch.zeros(1, 2, 136, 64).bfloat16(), torch.zeros(1, 1, 136, 64).bfloat16()
        attend_to(q, k, torch.zeros(1, 6, dtype=torch.int32), False)
    found, _ = sentences("gfx942", compiled, tmp_path)
    assert found and all("v_mfma_f32_32x32x8" in said for said in found), found
    with fake_triton.compiling_for("gfx942") as compiled:
        norms.rms_norm(torch.zeros(3, 600), torch.zeros(600), 1e-6)
    name, text = next(iter(compiled.texts.items()))
    end = text.index("s_endpgm")
    planted = [text[:end] + line + "\n\t" + text[end:] for line in (
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "global_atomic_add_f32 v0, v1, s[0:1]", "scratch_load_dword v0, off, s0",
        "v_mfma_f32_4x4x4_16b_bf16 v[0:3], v[0:1], v[0:1], 0", "v_fma_mixlo_f16 v0, v1, v2, 0")]
    planted += [text.replace(number, number[:-1] + str(int(number[-1]) ^ 1)) for number in (
        ".amdhsa_float_denorm_mode_32 3", ".amdhsa_float_round_mode_32 0", ".amdhsa_fp16_overflow 0", ".amdhsa_ieee_mode 1",
        ".private_segment_fixed_size: 0", ".vgpr_spill_count: 0")]
    for bad in planted:
        compiled.texts[name] = bad
        assert bad != text and sentences("gfx942", compiled, tmp_path)[0], bad


def test_another_text_has_other_bits(rocm, device, monkeypatch):
    """The emulator executes the text: with one exchange between lanes planted elsewhere, a sum has other bits."""
    import fake_triton
    read = fake_triton.text_of
    monkeypatch.setattr(fake_triton, "text_of", lambda *which: read(*which).replace("quad_perm:[1,0,3,2]", "quad_perm:[2,3,0,1]"))
    x = bits((3, 200))
    assert not same(OPS.softmax(rocm.put(x), torch.float16), OPS.softmax(x, torch.float16))


def test_what_was_not_executed_is_refused(rocm, device, monkeypatch):
    x = rocm.put(bits((4, 64)))
    with pytest.raises(detgemm.DetgemmError, match="the tensor is on an AMD device: no test executed the row operation quantize there"):
        dispatch.chosen(x, "quantize")
    monkeypatch.setattr(dispatch, "_chip", lambda device: "gfx1100")
    with pytest.raises(detgemm.DetgemmError, match="the tensor is on gfx1100: an emulator executed .* for gfx942 and gfx90a.* alone"):
        OPS.softmax(x, torch.float32)
