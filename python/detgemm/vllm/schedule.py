# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""FlashAttention's schedule of a step, made once in place of once per layer.

In its invariant mode vLLM gives FlashAttention 3 no schedule, since one made without that mode may split a query's keys. Then
every layer has a small kernel that makes one. With one split a schedule says which CTA takes which tile and nothing about a
sum, so here it is made once per step, as vLLM makes it outside of that mode.
"""
import functools
import importlib

from detgemm.vllm import hooks

MODULE = "vllm.v1.attention.backends.flash_attn"


def wanted(builder, found):
    """Whether a step is one that FlashAttention 3 computes in one piece under the mode, with one window for all layers."""
    return (hooks.active("attention") and builder.aot_schedule and found.scheduler_metadata is None and found.max_num_splits == 1 and
            not found.use_cascade and builder.dcp_world_size == 1 and found.causal is True and
            tuple(found.sliding_window or (-1, -1)) == (-1, -1))


def made(module, builder, found, requests):
    """The schedule, in the builder's own memory where graphs read it."""
    schedule = module.get_scheduler_metadata(
        batch_size=requests, max_seqlen_q=found.max_query_len, max_seqlen_k=found.max_seq_len, num_heads_q=builder.num_heads_q,
        num_heads_kv=builder.num_heads_kv, headdim=builder.headdim, cache_seqlens=found.seq_lens, qkv_dtype=builder.kv_cache_dtype,
        cu_seqlens_q=found.query_start_loc, page_size=builder.block_size, causal=True, window_size=(-1, -1), num_splits=1)
    if not builder.use_full_cuda_graph:
        return schedule
    kept, size = builder.scheduler_metadata, schedule.shape[0]
    kept[:size] = schedule
    kept[size:] = 0  # a graph of more requests reads what is behind, too
    return kept[:size]


def replace(module):
    owner = module.FlashAttentionMetadataBuilder
    theirs = owner.build
    if hasattr(theirs, "detgemm"):
        return

    @functools.wraps(theirs)
    def build(self, common_prefix_len, common_attn_metadata, fast_build=False):
        found = theirs(self, common_prefix_len, common_attn_metadata, fast_build)
        if not fast_build and wanted(self, found):
            found.scheduler_metadata = made(module, self, found, common_attn_metadata.num_reqs)
        return found

    build.detgemm = theirs
    owner.build = build


def register(on_gpu):
    """Replaces the builder's method on a GPU; safe to call more than once."""
    if on_gpu:
        replace(importlib.import_module(MODULE))
