# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""wrapped_ranks.py RESULT: a converted model under DistributedDataParallel and fully_shard, on two processes: over gloo, or over
NCCL where there are two GPUs.

RESULT gets the output, the gradients of the first rank's whole parameters and the layers' classes, for each way of wrapping.
"""
import sys

import torch

import detgemm.torch as dt

POLICY = dt.Policy("hopper/bf16/chain->bf16", "hopper/bf16/chain->bf16", "hopper/bf16/fold:64->fp32")


KIND = "cuda" if torch.cuda.device_count() > 1 else "cpu"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = torch.nn.Linear(64, 128), torch.nn.Linear(128, 64, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def unwrapped(model):
    return model


def distributed(model):
    return torch.nn.parallel.DistributedDataParallel(model)


def fully_shard(model):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard as shard
    mesh = init_device_mesh(KIND, (2,))
    for layer in (model.up, model.down):
        shard(layer, mesh=mesh)
    return shard(model, mesh=mesh)


def mixed(model):
    """fp32 parameters that FSDP rounds before a layer, gradients reduced in fp32."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy
    from torch.distributed.fsdp import fully_shard as shard
    return shard(model.float(), mesh=init_device_mesh(KIND, (2,)), mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))


WAYS = [unwrapped, distributed, fully_shard, mixed]


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def one(way):
    model = Net().bfloat16().to(KIND)
    dt.convert(model, POLICY)
    wrapped = way(model)
    x = torch.randn(96, 64, generator=torch.Generator().manual_seed(1)).bfloat16().to(KIND)
    y = wrapped(x)
    (y.float() * torch.randn(96, 64, generator=torch.Generator().manual_seed(2)).to(KIND)).sum().backward()
    # Both ranks have the same rows, so that the mean of their gradients is exact.
    return {"output": y.detach().cpu(), "layers": [isinstance(layer, dt.Linear) for layer in (model.up, model.down)],
            "grads": {name.removeprefix("module."): whole(p.grad).bfloat16().cpu() for name, p in wrapped.named_parameters()},
            "state": {name.removeprefix("module."): whole(p).bfloat16().cpu() for name, p in wrapped.state_dict().items()}}


def work(rank, result):
    torch.set_num_threads(1)
    if KIND == "cuda":
        torch.cuda.set_device(rank)
    torch.distributed.init_process_group("gloo" if KIND == "cpu" else "nccl", init_method=f"file://{result}.meeting", rank=rank, world_size=2)
    found = {way.__name__: one(way) for way in WAYS}
    if rank == 0:
        torch.save(found, result)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (sys.argv[1],), nprocs=2)
