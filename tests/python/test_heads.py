# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Heads of whole models by linear_log_prob: transformers, and what TRL calls."""
import sys
import types

import pytest
import torch

import detgemm
import detgemm.torch as dt
from detgemm.torch import heads

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
BF16 = "hopper/bf16/chain->bf16"
POLICY = dt.Policy(BF16, "hopper/bf16/fold:64->bf16", "hopper/bf16/fold:16->fp32")


def model(**changes):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
                                      num_key_value_heads=1, **changes)
    made = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    dt.convert(made, POLICY)
    return made


def test_a_models_log_probabilities_are_those_of_its_logits():
    made, ids = model(), torch.randint(0, 300, (2, 9), generator=torch.Generator().manual_seed(1))
    scale = heads.scale_of(0.7)
    found = heads.log_probs(made, ids[:, 4:], POLICY, scale=scale, entropy=True, input_ids=ids[:, :-1])
    logits = made(ids[:, :-1], logits_to_keep=5).logits
    assert dt.same_bits(found.logp.detach(), dt.log_probs_of(logits, ids[:, 4:], scale=scale).detach())
    (found.logp.sum() + found.entropy.sum()).backward()
    assert made.lm_head.weight.grad.ne(0).any() and made.model.embed_tokens.weight.grad.ne(0).any()


@pytest.mark.parametrize("name, value", [("final_logit_softcapping", 30.0), ("logit_scale", 0.5), ("logits_scaling", 8.0)])
def test_what_changes_logits_is_refused(name, value):
    made = model()
    setattr(made.config, name, value)
    with pytest.raises(detgemm.DetgemmError, match=f"the model's {name} is {value}"):
        heads.log_probs(made, torch.zeros(1, 1, dtype=torch.int64), POLICY, input_ids=torch.zeros(1, 1, dtype=torch.int64))


def test_what_is_no_head_is_refused():
    made, ids = model(), torch.zeros(1, 2, dtype=torch.int64)
    with pytest.raises(detgemm.DetgemmError, match=r"tokens has the shape \(1, 2\)"):
        heads.log_probs(made, ids, POLICY, input_ids=ids[:, :1])
    made.lm_head = torch.nn.Sequential(made.lm_head)
    with pytest.raises(detgemm.DetgemmError, match="the model's head is a Sequential"):
        heads.log_probs(made, ids, POLICY, input_ids=ids)


def test_what_trl_calls(monkeypatch):
    """A stand-in for TRL's module, with the call that release 1.16 makes."""
    package, module = types.ModuleType("trl.trainer"), types.ModuleType("trl.trainer.utils")
    for name, made in (("trl", types.ModuleType("trl")), ("trl.trainer", package), ("trl.trainer.utils", module)):
        monkeypatch.setitem(sys.modules, name, made)
    with pytest.raises(detgemm.DetgemmError, match="no fused head that is known here"):
        heads.use_in_trl(POLICY)
    module._ChunkedLogProbFunction = module.add_fused_lm_head = object()
    heads.use_in_trl(POLICY)
    head = module._ChunkedLogProbFunction
    generator = torch.Generator().manual_seed(2)
    x, weight = (torch.randn(shape, generator=generator).bfloat16() for shape in ((6, 32), (300, 32)))
    labels = torch.arange(6)
    logp, entropy, *others = head.apply(x, weight, None, labels, 0.7, 32768, None, 1.0, ("log_probs", "entropy"))
    wanted = dt.linear_log_prob(x, weight, labels, POLICY, scale=heads.scale_of(0.7), entropy=True)
    assert dt.same_bits(logp, wanted.logp) and dt.same_bits(entropy, wanted.entropy) and others == [None] * 3
    for change, sentence in (({"outputs": ("log_probs", "is_top1")}, r"outputs has \['is_top1'\]"), ({"softcap": 30.0}, "soft caps"),
                             ({"logit_scale": 0.5}, "logit_scale is 0.5")):
        with pytest.raises(detgemm.DetgemmError, match=sentence):
            head.apply(x, weight, None, labels, 1.0, 32768, **change)
