# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Tiny models of many architectures, and what `vllm serve MODEL --quantization detgemm` does with each.

vllm_models.py starts an engine for each and compares; `table` is the table in docs/vllm.md, which test_vllm.py compares.
"""
BASE = {"dtype": "bfloat16", "vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "hidden_act": "silu"}
MIXTURE = {"moe_intermediate_size": 64, "num_experts_per_tok": 2, "norm_topk_prob": True}
FOUR = {"num_local_experts": 4, "num_experts_per_tok": 2}
EIGHT = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "num_shared_experts": 1}
GELU = {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True}
LATENT = {"num_key_value_heads": 4, "q_lora_rank": None, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32}
DEEPSEEK = {**LATENT, **MIXTURE, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "topk_method": "greedy",
            "first_k_dense_replace": 1, "routed_scaling_factor": 1.0, "scoring_func": "softmax", "moe_layer_freq": 1}
FULL = {"layer_types": ["full_attention", "full_attention"]}
WINDOW = {"sliding_window": 64}
OLD = {"head_dim": ..., "n_embd": 128, "n_layer": 2, "n_head": 4, "n_positions": 4096}  # ...: left out


def scaled(kind, **more):
    return {"rope_scaling": {"type": kind, "rope_type": kind, "original_max_position_embeddings": 1024, **more}}


YARN = scaled("yarn", factor=40, beta_fast=32, beta_slow=1, mscale=0.707, mscale_all_dim=0.707)
LONG = {"original_max_position_embeddings": 256, "max_position_embeddings": 8192,
        **scaled("longrope", short_factor=[1.0] * 16, long_factor=[1 + i / 10 for i in range(16)])}
del LONG["rope_scaling"]["original_max_position_embeddings"]
# Name in the table: architecture, model_type, and changes of config.json. By what an engine does.
EQUAL = {
    "Qwen3": ("Qwen3ForCausalLM", "qwen3", {}),
    "Qwen2 and 2.5": ("Qwen2ForCausalLM", "qwen2", {}),
    "... with YaRN": ("Qwen2ForCausalLM", "qwen2", scaled("yarn", factor=4.0)),
    "Llama": ("LlamaForCausalLM", "llama", {}),
    "... its head the embedding": ("LlamaForCausalLM", "llama", {"tie_word_embeddings": True}),
    "... in fp16": ("LlamaForCausalLM", "llama", {"dtype": "float16"}),
    "... in fp32": ("LlamaForCausalLM", "llama", {"dtype": "float32"}),
    "... 3.1's angles": ("LlamaForCausalLM", "llama", scaled("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)),
    "... linear angles": ("LlamaForCausalLM", "llama", scaled("linear", factor=2.0)),
    "... dynamic angles": ("LlamaForCausalLM", "llama", scaled("dynamic", factor=2.0)),
    "Mistral": ("MistralForCausalLM", "mistral", {"sliding_window": None}),
    "Ministral 3": ("Ministral3ForCausalLM", "ministral3", {"sliding_window": None}),
    "Phi-3 and 4": ("Phi3ForCausalLM", "phi3", {"sliding_window": None, "original_max_position_embeddings": 4096}),
    "... with long angles": ("Phi3ForCausalLM", "phi3", {"sliding_window": None, **LONG}),
    "Gemma": ("GemmaForCausalLM", "gemma", GELU),
    "GLM-4": ("GlmForCausalLM", "glm", {"partial_rotary_factor": 0.5, "attention_bias": True}),
    "GLM-4-0414": ("Glm4ForCausalLM", "glm4", {"partial_rotary_factor": 0.5, "attention_bias": True}),
    "Granite": ("GraniteForCausalLM", "granite", {"embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22,
                                                  "attention_multiplier": 0.1}),
    "EXAONE 4": ("Exaone4ForCausalLM", "exaone4", {"sliding_window": None, **FULL}),
    "ERNIE": ("Ernie4_5ForCausalLM", "ernie4_5", {"use_bias": False}),
    "Hunyuan": ("HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", {"use_qk_norm": True}),
    "Seed-OSS": ("SeedOssForCausalLM", "seed_oss", {"attention_bias": True}),
    "MiniCPM3": ("MiniCPM3ForCausalLM", "minicpm3", {**LATENT, "q_lora_rank": 64, "scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 64}),
}
MIXTURES = {
    "Mixtral": ("MixtralForCausalLM", "mixtral", {**FOUR, "sliding_window": None}),
    "Qwen3-MoE": ("Qwen3MoeForCausalLM", "qwen3_moe", {**MIXTURE, "num_experts": 8, "decoder_sparse_step": 1, "mlp_only_layers": []}),
    "Qwen2-MoE": ("Qwen2MoeForCausalLM", "qwen2_moe", {**MIXTURE, "num_experts": 8, "shared_expert_intermediate_size": 64,
                                                       "decoder_sparse_step": 1, "mlp_only_layers": []}),
    "OLMoE": ("OlmoeForCausalLM", "olmoe", {"num_experts": 8, "num_experts_per_tok": 2, "norm_topk_prob": False}),
    "Granite-MoE": ("GraniteMoeForCausalLM", "granitemoe", {**FOUR, "attention_multiplier": 0.1}),
    "... with a shared expert": ("GraniteMoeSharedForCausalLM", "granitemoeshared", {**FOUR, "shared_intermediate_size": 128,
                                                                                     "attention_multiplier": 0.1}),
    "ERNIE-MoE": ("Ernie4_5_MoeForCausalLM", "ernie4_5_moe", {
        "moe_num_experts": 8, "moe_k": 2, "moe_intermediate_size": 64, "moe_layer_start_index": 0, "moe_layer_end_index": 1,
        "moe_layer_interval": 1, "moe_num_shared_experts": 1, "use_bias": False}),
    "Hunyuan-MoE": ("HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", {
        "use_qk_norm": True, "num_experts": 4, "moe_topk": [2, 2], "moe_intermediate_size": [64, 64], "num_shared_expert": [1, 1],
        "use_mixed_mlp_moe": True}),
    "DeepSeek-V2 with YaRN": ("DeepseekV2ForCausalLM", "deepseek_v2", {**DEEPSEEK, **YARN}),
    "DeepSeek-V3": ("DeepseekV3ForCausalLM", "deepseek_v3", {**DEEPSEEK, "q_lora_rank": 64, "topk_method": "noaux_tc", "scoring_func": "sigmoid"}),
}
WINDOWS = {
    "Mistral with windows": ("MistralForCausalLM", "mistral", WINDOW),
    "Gemma 2": ("Gemma2ForCausalLM", "gemma2", {**GELU, **WINDOW, "query_pre_attn_scalar": 32, "attn_logit_softcapping": 50.0}),
    "Gemma 3": ("Gemma3ForCausalLM", "gemma3_text", {**GELU, **WINDOW, "query_pre_attn_scalar": 32,
                                                     "layer_types": ["sliding_attention", "full_attention"]}),
    "OLMo 3": ("Olmo3ForCausalLM", "olmo3", {**WINDOW, **FULL}),
    "EXAONE-MoE": ("ExaoneMoEForCausalLM", "exaone_moe", {**EIGHT, **WINDOW, **FULL, "is_moe_layer": [False, True]}),
    "AFMoE": ("AfmoeForCausalLM", "afmoe", {**EIGHT, **FULL, "num_dense_layers": 1}),
}
SINKS = {"GPT-OSS": ("GptOssForCausalLM", "gpt_oss", {**FOUR, **WINDOW, "layer_types": ["sliding_attention", "full_attention"]})}
NORMS = {
    "Cohere": ("CohereForCausalLM", "cohere", {"use_qk_norm": False, "logit_scale": 0.06, "tie_word_embeddings": True}),
    "Falcon": ("FalconForCausalLM", "falcon", {"head_dim": ..., "new_decoder_architecture": True, "num_kv_heads": 2, "bias": False,
                                               "alibi": False, "parallel_attn": True}),
    "StableLM": ("StableLmForCausalLM", "stablelm", {"partial_rotary_factor": 0.25}),
    "DBRX": ("DbrxForCausalLM", "dbrx", {
        "head_dim": ..., "d_model": 128, "n_heads": 4, "n_layers": 2, "max_seq_len": 4096,
        "ffn_config": {"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2},
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10000.0}}),
    "Nemotron": ("NemotronForCausalLM", "nemotron", {"hidden_act": "relu2", "norm_eps": 1e-5, "partial_rotary_factor": 0.5}),
    "Phi-2": ("PhiForCausalLM", "phi", {"partial_rotary_factor": 0.5, "hidden_act": "gelu_new"}),
    "GPT-2": ("GPT2LMHeadModel", "gpt2", {**OLD, "tie_word_embeddings": True}),
    "GPT-J": ("GPTJForCausalLM", "gptj", {**OLD, "rotary_dim": 16}),
    "GPT-NeoX": ("GPTNeoXForCausalLM", "gpt_neox", {"hidden_act": "gelu"}),
    "OPT": ("OPTForCausalLM", "opt", {"ffn_dim": 256, "word_embed_proj_dim": 128, "do_layer_norm_before": True, "activation_function": "relu"}),
    "Jais 2": ("Jais2ForCausalLM", "jais2", {"hidden_act": "relu2"}),
    "MiniMax-M2": ("MiniMaxM2ForCausalLM", "minimax_m2", {
        "num_local_experts": 8, "num_experts_per_tok": 2, "rotary_dim": 16, "use_routing_bias": True, "scoring_func": "sigmoid",
        "use_qk_norm": True, "qk_norm_type": "per_layer", "attn_type_list": [1, 1]}),
}
ACTIVATIONS = {
    "Arcee": ("ArceeForCausalLM", "arcee", {"hidden_act": "relu2"}),
    "Apertus": ("ApertusForCausalLM", "apertus", {"hidden_act": "xielu"}),
}
BORROWED = {  # vLLM runs their modules of transformers
    "OLMo": ("OlmoForCausalLM", "olmo", {}),
    "OLMo 2": ("Olmo2ForCausalLM", "olmo2", {}),
    "SmolLM3": ("SmolLM3ForCausalLM", "smollm3", {}),
    "Starcoder 2": ("Starcoder2ForCausalLM", "starcoder2", {"hidden_act": "gelu_pytorch_tanh", "norm_epsilon": 1e-5, "sliding_window": None}),
    "GPT-BigCode": ("GPTBigCodeForCausalLM", "gpt_bigcode", OLD),
}
ROUTERS = {
    "Phi-3.5-MoE": ("PhiMoEForCausalLM", "phimoe", {**FOUR, "sliding_window": None}),
    "FlexOLMo": ("FlexOlmoForCausalLM", "flex_olmo", {"num_experts": 4, "num_experts_per_tok": 2}),
}
PLAIN = {
    "GLM-4-MoE": ("Glm4MoeForCausalLM", "glm4_moe", {
        **MIXTURE, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 1.0,
        "first_k_dense_replace": 1, "partial_rotary_factor": 0.5}),
}
ALIBI = {"Bloom": ("BloomForCausalLM", "bloom", {"head_dim": ..., "n_layer": 2, "n_head": 4})}
RECURRENT = {
    "Qwen3-Next": ("Qwen3NextForCausalLM", "qwen3_next", {**MIXTURE, "num_experts": 8, "shared_expert_intermediate_size": 64,
                                                          "layer_types": ["linear_attention", "full_attention"]}),
    "Jamba": ("JambaForCausalLM", "jamba", {"attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 4, "num_experts_per_tok": 2}),
    "Mamba 2": ("Mamba2ForCausalLM", "mamba2", {"num_heads": 4, "head_dim": 64, "state_size": 16, "n_groups": 1}),
    "Falcon-H1": ("FalconH1ForCausalLM", "falcon_h1", {}),
    "Nemotron-H": ("NemotronHForCausalLM", "nemotron_h", {"hybrid_override_pattern": "M*", "mamba_head_dim": 64, "mamba_num_heads": 4,
                                                          "ssm_state_size": 16, "n_groups": 1}),
    "Granite 4": ("GraniteMoeHybridForCausalLM", "granitemoehybrid", {
        **FOUR, "shared_intermediate_size": 128, "layer_types": ["mamba", "attention"], "mamba_n_heads": 4, "mamba_d_head": 64,
        "mamba_d_state": 16}),
}
CHUNKED = {"Llama 4": ("Llama4ForCausalLM", "llama4_text", {
    "num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 256, "attention_chunk_size": 64, "no_rope_layers": [1, 0],
    "interleave_moe_layer_step": 1})}
# Words of the table, words of the sentence with which an engine stops (none: it starts, and answers are equal), and models.
OUTCOMES = (
    ("equal", "", EQUAL),
    ("equal: mixtures of experts (latent attention spelled out)", "", MIXTURES),
    ("on a CPU and with CUSTOM refused for windows of attention", "attention with ", WINDOWS),
    ("on a CPU and with CUSTOM refused for sinks of attention", "sinks", SINKS),
    ("refused for attention with a bias per distance", "attention with alibi_slopes", ALIBI),
    ("refused for norms with a mean, or over ranks", "norm: ", NORMS),
    ("refused for activations", "silu: ", ACTIVATIONS),
    ("refused for layers of transformers, which vLLM runs for these", "norm: ", BORROWED),
    ("refused for experts or routers of the model's own", "experts", ROUTERS),
    ("refused for a router that is no layer of vLLM's", "linear: ", PLAIN),
    ("refused for recurrent layers", "the model has ", RECURRENT),
    ("refused for attention in chunks", "layers of the type chunked_attention", CHUNKED),
)


def named():
    """By a name that no other has: that of a form, "...", with its model's before it."""
    found, model = {}, ""
    for _, words, models in OUTCOMES:
        for name, entry in models.items():
            if not name.startswith("..."):
                model = name
            found[name.replace("...", model)] = (*entry, words)
    return found


MODELS = named()


def config(name):
    """config.json of a model."""
    architecture, kind, changes, _ = MODELS[name]
    whole = {**BASE, "architectures": [architecture], "model_type": kind, **changes}
    return {key: value for key, value in whole.items() if value is not ...}


def table():
    """The rows in docs/vllm.md; a form is behind its model's name."""
    for what, _, models in OUTCOMES:
        words = []
        for name in models:
            if name.startswith("..."):
                words[-1] += ("; " if "(" in words[-1] else " (") + name[4:]
            else:
                words.append(name)
        cell = ""
        for each in (word + ")" * ("(" in word) for word in words):
            if len(cell) + len(each) > 150:
                yield f"| {cell} | {what} |"
                cell = ""
            cell += ", " * bool(cell) + each
        yield f"| {cell} | {what} |"
