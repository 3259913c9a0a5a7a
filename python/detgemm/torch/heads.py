# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The head of a causal language model by `linear_log_prob`: for models of transformers, and in place of TRL's fused head.

    detgemm.torch.heads.log_probs(model, tokens, policy, input_ids=...)     a model's log-probabilities, without logits
    detgemm.torch.heads.use_in_trl(policy)                                  every fused head of TRL, from then on
    detgemm.torch.heads.dgrad_of(tokens, hidden, vocabulary)                a contract for dX that is fast on Hopper
"""
import importlib

import torch

from detgemm.torch.dispatch import check_model, refuse
from detgemm.torch.log_prob_linear import linear_log_prob

# What a configuration may do to logits behind the head's product, and the value that does nothing.
CHANGES = {"final_logit_softcapping": None, "logit_scale": 1.0, "output_multiplier": 1.0, "lm_head_multiplier": 1.0,
           "logits_scaling": 1.0}


def scale_of(temperature):
    """1 / temperature as every side should form it: both in fp32, rounded once."""
    return float(torch.tensor(1.0) / torch.tensor(temperature, dtype=torch.float32))


def dgrad_of(tokens, hidden, vocabulary, output="bf16"):
    """The text of a contract for a head's dX (`Policy.dgrad`), of which sums over the vocabulary are fast on Hopper.

    tokens      rows of a call, as many as calls usually have; hidden, vocabulary: sizes of the weight
    output      dX's type in the contract, "bf16" or "fp32"

    dX has tokens x hidden outputs, few for a GPU's multiprocessors where there are few tokens, and each is a sum over the whole
    vocabulary. A fold of 2, 4 or 8 leaves is shared by as many of them; where there are enough outputs it is one chain. The text
    is part of what decides about bits: use one for a whole training, whatever a call's rows are. DetgemmError for other sizes.
    """
    for name, value in (("tokens", tokens), ("hidden", hidden), ("vocabulary", vocabulary)):
        refuse(isinstance(value, bool) or not isinstance(value, int) or value < 1, f"{name} is {value!r}: it must be an integer of 1 or "
                                                                                   "more")
    refuse(output not in ("bf16", "fp32"), f"output is {output!r}: it must be bf16 or fp32")
    tiles = -(-tokens // 128) * -(-hidden // 192)
    leaves = next((each for each in (8, 4, 2) if tiles * each <= 128), 1)
    leaf = -(-vocabulary // (64 * leaves)) * 64
    return f"hopper/bf16/fold:{leaf}->{output}" if leaves > 1 and -(-vocabulary // leaf) == leaves else f"hopper/bf16/chain->{output}"


def check_head(model):
    """The model's head, or a refusal of one that is more than a product."""
    check_model(model)
    config = model.config.get_text_config()
    for name, nothing in CHANGES.items():
        value = getattr(config, name, None)
        refuse(value is not None and value != nothing, f"the model's {name} is {value}: its logits are not the head's product alone, "
                                                       "which is not supported")
    head = model.get_output_embeddings()
    refuse(not isinstance(head, torch.nn.Linear), f"the model's head is a {type(head).__name__}: it must be a torch.nn.Linear")
    return head


def log_probs(model, tokens, policy, *, scale=None, valid=None, entropy=False, keep_logits=False, **inputs):
    """`linear_log_prob` of the last positions of a model of transformers, as many as `tokens` (B x n) has.

    inputs go to the model without its head. tokens[:, j] is scored at position j - n from the end: to score tokens of the
    input itself, leave its last one out. All else is as for `linear_log_prob`, whose result this returns.
    """
    head = check_head(model)
    hidden = model.base_model(**inputs).last_hidden_state
    refuse(tokens.dim() != 2 or tokens.shape[1] > hidden.shape[1],
           f"tokens has the shape {tuple(tokens.shape)}: it must be B x n, n at most the {hidden.shape[1]} positions of the input")
    return linear_log_prob(hidden[:, hidden.shape[1] - tokens.shape[1]:], head.weight, tokens, policy, scale=scale, valid=valid,
                           bias=head.bias, entropy=entropy, keep_logits=keep_logits)


class TrlHead:
    """What TRL calls as _ChunkedLogProbFunction."""

    def __init__(self, policy):
        self.policy = policy

    def apply(self, hidden, weight, bias, targets, temperature, chunk_size, softcap=None, logit_scale=1.0, outputs=("entropy",)):
        unknown = sorted(set(outputs) - {"log_probs", "entropy"})
        refuse(bool(unknown), f"outputs has {unknown}: log_probs and entropy alone are computed in this order")
        refuse(softcap is not None, f"final_logit_softcapping is {softcap}: soft caps are not supported")
        refuse(logit_scale != 1.0, f"logit_scale is {logit_scale}: it must be 1")
        found = linear_log_prob(hidden, weight, targets, self.policy, scale=None if temperature == 1.0 else scale_of(temperature),
                                bias=bias, entropy="entropy" in outputs)
        return found.logp, found.entropy, None, None, None


def use_in_trl(policy):
    """Puts `linear_log_prob` under a policy in the place of TRL's own sum, in every head of `add_fused_lm_head`."""
    module = importlib.import_module("trl.trainer.utils")
    refuse(not hasattr(module, "_ChunkedLogProbFunction") or not hasattr(module, "add_fused_lm_head"),
           "trl.trainer.utils has no _ChunkedLogProbFunction: this release of TRL has no fused head that is known here (1.16 has)")
    module._ChunkedLogProbFunction = TrlHead(policy)
