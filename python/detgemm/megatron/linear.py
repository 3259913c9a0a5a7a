# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Megatron's column- and row-parallel linear layers under a policy.

    layer             Y                      dX                     dW
    column parallel   each rank its columns  summed over ranks (*)  each rank its rows
    row parallel      summed over ranks (*)  each rank its columns  each rank its columns

(*) is a sum over a K that ranks share. Under `across_ranks`, a contract with tree:LEAF, each rank computes the root of its own
leaves in fp32; roots are gathered and joined in the tree's order. With the same contract on one rank the bits are the same.

Activations are sequence x batch x features. Gradients of weights add one sequence of the batch after the other, so they do not
depend on how sequences are cut into micro-batches.
"""
import dataclasses
import functools

import torch
from megatron.core.tensor_parallel import layers as theirs
from megatron.core.tensor_parallel.mappings import scatter_to_tensor_model_parallel_region

from detgemm.contract import contract as parsed
from detgemm.megatron.ranks import gather
from detgemm.torch.dispatch import refuse
from detgemm.torch.main_grad import gradient_of
from detgemm.torch.operators import NAMES, OPS
from detgemm.torch.policy import Policy
from detgemm.torch.ranks import check_ranks, join_op


@dataclasses.dataclass(frozen=True)
class Contracts:
    """A policy, and the contract of sums over a K that ranks share; None: the policy's own, for one rank."""

    policy: Policy
    across_ranks: str | None = None

    def __post_init__(self):
        refuse(not isinstance(self.policy, Policy), f"policy is {self.policy!r}: it must be a detgemm.torch.Policy; there is no default")
        if self.across_ranks is None:
            return
        shared = parsed(self.across_ranks)
        refuse(shared.reduction != "tree", f'across_ranks is "{self.across_ranks}": it must be a contract with tree:LEAF, whose sum '
                                           "over ranks has one order")
        reads, output = parsed(self.policy.forward).input, parsed(self.policy.forward).output
        refuse((shared.input, shared.output) != (reads, output),
               f'across_ranks is "{self.across_ranks}": it must read {reads} and give {output}, as the policy does')

    def check(self, name, features, group):
        """Refuses a layer whose shared K cannot be spread over the ranks of a group."""
        ranks = group.size()
        refuse(ranks > 1 and self.across_ranks is None,
               f"{name} is spread over {ranks} ranks: across_ranks must name a contract with tree:LEAF")
        if self.across_ranks is not None:
            check_ranks(self.across_ranks, features, ranks)


@dataclasses.dataclass(frozen=True)
class Call:
    """Contracts of one product and of its gradients, and the groups whose ranks share a K, or None."""

    forward: str
    dgrad: str
    wgrad: str
    forward_group: object = None
    dgrad_group: object = None
    parts: int = 1  # equal parts of the output's features, each spread over ranks by itself: 2 for gate and up


def _root(text):
    return parsed(text).with_output("fp32").text


def _joined(roots, group, dtype):
    """roots: parts x ...; the sum over ranks of every part, then over parts, which is the tree over all."""
    every = gather(roots, group).transpose(0, 1)
    return join_op(every.flatten(0, 1), None, dtype)


@functools.cache
def step_of(contract):
    """Rows after which a gradient may be cut: of a leaf under fold, of the k block under chain."""
    read = parsed(contract)
    return read.leaf_k or read.k_block


def sequences(x):
    """Views of the sequences of a batch: one of `x`, T x n, or those of S x B x n."""
    return [x] if x.dim() < 3 else [part.flatten(0, -2) for part in x.unbind(1)]


def add_outer(acc, dy, x, contract):
    """acc += dY^T.X, one sequence after the other. acc: N x K in fp32.

    Sequences of whole steps of the contract are one product, with the same bits: acc is read and written once, for a copy of
    the smaller operands.
    """
    if dy.dim() == 3 and dy.shape[1] > 1 and dy.shape[0] % step_of(contract) == 0:
        dy, x = (each.transpose(0, 1).flatten(0, 1) for each in (dy, x))
    for rows, columns in zip(sequences(dy), sequences(x), strict=True):
        OPS.accumulate_(acc, rows.t(), columns, contract)


def finish(gradient, main_grad, parameter, flagged):
    """What autograd gets: the gradient without main_grad, None with it, or zeros for Megatron's hooks."""
    if main_grad is None:
        return gradient.to(parameter.dtype)
    return torch.zeros_like(parameter) if flagged else None


