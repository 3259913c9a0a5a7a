# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm_models.py FOLDER [NAME...]: tiny models of many architectures under the plugin, an engine each, on a CPU.

Per model: the kinds of requests whose answer is the same alone and beside others with other parameters, or the sentence with which the
engine did not start. docs/vllm.md has the table. Beside CI, since an architecture takes vLLM some ten seconds to look at. Exit status 1
if an answer differs or a layer is vLLM's own.
"""
import json
import os
import pathlib
import sys

from vllm_controls import OPTIONS, forget

from detgemm.vllm import census, hooks, probe

BASE = {"dtype": "bfloat16", "vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "hidden_act": "silu"}
MIXTURE = {"moe_intermediate_size": 64, "num_experts_per_tok": 2, "norm_topk_prob": True}
GELU = {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True}
LATENT = {"num_key_value_heads": 4, "q_lora_rank": None, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32,
          "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "topk_method": "greedy", "first_k_dense_replace": 1,
          "routed_scaling_factor": 1.0, "scoring_func": "softmax", "moe_layer_freq": 1, **MIXTURE}
YARN = {"rope_scaling": {"type": "yarn", "rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 1024, "beta_fast": 32,
                         "beta_slow": 1, "mscale": 0.707, "mscale_all_dim": 0.707}}
LONG = {"original_max_position_embeddings": 256, "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 16,
                                                                  "long_factor": [1 + i / 10 for i in range(16)]}}
# Name: architecture, model_type, and changes of config.json.
MODELS = {
    "qwen3": ("Qwen3ForCausalLM", "qwen3", {}),
    "qwen2": ("Qwen2ForCausalLM", "qwen2", {}),
    "llama": ("LlamaForCausalLM", "llama", {}),
    "llama-tied": ("LlamaForCausalLM", "llama", {"tie_word_embeddings": True}),
    "llama-fp16": ("LlamaForCausalLM", "llama", {"dtype": "float16"}),
    "llama-fp32": ("LlamaForCausalLM", "llama", {"dtype": "float32"}),
    "phi3": ("Phi3ForCausalLM", "phi3", {"sliding_window": None, "original_max_position_embeddings": 4096}),
    "phi3-long": ("Phi3ForCausalLM", "phi3", {"sliding_window": None, "max_position_embeddings": 8192, **LONG}),
    "gemma": ("GemmaForCausalLM", "gemma", GELU),
    "gemma2": ("Gemma2ForCausalLM", "gemma2", {**GELU, "query_pre_attn_scalar": 32, "sliding_window": 64, "attn_logit_softcapping": 50.0}),
    "glm4": ("Glm4ForCausalLM", "glm4", {"partial_rotary_factor": 0.5, "attention_bias": True}),
    "granite": ("GraniteForCausalLM", "granite", {"embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22,
                                                  "attention_multiplier": 0.1}),
    "mixtral": ("MixtralForCausalLM", "mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}),
    "qwen2-moe": ("Qwen2MoeForCausalLM", "qwen2_moe", {**MIXTURE, "num_experts": 8, "shared_expert_intermediate_size": 64,
                                                       "decoder_sparse_step": 1, "mlp_only_layers": []}),
    "olmoe": ("OlmoeForCausalLM", "olmoe", {"num_experts": 8, "num_experts_per_tok": 2, "norm_topk_prob": False}),
    "deepseek2-yarn": ("DeepseekV2ForCausalLM", "deepseek_v2", {**LATENT, **YARN}),
    "glm4-moe": ("Glm4MoeForCausalLM", "glm4_moe", {**MIXTURE, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
                                                    "routed_scaling_factor": 1.0, "first_k_dense_replace": 1, "partial_rotary_factor": 0.5}),
    "gpt-oss": ("GptOssForCausalLM", "gpt_oss", {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 64,
                                                 "layer_types": ["sliding_attention", "full_attention"]}),
    "arcee": ("ArceeForCausalLM", "arcee", {"hidden_act": "relu2"}),
    "olmo2": ("Olmo2ForCausalLM", "olmo2", {}),
    "starcoder2": ("Starcoder2ForCausalLM", "starcoder2", {"hidden_act": "gelu_pytorch_tanh", "norm_epsilon": 1e-5, "sliding_window": None}),
}
# Kinds of requests: what the one that is compared asks for, and what the others do.
KINDS = {
    "likeliest": ({}, {}), "seed": ({"temperature": 0.8, "seed": 3}, {}), "five of twenty": ({"logprobs": 5}, {"logprobs": 20}),
    "min_p": ({"temperature": 1.0, "seed": 5, "min_p": 0.05}, {"temperature": 1.0, "min_p": 0.3}),
    "penalties": ({"repetition_penalty": 1.3, "presence_penalty": 0.5, "frequency_penalty": 0.2, "logit_bias": {17: 3.0}},
                  {"repetition_penalty": 1.1}),
    "prompt": ({"prompt_logprobs": 5}, {"prompt_logprobs": 12}),
    "top": ({"temperature": 1.0, "seed": 9, "top_k": 20, "top_p": 0.9}, {"temperature": 0.7, "top_p": 0.5}),
}


def answers(made, company, mine, others):
    """A request alone, and at place 2 of four."""
    for prompts, at in (([made.watched[0]], 0), ([*company[:2], made.watched[0], company[2]], 2)):
        asked = [made.sampling(made.tokens, **(mine if place == at else others)) for place in range(len(prompts))]
        output = made.generate(prompts, asked)[at]
        yield probe.answer(output), repr(output.prompt_logprobs and [each and {key: entry.logprob for key, entry in each.items()}
                                                                     for each in output.prompt_logprobs])


def run(path):
    """Kinds that are equal, kinds that differ, and what is vLLM's own."""
    made = probe.Probe("detgemm", {"model": str(path), **OPTIONS})
    company, found = [made.prompt(30), made.prompt(7), made.prompt(150)], {True: [], False: []}
    for kind, (mine, others) in KINDS.items():
        alone, together = answers(made, company, mine, others)
        found[alone == together].append(kind)
    foreign = census.foreign(made.llm)
    made.llm.llm_engine.engine_core.shutdown()
    return found[True], found[False], foreign


def main():
    folder, *names = sys.argv[1:]
    hooks.leave_out([])
    wrong = 0
    for name in names or MODELS:
        architecture, kind, changes = MODELS[name]
        path = pathlib.Path(folder, name)
        path.mkdir(parents=True, exist_ok=True)
        (path / "config.json").write_text(json.dumps({**BASE, "architectures": [architecture], "model_type": kind, **changes}))
        try:
            equal, differ, foreign = run(path)
        except Exception as raised:  # whatever vLLM wraps the sentence in
            wrong += "detgemm: " not in str(raised)
            print(f"{name}: not started: {raised}", flush=True)
        else:
            wrong += bool(differ or foreign)
            print(f"{name}: equal {equal}, differ {differ}, vLLM's own {foreign}", flush=True)
        forget()
    os._exit(wrong > 0)  # the engines' threads need not be joined


if __name__ == "__main__":
    main()
