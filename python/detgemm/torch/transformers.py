# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A causal language model of transformers (Llama, Qwen3 and Mixtral class) on detgemm's operations.

    detgemm.torch.transformers.use(model, policy)

replaces linear layers, RMSNorm, the embedding, SiLU of gated layers and rotary angles, and sets the attention; what it cannot
cover it refuses in a sentence, before anything is changed.
"""
import copy

import torch

from detgemm.torch.angles import Angles, find_angles
from detgemm.torch.attend import MOST_QUERIES, attention, dense
from detgemm.torch.decoder import use_nodes
from detgemm.torch.dispatch import refuse, under_autocast
from detgemm.torch.embeddings import Embedding
from detgemm.torch.experts import KINDS, convert_experts, grouped_experts
from detgemm.torch.gated import GatedMLP, is_gated
from detgemm.torch.layers import convert
from detgemm.torch.policy import Policy
from detgemm.torch.rows import RMSNorm

NAME = "detgemm"


def table(rows, device):
    """Segments as an attention mask: 1 x 1 x S x 6, which transformers hands through unread."""
    return torch.tensor(rows, dtype=torch.int32, device=device).view(1, 1, -1, 6)


def _readable(tensor):
    """Whether the host may look at values here."""
    if tensor.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return False
    return tensor.device.type != "meta" and not torch.compiler.is_compiling()


def segments_of_mask(batch_size, q_length, kv_length, q_offset=0, kv_offset=0, mask_function=None,
                     attention_mask=None, device=None, **_):
    """What transformers calls to make a mask: segments of a padded batch, 1 x 1 x B x 6."""
    from transformers.masking_utils import causal_mask_function
    refuse(mask_function is not causal_mask_function,
           "the model requests a mask other than the causal one (packed sequences, a window): pack with "
           "detgemm.torch.transformers.table(...) as attention_mask")
    refuse(kv_offset != 0, f"the cache has dropped its first {kv_offset} keys: it must keep all of them")
    device = device if device is not None else getattr(attention_mask, "device", None)
    segments = dense(batch_size, q_length, kv_length, device)
    segments[:, 5] = q_offset + q_length                          # a static cache is longer than what it holds
    if attention_mask is not None:                                # B x keys, zeros at the padding
        here = attention_mask[:, :kv_length].to(torch.int32)
        first = here.argmax(1).to(torch.int32)
        whole = q_offset == 0 and q_length == here.shape[1]       # without a cache: padding on the right as well
        behind = here.flip(1).argmax(1).to(torch.int32) if whole else 0
        inside = torch.minimum(segments[:, 5], torch.full_like(first, here.shape[1])) - first - behind
        unbroken = here.sum(1) == inside
        segments[:, 4], segments[:, 5] = first, torch.where(unbroken, inside, 0)
        pad = (first - q_offset).clamp(min=0)
        segments[:, 1], segments[:, 2] = pad, q_length - pad - behind
        refuse(_readable(unbroken) and not bool(unbroken.all()),
               "attention_mask has padding inside of a sequence, or right of one while there is a cache: padding on the left is "
               "supported, and on the right without a cache")
    return segments[None, None]


def attention_forward(module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, **options):
    refuse(dropout != 0.0, f"dropout is {dropout}: attention supports none")
    for option in ("sliding_window", "softcap", "s_aux", "position_bias"):
        refuse(options.get(option) is not None, f"{option} is set: attention supports causal masks alone")
    refuse(options.get("is_causal") is False, "is_causal is False: attention supports causal masks alone")
    refuse(attention_mask is not None and (attention_mask.dtype != torch.int32 or attention_mask.shape[-1] != 6),
           f"attention_mask has the shape {tuple(getattr(attention_mask, 'shape', ()))}: it must be two-dimensional "
           "(batch x keys) or segments")
    segments = None if attention_mask is None else attention_mask.reshape(-1, 6)
    if under_autocast(query):  # which leaves queries and keys in fp32 behind the rotary embedding, and values in its own type
        query, key, value = (x.to(torch.get_autocast_dtype(query.device.type)) for x in (query, key, value))
    most = options.get(MOST_QUERIES) or 0
    return attention(query, key, value, segments, scale=scaling, max_q=most).transpose(1, 2), None


def register():
    """Adds the attention and its mask to the registries of transformers, under the name "detgemm"."""
    from transformers import AttentionInterface, AttentionMaskInterface
    AttentionInterface.register(NAME, attention_forward)
    AttentionMaskInterface.register(NAME, segments_of_mask)


def _eps(module):
    return next((getattr(module, name) for name in ("variance_epsilon", "eps") if hasattr(module, name)), None)


def _check_norm(name, module):
    """A layer named RMSNorm must compute what RMSNorm computes: it is tested on random values."""
    eps = _eps(module)
    refuse(eps is None or getattr(module, "weight", None) is None,
           f"{name} is a {type(module).__name__} without weight or eps: it is not a known RMSNorm")
    twin = copy.deepcopy(module).to("cpu", torch.float32)
    values = torch.randn(4, module.weight.shape[-1], generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        twin.weight.copy_(torch.linspace(0.5, 2.0, twin.weight.numel()).view_as(twin.weight))
        wanted = values * torch.rsqrt(values.pow(2).mean(-1, keepdim=True) + eps) * twin.weight
        refuse(twin.weight.dim() != 1 or not torch.allclose(twin(values), wanted, rtol=1e-5, atol=1e-6),
               f"{name} is a {type(module).__name__} with another formula than x / sqrt(mean(x^2) + eps) * weight")


def _check(model, policy):
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    refuse(kinds != {"full_attention"}, f"the model has layers of {sorted(kinds)}: full_attention alone is supported")
    refuse(getattr(config, "attention_dropout", 0.0) not in (0.0, None), "the model drops attention weights")
    for name, module in model.named_modules():
        kind = type(module).__name__
        # Weights outside of nn.Linear, such as those of experts, would be multiplied by PyTorch.
        refuse(kind.endswith(("Experts", "Router")) and (kind not in KINDS or policy is None),
               f"{name} is a {kind}: with a policy, Mixtral's and Qwen3-MoE's experts are covered, no others")
        refuse(isinstance(module, (torch.nn.LayerNorm, torch.nn.modules.conv._ConvNd, torch.nn.modules.batchnorm._NormBase)) or
               kind.endswith("Norm") and not kind.endswith("RMSNorm"), f"{name} is a {kind}: it has no row-local form here")
        own = [each for each, weight in module.named_parameters(recurse=False) if weight.dim() > 1]
        refuse(policy is not None and own and kind not in KINDS and not isinstance(module, (torch.nn.Linear, torch.nn.Embedding)),
               f"{name} is a {kind} with weights of its own ({', '.join(own)}): their products are not under the policy")


def use(model, policy, skip=(), *, weights_are_stable=False, snap_weights=False):
    """Puts a model on detgemm's operations, in place; returns the names of the layers replaced, by kind.

    policy: contracts of the linear layers (detgemm.torch.Policy); None leaves them alone. skip,
    weights_are_stable and snap_weights as for convert.
    """
    _check(model, policy)
    norms = [(name, module) for name, module in model.named_modules()
             if type(module).__name__.endswith("RMSNorm") and not isinstance(module, RMSNorm)]
    for name, module in norms:
        _check_norm(name, module)
    tables = [(name, module) for name, module in model.named_modules() if type(module) is torch.nn.Embedding]
    gated = [(name, module) for name, module in model.named_modules() if is_gated(module)]
    turned = find_angles(model)
    done = {"norms": [], "embeddings": [], "linear": [], "experts": [], "mlps": [], "angles": []}
    if policy is not None:
        done["linear"], _ = convert(model, policy, skip, weights_are_stable=weights_are_stable,
                                    snap_weights=snap_weights)
        done["experts"] = convert_experts(model, policy)
    for name, module in norms:
        model.set_submodule(name, RMSNorm(module.weight, _eps(module)))
        done["norms"].append(name)
    for name, module in tables:
        model.set_submodule(name, Embedding.converted(module))
        done["embeddings"].append(name)
    for name, module in gated:
        model.set_submodule(name, GatedMLP(module))
        done["mlps"].append(name)
    for name, module in turned:
        model.set_submodule(name, Angles(module))
        done["angles"].append(name)
    register()
    model.set_attn_implementation(NAME)
    use_nodes(model)
    return done


def use_experts(model, policy):
    """Computes all layers of experts of a model that transformers dispatches by grouped products under a policy, forward and
    backward, and nothing else of it; returns their names.

    A token's result depends on the token and its experts alone. Gradients of weights add tokens in the order of the call, and
    go to `main_grad` where a weight has one; samples are not padded, so they depend on the cut into micro-batches.
    """
    from transformers.integrations.moe import ExpertsInterface
    refuse(not isinstance(policy, Policy), f"policy is {policy!r}: it must be a detgemm.torch.Policy; there is no default")
    layers = {name: module for name, module in model.named_modules()
              if hasattr(module, "is_transposed") and hasattr(module, "down_proj")}
    refuse(not layers, "the model has no layer of experts that transformers dispatches")
    for name, module in layers.items():
        refuse(module.has_bias, f"{name} is a {type(module).__name__} with biases: grouped layers have none")
        refuse(getattr(module, "has_post_expert_norm", False), f"{name} has a norm after its experts, which is not covered")
    ExpertsInterface.register(NAME, grouped_experts)
    model.set_experts_implementation(NAME)
    for module in layers.values():
        module.policy = policy
    return list(layers)


class Slots:
    """Keys and values of many sequences, one per slot, for continuous batching and decoding.

    A step runs one packed row of tokens from any slots: a whole prompt, a chunk of one, one token.
    Tensors of a step keep their addresses where the counts stay, so that a CUDA graph can be
    replayed after `load`.
    """

    is_compileable = False

    def __init__(self, config, slots, length, dtype, device):
        config = config.get_text_config()
        heads = config.num_key_value_heads
        dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (slots, heads, length, dim)
        self.keys, self.values = ([torch.zeros(shape, dtype=dtype, device=device)
                                   for _ in range(config.num_hidden_layers)] for _ in range(2))
        self.lengths, self.device, self.inputs, self.most = [0] * slots, device, None, 0

    def update(self, key, value, layer, *_, **__):
        slot, place = self.inputs["slot"], self.inputs["position_ids"][0]
        self.keys[layer][slot, :, place] = key[0].transpose(0, 1)
        self.values[layer][slot, :, place] = value[0].transpose(0, 1)
        return self.keys[layer], self.values[layer]

    def get_seq_length(self, layer=0):
        return 0

    def load(self, work):
        """work: pairs of slot and its next token ids. Sets `inputs`, and returns each pair's last row."""
        tokens, slots, places, rows, last = [], [], [], [], []
        for slot, ids in work:
            done = self.lengths[slot]
            refuse(not len(ids), f"slot {slot} is given no token: it must get one at least, or be left out")
            refuse(done + len(ids) > self.keys[0].shape[2],
                   f"slot {slot} holds {done} tokens: {len(ids)} more do not fit into {self.keys[0].shape[2]}")
            rows.append([0, len(tokens), len(ids), slot, 0, done + len(ids)])
            tokens += list(ids)
            slots += [slot] * len(ids)
            places += range(done, done + len(ids))
            last.append(len(tokens) - 1)
            self.lengths[slot] = done + len(ids)
        # What the shapes alone allow one piece to have, so that a captured graph may be replayed.
        self.most = len(tokens) - len(rows) + 1
        new = {"input_ids": torch.tensor([tokens], device=self.device),
               "position_ids": torch.tensor([places], device=self.device),
               "slot": torch.tensor(slots, device=self.device),
               "attention_mask": table(rows, self.device)}
        if self.inputs is not None and all(new[n].shape == self.inputs[n].shape for n in new):
            for name, tensor in new.items():
                self.inputs[name].copy_(tensor)
        else:
            self.inputs = new
        return last

    def run(self, model, **options):
        """model's outputs for the step that was loaded."""
        given = {name: self.inputs[name] for name in ("input_ids", "position_ids", "attention_mask")}
        return model(**given, past_key_values=self, use_cache=True, **{MOST_QUERIES: self.most}, **options)
