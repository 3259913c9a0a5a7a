# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A decoder layer of transformers as one node of autograd, with the bits of its separate layers.

    x -> norm -> q, k, v -> norms of heads, rotary -> attention -> o -> (+ x) = s -> norm -> gate, up -> silu_mul -> down -> (+ s)

Separate layers are some forty operators with their gradients, each recorded by Python, and a GPU waits for them. Here a layer is
recorded once. Gradients that meet are added in autograd's order: of q, k and v the last first. `use` calls it for layers in which
each part is what detgemm put there; what it does not cover takes the layer's own forward pass, and `audit` reports why (`_why_not`).
"""
import dataclasses
import functools
import importlib

import torch
from torch.autograd import forward_ad

from detgemm.torch import attend, fused, gradients, rotary  # noqa: F401  (they register the operators that a layer calls)
from detgemm.torch.attend import MOST_QUERIES
from detgemm.torch.auditing import note_separate
from detgemm.torch.dispatch import under_autocast
from detgemm.torch.gated import GatedMLP
from detgemm.torch.gradients import WIDEST
from detgemm.torch.layers import Linear
from detgemm.torch.main_grad import gradient_of
from detgemm.torch.operators import OPS, output_type
from detgemm.torch.rows import RMSNorm
from detgemm.torch.sums import SUMS, gradient_after

LAYERS = {"LlamaDecoderLayer": "transformers.models.llama.modeling_llama", "Qwen3DecoderLayer": "transformers.models.qwen3.modeling_qwen3"}
ATTENTIONS = ("LlamaAttention", "Qwen3Attention")
WEIGHTS = ("input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.q_norm", "self_attn.k_norm",
           "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
# Options of a call that the attention refuses or reads in another way.
OPTIONS = ("sliding_window", "softcap", "s_aux", "position_bias", "is_causal")
_below_autograd = torch._C._AutoDispatchBelowAutograd


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What a layer computes, but its tensors. stable: by weight. main: pairs of main_grad and Megatron's flag, by weight."""
    policy: object
    eps: tuple
    dim: int
    scale: float
    max_q: int
    stable: tuple
    main: tuple


