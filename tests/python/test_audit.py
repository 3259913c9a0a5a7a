# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The audit: every reduction of a model is listed, and what no table knows is unknown."""
import pytest
import torch
from conftest import BF16, bits

import detgemm
import detgemm.torch as dt
from detgemm.torch import auditing


def verdicts(report):
    return {op: verdict for op, _, verdict, _, _ in report.rows}


def test_products_and_reductions_are_told_apart(policy):
    layer = dt.Linear(32, 16, dtype=torch.bfloat16, policy=policy)
    x = bits((4, 32), torch.bfloat16)
    with dt.audit() as report:
        y = layer(x) @ bits((16, 16), torch.bfloat16)
        y = torch.softmax(y.float() * 2 + 1, -1).cumsum(0)
        torch.cat([y, y.clone()])[0].view(4, 4).t().amax(1)
        x.new_zeros(3).index_put((torch.tensor([1, 1]),), x.new_ones(2))
        x.new_zeros(3).index_put((torch.tensor([1, 1]),), x.new_ones(2), accumulate=True)
    assert verdicts(report) == {"detgemm.linear": "contract", "aten.mm": "outside", "aten._softmax": "outside",
                                "aten.cumsum": "outside", "aten.index_put": "outside"}
    counts = {row[0]: row[4] for row in report.rows}
    assert counts["aten.index_put"] == 1  # the one that adds
    with pytest.raises(detgemm.DetgemmError, match="outside of a contract: aten._softmax, aten.cumsum, aten.index_put, aten.mm"):
        report.require_clean()
    report.require_clean(allow=["aten.mm", "aten._softmax", "aten.cumsum", "aten.index_put"])
    assert "outside" in str(report) and policy.forward in str(report)


def test_the_switch_is_seen():
    a = bits((4, 16), torch.bfloat16)
    with dt.aten({torch.bfloat16: BF16}, devices="cpu"), dt.audit() as report:
        a @ a.t()
    assert verdicts(report) == {"aten.mm": "contract"}
    report.require_clean()


def test_kernels_beside_the_switch_are_not_its_own():
    """A product of a sparse tensor has the type and the device of one under a contract."""
    a = bits((4, 16), torch.float32)
    with dt.aten({torch.float32: "ieee_fma/fp32/chain->fp32"}, devices="cpu") as used, dt.audit() as report:
        a.to_sparse() @ a.t()
    assert not used and "outside" in verdicts(report).values() and "contract" not in verdicts(report).values()


def test_sums_in_disguise_are_found():
    """Forms of operators that move or count, and types that no integer is."""
    x, at, whole = torch.ones(3), torch.tensor([1, 1, 0]), torch.tensor([1, 2, 3])
    adding = {"aten.scatter.reduce": lambda: x.scatter(0, at, x, reduce="add"), "aten.scatter_.reduce": lambda: x.clone().scatter_(0, at, x, reduce="add"),
              "aten.scatter.value_reduce": lambda: x.scatter(0, at, 2.0, reduce="multiply"),
              "aten.bincount": lambda: torch.bincount(at, weights=x), "aten._fft_c2c": lambda: torch.fft.fft(x.to(torch.complex64)),
              "aten.cumsum": lambda: x.to(torch.complex64).cumsum(0), "aten.sum.dim_IntList": lambda: whole.sum((0,), dtype=torch.float32),
              "aten.logsumexp": lambda: whole.logsumexp(0)}
    for name, call in adding.items():
        with dt.audit() as report:
            call()
        assert verdicts(report).get(name) == "outside", (name, verdicts(report))
    with dt.audit() as report:
        x.scatter(0, at, x), whole.scatter(0, at, whole, reduce="add"), torch.bincount(at), whole.sum((0,)), whole.cumsum(0)
    assert verdicts(report) == {}


def test_an_unknown_operator_is_never_fine():
    with torch.library._scoped_library("elsewhere", "DEF") as library:
        library.define("fine(Tensor x) -> Tensor")
        library.impl("fine", lambda x: x.clone(), "CPU")
        with dt.audit() as report:
            torch.ops.elsewhere.fine(torch.ones(3))
            torch.special.bessel_j0(torch.ones(3))
            torch.histogram(torch.ones(3), 4)
    assert verdicts(report)["elsewhere.fine"] == "unknown" and "aten.histogram.bin_ct" in verdicts(report)
    assert "aten.special_bessel_j0" not in verdicts(report)
    with pytest.raises(detgemm.DetgemmError, match="elsewhere.fine"):
        report.require_clean()


def test_row_local_operators_are_named(monkeypatch):
    monkeypatch.setitem(auditing.ROW_LOCAL, "gemm", "a written order")
    with dt.audit() as report:
        torch.ops.detgemm.gemm(bits((2, 16), torch.bfloat16), bits((16, 2), torch.bfloat16), BF16)
    assert report.rows == [("detgemm.gemm", "bfloat16", "row-local", "a written order", 1)]
    report.require_clean()


def test_pinned_memory_adds_nothing():
    """TRL's data loader pins on a GPU, which no CPU does: the operator is looked at by name."""
    x = torch.zeros(4)
    assert auditing.verdict_of(torch.ops.aten._pin_memory.default, (x,), {}) is None
    assert auditing.verdict_of(torch.ops.aten.sum.default, (x,), {})[0] == "outside"


CONFIGS = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {"head_dim": 16}),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM",
                  {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {"num_local_experts": 4}),
    "gpt_oss": ("GptOssConfig", "GptOssForCausalLM", {"head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2}),
}
SMALL = dict(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128)
# What stays outside when every product has a contract, forward and backward.
LEFT = {"aten.mean.dim", "aten._softmax", "aten._log_softmax", "aten.nll_loss_forward", "aten.sum.dim_IntList",
        "aten._softmax_backward_data", "aten._log_softmax_backward_data", "aten.nll_loss_backward",
        "aten.embedding_dense_backward", "aten.index_add_", "aten.index_put", "aten.cumsum", "aten.sum",
        "aten.index_put_", "aten.scatter_add"}


@pytest.mark.parametrize("name", CONFIGS)
def test_no_operator_of_a_language_model_is_unknown(name):
    transformers = pytest.importorskip("transformers")
    config, model, more = CONFIGS[name]
    torch.manual_seed(0)
    config = getattr(transformers, config)(**{**SMALL, **more}, attn_implementation="eager")
    model = getattr(transformers, model)(config).bfloat16()
    tokens = torch.arange(24).reshape(2, 12)
    contracts = {torch.bfloat16: BF16, torch.float32: "ieee_fma/fp32/chain->fp32"}
    with dt.aten(contracts, devices="cpu") as used, dt.audit() as report:
        model(tokens, labels=tokens).loss.backward()
    assert sum(used.values()) >= 30
    found = verdicts(report)
    assert [op for op, verdict in found.items() if verdict == "unknown"] == []
    outside = {op for op, verdict in found.items() if verdict == "outside"}
    assert outside <= LEFT and {"aten.mean.dim", "aten._softmax"} <= outside, sorted(outside - LEFT)
    assert (found.get("aten._grouped_mm") == "contract") == (name in ("qwen3_moe", "mixtral", "gpt_oss"))
