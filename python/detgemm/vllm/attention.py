# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""detgemm's paged attention as a backend of vLLM: CUSTOM on a GPU, in place of CPU_ATTN on a CPU.

Blocks of 128 keys from the sequence's own start are computed by themselves and joined in order, whatever the batch, the
cut of a prompt and the size of a page.
"""
import dataclasses

import torch
from vllm.platforms import current_platform
from vllm.v1.attention import backend as base
from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

from detgemm.torch.dispatch import chosen, on_device

MOST_PARTS = 2**29  # fp32 numbers that graphs may hold for blocks of keys: 2 GiB
PATH = "detgemm.vllm.attention.DetgemmAttentionBackend"


def halves(cache, head_size):
    """Keys and values of a cache as pages x rows x heads x elements. The cache has pages of keys, then pages of values (ours, where
    a backend gives the shape), or pages x heads x rows of both (vLLM's own, and every one in later releases)."""
    return cache.unbind(1) if cache.dim() == 5 else cache.transpose(1, 2).split(head_size, dim=-1)


class DetgemmAttentionBackend(base.AttentionBackend):
    """Where the backend gives the cache's shape: pages of keys, then pages of values, blocks x 2 x page x heads x elements."""

    forward_includes_kv_cache_update = False
    supported_dtypes = [torch.bfloat16, torch.float16]
    supported_kv_cache_dtypes = ["auto", "bfloat16", "float16"]

    @staticmethod
    def get_name():
        return "CPU_ATTN" if current_platform.is_cpu() else "CUSTOM"

    @staticmethod
    def get_supported_kernel_block_sizes(kv_cache_spec=None):
        return [base.MultipleOf(16)]

    @classmethod
    def get_supported_head_sizes(cls):
        return []

    @classmethod
    def supports_head_size(cls, head_size):
        return 1 <= head_size <= 256

    @classmethod
    def supports_batch_invariance(cls):
        return True

    @staticmethod
    def get_impl_cls():
        return DetgemmAttention

    @staticmethod
    def get_builder_cls():
        return DetgemmMetadataBuilder

    @staticmethod
    def get_kv_cache_shape(num_blocks, block_size, num_kv_heads, head_size, cache_dtype_str="auto"):
        return num_blocks, 2, block_size, num_kv_heads, head_size


@dataclasses.dataclass
class Metadata:
    """What a step's layers share."""
    num_actual_tokens: int
    max_query_len: int
    max_seq_len: int
    table: torch.Tensor
    segments: torch.Tensor
    slot_mapping: torch.Tensor


class DetgemmMetadataBuilder(base.AttentionMetadataBuilder):
    """Segments of a step in memory that stays where it is, so that graphs read those of each step."""

    def __init__(self, kv_cache_spec, layer_names, vllm_config, device):
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)
        most = max(vllm_config.scheduler_config.max_num_seqs, vllm_config.compilation_config.max_cudagraph_capture_size or 0)
        self.segments = torch.zeros((most, 6), dtype=torch.int32, device=device)
        self.segments[:, 3] = torch.arange(len(self.segments), dtype=torch.int32, device=device)  # the row of the table

    @classmethod
    def get_cudagraph_support(cls, vllm_config, kv_cache_spec):
        """Decoding steps, whose launches depend on nothing but the number of requests once memory is there for the longest."""
        if current_platform.is_cpu() or not decodes_in_graphs(vllm_config):
            return base.AttentionCGSupport.NEVER
        return base.AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE

    def build(self, common_prefix_len, common_attn_metadata, fast_build=False):
        common = common_attn_metadata
        if common.causal is not True:
            raise ValueError("detgemm: attention that is not causal is not supported with quantization=\"detgemm\"")
        segments = self.segments[:len(common.seq_lens)]
        with on_device(segments):
            chosen(segments, "paged").write_segments(segments, common.query_start_loc, common.seq_lens)
        return Metadata(common.num_actual_tokens, common.max_query_len, common.max_seq_len, common.block_table_tensor, segments,
                        common.slot_mapping)


