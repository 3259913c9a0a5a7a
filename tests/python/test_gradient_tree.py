# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The tree over slices of a batch, on one process: its order for any number of ranks, buffers, wrappers, refusals.

Ranks of their own are in test_data_parallel.py, which the stage `trainers` of run.py has.
"""
import itertools
import random

import pytest
import torch
from conftest import bits

import detgemm.torch as dt
from detgemm.torch.data_parallel import use_gradient_tree
from detgemm.torch.gradient_tree import Tree, cover


class Name:
    """A sum that is written down."""

    def __init__(self, text):
        self.text = text

    def add_(self, other):
        return Name(f"({self.text}+{other.text})")


def written(slices, order):
    tree = Tree(slices)
    for each in order:
        tree.add(0, each, [Name(str(each))])
    ((total,),) = tree.nodes.values()
    return total.text


def test_the_order_is_the_drawings():
    assert written(1, [0]) == "0" and written(3, [0, 1, 2]) == "((0+1)+2)"
    assert written(6, range(6)) == "(((0+1)+(2+3))+(4+5))"
    assert written(7, range(7)) == "(((0+1)+(2+3))+((4+5)+6))"


def test_slices_may_arrive_in_any_order():
    source = random.Random(0)
    for slices in range(1, 40):
        wanted = written(slices, range(slices))
        assert written(slices, source.sample(range(slices), slices)) == wanted


def test_ranks_make_whole_nodes():
    """What ranks have joined by themselves is joined to the same sum, and is few: 2 log2 of their slices at most."""
    for ranks, own in itertools.product(range(1, 9), range(1, 14)):
        slices, tree = ranks * own, Tree(ranks * own)
        for rank in range(ranks):
            mine = Tree(slices)
            for each in range(rank * own, (rank + 1) * own):
                mine.add(0, each, [Name(str(each))])
            assert tuple(sorted(mine.nodes)) == cover(slices, ranks, rank) and len(mine.nodes) <= 2 * own.bit_length()
            for (level, index), (node,) in mine.nodes.items():
                tree.add(level, index, [node])
        ((total,),) = tree.nodes.values()
        assert total.text == written(slices, range(slices))


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path_factory.mktemp('group') / 'meeting'}", rank=0, world_size=1)
    yield torch.distributed.group.WORLD
    torch.distributed.destroy_process_group()


def test_buffers(group):
    """Six slices of buffers that cancel, against the drawing; another number of slices is another sum, which is the control."""
    slices = [bits((40,), torch.float32, seed) for seed in range(6)]

    def joined(count):
        buffer = torch.zeros(40)
        tree = dt.GradientTree([buffer], group, count)
        for at in range(count):
            for each in slices[at * 6 // count:(at + 1) * 6 // count]:
                buffer += each
            tree.close_slice()
            assert not buffer.any()
        tree.finish()
        return buffer

    s = slices
    assert dt.same_bits(joined(6), ((s[0] + s[1]) + (s[2] + s[3])) + (s[4] + s[5]))
    assert not dt.same_bits(joined(6), joined(1))


def model():
    torch.manual_seed(0)
    return torch.nn.Linear(8, 4)


def wrapped(_group, dtype=torch.float32):
    return torch.nn.parallel.DistributedDataParallel(model().to(dtype))


def sharded(_group, shape=(1,)):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    return fully_shard(model(), mesh=init_device_mesh("cpu", shape, mesh_dim_names=("replicas", "shards")[-len(shape):]))


@pytest.mark.parametrize("wrap", [wrapped, sharded])
def test_an_optimizer_may_not_step_between_slices(group, wrap):
    """Up to the last slice gradients are zeros, so a step would change weights by the optimizer's state alone."""
    made, x = wrap(group), bits((3, 8), torch.float32)
    use_gradient_tree(made, 3)
    optimizer, other = torch.optim.Adam(made.parameters()), torch.optim.Adam(model().parameters())
    before = torch.cat([p.detach().reshape(-1).clone() for p in (each.full_tensor() if hasattr(each, "full_tensor") else each for each in made.parameters())])
    for at in range(3):
        made(x[at:at + 1]).sum().backward()
        if at < 2:
            with pytest.raises(RuntimeError, match="an optimizer steps between slices: .* for each of its slices, of 3 in all"):
                optimizer.step()
            other.step()
    optimizer.step()
    after = torch.cat([p.detach().reshape(-1) for p in (each.full_tensor() if hasattr(each, "full_tensor") else each for each in made.parameters())])
    assert (before != after).all()


def test_one_rounding_and_zeros(group):
    """Gradients of bf16 parameters are added in fp32 and rounded once; -0 is +0."""
    made, rows = wrapped(group, torch.bfloat16), bits((5, 8), torch.bfloat16)
    rows[:, 0] = -0.0
    use_gradient_tree(made, 5)
    for row in rows:
        made(row[None]).sum().backward()
    s = rows.float()
    total = (((s[0] + s[1]) + (s[2] + s[3])) + s[4]).bfloat16() + 0.0
    assert dt.same_bits(made.module.weight.grad, total.expand(4, 8).contiguous())


WRONG = {
    "plain": (lambda group: use_gradient_tree(model(), 1), "model is a Linear: it must be a DistributedDataParallel, or a module that"),
    "no model": (lambda group: use_gradient_tree(5, 1), "model is a int: it must be a torch.nn.Module"),
    "no slice": (lambda group: use_gradient_tree(wrapped(group), 0), "slices is 0: it must be an integer, 1 or more"),
    "text": (lambda group: use_gradient_tree(sharded(group), "2"), "slices is '2': it must be an integer, 1 or more"),
    "mesh": (lambda group: use_gradient_tree(sharded(group, (1, 1)), 1), "the mesh of a parameter has 2 dimensions: gradients are joined over"),
    "buffers": (lambda group: dt.GradientTree([torch.zeros(4).bfloat16()], group, 1), r"buffers\[0\] is torch.bfloat16 .*: it must be contiguous"),
    "a list": (lambda group: dt.GradientTree([[0.0]], group, 1), r"buffers\[0\] is a list: it must be a tensor"),
    "truth": (lambda group: dt.GradientTree([], group, True), "slices is True: it must be an integer"),
    "early": (lambda group: dt.GradientTree([], group, 2).finish(), "0 slices of this rank are closed: they must be 2, 2 by 1 ranks"),
    "late": (lambda group: [tree.close_slice() for tree in [dt.GradientTree([], group, 1)] * 2], "1 slices of this rank are closed, which are all"),
}


@pytest.mark.parametrize("call", WRONG)
def test_what_is_refused(group, call):
    run, sentence = WRONG[call]
    with pytest.raises(RuntimeError, match=sentence):
        run(group)


def test_ranks_that_do_not_divide_slices():
    from detgemm.torch.gradient_tree import check_slices
    with pytest.raises(RuntimeError, match="slices is 6: each of 4 ranks must have the same number of them, so it must be a multiple of 4"):
        check_slices(6, 4)
