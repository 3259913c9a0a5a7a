# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm_names.py FOLDER: the names and parameters of vLLM that the plugin uses, looked for in a release's sources.

FOLDER holds a package `vllm`, for example an unpacked wheel. Nothing of it is imported, so neither its compiled parts nor
its PyTorch need be there. Prints what changed, one line each; exit status 1 if something did.
"""
import ast
import pathlib
import sys

FORWARD = ("forward_native", "forward_cuda")
LAYERS = "vllm/model_executor/layers/"
MOE = LAYERS + "fused_moe/"
# Source, name, and parameters: a list of those that the plugin passes, in this order; a tuple of all, where the plugin
# replaces the function and so must take whatever vLLM passes; None for a name alone, or for one of two.
USED = [
    ("vllm/model_executor/custom_op.py", "op_registry_oot", None),
    ("vllm/model_executor/custom_op.py", "CustomOp.register_oot", ["cls"]),
    ("vllm/model_executor/custom_op.py", "PluggableLayer.register_oot", ["cls"]),
    (LAYERS + "quantization/__init__.py", "register_quantization_config", ["quantization"]),
    (LAYERS + "quantization/__init__.py", "_CUSTOMIZED_METHOD_TO_QUANT_CONFIG", None),
    (LAYERS + "quantization/base_config.py", "QuantizationConfig.get_quant_method", ("self", "layer", "prefix")),
    (LAYERS + "linear.py", "register_weight_loader_v2_supported_method", ["cls"]),
    (LAYERS + "linear.py", "UnquantizedLinearMethod.apply", ("self", "layer", "x", "bias")),
    (LAYERS + "linear.py", "UnquantizedLinearMethod.process_weights_after_loading", ("self", "layer")),
    (LAYERS + "linear.py", "RowParallelLinear.__init__", ["self", "input_size"]),
    (LAYERS + "linear.py", "RowParallelLinear.forward", ("self", "input_")),
    (LAYERS + "vocab_parallel_embedding.py", "UnquantizedEmbeddingMethod.apply", ("self", "layer", "x", "bias")),
    (LAYERS + "logits_processor.py", "LogitsProcessor._apply_head", ("self", "lm_head", "hidden_states", "embedding_bias")),
    (LAYERS + "activation.py", "SiluAndMul.__init__", ["self", "compile_native"]),
    (LAYERS + "activation.py", "SiluAndMul.forward_cpu", ("self", "x")),
    (LAYERS + "rotary_embedding/base.py", "RotaryEmbeddingBase._match_cos_sin_cache_dtype", ["self", "query"]),
    *((LAYERS + "layernorm.py", f"RMSNorm.{name}", ("self", "x", "residual")) for name in FORWARD),
    *((LAYERS + "activation.py", f"SiluAndMul.{name}", None) for name in FORWARD),
    *((LAYERS + "rotary_embedding/base.py", f"RotaryEmbedding.{name}", ("self", "positions", "query", "key"))
      for name in (*FORWARD, "forward_cpu")),
    ("vllm/model_executor/models/qwen3.py", "Qwen3Attention.forward", ("self", "positions", "hidden_states")),
    ("vllm/model_executor/models/qwen3_moe.py", "Qwen3MoeAttention.forward", ("self", "positions", "hidden_states")),
    (LAYERS + "quantization/base_config.py", "QuantizationConfig.override_quantization_method",
     ("cls", "hf_quant_cfg", "user_quant", "hf_config")),
    (LAYERS + "quantization/utils/fp8_utils.py", "create_fp8_weight_parameter",
     ["output_size_per_partition", "input_size_per_partition", "weight_loader"]),
    (LAYERS + "quantization/utils/fp8_utils.py", "create_fp8_scale_parameter",
     ["parameter_type", "output_partition_sizes", "input_size_per_partition", "block_size", "weight_loader"]),
    (LAYERS + "quantization/utils/fp8_utils.py", "validate_fp8_block_shape",
     ["layer", "input_size", "output_size", "input_size_per_partition", "output_partition_sizes", "block_size"]),
    (LAYERS + "quantization/utils/quant_utils.py", "is_layer_skipped", ["prefix", "ignored_layers", "fused_mapping"]),
    (LAYERS + "linear.py", "ReplicatedLinear.__init__", ["self", "prefix"]),
    (MOE + "router/gate_linear.py", "GateLinear.__init__", ["self", "prefix"]),
    (MOE + "router/gate_linear.py", "GateLinear.forward", ("self", "x")),
    (MOE + "fused_moe_method_base.py", "FusedMoEMethodBase.__init__", ("self", "moe")),
    (MOE + "fused_moe_method_base.py", "FusedMoEMethodBase.apply_monolithic", ("self", "layer", "x", "router_logits", "input_ids")),
    (MOE + "fused_moe_method_base.py", "FusedMoEMethodBase.get_fused_moe_quant_config", ("self", "layer")),
    (MOE + "config.py", "FUSED_MOE_UNQUANTIZED_CONFIG", None),
    *((MOE + "config.py", f"FusedMoEConfig.{name}", None)
      for name in ("num_experts", "num_local_experts", "num_logical_experts", "activation", "moe_parallel_config", "has_bias", "swiglu_limit",
                   "skip_final_all_reduce", "hidden_dim_unpadded", "intermediate_pad")),
    *((MOE + "config.py", f"FusedMoEParallelConfig.{name}", None)
      for name in ("tp_size", "dp_size", "pcp_size", "ep_size", "ep_rank", "enable_eplb")),
    (MOE + "routed_experts.py", "RoutedExperts.forward_monolithic", ("self", "x", "router_logits", "input_ids")),
    (MOE + "routed_experts.py", "FusedMoeWeightScaleSupported.BLOCK", None),
    (MOE + "router/fused_topk_router.py", "FusedTopKRouter.__init__", None),
    (MOE + "router/grouped_topk_router.py", "GroupedTopKRouter.__init__", None),
    (MOE + "router/fused_topk_bias_router.py", "FusedTopKBiasRouter.__init__", None),
    (MOE + "runner/moe_runner.py", "MoERunner._fused_output_is_reduced", None),
    (MOE + "runner/moe_runner.py", "MoERunner._apply_quant_method", None),
    ("vllm/model_executor/models/llama.py", "LlamaAttention.forward", ("self", "positions", "hidden_states")),
    (LAYERS + "attention/attention.py", "get_attention_context", ("layer_name",)),
    (LAYERS + "attention/attention.py", "unified_kv_cache_update", ["key", "value", "layer_name"]),
    (LAYERS + "attention/attention.py", "unified_attention_with_output",
     ["query", "key", "value", "output", "layer_name"]),
    (LAYERS + "attention/attention.py", "_encode_layer_name", None),
    (LAYERS + "attention/attention.py", "_resolve_layer_name", None),
    ("vllm/utils/torch_utils.py", "LayerNameType", None),
    ("vllm/utils/torch_utils.py", "direct_register_custom_op", ["op_name", "op_func", "fake_impl", "target_lib"]),
    ("vllm/logger.py", "init_logger", ["name"]),
    ("vllm/config/compilation.py", "CompilationConfig.splitting_ops", None),
    ("vllm/v1/attention/backend.py", "AttentionMetadataBuilder.get_cudagraph_support", ("cls", "vllm_config", "kv_cache_spec")),
    ("vllm/v1/attention/backend.py", "AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE", None),
    ("vllm/v1/sample/logits_processor/builtin.py", "MinPLogitsProcessor.apply", ("self", "logits")),
    ("vllm/model_executor/model_loader/base_loader.py", "initialize_model", None),
    ("vllm/model_executor/layers/attention_layer_base.py", "AttentionLayerBase", None),
    (LAYERS + "layernorm.py", "GemmaRMSNorm.forward_native", ("self", "x", "residual")),
    (LAYERS + "layernorm.py", "GemmaRMSNorm.forward_cuda", ("self", "x", "residual")),
    *((LAYERS + "activation.py", f"GeluAndMul.{name}", ("self", "x")) for name in (*FORWARD, "forward_cpu")),
    (LAYERS + "rotary_embedding/phi3_long_rope_scaled_rope.py", "Phi3LongRoPEScaledRotaryEmbedding.forward",
     ("self", "positions", "query", "key", "offsets")),
    (LAYERS + "rotary_embedding/deepseek_scaling_rope.py", "DeepseekScalingRotaryEmbedding", None),
    ("vllm/v1/sample/sampler.py", "Sampler.compute_logprobs", ("logits",)),
    *(("vllm/v1/sample/ops/topk_topp_sampler.py", f"TopKTopPSampler.{name}", ("self", "logits", "generators", "k", "p"))
      for name in (*FORWARD, "forward_cpu")),
    ("vllm/v1/sample/ops/topk_topp_sampler.py", "random_sample", ["probs", "generators", "use_fp64_gumbel"]),
    ("vllm/v1/sample/ops/topk_topp_sampler.py", "apply_top_k_top_p_pytorch", ["logits", "k", "p", "allow_cpu_sync"]),
    ("vllm/v1/sample/ops/topk_topp_triton.py", "apply_top_k_top_p_triton", ["logits", "k", "p"]),
    ("vllm/v1/worker/gpu/sample/logprob.py", "compute_token_logprobs", ("logits", "token_ids")),
    ("vllm/v1/worker/gpu/sample/states.py", "apply_top_k_top_p", None),
    ("vllm/v1/worker/gpu/sample/sampler.py", "apply_top_k_top_p", None),
    ("vllm/v1/attention/backends/registry.py", "register_backend", ["backend", "class_path"]),
    ("vllm/v1/attention/backends/registry.py", "AttentionBackendEnum.CUSTOM", None),
    ("vllm/v1/attention/backends/registry.py", "AttentionBackendEnum.clear_override", ["self"]),
    # Later releases give every backend pages x heads x rows x keys and values, which attention.py takes as well.
    ("vllm/v1/attention/backend.py", "AttentionBackend.get_kv_cache_shape or AttentionBackend.supported_kv_cache_layouts", None),
    ("vllm/v1/attention/backend.py", "AttentionMetadataBuilder.__init__", ["self", "kv_cache_spec", "layer_names", "vllm_config", "device"]),
    ("vllm/v1/attention/backend.py", "AttentionMetadataBuilder.build", ("self", "common_prefix_len", "common_attn_metadata", "fast_build")),
    ("vllm/v1/attention/backend.py", "AttentionImpl.forward",
     ("self", "layer", "query", "key", "value", "kv_cache", "attn_metadata", "output", "output_scale", "output_block_scale")),
    ("vllm/v1/attention/backend.py", "AttentionBackend.get_supported_kernel_block_sizes", []),
    *(("vllm/v1/attention/backend.py", f"CommonAttentionMetadata.{name}", None)
      for name in ("causal", "num_actual_tokens", "max_query_len", "max_seq_len", "block_table_tensor", "query_start_loc", "seq_lens",
                   "slot_mapping")),
    ("vllm/distributed/communication_op.py", "tensor_model_parallel_all_gather", ["input_", "dim"]),
    ("vllm/v1/core/block_pool.py", "BlockPool.get_new_blocks", ["self", "num_blocks"]),
    ("vllm/v1/core/block_pool.py", "BlockPool.free_blocks", ["self", "ordered_blocks"]),
    ("vllm/v1/core/sched/scheduler.py", "Scheduler._preempt_request", ["self", "request", "timestamp"]),
    ("vllm/envs.py", "VLLM_BATCH_INVARIANT", None),
    (LAYERS + "utils.py", "rocm_unquantized_gemm", ("layer", "x", "weight", "bias")),
    (LAYERS + "utils.py", "dispatch_unquantized_gemm", []),
    *(("vllm/envs.py", name, None) for name in ("VLLM_ROCM_USE_SKINNY_GEMM", "VLLM_ROCM_USE_AITER", "VLLM_ROCM_USE_AITER_LINEAR",
                                                "VLLM_ROCM_USE_AITER_TRITON_GEMM", "VLLM_ROCM_USE_AITER_MOE")),
]


def members(body):
    """Names that a module or a class binds, with what they are bound to."""
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found.update({target.id: node for target in node.targets if isinstance(target, ast.Name)})
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update({alias.asname or alias.name: node for alias in node.names})
        elif isinstance(node, (ast.If, ast.Try)):
            found = {**members([*node.body, *node.orelse]), **found}
    return found


def parameters(function):
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def bound(body, name):
    """What a name with points is bound to, or None."""
    node = None
    for part in name.split("."):
        node = members(body).get(part)
        body = getattr(node, "body", [])
    return node


def changes(folder):
    """A line for each name of USED that is not there, or that no longer takes what is passed to it."""
    folder, found = pathlib.Path(folder), []
    for source, name, wanted in USED:
        path = folder / source
        if not path.exists():
            found.append(f"{source}: there is no such file; the plugin uses {name} of it")
            continue
        module = ast.parse(path.read_text(encoding="utf-8")).body
        node = next(filter(None, (bound(module, each) for each in name.split(" or "))), None)
        if node is None:
            found.append(f"{source}: there is no {name}")
        elif wanted is not None:
            there = parameters(node) if hasattr(node, "args") else []
            positions = [there.index(each) if each in there else -1 for each in wanted]
            if -1 in positions or positions != sorted(positions) or isinstance(wanted, tuple) and len(there) != len(wanted):
                found.append(f"{source}: {name} takes {', '.join(there) or 'no parameters'}; the plugin uses {', '.join(wanted) or 'none'}")
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = changes(sys.argv[1])
    for line in found:
        print(line)
    print(f"{len(found)} of {len(USED)} names changed")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