def _linear(plan, at, x, weight):
    policy = plan.policy
    return OPS.linear.default(x, weight, None, None, None, policy.forward, policy.dgrad, policy.wgrad, stable=plan.stable[at])


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, segments, positions, cache, plan, *weights):
        n1, wq, wk, wv, nq, nk, wo, n2, wg, wu, wd = weights
        (batch, length, n), dim = x.shape, plan.dim
        with _below_autograd():
            x = x.reshape(-1, n).contiguous()
            h1 = OPS.inference_rms_norm.default(x, n1, plan.eps[0])
            q, k, v = (_linear(plan, at, h1, w).view(len(x), -1, dim) for at, w in ((1, wq), (2, wk), (3, wv)))
            turned = OPS.rotary_pair.default(q, k, positions, cache, False, nq, nk, plan.eps[2])
            heads = [each.view(batch, length, -1, dim).transpose(1, 2) for each in (*turned, v)]
            out, stats = OPS.attention.default(*heads, segments, plan.scale, plan.max_q, 0, True)
            a = out.transpose(1, 2).reshape(len(x), -1)
            h2, s = OPS.add_rms_norm.default(_linear(plan, 6, a, wo), x, n2, plan.eps[1])
            gate, up = _linear(plan, 8, h2, wg), _linear(plan, 9, h2, wu)
            m = OPS.silu_mul.default(gate, up)
            y = s.view(batch, length, n) + _linear(plan, 10, m, wd).view(batch, length, n)  # no view: a hook may write to it
        ctx.plan = plan
        ctx.save_for_backward(x, h1, q, k, *heads, out, stats, a, s, h2, gate, up, m, segments, positions, cache, *weights)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        plan, (batch, length, n), dim = ctx.plan, dy.shape, ctx.plan.dim
        x, h1, q, k, q_heads, k_heads, v_heads, out, stats, a, s, h2, gate, up, m, segments, positions, cache, *weights = ctx.saved_tensors
        n1, wq, wk, wv, nq, nk, wo, n2, wg, wu, wd = weights
        policy, needed, found = plan.policy, ctx.needs_input_grad[5:], [None] * len(weights)

        def passed(grad, weight):
            return OPS.gemm.default(grad, weight, policy.dgrad)

        def add(at, grad, read):
            if not needed[at]:
                return
            (main_grad, flagged), weight = plan.main[at], weights[at]
            if main_grad is None:
                found[at] = OPS.gemm.default(grad.t(), read, policy.wgrad).to(weight.dtype)
            else:
                OPS.accumulate_.default(main_grad, grad.t(), read, policy.wgrad)
                found[at] = gradient_after(main_grad, None, weight, flagged)

        def add_sums(first, rows, second, more):
            """The gradients of two weights of one size, in one launch where both are needed."""
            asked = [(at, products) for at, products in ((first, rows), (second, more)) if needed[at]]
            accs = [plan.main[at][0] if plan.main[at][0] is not None else products.new_zeros(n_of.shape)
                    for at, products in asked for n_of in (weights[at],)]
            if asked:
                given = [each for acc, (_, products) in zip(accs, asked) for each in (acc, products)]
                OPS.sum_rows_.default(*given, *[None] * (4 - len(given)), SUMS)
            for acc, (at, _) in zip(accs, asked):
                found[at] = gradient_after(plan.main[at][0], acc, weights[at], plan.main[at][1])

        with _below_autograd():
            dy = dy.reshape(-1, n).contiguous()
            both = OPS.silu_mul_backward.default(passed(dy, wd), gate, up)
            dgate, dup = both.chunk(2, dim=-1)
            add(10, dy, m)
            add(9, dup, h2)
            add(8, dgate, h2)
            ds, products2 = OPS.add_rms_norm_backward.default([passed(dup, wu), passed(dgate, wg)], dy, s, n2, plan.eps[1])
            add(6, ds, a)
            da = passed(ds, wo).view(batch, length, -1, dim).transpose(1, 2)
            dq, dk, dv = OPS.attention_backward.default(da, q_heads, k_heads, v_heads, out, stats, segments, plan.scale, plan.max_q, 0)
            dq, dk, q_products, k_products = OPS.rotary_pair_backward.default(dq.transpose(1, 2), dk.transpose(1, 2), q, k, positions, cache,
                                                                              nq, nk, plan.eps[2])
            if nq is not None:
                add_sums(4, q_products, 5, k_products)
            dq, dk, dv = (each.reshape(len(x), -1) for each in (dq, dk, dv.transpose(1, 2)))
            for at, grad in ((3, dv), (2, dk), (1, dq)):
                add(at, grad, h1)
            dx, products1 = OPS.add_rms_norm_backward.default([passed(dv, wv), passed(dk, wk), passed(dq, wq)], ds, x, n1, plan.eps[0])
            add_sums(0, products1, 7, products2)
        return dx.view(batch, length, n), None, None, None, None, *found


def _parts(layer):
    """The layer's parts by the names of WEIGHTS, None for norms of heads where there are none; None where a module
    has another formula than ours and theirs."""
    attention, mlp = layer.self_attn, layer.mlp
    if type(mlp) is not GatedMLP or type(attention).__name__ not in ATTENTIONS or type(attention).__module__ not in LAYERS.values():
        return None
    return (layer.input_layernorm, attention.q_proj, attention.k_proj, attention.v_proj, getattr(attention, "q_norm", None),
            getattr(attention, "k_norm", None), attention.o_proj, layer.post_attention_layernorm, mlp.gate_proj, mlp.up_proj, mlp.down_proj)


def _hooked(module):
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
                or "forward" in module.__dict__)


def _plain(tensor):
    return type(tensor) in (torch.Tensor, torch.nn.Parameter)


