# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""gradient_ranks.py RESULT [RANKS...]: two steps of a converted model under DistributedDataParallel and fully_shard with
`use_gradient_tree`, on 1, 2, 3, 4 and 8 of eight processes over gloo, or on 1 and 2 GPUs over NCCL where there are two.

RESULT gets the weights' and the last gradients' bytes per way and number of ranks. Ways: "ddp", "fsdp", "buffers" (GradientTree
over main_grad, without a wrapper); controls "stock" (PyTorch's own sum) and "chain" (ranks added one after the other).
"""
import functools
import os
import pathlib
import sys

import torch
import torch.distributed as dist

GPU = torch.cuda.device_count() > 1
KIND = "cuda" if GPU else "cpu"
SLICES, ROWS, STEPS = 24, 8, 2


def build():
    import detgemm.torch as dt
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 40, bias=False)).to(KIND)
    fp32 = "ieee_fma/fp32/chain->fp32"  # sums of a few bf16 gradients would be exact in any order
    dt.convert(model, dt.Policy(fp32, fp32, fp32))
    return model


def in_a_row(nodes, slices, group):
    """The planted fault: each rank's sum, added in the order of ranks."""
    mine = functools.reduce(torch.add, nodes.values())
    every = [torch.empty_like(mine) for _ in range(group.size())]
    dist.all_gather(every, mine, group=group)
    return functools.reduce(torch.add, every)


def one(way, group):
    """Weights and the last gradients after STEPS, whole."""
    import detgemm.torch as dt
    from detgemm.torch import data_parallel
    model, ranks, rank = build(), group.size(), group.rank()
    wrapped, tree = model, None
    if way == "buffers":
        tree = dt.GradientTree(list(dt.main_grads(model).values()), group, SLICES)
    elif way == "fsdp":
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed.fsdp import fully_shard
        mesh = DeviceMesh.from_group(group, KIND)
        for layer in (model[0], model[2]):
            fully_shard(layer, mesh=mesh)
        wrapped = fully_shard(model, mesh=mesh)
    else:
        wrapped = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
    if way in ("ddp", "fsdp", "chain"):
        data_parallel.use_gradient_tree(wrapped, SLICES)
    right = data_parallel.over_ranks
    data_parallel.over_ranks = in_a_row if way == "chain" else right
    adam = torch.optim.Adam(wrapped.parameters(), lr=1e-2)
    source = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        x, y = (torch.randn(SLICES * ROWS, size, generator=source).to(KIND).chunk(ranks)[rank] for size in (32, 40))
        adam.zero_grad()
        for rows, wanted in zip(x.split(ROWS), y.split(ROWS)):
            share = SLICES * ROWS if way != "stock" else SLICES * ROWS / ranks  # PyTorch divides by the number of ranks
            ((wrapped(rows) - wanted).square().sum() / share).backward()
            if way == "buffers":
                tree.close_slice()
        if way == "buffers":
            tree.finish()
            for p in model.parameters():
                p.grad = p.main_grad
        grads = {name: p.grad for name, p in model.named_parameters()}
        grads = {name: (grad.full_tensor() if hasattr(grad, "full_tensor") else grad).cpu().clone() for name, grad in grads.items()}
        adam.step()
        if way == "buffers":
            for p in model.parameters():
                p.main_grad.zero_()
    data_parallel.over_ranks = right
    weights = {name: (p.full_tensor() if hasattr(p, "full_tensor") else p).detach().cpu() for name, p in model.named_parameters()}
    return {"weights": weights, "grads": grads}


def work(rank, result, counts):
    torch.set_num_threads(1)
    if GPU:
        torch.cuda.set_device(rank)
    dist.init_process_group("nccl" if GPU else "gloo", init_method=f"file://{result}.meeting", rank=rank, world_size=max(counts))
    found = {}
    for count in counts:
        group = dist.new_group(list(range(count)))
        if rank < count:
            for way in ("ddp", "fsdp", "buffers", *(("stock", "chain") if count <= 2 else ())):
                found[way, count] = one(way, group)
    if rank == 0:
        torch.save(found, result)
    dist.barrier()
    dist.destroy_process_group()


def main():
    result, counts = sys.argv[1], [int(each) for each in sys.argv[2:]] or ([1, 2] if GPU else [1, 2, 3, 4, 8])
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    pathlib.Path(f"{result}.meeting").unlink(missing_ok=True)
    if GPU:
        torch.multiprocessing.spawn(work, (result, counts), nprocs=max(counts))
    else:  # what is imported is shared; detgemm is not, since it starts after the fork
        torch.multiprocessing.start_processes(work, (result, counts), nprocs=max(counts), start_method="fork")


if __name__ == "__main__":
    main()