class Product(torch.autograd.Function):
    """x.W^T + bias with the gradients of a `Call`."""

    @staticmethod
    def forward(ctx, x, weight, bias, main_grad, bias_main_grad, flagged, call):
        ctx.save_for_backward(x, weight, bias)
        ctx.main_grad, ctx.bias_main_grad, ctx.flagged, ctx.call = main_grad, bias_main_grad, flagged, call
        if call.forward_group is None:
            return OPS.gemm(x, weight.t(), call.forward, None, bias)
        root = OPS.gemm(x, weight.t(), _root(call.forward))
        return _joined(root[None], call.forward_group, x.dtype)

    @staticmethod
    def backward(ctx, dy):
        (x, weight, bias), call = ctx.saved_tensors, ctx.call
        dy = dy.to(weight.dtype)
        dx = dweight = dbias = None
        if ctx.needs_input_grad[0]:
            if call.dgrad_group is None:
                dx = OPS.gemm(dy, weight, call.dgrad).to(x.dtype)
            else:
                roots = [OPS.gemm(part, rows, _root(call.dgrad))
                         for part, rows in zip(dy.chunk(call.parts, -1), weight.chunk(call.parts))]
                dx = _joined(torch.stack(roots), call.dgrad_group, x.dtype)
        if ctx.needs_input_grad[1]:
            acc = weight.new_zeros(weight.shape, dtype=torch.float32) if ctx.main_grad is None else ctx.main_grad
            add_outer(acc, dy, x, call.wgrad)
            dweight = finish(acc, ctx.main_grad, weight, ctx.flagged)
        if bias is not None and ctx.needs_input_grad[2]:
            acc = bias.new_zeros(bias.shape, dtype=torch.float32) if ctx.bias_main_grad is None else ctx.bias_main_grad
            add_outer(acc.view(1, -1), dy.new_ones((*dy.shape[:-1], 1)), dy, call.wgrad)
            dbias = finish(acc, ctx.bias_main_grad, bias, ctx.flagged)
        return dx, dweight, dbias, None, None, None, None


def product(x, weight, bias, call):
    reads = parsed(call.forward).input
    for name, tensor in (("x", x), ("weight", weight)):
        refuse(NAMES.get(tensor.dtype) != reads, f"{name}.dtype is {tensor.dtype}: {call.forward} reads {reads}")
    main_grad, flagged = gradient_of(weight, "weight")
    bias_main_grad, _ = gradient_of(bias, "bias")
    return Product.apply(x, weight, bias, main_grad, bias_main_grad, flagged, call)


class ColumnParallelLinear(theirs.ColumnParallelLinear):
    """Megatron's layer, its parameters, initialisation and checkpoints; the products are ours."""

    def __init__(self, *arguments, contracts, **more):
        super().__init__(*arguments, **more)
        self.adopt(contracts, more.get("stride", 1))

    def adopt(self, contracts, parts):
        """Puts the layer under contracts. parts: of the output's features, each of which is spread over ranks."""
        refuse(getattr(self, "is_expert", False), "the layer is an expert's: experts are not supported")
        refuse(self.bias is not None and self.skip_bias_add,
               "the bias is left to another module (skip_bias_add), which adds its gradient over tokens in PyTorch's order: set "
               "add_bias_linear to False")
        contracts.check(f"a column-parallel layer of {self.output_size} features", self.output_size // parts, self.tp_group)
        self.contracts, self.parts = contracts, parts

    def _forward_impl(self, input, weight, *_, bias=None, allreduce_dgrad=False, **__):
        policy, shared = self.contracts.policy, self.contracts.across_ranks
        # The layer's own input is summed over ranks here; where Megatron sums elsewhere, this rank's share is not ours to round.
        refuse(self.tp_group.size() > 1 and not allreduce_dgrad, "disable_grad_reduce is set: a sum over ranks outside of the layer "
                                                                 "has no contract")
        group = self.tp_group if allreduce_dgrad else None
        return product(input, weight, bias, Call(policy.forward, shared or policy.dgrad, policy.wgrad, dgrad_group=group, parts=self.parts))


class RowParallelLinear(theirs.RowParallelLinear):
    """Megatron's layer, its parameters, initialisation and checkpoints; the products and the sum over ranks are ours."""

    def __init__(self, *arguments, contracts, **more):
        super().__init__(*arguments, **more)
        refuse(self.is_expert, "the layer is an expert's: experts are not supported")
        refuse(self.bias is not None, "a row-parallel layer has a bias: its gradient would be summed in PyTorch's order; set "
                                      "add_bias_linear to False")
        contracts.check(f"a row-parallel layer of {self.input_size} features", self.input_size, self.tp_group)
        self.contracts = contracts

    def forward(self, input_):
        x = input_ if self.input_is_parallel else scatter_to_tensor_model_parallel_region(input_, group=self.tp_group)
        policy, shared = self.contracts.policy, self.contracts.across_ranks
        group = self.tp_group if self.tp_group.size() > 1 else None
        return product(x, self.weight, None, Call(shared or policy.forward, policy.dgrad, policy.wgrad, forward_group=group)), None
