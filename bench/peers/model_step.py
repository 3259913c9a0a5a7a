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
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "python"))

import common  # noqa: E402
import detgemm.torch  # noqa: E402
import triton_kernel  # noqa: E402
from detgemm.torch import transformers as hooks  # noqa: E402
from report import begun, options, save  # noqa: E402
from timing import graph_of, medians  # noqa: E402

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


def build(given, arm):
    from transformers import AttentionInterface
    AttentionInterface.register("sdpa_of_slots", sdpa_of_slots)
    model = common.build(given, "stock")
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


def milliseconds(graphs, blocks):
    took = medians({arm: graph.replay for arm, graph in graphs.items()}, blocks, block_us=50_000)
    return {arm: us / 1000 for arm, us in took.items()}


@torch.no_grad()
def measure(given):
    models = {arm: build(given, arm) for arm in given.arms}
    config = next(iter(models.values())).config
    for batch in given.batches:
        cache = hooks.Slots(config, batch, given.context, torch.bfloat16, given.device)
        for tensor in (*cache.keys, *cache.values):
            tensor.normal_()
        cache.lengths = [given.context - 1] * batch
        cache.load([(slot, [slot + 1]) for slot in range(batch)])
        graphs = {arm: graph_of([lambda model=model, cache=cache: cache.run(model)]) for arm, model in models.items()}
        times = milliseconds(graphs, given.blocks)
        yield {"what": "decode", "batch": batch, "context": given.context, "ms": times}
        del graphs, cache
    if given.prompt:
        cache = hooks.Slots(config, 2, given.prompt, torch.bfloat16, given.device)
        cache.load([(0, [i % 1000 for i in range(given.prompt)])])
        last = torch.tensor([given.prompt - 1], device=given.device)
        graphs = {arm: graph_of([lambda model=model: cache.run(model, logits_to_keep=last)])
                  for arm, model in models.items()}
        times = milliseconds(graphs, given.blocks)
        yield {"what": "prompt", "tokens": given.prompt, "ms": times}


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
    parser = options(__doc__, only=False, variants=False)
    parser.add_argument("--model", choices=common.MODELS, default="qwen3-8b")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--batches", default="1,8,64")
    parser.add_argument("--prompt", type=int, default=4096)
    parser.add_argument("--arms", default="stock,triton,linear,all")
    parser.add_argument("--blocks", type=int, default=7)
    given = parser.parse_args()
    given.batches = [int(batch) for batch in given.batches.split(",") if batch]
    given.arms = given.arms.split(",")
    document = begun(tool="model_step.py", command=" ".join(sys.argv), model=given.model, results=[])
    for result in measure(given):
        show(result)
        document["results"].append(result)
        save(document, given.json)


if __name__ == "__main__":
    main()
