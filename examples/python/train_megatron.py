#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A GPT of Megatron Core: do the trained weights depend on the cut into micro-batches, or on the number of ranks?

    examples/python/train_megatron.py --model tiny --device cpu
    torchrun --nproc-per-node 1 examples/python/train_megatron.py --model 1b --record one.json
    torchrun --nproc-per-node 2 examples/python/train_megatron.py --model 1b --cuts 1x8 --same-as one.json     # tensor parallel
    torchrun --nproc-per-node 2 examples/python/train_megatron.py --model 1b --cuts 1x4 --data 2 --slices 4    # data parallel

Arms: "ours" is detgemm with sums over ranks under --tree, "chain" detgemm for one rank, "stock" Megatron's local specification.
Each trains the same weights on the same tokens for every cut, MICRO-BATCHES x SEQUENCES on a rank, in Megatron's own
DistributedDataParallel with fp32 gradients, with Adam on fp32 masters. With --slices the batch is that many slices, which detgemm
joins by a tree (GradientTree), so that any number of data-parallel ranks that divides them ends in the same weights. Prints the
digest of all masters and seconds per step. Ends with 1 where cuts of one arm of detgemm, or a cut and --same-as, have other digests; stock is the control.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import statistics
import time
import zlib

import torch

MODELS = {"tiny": dict(layers=2, hidden=128, features=256, heads=4, groups=2, vocabulary=512, length=32),
          "1b": dict(layers=16, hidden=2048, features=8192, heads=16, groups=8, vocabulary=32768, length=1024)}
COLUMNS = (7, 7, 18, 12, 10, 9)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="tiny")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--arms", default="ours,stock", help="of ours, chain, stock")
    parser.add_argument("--cuts", default="1x8,2x4,8x1", help="micro-batches x sequences, on each data-parallel rank")
    parser.add_argument("--data", type=int, default=1, help="data-parallel ranks; the others are tensor-parallel")
    parser.add_argument("--slices", type=int, default=0, help="of the global batch, for arms of detgemm")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--layers", type=int, default=0, help="in place of the model's")
    parser.add_argument("--experts", type=int, default=0, help="of every layer, two of which a token takes; on one tensor-parallel rank")
    parser.add_argument("--audit", action="store_true", help="says what the first micro-batch of each arm of detgemm adds, and under what")
    parser.add_argument("--leaf", type=int, default=0, help="rows of a leaf of the weights' gradients: 1024, tiny 16")
    parser.add_argument("--tree", type=int, default=0, help="leaf of sums over ranks: 512, tiny 32")
    parser.add_argument("--head", choices=["logits", "fused"], default="logits", help="fused: head and loss of detgemm's arms are one operation")
    parser.add_argument("--share", action="store_true", help="all ranks share one GPU and exchange bytes by gloo, which is slow: for bits")
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--same-as", type=pathlib.Path, help="a record of other ranks")
    return parser.parse_args()


