# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of Megatron Core under which bits could depend on the cut or on the ranks, or that were not tried: each is refused."""
import torch

from detgemm.torch.dispatch import refuse

# Settings of TransformerConfig, the one value that is supported, and why.
ONE_RANK = "its sums over ranks have no contract here"
FUSED = "a compiler chooses the roundings of the fused kernel"
DROPOUT = "what is dropped depends on the cut into micro-batches"
NEEDED = {
    "normalization": ("RMSNorm", "no other norm has a written order"), "add_bias_linear": (False, "gradients of biases would be summed "
                                                                                                  "in PyTorch's order"),
    "layernorm_zero_centered_gamma": (False, "it is another formula"), "sequence_parallel": (False, ONE_RANK),
    "context_parallel_size": (1, ONE_RANK), "expert_model_parallel_size": (1, ONE_RANK), "pipeline_model_parallel_size": (1, "not tested"),
    "multi_latent_attention": (False, "not tested"), "fp8": (None, "not tested"),
    "hidden_dropout": (0.0, DROPOUT), "attention_dropout": (0.0, DROPOUT), "bias_activation_fusion": (False, FUSED),
    "bias_dropout_fusion": (False, FUSED), "apply_rope_fusion": (False, FUSED), "window_size": (None, "attention sees all earlier keys"),
    "softmax_type": ("vanilla", "it is another formula"), "apply_query_key_layer_scaling": (False, "it is another formula"),
    "gradient_accumulation_fusion": (False, "Apex's kernel is not used; main_grad is continued where a parameter has one"),
    "defer_embedding_wgrad_compute": (False, "gradients would be computed outside of the layer"), "mtp_num_layers": (None, "not tested"),
    "fp32_residual_connection": (False, "products read the policy's type"),
}
# Of a layer of experts alone.
OTHER = "it is another formula"
BATCH = "a token's experts would depend on the batch"
EXPERTS = {
    "gated_linear_unit": (True, OTHER), "moe_aux_loss_coeff": (0.0, "a sum over the tokens of a micro-batch has no contract"),
    "moe_z_loss_coeff": (None, "a sum over the tokens of a micro-batch has no contract"), "moe_router_score_function": ("softmax", OTHER),
    "moe_router_enable_expert_bias": (False, BATCH), "moe_expert_capacity_factor": (None, BATCH), "moe_input_jitter_eps": (None, OTHER),
    "moe_router_num_groups": (None, OTHER), "moe_router_topk_scaling_factor": (None, OTHER), "moe_apply_probs_on_input": (False, OTHER),
    "moe_shared_expert_intermediate_size": (None, "not tested"), "moe_latent_size": (None, "not tested"),
    "moe_router_force_load_balancing": (False, BATCH), "moe_layer_freq": (1, "not tested"),
}


def _check(config, needed):
    found = [f"{name} is {getattr(config, name)!r} and must be {value!r}, since {why}" for name, (value, why) in needed.items()
             if getattr(config, name, value) != value]
    refuse(found, "the configuration is not supported: " + "; ".join(found))


def check_config(config):
    """Refuses, in one sentence, all settings under which bits could depend on the cut or on the ranks."""
    _check(config, NEEDED)


def check_experts(config):
    """The same for a layer of experts."""
    refuse(config.num_moe_experts is None, "num_moe_experts is None: a layer of experts needs their number; leave experts=True out for none")
    refuse(config.activation_func is not torch.nn.functional.silu,
           f"activation_func is {getattr(config.activation_func, '__name__', config.activation_func)}: experts have silu")
    _check(config, EXPERTS)
