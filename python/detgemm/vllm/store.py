# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Queries and keys are turned, and keys and values written to the cache, in one kernel: torch.ops.detgemm_vllm.turn_and_store.

vLLM writes to the cache in an operator of its own, between two pieces of a compiled model, since the pages of a step are known
to that step alone. This operator stands in its place: it reads the step's pages as that one does, and is cut out likewise.
"""
import torch
from vllm.model_executor.layers.attention import attention as theirs
from vllm.utils.torch_utils import LayerNameType

from detgemm.torch.dispatch import chosen, on_device
from detgemm.vllm import hooks, operators
from detgemm.vllm.attention import halves

VLLMS, OURS = ("FLASH_ATTN", "TRITON_ATTN"), ("CUSTOM", "CPU_ATTN")  # backends whose caches the kernel writes
NAME, THEIRS = "detgemm_vllm::turn_and_store", "vllm::unified_kv_cache_update"


def pages_of(layer, cache):
    """Keys and values as pages x rows x heads x elements, kept until the layer has another cache."""
    kept = getattr(layer, "_detgemm_pages", (None, None))
    if kept[0] is not cache:
        kept = layer._detgemm_pages = cache, halves(cache, layer.head_size)
    return kept[1]


def turn_and_store(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, positions: torch.Tensor, table: torch.Tensor, interleaved: bool,
                   q_weight: torch.Tensor | None, k_weight: torch.Tensor | None, eps: float,
                   layer_name: LayerNameType) -> torch.Tensor:
    """q, turned; attention depends on it, so it is behind the write. q, k, v: tokens x heads x elements."""
    _, layer, cache, slots = theirs.get_attention_context(theirs._resolve_layer_name(layer_name))
    if slots is None:  # a run that sizes memory
        return operators.rotary_pair(q, k, positions, table, interleaved, q_weight, k_weight, eps)[0]
    keys, values = pages_of(layer, cache)
    if keys.dtype != q.dtype:
        raise ValueError(f"detgemm: the cache has {keys.dtype} and the model {q.dtype}: they must be the same")
    with on_device(q):
        return chosen(q, "rotary").rotary_store(q, k, v, positions, table, interleaved, q_weight, k_weight, eps, keys, values, slots)


def _shapes(q, k, v, positions, table, interleaved, q_weight, k_weight, eps, layer_name):
    return q.new_empty(q.shape)


def serves(attention):
    """Whether an attention layer keeps keys and values as the kernel writes them, and computes from its cache alone."""
    name = attention.attn_backend.get_name()
    return (hooks.used("attention") and (name in VLLMS or name in OURS and attention.attn_backend.__module__.startswith("detgemm.")) and
            not attention.use_direct_call and attention.kv_sharing_target_layer_name is None and attention.query_quant is None and
            not attention.calculate_kv_scales and attention.head_size == attention.head_size_v)


def attended(attention, rotary, positions, q, k, v, weights, eps):
    """What vLLM's attention layer returns for the heads of q, k and v, normed with the weights, turned and stored."""
    q, k, v = (x.view(-1, heads, attention.head_size) for x, heads in
               ((q, attention.num_heads), (k, attention.num_kv_heads), (v, attention.num_kv_heads)))
    output = torch.empty((q.shape[0], attention.num_heads, attention.head_size), dtype=q.dtype, device=q.device)
    name = theirs._encode_layer_name(attention.layer_name)
    q = torch.ops.detgemm_vllm.turn_and_store(q, k, v, positions.flatten(), rotary._match_cos_sin_cache_dtype(q),
                                              not rotary.is_neox_style, *weights, eps, name)
    torch.ops.vllm.unified_attention_with_output(q, k, v, output, name)
    return output.view(-1, attention.num_heads * attention.head_size)


def register(compilation):
    """Has a compiled model cut where this operator stands, if it is cut where vLLM's is. compilation: vLLM's CompilationConfig."""
    cuts = compilation.splitting_ops
    if cuts and THEIRS in cuts and NAME not in cuts:
        cuts.append(NAME)


operators.register("turn_and_store", turn_and_store, _shapes)
