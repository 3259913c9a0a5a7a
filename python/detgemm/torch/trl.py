# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""TRL's trainers on detgemm: log-probabilities of the head by `token_log_probs`, and vLLM's plugin where TRL names none.

    model = detgemm.torch.trl.prepare(folder, policy)     # before the trainer: the model, and vLLM's engine by its folder
    trainer = GRPOTrainer(model=model, ...)
    detgemm.torch.trl.use(trainer)                        # after it: TRL has put its fused head before the model
"""
import inspect
import json
import pathlib
import types

import torch

from detgemm.torch import transformers as hooks
from detgemm.torch.dispatch import refuse
from detgemm.torch.layers import Linear
from detgemm.torch.rows import log_softmax, token_log_probs

IGNORED = -100  # the label of a token that is not scored


def name_plugin(folder, **contracts):
    """Writes quantization="detgemm" into a model folder's config.json: TRL starts vLLM with quantization=None, and vLLM then reads
    it there. contracts: `contract` and `row_parallel` (docs/vllm.md). Weights do not change, and transformers skips the entry.
    """
    path = pathlib.Path(folder) / "config.json"
    refuse(not path.exists(), f"folder is {folder}: it has no config.json")
    config = json.loads(path.read_text(encoding="utf-8"))
    there = config.get("quantization_config", {}).get("quant_method", "detgemm")
    refuse(there != "detgemm", f'{path} names quant_method "{there}": quantised weights are not supported')
    config["quantization_config"] = {"quant_method": "detgemm", **contracts}
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def prepare(folder, policy, *, skip=(), **contracts):
    """The causal language model of a folder on detgemm (detgemm.torch.transformers.use), and the same for vLLM by its config.json."""
    import transformers
    name_plugin(folder, **contracts)
    config = transformers.AutoConfig.from_pretrained(folder)
    del config.quantization_config
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, config=config, dtype=policy.input)
    hooks.use(model, policy, skip)
    return model


def _scored(self, arguments, labels, shift_labels, num_items_in_batch):
    """What TRL's fused head returns, from a product under the policy and rows in a written order."""
    from trl.trainer.utils import FusedCausalLMOutput
    states = self.base_model(**{**arguments, "use_cache": False}).last_hidden_state
    labels, states = (labels[:, 1:], states[:, :-1]) if shift_labels is None else (shift_labels, states)
    logits, mask = self.get_output_embeddings()(states), labels != IGNORED
    log_probs = token_log_probs(logits, labels.clamp(min=0)).masked_fill(~mask, 0)
    with torch.no_grad():  # for meters
        every = log_softmax(logits)
        entropy = -(every.exp() * every).sum(-1).masked_fill(~mask, 0)
        first = (logits.argmax(-1) == labels) & mask
    count = mask.sum().clamp(min=1) if num_items_in_batch is None else num_items_in_batch
    return FusedCausalLMOutput(loss=-log_probs.sum() / count, log_probs=log_probs, entropy=entropy, is_top1=first.to(log_probs.dtype),
                               label_mask=mask)


def _with_head(model):
    original = model.forward

    def forward(self, *args, fused_lm_head=False, labels=None, shift_labels=None, num_items_in_batch=None, **kwargs):
        if fused_lm_head:
            refuse(args, "the model is called with positional arguments: name them")
            return _scored(self, kwargs, labels, shift_labels, num_items_in_batch)
        given = {"labels": labels, "shift_labels": shift_labels, "num_items_in_batch": num_items_in_batch}
        return original(*args, **kwargs, **{name: value for name, value in given.items() if value is not None})

    forward.__signature__ = inspect.signature(original)  # generation compares its arguments with it
    model.forward = types.MethodType(forward, model)


def use(trainer):
    """Puts detgemm's head in the place of TRL's fused one, for trainers that score tokens by it (SFT, GRPO, RLOO).

    The entropy is a meter here, without a gradient, so trainers that add it to the loss are refused; so are temperatures other
    than 1, whose scaled logits vLLM and the trainer round in different ways.
    """
    model, args = trainer.model, trainer.args
    head = model.get_output_embeddings()
    refuse(not isinstance(head, Linear), f"the head is a {type(head).__name__}: call detgemm.torch.transformers.use(model, policy) before "
                                         "the trainer is made")
    temperature = getattr(args, "temperature", 1.0)
    refuse(temperature != 1.0, f"temperature is {temperature}: it must be 1.0")
    for name, value in (("entropy_coef", 0.0), ("use_adaptive_entropy", False), ("top_entropy_quantile", 1.0), ("cast_lm_head_to_fp32", False)):
        refuse(getattr(args, name, value) not in (value, None), f"{name} is {getattr(args, name, value)}: it must be {value}")
    config = model.config.get_text_config()
    for name in ("final_logit_softcapping", "logit_scale", "logits_scaling", "output_multiplier", "lm_head_multiplier"):
        refuse(getattr(config, name, None) not in (None, 1.0), f"the model has {name}: its head has another formula")
    for each in (model, getattr(trainer, "ref_model", None)):
        if each is not None:
            _with_head(each)
