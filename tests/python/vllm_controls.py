# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm_controls.py FOLDER RESULT [NAME...]: engines of one process, all hooks in the first, one hook taken away in each of the
others, one whose norms of queries and keys and rotary embedding are layers apart, mixtures of experts in bf16 and e4m3, and
models with other norms, activations and tables of angles. NAME: "nothing", or a hook; of engines, those without it alone.

RESULT gets, per engine, what the census says is vLLM's own, and the answers of a few requests; and the sentences of engines
that must not start; and what the plugin says of a layer that it was not written for. FOLDER: a model's config.json.
"""
import gc
import json
import logging
import os
import pathlib
import sys

from detgemm.vllm import census, heads, hooks, probe

OPTIONS = {"random_weights": True, "requests": 1, "tokens": 4, "batches": "2", "eager": True, "speed": "", "longest": 200,
           "set": {"block_size": "16", "max_num_batched_tokens": "512", "max_model_len": "512", "num_gpu_blocks_override": "64"}}


# Changes of config.json, and settings of the engine, with which it must not start; test_vllm_engine.py has the sentences.
REFUSED = {
    "a norm with a mean": {"architectures": ["Starcoder2ForCausalLM"], "model_type": "starcoder2", "hidden_act": "gelu_pytorch_tanh",
                           "norm_epsilon": 1e-5, "use_bias": True, "sliding_window": None},
    "a pooler": {"set": {"runner": '"pooling"'}},
    "an unknown key": {"quantization_config": {"quant_method": "detgemm", "leaf": 64}},
    "ranks without a tree": {"quantization_config": {"quant_method": "detgemm", "row_parallel": "hopper/bf16/chain->bf16"}},
    "a quantised checkpoint": {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False}},
    "fp8 without blocks": {"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}},
    "fp8 with static scales": {"quantization_config": {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": [128, 128]}},
    "another router": {"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "n_routed_experts": 8, "n_shared_experts": 1,
                       "moe_intermediate_size": 32, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "norm_topk_prob": True,
                       "routed_scaling_factor": 1.0, "first_k_dense_replace": 1, "use_qk_norm": False, "partial_rotary_factor": 1.0},
}
# Gemma: 1 + weight in norms, gelu, a head that is the embedding's, which the model gives no method. Phi-3: angles of long contexts.
OTHERS = {
    "gemma": {"architectures": ["GemmaForCausalLM"], "model_type": "gemma", "hidden_act": "gelu_pytorch_tanh",
              "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True},
    "phi3": {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "sliding_window": None, "original_max_position_embeddings": 256,
             "pad_token_id": 0, "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 16, "long_factor": [1 + i / 10 for i in range(16)]}},
}
# Experts beside vLLM's other layers: as Qwen3-30B-A3B has them, and as DeepSeek-V3 has them (sigmoid, bias, groups, a shared expert) in
# e4m3. Latent attention is refused, so VLLM_MLA_DISABLE=1 spells it out.
MIXTURES = {
    "mixture": {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "moe_intermediate_size": 64, "num_experts": 8,
                "num_experts_per_tok": 2, "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []},
    "blocks": {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "moe_intermediate_size": 128, "n_routed_experts": 16,
               "n_shared_experts": 1, "num_experts_per_tok": 4, "n_group": 4, "topk_group": 2, "topk_method": "noaux_tc",
               "scoring_func": "sigmoid", "norm_topk_prob": True, "routed_scaling_factor": 2.5, "first_k_dense_replace": 1,
               "num_key_value_heads": 4, "q_lora_rank": 128, "kv_lora_rank": 128, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
               "v_head_dim": 32, "num_nextn_predict_layers": 0,
               "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [128, 128]}},
}


def forget():
    """What vLLM keeps in a process between engines: classes, layers and groups of ranks of the one before."""
    from vllm.distributed import cleanup_dist_env_and_memory
    from vllm.model_executor.layers import rotary_embedding
    from vllm.v1.attention import selector
    gc.collect()
    cleanup_dist_env_and_memory()
    rotary_embedding._ROPE_DICT.clear()
    selector._cached_get_attn_backend.cache_clear()


def engine(folder, without):
    """What the census finds, and the answers of a request alone and in company: likeliest tokens, tokens drawn by a seed, and
    likeliest tokens where the company wants more of them."""
    hooks.leave_out(without)
    made = probe.Probe("detgemm", {"model": folder, **OPTIONS})
    found = {"foreign": census.foreign(made.llm)}
    company = [made.prompt(30), made.prompt(7)]
    for kind, more, others in (("answers", {}, {}), ("seeded", {"temperature": 0.8, "seed": 3, "min_p": 0.001}, {}), ("wider", {}, {"logprobs": 20})):
        mine, theirs, found[kind] = made.sampling(made.tokens, **more), made.sampling(made.tokens, **others), []
        for prompts in ([made.watched[0]], [made.watched[0], *company]):
            output = made.generate(prompts, [mine, *[theirs] * (len(prompts) - 1)])[0]
            found[kind].append(b"".join(probe.answer(output)).hex())
    made.llm.llm_engine.engine_core.shutdown()
    return found


def changed(folder, changes):
    path = pathlib.Path(folder, "changed")
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps({**json.loads(pathlib.Path(folder, "config.json").read_text()), **changes}))
    return str(path)


def refused(folder, changes):
    """The sentence with which an engine of a changed model stops."""
    hooks.leave_out([])
    settings = {**OPTIONS["set"], **changes.get("set", {})}
    try:
        probe.Probe("detgemm", {"model": changed(folder, {name: value for name, value in changes.items() if name != "set"}), **OPTIONS,
                                "set": settings})
    except Exception as raised:  # whatever vLLM wraps it in
        return str(raised)
    return "the engine started"


def unknown_layer():
    """What is said where a release has another forward than the one that the plugin replaces, and whether it is left alone."""
    class Attention:
        def forward(self, positions, hidden_states):
            return hidden_states

    said, handler = [], logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("vllm.detgemm").addHandler(handler)
    theirs = Attention.forward
    heads.replace(Attention, ("qkv_proj", "attn"))
    return {"said": said, "left": Attention.forward is theirs}


def other_engines(folder, found):
    """Engines of other models, of layers apart, and what does not start."""
    attention = sys.modules["vllm.model_executor.models.qwen3"].Qwen3Attention
    found["together"] = hasattr(attention.forward, "detgemm")
    attention.forward, heads.LAYERS = getattr(attention.forward, "detgemm", None), {}
    found["apart"] = engine(folder, [])
    forget()
    for name, model, without in (("mixture", "mixture", []), ("experts", "mixture", ["experts"]), ("blocks", "blocks", [])):
        found[name] = engine(changed(folder, MIXTURES[model]), without)
        forget()
    for name, model in OTHERS.items():
        found[name] = engine(changed(folder, model), [])
        forget()
    found["unknown layer"] = unknown_layer()
    found["refused"] = {}
    for name, changes in REFUSED.items():
        found["refused"][name] = refused(folder, changes)
        forget()


def main():
    folder, result, *few = sys.argv[1:]
    found = {}
    for name in few or ("nothing", *(each for each in hooks.NAMES if each != "experts")):
        found[name] = engine(folder, [] if name == "nothing" else [name])
        forget()
    if not few:
        other_engines(folder, found)
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