def decodes_in_graphs(config):
    """Whether no graph, all of its requests being of the longest, needs more than MOST_PARTS."""
    from detgemm.torch.kernels import paged
    model, parallel = config.model_config, config.parallel_config
    requests = min(config.scheduler_config.max_num_seqs, config.compilation_config.max_cudagraph_capture_size or 0)
    heads, kv_heads = model.get_num_attention_heads(parallel), model.get_num_kv_heads(parallel)
    blocks, width = -(-model.max_model_len // paged.order.KEYS), max(16, 1 << (model.get_head_size() - 1).bit_length())
    return all(paged.part_numbers(number, kv_heads, heads // kv_heads, blocks, width) <= MOST_PARTS for number in range(1, requests + 1))


class DetgemmAttention(base.AttentionImpl):
    def __init__(self, num_heads, head_size, scale, num_kv_heads=None, alibi_slopes=None, sliding_window=None,
                 kv_cache_dtype="auto", logits_soft_cap=None, attn_type=base.AttentionType.DECODER,
                 kv_sharing_target_layer_name=None, **more):
        asked = {"alibi_slopes": alibi_slopes, "sliding_window": sliding_window, "logits_soft_cap": logits_soft_cap,
                 "kv_sharing_target_layer_name": kv_sharing_target_layer_name, **more}
        found = [name for name, value in asked.items() if torch.is_tensor(value) or value]
        if found:
            raise ValueError(f"detgemm: attention with {', '.join(found)} is not supported with quantization=\"detgemm\" on a CPU, and not by "
                             "attention_backend CUSTOM on a GPU")
        if attn_type != base.AttentionType.DECODER:
            raise ValueError(f"detgemm: attention of the type {attn_type} is not supported with quantization=\"detgemm\"")
        self.num_heads, self.head_size, self.scale = num_heads, head_size, float(scale)
        self.num_kv_heads, self.kv_cache_dtype = num_kv_heads or num_heads, kv_cache_dtype

    def do_kv_cache_update(self, layer, key, value, kv_cache, slot_mapping):
        """Stores keys and values; a slot of -1 is padding."""
        keys, values = halves(kv_cache, self.head_size)
        if key.device.type == "cuda":
            from vllm import _custom_ops as ops
            ops.reshape_and_cache_flash(key, value, keys, values, slot_mapping, self.kv_cache_dtype, layer._k_scale, layer._v_scale)
            return
        there = (slot_mapping >= 0).nonzero()[:, 0]
        page, row = slot_mapping[there] // keys.shape[1], slot_mapping[there] % keys.shape[1]
        keys[page, row], values[page, row] = key[there], value[there]

    def forward(self, layer, query, key, value, kv_cache, attn_metadata, output, output_scale=None, output_block_scale=None):
        if output_scale is not None or output_block_scale is not None:
            raise ValueError("detgemm: attention with a quantised output is not supported with quantization=\"detgemm\"")
        if attn_metadata is None:  # a step that sizes memory
            return output.zero_()
        count, (keys, values) = attn_metadata.num_actual_tokens, halves(kv_cache, self.head_size)
        with on_device(query):
            chosen(query, "paged").paged_attention(query[:count], keys, values, attn_metadata.table, attn_metadata.segments, self.scale,
                                                   min(attn_metadata.max_query_len, count), attn_metadata.max_seq_len, out=output[:count])
        return output


def register(on_gpu):
    """Offers the backend on a GPU by the name CUSTOM, unless another plugin has that name."""
    if on_gpu and not AttentionBackendEnum.CUSTOM.is_overridden():
        register_backend(AttentionBackendEnum.CUSTOM, PATH)


def choose(on_gpu, used):
    """Puts the backend in the place of vLLM's on a CPU, which has no choice of backends, or takes it away again."""
    if on_gpu:
        return
    if used:
        register_backend(AttentionBackendEnum.CPU_ATTN, PATH)
    elif AttentionBackendEnum.CPU_ATTN.is_overridden():
        AttentionBackendEnum.CPU_ATTN.clear_override()
