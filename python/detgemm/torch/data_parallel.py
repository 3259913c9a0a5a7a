# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's DistributedDataParallel and fully_shard with gradients that do not depend on the number of ranks (gradient_tree.py).

    use_gradient_tree(model, slices=8)       # of the global batch; 1, 2, 4 or 8 ranks have 8, 4, 2 or 1 of them
    for rows in slices_of_this_rank:         # a backward pass is a slice
        (loss(model(rows)).sum() / constant_of_the_global_batch).backward()
    optimizer.step()

Up to a rank's last slice gradients are zeros, and then the sum over all slices, not their mean.
"""
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_pre_hook

from detgemm.torch.dispatch import check_model, refuse
from detgemm.torch.gradient_tree import Tree, check_slices, over_ranks


def _taken(gradient):
    """A copy in fp32; -0 counts as +0, since a gradient that starts from zeros has no -0."""
    return torch.add(gradient.float(), 0.0)


class _Slices:
    """What has arrived of the gradients that arrive together: `tree`, and how many slices of this rank."""

    def __init__(self, slices, own):
        self.tree, self.slices, self.own, self.count = Tree(slices), slices, own, 0

    def arrived(self):
        """Whether the last slice has; then all is as at the beginning, and the nodes are returned."""
        self.count += 1
        if self.count < self.own:
            return None
        nodes, self.tree, self.count = self.tree.nodes, Tree(self.slices), 0
        return nodes


class _Buckets:
    """The communication hook of DistributedDataParallel. Buckets change after the first pass, so sums are kept by parameter."""

    def __init__(self, slices, group):
        self.slices, self.group, self.own, self.kept = slices, group, slices // group.size(), {}

    def pending(self):
        return any(each.count for each in self.kept.values())

    @torch.no_grad()
    def hook(self, state, bucket):
        ended = []
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
            kept = self.kept.setdefault(parameter, _Slices(self.slices, self.own))
            kept.tree.add(0, self.group.rank() * self.own + kept.count, [_taken(gradient).view(-1)])
            ended.append(kept.arrived())
        buffer = bucket.buffer()
        if ended[0] is None:
            buffer.zero_()
        else:
            nodes = {place: torch.cat([each[place][0] for each in ended]) for place in ended[0]}
            total = over_ranks(nodes, self.slices, self.group)
            for gradient, part in zip(bucket.gradients(), total.split([each.numel() for each in bucket.gradients()]), strict=True):
                gradient.copy_(part.view(gradient.shape))
        future = torch.futures.Future(devices=[buffer.device] if buffer.device.type == "cuda" else None)
        future.set_result(buffer)
        return future


class _Shards(_Slices):
    """fully_shard's reduce-scatter of one module, or on one rank its hook behind that: this rank's shard of every slice arrives."""

    def allocate(self, size, *, dtype, device):
        return torch.empty(*size, dtype=dtype, device=device)

    def pending(self):
        return self.count

    def join(self, output, pieces):
        for rank, piece in enumerate(pieces):
            self.tree.add(0, rank * self.own + self.count, [_taken(piece)])
        nodes = self.arrived()
        if nodes is None:
            output.zero_()
        else:
            ((total,),) = nodes.values()
            output.copy_(total)

    @torch.no_grad()
    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        got = torch.empty_like(input_tensor)
        dist.all_to_all_single(got, input_tensor, group=group)
        self.join(output_tensor, got.chunk(group.size()))

    @torch.no_grad()
    def on_one_rank(self, output):
        self.join(output, [output])


def _shard(model, slices):
    modules = [module for module in model.modules() if isinstance(module, FSDPModule)]
    meshes = [p.device_mesh for p in model.parameters() if isinstance(p, DTensor)]
    refuse(not meshes, "model has no parameters that fully_shard manages")
    for mesh in meshes:
        refuse(mesh.ndim != 1, f"the mesh of a parameter has {mesh.ndim} dimensions: gradients are joined over a mesh of one")
    for module in modules:
        count = len(getattr(module._get_fsdp_state(), "_fsdp_param_groups", ()))
        refuse(count > 1, f"a module has {count} groups of parameters: gradients are joined where it has one")
    ranks, made = meshes[0].size(), []
    check_slices(slices, ranks)
    for module in modules:
        each = _Shards(slices, slices // ranks)
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)
        if ranks == 1:
            module.set_all_reduce_hook(each.on_one_rank)
        else:
            module.set_custom_reduce_scatter(each)
        made.append(each)
    return made


def use_gradient_tree(model, slices):
    """Joins gradients of a wrapped model by the tree of `GradientTree`, so that 1, 2, 3, ... ranks end in the same weights.

    model: a DistributedDataParallel, or what `fully_shard` was called on, over a mesh of one dimension. slices: of the global
    batch, a multiple of the ranks; every backward pass that is not under no_sync() is one of them, in the batch's order. Gradients
    are added in fp32 and rounded once to their type; they are not divided. An optimizer's step between slices is refused.
    """
    check_model(model)
    refuse(isinstance(model, FullyShardedDataParallel), "model is a FullyShardedDataParallel: call fully_shard on the module instead")
    refuse(not isinstance(model, (DistributedDataParallel, FSDPModule)),
           f"model is a {type(model).__name__}: it must be a DistributedDataParallel, or a module that fully_shard was called on")
    if isinstance(model, FSDPModule):
        made = _shard(model, slices)
    else:
        check_slices(slices, model.process_group.size())
        made = [_Buckets(slices, model.process_group)]
        model.register_comm_hook(None, made[0].hook)
    mine = {id(parameter) for parameter in model.parameters()}

    def check(optimizer, *_):
        refuse(any(each.pending() for each in made) and any(id(p) in mine for group in optimizer.param_groups for p in group["params"]),
               f"an optimizer steps between slices: a rank must have a backward pass for each of its slices, of {slices} in all, before that")

    register_optimizer_step_pre_hook(check)
