#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Times one decode step (in a CUDA graph) and one prompt of a whole model with random weights.

    bench/peers/model_step.py --model qwen3-8b --context 2048 --batches 1,8,64 --prompt 4096 --json step.json

Arms, all with the same cache and the same graph:
    stock   PyTorch's linear layers and norms, attention by sdpa without a mask, its fastest form
    triton  stock with every linear layer as a Triton matmul of one configuration whatever M is, as the
            published batch-invariant switches have it
    linear  stock with every linear layer by detgemm
    all     every reduction by detgemm
Medians of alternating blocks.
"""
import argparse
import json
import pathlib
import statistics
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "python"))

import common  # noqa: E402
import detgemm.torch  # noqa: E402
import triton_kernel  # noqa: E402
from detgemm.torch import transformers as hooks  # noqa: E402

ONE_FOR_ALL = (128, 128, 64, 8, 3)


class TritonLinear(torch.nn.Linear):
    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        return triton_kernel.matmul(rows, self.weight.t(), ONE_FOR_ALL).view(*x.shape[:-1], -1)


def sdpa_of_slots(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **_):
    """Decoding: one query per slot, every slot as long as the cache. A prompt: plain causal attention."""
    function = torch.nn.functional.scaled_dot_product_attention
    if query.shape[2] == key.shape[0]:
        out = function(query[0].transpose(0, 1).unsqueeze(2), key, value, scale=scaling, enable_gqa=True)
        return out.squeeze(2)[None], None
    out = function(query, key[:1, :, :query.shape[2]], value[:1, :, :query.shape[2]], scale=scaling,
                   is_causal=True, enable_gqa=True)
    return out.transpose(1, 2), None


def build(options, arm):
    from transformers import AttentionInterface
    AttentionInterface.register("sdpa_of_slots", sdpa_of_slots)
    model = common.build(options, "stock")
    if arm == "all":
        hooks.use(model, common.policy(1024), weights_are_stable=True)
    else:
        model.set_attn_implementation("sdpa_of_slots")
    if arm == "linear":
        detgemm.torch.convert(model, common.policy(1024), weights_are_stable=True)
    if arm == "triton":
        for module in model.modules():
            if type(module) is torch.nn.Linear:
                module.__class__ = TritonLinear
    return model


def graph_of(run):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def block(replay, times):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    replay()
    begin.record()
    for _ in range(times):
        replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / times


def alternate(replays, blocks, times):
    """Milliseconds per arm."""
    samples = {name: [] for name in replays}
    for turn in range(blocks):
        for name in list(replays)[::1 if turn % 2 == 0 else -1]:
            samples[name].append(block(replays[name], times))
    return {name: statistics.median(values) for name, values in samples.items()}


@torch.no_grad()
def measure(options):
    models = {arm: build(options, arm) for arm in options.arms}
    config = next(iter(models.values())).config
    for batch in options.batches:
        cache = hooks.Slots(config, batch, options.context, torch.bfloat16, options.device)
        for tensor in (*cache.keys, *cache.values):
            tensor.normal_()
        cache.lengths = [options.context - 1] * batch
        cache.load([(slot, [slot + 1]) for slot in range(batch)])
        graphs = {arm: graph_of(lambda model=model, cache=cache: cache.run(model)) for arm, model in models.items()}
        times = alternate({arm: graph.replay for arm, graph in graphs.items()}, options.blocks, options.times)
        yield {"what": "decode", "batch": batch, "context": options.context, "ms": times}
        del graphs, cache
    if options.prompt:
        cache = hooks.Slots(config, 2, options.prompt, torch.bfloat16, options.device)
        cache.load([(0, [i % 1000 for i in range(options.prompt)])])
        last = torch.tensor([options.prompt - 1], device=options.device)
        graphs = {arm: graph_of(lambda model=model: cache.run(model, logits_to_keep=last))
                  for arm, model in models.items()}
        times = alternate({arm: graph.replay for arm, graph in graphs.items()}, options.blocks, 2)
        yield {"what": "prompt", "tokens": options.prompt, "ms": times}


def show(result):
    ms = result["ms"]
    what = " ".join(f"{key} {value}" for key, value in result.items() if key not in ("what", "ms"))
    line = f"{result['what']:7} {what:24}" + "  ".join(f"{arm} {value:8.3f} ms" for arm, value in ms.items())
    for rival in ("stock", "triton"):
        for arm in ("linear", "all"):
            if rival in ms and arm in ms:
                line += f"  {rival}/{arm} {ms[rival] / ms[arm]:.3f}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=common.MODELS, default="qwen3-8b")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--batches", default="1,8,64")
    parser.add_argument("--prompt", type=int, default=4096)
    parser.add_argument("--arms", default="stock,triton,linear,all")
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--times", type=int, default=8)
    parser.add_argument("--json")
    options = parser.parse_args()
    options.batches = [int(batch) for batch in options.batches.split(",") if batch]
    options.arms = options.arms.split(",")
    document = {"tool": "model_step.py", "command": " ".join(sys.argv), "model": options.model,
                "device": torch.cuda.get_device_name(), "torch": torch.__version__, "results": []}
    for result in measure(options):
        show(result)
        document["results"].append(result)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
