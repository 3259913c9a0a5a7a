# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A layer of experts in the place of Megatron's MoELayer, on one rank: router, grouped products, weighted sum (docs/moe.md).

A sequence of the batch is one call of `detgemm.torch.moe`, so its results do not depend on the others. Gradients of weights have
to add one sequence after the other too:

    forward    s[B-1] ... s[1] s[0]
    backward   s[0] s[1] ... s[B-1]     autograd computes first what was made last, each sequence's layer as a whole
"""
import torch
from megatron.core.parallel_state import get_tensor_model_parallel_world_size
from megatron.core.transformer.module import MegatronModule

from detgemm.megatron.settings import check_config, check_experts
from detgemm.torch.dispatch import refuse
from detgemm.torch.mixture import moe


def sequences_of(batch):
    """The order in which sequences are computed: the last one first."""
    return reversed(range(batch))


class Experts(MegatronModule):
    """softmax of the router, the largest of its probabilities, and down(silu(gate) * up) of each expert.

    router: E x H; gate_up: E x 2n x H, gate's rows and then up's; down: E x H x n, with E = num_moe_experts and n =
    moe_ffn_hidden_size.
    """

    def __init__(self, config, contracts, **_):
        super().__init__(config=config)
        check_config(config)
        check_experts(config)
        ranks = get_tensor_model_parallel_world_size()
        refuse(ranks != 1, f"there are {ranks} tensor-parallel ranks: a layer of experts is supported on one")
        count, hidden, features = config.num_moe_experts, config.hidden_size, config.moe_ffn_hidden_size
        device = "cpu" if config.use_cpu_initialization else torch.cuda.current_device()
        shapes = {"router": (count, hidden), "gate_up": (count, 2 * features, hidden), "down": (count, hidden, features)}
        for name, shape in shapes.items():
            weight = torch.nn.Parameter(torch.empty(shape, dtype=config.params_dtype, device=device))
            if config.perform_initialization:
                (config.output_layer_init_method if name == "down" else config.init_method)(weight)
            self.register_parameter(name, weight)
        self.policy, self.top_k, self.norm = contracts.policy, config.moe_router_topk, not config.moe_router_pre_softmax

    def forward(self, hidden_states, *_, padding_mask=None):
        """hidden_states: S x B x H. Returns S x B x H, and no bias."""
        refuse(padding_mask is not None, "padding_mask is given: experts of padded tokens are not supported")
        found = {at: moe(hidden_states[:, at], self.router, self.gate_up, self.down, self.policy, top_k=self.top_k, norm=self.norm)
                 for at in sequences_of(hidden_states.shape[1])}
        return torch.stack([found[at] for at in sorted(found)], 1), None