def _why_not(layer, parts, x, mask, keys, positions, options):
    """What keeps a call from being one node, or None."""
    if torch.version.hip is not None:
        return "no kernel of a backward pass was executed on AMD GPUs here"
    if parts is None:
        return "the attention or the gated layer is another one"
    policy = getattr(parts[1], "policy", None)
    known = all(type(part) is RMSNorm if at in (0, 4, 5, 7) else type(part) is Linear and part.bias is None
                and part.policy == policy and part.weight_snapped_at is None
                for at, part in enumerate(parts) if part is not None or at not in (4, 5))
    if not known or (parts[4] is None) != (parts[5] is None):
        return "a part is not what detgemm put there"
    weights = [part.weight for part in parts if part is not None]
    if len(set(map(id, weights))) < len(weights):
        return "two parts share a weight, whose gradients are added in no order here"
    if parts[4] is not None and parts[4].eps != parts[5].eps:
        return "norms of queries and keys differ in eps"
    if torch.nn.modules.module._has_any_global_hook() or any(map(_hooked, (layer.self_attn, layer.mlp))) or any(
            _hooked(part) for part in parts if part is not None):
        return "a part has a hook"
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0 or not torch.is_grad_enabled():
        return "the pass is transformed or without gradients"
    if keys is not None or getattr(layer.self_attn, "attention_dropout", 0.0) not in (0.0, None) or any(
            options.get(name) is not None for name in OPTIONS):
        return "the attention has a cache or an option"
    if mask is None or mask.dtype != torch.int32 or mask.shape[-1] != 6:
        return "the mask is no table of segments"
    if under_autocast(x) or not all(map(_plain, (x, *weights))) or any(w.dtype != x.dtype or w.device != x.device for w in weights):
        return "types differ, or tensors are of a subclass"
    if policy.input != x.dtype or output_type(policy.forward) != x.dtype or output_type(policy.dgrad) != x.dtype:
        return "the policy has another output"
    dim = layer.self_attn.head_dim
    if x.dtype not in (torch.bfloat16, torch.float16) or not 32 <= dim <= 256:
        return "the attention takes bf16 and fp16, and heads of 32 to 256 elements here"
    if x.shape[-1] > WIDEST or dim & (dim - 1) or not positions or getattr(positions[0], "detgemm_halves", None) is None or (
            positions[0].shape[-1] != dim) or positions[0].dtype != x.dtype:
        return "the rotary embedding is another one"
    return None


def _table(positions, batch):
    """Positions and the cache of cosines and sines that rotary_pair reads; made once for all layers of a forward pass."""
    cos, sin = positions
    made = cos.detgemm_halves.get(batch)
    if made is None:
        half, rows = cos.shape[-1] // 2, torch.arange(cos.shape[0] * cos.shape[1], device=cos.device)
        cache = torch.cat((cos[..., :half], sin[..., :half]), dim=-1).view(-1, 2 * half)
        made = cos.detgemm_halves[batch] = rows.view(cos.shape[0], -1).expand(batch, -1).reshape(-1), cache
    return made


class Node:
    """What a decoder layer's class has before transformers' own: the forward pass as one node where it can be."""

    def forward(self, hidden_states, attention_mask=None, position_ids=None, past_key_values=None, use_cache=False, position_embeddings=None,
                **options):
        parts, compiled = _parts(self), torch.compiler.is_compiling()  # a compiler traces the layer's own pass
        why = None if compiled else _why_not(self, parts, hidden_states, attention_mask, past_key_values, position_embeddings, options)
        if why is not None:
            note_separate(self, why)
        if compiled or why is not None:
            return super().forward(hidden_states, attention_mask=attention_mask, position_ids=position_ids, past_key_values=past_key_values,
                                   use_cache=use_cache, position_embeddings=position_embeddings, **options)
        weights = tuple(None if part is None else part.weight for part in parts)
        eps = parts[0].eps, parts[7].eps, 0.0 if parts[4] is None else parts[4].eps
        stable = tuple(2 if getattr(part, "weights_are_stable", False) else 0 for part in parts)
        main = tuple((None, False) if w is None else gradient_of(w, name) for w, name in zip(weights, WEIGHTS))
        plan = _Plan(parts[1].policy, eps, self.self_attn.head_dim, float(self.self_attn.scaling), options.get(MOST_QUERIES) or 0, stable, main)
        return _Layer.apply(hidden_states, attention_mask.reshape(-1, 6), *_table(position_embeddings, hidden_states.shape[0]), plan, *weights)


@functools.cache
def _class_of(name):
    """A class of transformers behind Node, under its own name: FSDP and device maps look layers up by it."""
    return type(name, (Node, getattr(importlib.import_module(LAYERS[name]), name)), {"__module__": __name__})


def __getattr__(name):  # where pickle finds these classes
    if name in LAYERS:
        return _class_of(name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def use_nodes(model):
    """Makes the decoder layers of a model single nodes of autograd where Node covers a call."""
    for module in model.modules():
        name = type(module).__name__
        if name in LAYERS and type(module).__module__ == LAYERS[name]:
            module.__class__ = _class_of(name)