def start(options):
    """Process groups of torchrun's processes, or of this one alone; returns the device."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533"}.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")
    from megatron.core import parallel_state, tensor_parallel
    device = torch.device("cpu")
    if options.device == "cuda":
        device = torch.device("cuda", 0 if options.share else int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("gloo" if options.device == "cpu" or options.share else "nccl")
    ranks = torch.distributed.get_world_size()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=ranks // options.data)
    if options.device == "cpu":  # Megatron Core names a CUDA device in places
        torch.cuda.current_device = lambda: "cpu"
        tensor_parallel.get_cuda_rng_tracker().fork = lambda *_: contextlib.nullcontext()
    else:
        tensor_parallel.random.model_parallel_cuda_manual_seed(0)
    return device


def build(options, arm, device):
    import detgemm.megatron
    import detgemm.torch as dt
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.parallel_state import get_tensor_model_parallel_world_size
    from megatron.core.transformer.transformer_config import TransformerConfig
    given = MODELS[options.model]
    config = TransformerConfig(
        num_layers=options.layers or given["layers"], hidden_size=given["hidden"], ffn_hidden_size=given["features"],
        num_attention_heads=given["heads"], num_query_groups=given["groups"], kv_channels=given["hidden"] // given["heads"],
        use_cpu_initialization=options.device == "cpu", perform_initialization=False, params_dtype=torch.bfloat16, bf16=True,
        pipeline_dtype=torch.bfloat16, gradient_accumulation_fusion=False, add_bias_linear=False, normalization="RMSNorm",
        layernorm_epsilon=1e-6, gated_linear_unit=True, activation_func=torch.nn.functional.silu, attention_dropout=0.0,
        hidden_dropout=0.0, bias_dropout_fusion=False, bias_activation_fusion=False, masked_softmax_fusion=False, apply_rope_fusion=False,
        tensor_model_parallel_size=get_tensor_model_parallel_world_size(), **(dict(
            num_moe_experts=options.experts, moe_ffn_hidden_size=given["features"] // 4, moe_router_topk=2,
            moe_router_load_balancing_type="none") if options.experts else {}))
    tiny = options.model == "tiny"
    policy = dt.Policy("hopper/bf16/chain->bf16", "hopper/bf16/chain->bf16",
                       f"hopper/bf16/fold:{options.leaf or (16 if tiny else 1024)}->fp32")
    tree = f"hopper/bf16/tree:{options.tree or (32 if tiny else 512)}->bf16" if arm == "ours" else None
    spec = get_gpt_layer_local_spec(normalization="RMSNorm", num_experts=options.experts or None) if arm == "stock" else \
        detgemm.megatron.get_gpt_layer_spec(policy, across_ranks=tree, experts=bool(options.experts))
    model = GPTModel(config=config, transformer_layer_spec=spec, vocab_size=given["vocabulary"], max_sequence_length=given["length"],
                     position_embedding_type="rope")
    if arm != "stock":
        detgemm.megatron.use(model, policy, across_ranks=tree, fused_head=options.head == "fused")
    return model.bfloat16().to(device)


def dimension(name):
    """The one that tensor-parallel ranks share, or None."""
    return None if "norm" in name else 1 if "linear_proj" in name or "linear_fc2" in name else 0


def parts(name):
    """Gate and up are each spread over ranks."""
    return 2 if "linear_fc1" in name else 1


def tensor_group():
    from megatron.core.parallel_state import get_tensor_model_parallel_group
    return get_tensor_model_parallel_group()


@torch.no_grad()
def fill(model):
    """The same weights on any number of ranks: drawn whole, by name."""
    group = tensor_group()
    for name, p in model.named_parameters():
        if dimension(name) is None:
            p.fill_(1.0)
            continue
        shape, ranks = list(p.shape), group.size()
        shape[dimension(name)] *= ranks
        draw = torch.Generator(p.device).manual_seed(zlib.crc32(name.encode()))
        whole = torch.randn(shape, generator=draw, device=p.device) * 0.02
        p.copy_(torch.cat([part.chunk(ranks, dimension(name))[group.rank()] for part in whole.chunk(parts(name), dimension(name))],
                          dimension(name)))


def digest(masters):
    """Of all weights in fp32, by name, joined over ranks."""
    group, total = tensor_group(), hashlib.sha256()
    for name, whole in sorted(masters.items()):
        if dimension(name) is not None and group.size() > 1:
            shards = [torch.empty_like(whole) for _ in range(group.size())]
            torch.distributed.all_gather(shards, whole.contiguous(), group=group)
            pieces = [shard.chunk(parts(name), dimension(name)) for shard in shards]
            whole = torch.cat([torch.cat(each, dimension(name)) for each in zip(*pieces)], dimension(name))
        total.update(name.encode() + whole.contiguous().cpu().numpy().tobytes())
    return total.hexdigest()[:16]


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def train(options, arm, micro, sequences, device):
    """Losses of the first step and of the last, the digest of the weights, and seconds per step."""
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    import detgemm.torch as dt
    from detgemm.megatron import GradientTree
    from megatron.core.parallel_state import get_data_parallel_group, get_data_parallel_rank
    given = MODELS[options.model]
    length, vocabulary = given["length"], given["vocabulary"]
    module = build(options, arm, device)
    fill(module)
    model = DistributedDataParallel(module.config, DistributedDataParallelConfig(grad_reduce_in_fp32=True, overlap_grad_reduce=False), module)
    parameters = list(module.parameters())
    masters = [p.detach().float().clone() for p in parameters]
    for master, p in zip(masters, parameters):
        master.grad = p.main_grad
    adam = torch.optim.Adam(masters, lr=1e-4, betas=(0.9, 0.99), fused=device.type == "cuda")
    count = micro * sequences * options.data
    source = torch.Generator().manual_seed(1)
    places = torch.arange(length, device=device).expand(sequences, length)
    later = torch.ones(1, 1, length, length, dtype=torch.bool, device=device).triu(1)
    ours = options.slices and arm != "stock"
    tree = GradientTree([buffer.grad_data for buffer in model.buffers], get_data_parallel_group(), options.slices) if ours else None
    rows = options.slices and count // options.slices  # of a slice
    if ours and (count % options.slices or rows % sequences or options.slices % options.data):
        raise SystemExit(f"--slices is {options.slices}: {options.data} ranks must have the same number of slices, of whole micro-batches")
    # Megatron divides by the number of ranks where it adds over them.
    losses, seconds, audited, share = [], [], [], count * length if ours else count // options.data * length
    for step in range(options.steps):
        tokens = torch.randint(0, vocabulary, (count, length + 1), generator=source).chunk(options.data)[get_data_parallel_rank()].to(device)
        wait(device)
        begin = time.perf_counter()
        model.zero_grad_buffer()
        found = 0.0
        for at, part in enumerate(tokens.split(sequences)):
            watched = options.audit and arm != "stock" and step == at == 0
            with model.no_sync(), dt.audit() if watched else contextlib.nullcontext() as report:
                values = model(part[:, :-1], places, later, labels=part[:, 1:].contiguous())
                values.backward(torch.full_like(values, 1 / share))
            found = found + values.detach().sum() / share
            if watched:
                audited = report.rows
            if ours and (at + 1) * sequences % rows == 0:
                tree.close_slice()
        if ours:
            tree.finish()
        else:
            model.start_grad_sync()
            model.finish_grad_sync()
        adam.step()
        with torch.no_grad():
            torch._foreach_copy_(parameters, masters)
        wait(device)
        seconds.append(time.perf_counter() - begin)
        losses.append(float(found))
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0
    names = [name for name, _ in module.named_parameters()]
    return {"digest": digest(dict(zip(names, masters))), "losses": [losses[0], losses[-1]],
            "seconds": statistics.median_high(seconds[1:] or seconds), "GiB": peak, "all": seconds, "audit": audited}


def main():
    options = arguments()
    device = start(options)
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    say = (lambda *row: print("  ".join(f"{text!s:{width}}" for text, width in zip(row, COLUMNS)).rstrip(), flush=True)) if rank == 0 else \
        (lambda *_: None)
    say(f"Random weights and tokens: {options.model}, {options.steps} steps, {ranks // options.data} tensor-parallel and {options.data} "
        f"data-parallel ranks on {device.type}")
    say("arm", "cut", "weights' digest", "loss", "s / step", "GiB")
    found = {}
    for arm in options.arms.split(","):
        for cut in options.cuts.split(","):
            micro, sequences = (int(each) for each in cut.split("x"))
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            row = found.setdefault(arm, {})[cut] = train(options, arm, micro, sequences, device)
            for operator, dtype, verdict, why, calls in row["audit"] if len(found[arm]) == 1 else ():
                say("", verdict, f"{operator} {dtype}", why, f"{calls} calls")
            say(arm, cut, row["digest"], f"{row['losses'][1]:.6f}", f"{row['seconds']:.3f}", f"{row['GiB']:.1f}")
    if options.record and rank == 0:
        options.record.write_text(json.dumps(found))
    failed = False
    for arm, rows in found.items():
        digests = {row["digest"] for row in rows.values()}
        if options.same_as:
            digests |= {row["digest"] for row in json.loads(options.same_as.read_text()).get(arm, {}).values()}
        failed |= arm != "stock" and len(digests) != 1
        say(f"{arm}: {len(digests)} different digests of {len(rows)} cuts" + (f" and {options.same_as}" if options.same_as else ""))
    say("FAILED" if failed else "passed: the weights of detgemm are equal byte for byte")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
