# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Linear layers whose K is spread over ranks: roots of a tree travel in fp32 and are joined in the tree's order."""
from vllm.distributed import split_tensor_along_last_dim, tensor_model_parallel_all_gather
from vllm.model_executor.layers.linear import RowParallelLinear

from detgemm.contract import contract as parsed
from detgemm.torch.ranks import check_ranks, join_op


class DetgemmRowParallelLinear(RowParallelLinear):
    """With one rank, the product under the tree; with more, each rank's root of it, gathered and joined. One set of bits."""

    def __init__(self, input_size, *arguments, **more):
        super().__init__(input_size, *arguments, **more)
        method = getattr(self, "quant_method", None)
        self.detgemm = getattr(getattr(method, "config", None), "row_parallel", None)
        if self.detgemm is None:
            return
        check_ranks(self.detgemm, input_size, self.tp_size)
        if self.tp_size > 1 and not self.reduce_results:
            raise ValueError("detgemm: a row-parallel layer that leaves its sum over ranks to others is not supported with "
                             "quantization=\"detgemm\"")

    def forward(self, input_):
        if self.detgemm is None or self.tp_size == 1:
            return super().forward(input_)
        mine = input_ if self.input_is_parallel else split_tensor_along_last_dim(input_, num_partitions=self.tp_size)[self.tp_rank]
        root = self.quant_method.root(self, mine.contiguous())
        # Ranks are next to each other in the first dimension, in order.
        roots = tensor_model_parallel_all_gather(root.reshape(-1, root.shape[-1]), dim=0)
        output = join_op(roots.view(self.tp_size, *root.shape), None if self.skip_bias_add else self.bias, mine.dtype)
        if not self.return_bias:
            return output
        return output, self.bias if self.skip_bias_add else None


def root_contract(contract):
    """What a rank computes of a contract whose sum is a tree: its root, not rounded."""
    return parsed(contract).with_output("fp32").text


def row_parallel_contract(text):
    """A contract that ranks can share, as text, or None."""
    if text is None:
        return None
    found = parsed(text)
    if found.reduction != "tree":
        raise ValueError(f'detgemm: row_parallel is "{text}": it must be a contract with tree:LEAF, whose sum over ranks has one order')
    return found.text

