# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts in vLLM: router, choice, products of the experts and their sum, each in a written order.

    gate (a product under a contract) -> routed_layer -> with several ranks: fp32 roots, gathered and joined by a tree

vLLM hands the router's product to the method, and its own choice, kernels and reductions are not used. Nothing here reads what
is in the batch on the host, so that CUDA graphs capture it.
"""
import torch
from vllm.config import get_current_vllm_config
from vllm.distributed import tensor_model_parallel_all_gather
from vllm.model_executor.layers import linear
from vllm.model_executor.layers.fused_moe.activation import MoEActivation
from vllm.model_executor.layers.fused_moe.config import FUSED_MOE_UNQUANTIZED_CONFIG
from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase
from vllm.model_executor.layers.fused_moe.routed_experts import FusedMoeWeightScaleSupported
from vllm.model_executor.layers.fused_moe.router import fused_topk_bias_router, fused_topk_router, gate_linear, grouped_topk_router
from vllm.model_executor.utils import set_weight_attrs

from detgemm.contract import contract as parsed
from detgemm.torch.ranks import join_op
from detgemm.torch.routed import MOST_EXPERTS, SCORES, routed_layer_op
from detgemm.vllm import blocks, hooks
from detgemm.vllm.products import product


def refuse(layer, sentence):
    raise ValueError(f"detgemm: {layer.layer_name}: {sentence} with quantization=\"detgemm\"")


class Choice:
    """What `route` takes, from one of vLLM's routers."""

    def __init__(self, layer, router):
        kind = type(router)
        if kind not in (fused_topk_router.FusedTopKRouter, grouped_topk_router.GroupedTopKRouter, fused_topk_bias_router.FusedTopKBiasRouter):
            refuse(layer, f"a router of the kind {kind.__name__} is not supported")
        self.top_k, self.norm, scores = router.top_k, bool(router.renormalize), router.scoring_func
        if scores not in SCORES:
            refuse(layer, f'router scores of "{scores}" are not supported')
        self.sigmoid = scores == "sigmoid"
        # Not in a plain router: there vLLM has no scale either.
        self.scale, self.bias = float(getattr(router, "routed_scaling_factor", 1.0)), getattr(router, "e_score_correction_bias", None)
        self.groups, self.chosen = getattr(router, "num_expert_group", None) or 1, getattr(router, "topk_group", None) or 1
        experts = layer.global_num_experts
        if getattr(router, "_hash_indices_table", None) is not None:
            refuse(layer, "experts that a table of token ids names are not supported")
        if getattr(router, "num_fused_shared_experts", 0):
            refuse(layer, "shared experts among the routed ones are not supported")
        if experts > MOST_EXPERTS:
            refuse(layer, f"{experts} experts are not supported: at most {MOST_EXPERTS} are")
        if self.groups & (self.groups - 1) or experts % self.groups or (self.groups > 1 and experts // self.groups < 2):
            refuse(layer, f"{self.groups} groups of {experts} experts are not supported: it must be a power of two that divides them")
        if not self.chosen <= self.groups or self.top_k > experts // self.groups * self.chosen:
            refuse(layer, f"a choice of {self.top_k} experts from {self.chosen} of {self.groups} groups of {experts} is not possible")

    def arguments(self):
        """Of `routed_layer`, behind the router's product."""
        bias = None if self.bias is None else self.bias.data.float()
        return bias, self.top_k, self.norm, self.sigmoid, self.groups, self.chosen, self.scale


class Joined:
    """For vLLM: results are summed over ranks already, and there is no kernel of its own."""
    is_monolithic, can_overlap_shared_experts = True, False

    def output_is_reduced(self):
        return True


class DetgemmExpertsMethod(FusedMoEMethodBase):
    """Experts of 16 bits under the model's contract, or of e4m3 under scaled:128. Declared invariant."""

    def __init__(self, config, layer, scaled):
        super().__init__(layer.moe_config)
        self.config, self.scaled, self.choice, self.moe_kernel = config, scaled, None, Joined()
        check_layer(layer)

    @staticmethod
    def _supports_batch_invariance():
        return True

    @property
    def is_monolithic(self):
        return True

    def get_fused_moe_quant_config(self, layer):
        return FUSED_MOE_UNQUANTIZED_CONFIG

    def create_weights(self, layer, num_experts, hidden_size, intermediate_size_per_partition, params_dtype, **attributes):
        n, h = intermediate_size_per_partition, hidden_size
        if self.scaled and params_dtype not in blocks.CONTRACTS:
            refuse(layer, f"experts of e4m3 in a model of {params_dtype} are not supported")
        if self.scaled and n % blocks.LEAF != 0:
            refuse(layer, f"experts of e4m3 with an inner size of {n} are not supported: it must be a multiple of {blocks.LEAF}, since "
                          "scales of gate and up are stored by blocks")
        dtype = torch.float8_e4m3fn if self.scaled else params_dtype
        for name, rows, columns in (("w13", 2 * n, h), ("w2", h, n)):
            self.add(layer, f"{name}_weight", torch.empty(num_experts, rows, columns, dtype=dtype), attributes)
            if self.scaled:
                scales = torch.ones(num_experts, -(-rows // blocks.LEAF), -(-columns // blocks.LEAF), dtype=torch.float32)
                self.add(layer, f"{name}_weight_scale_inv", scales, {**attributes, "quant_method": FusedMoeWeightScaleSupported.BLOCK.value})

    @staticmethod
    def add(layer, name, data, attributes):
        layer.register_parameter(name, torch.nn.Parameter(data, requires_grad=False))
        set_weight_attrs(getattr(layer, name), attributes)

    def process_weights_after_loading(self, layer):
        """Keeps weights unchanged; the router is known by now."""
        runner = get_current_vllm_config().compilation_config.static_forward_context[layer.layer_name]
        if runner.routed_input_transform is not None or runner.routed_output_transform is not None:
            refuse(layer, "experts between two transforms are not supported")
        if hooks.used("linear") and layer.global_num_experts not in self.config.gates.get(layer.layer_name.rpartition(".")[0], ()):
            refuse(layer, "a router that is no linear layer of vLLM's is not supported, since its product is not under a contract,")
        self.choice = Choice(layer, runner.router)

    def apply_monolithic(self, layer, x, router_logits, input_ids=None):
        moe = layer.moe_config
        scales = (layer.w13_weight_scale_inv, layer.w2_weight_scale_inv) if self.scaled else (None, None)
        contract = self.config.scaled_for(x.dtype) if self.scaled else self.config.contract_for(x.dtype)
        several = moe.ep_size > 1
        first = moe.ep_rank * moe.num_local_experts if several else 0
        y = routed_layer_op(x, router_logits, *self.choice.arguments(), layer.w13_weight, layer.w2_weight, *scales, contract, blocks.LEAF,
                            first, layer.global_num_experts, torch.float32 if several else x.dtype)
        if not several:
            return y
        return join_op(tensor_model_parallel_all_gather(y, dim=0).view(moe.ep_size, *y.shape), None, x.dtype)


def check_layer(layer):
    """Raises a sentence for what these methods do not compute. Settings of the engine are in settings.py."""
    moe = layer.moe_config
    if moe.activation != MoEActivation.SILU:
        refuse(layer, f"experts with the activation {moe.activation.value} are not supported")
    found = [name for name in ("swiglu_limit", "swiglu_alpha", "swiglu_beta") if getattr(moe, name) is not None]
    found += [name for name, there in (("biases", moe.has_bias), ("router weights on the input", layer.apply_router_weight_on_input),
                                       ("a router function of the model's own", layer.custom_routing_function is not None),
                                       ("padded sizes", moe.hidden_dim != moe.hidden_dim_unpadded or bool(moe.intermediate_pad)),
                                       ("a sum over ranks that another layer does", moe.skip_final_all_reduce),
                                       ("redundant experts", moe.num_experts != moe.num_logical_experts)) if there]
    if found:
        refuse(layer, f"experts with {', '.join(found)} are not supported")
    parallel = moe.moe_parallel_config
    if parallel.tp_size != 1 or parallel.dp_size != 1 or parallel.pcp_size != 1 or parallel.is_sequence_parallel or parallel.enable_eplb:
        refuse(layer, f"experts over ranks of tensors ({parallel.tp_size}), data ({parallel.dp_size}), sequences ({parallel.sp_size}) or with "
                      "load balancing are not supported")
    if parallel.ep_size not in (1, 2, 4, 8) or moe.num_experts != parallel.ep_size * moe.num_local_experts:
        refuse(layer, f"{moe.num_experts} experts over {parallel.ep_size} ranks are not supported: ranks must be 1, 2, 4 or 8 with equal shares")


def note(layer, config, prefix):
    """Remembers a linear layer beside experts, which may be their router."""
    config.gates.setdefault(prefix.rpartition(".")[0], set()).add(layer.output_size)


def ours():
    """The configuration of the model that is being built, where its linear layers are ours."""
    config = get_current_vllm_config().quant_config
    return config if hooks.used("linear") and hasattr(config, "gates") else None


class DetgemmReplicatedLinear(linear.ReplicatedLinear):
    """Also where the model gives it no configuration, as routers: a product under the contract."""

    def __init__(self, *arguments, prefix="", **more):
        super().__init__(*arguments, prefix=prefix, **more)
        config = ours()
        if config is None:
            return
        if type(self.quant_method) is linear.UnquantizedLinearMethod:
            self.quant_method = config.linear_method()
        note(self, config, prefix)


class DetgemmGateLinear(gate_linear.GateLinear):
    """A router whose result may have another type: vLLM's own kernels for it are chosen by the number of rows."""

    def __init__(self, *arguments, prefix="", **more):
        super().__init__(*arguments, prefix=prefix, **more)
        config = self.detgemm = ours()
        if config is not None:
            self.quant_method = config.linear_method()
            note(self, config, prefix)

    def forward(self, x):
        if self.detgemm is None:
            return super().forward(x)
        dtype = self.weight.dtype
        contract = parsed(self.detgemm.contract_for(dtype)).with_output(
            {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}[self.out_dtype or dtype]).text
        return product(x.to(dtype), self.weight, None if self.skip_bias_add else self.bias, contract), None


REPLACED = [(linear.ReplicatedLinear, DetgemmReplicatedLinear), (gate_linear.GateLinear, DetgemmGateLinear)]
