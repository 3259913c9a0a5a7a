# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Where a run of an engine spends its time, for vllm_turns.py: kernels by what each adds, and the host by operator."""
import collections

import torch
from torch.profiler import ProfilerActivity

KERNELS, OPERATORS, TAIL = 30, 30, 700


def backends(model):
    """Names of a model's attention backends. Called inside of vLLM's worker."""
    return sorted({layer.attn_backend.get_name() for layer in model.modules() if hasattr(layer, "attn_backend")})


def kernels_of(seen):
    """(start, end, name) of everything on the device, in us, by start."""
    return sorted((each.time_range.start, each.time_range.end, each.name) for each in seen.events()
                  if "cuda" in str(each.device_type).lower())


def added(found):
    """By name: calls, us it ran, us by which it ended behind all before it (kernels that start early overlap), and us during which
    nothing ran before it."""
    total, last = collections.defaultdict(lambda: [0, 0.0, 0.0, 0.0]), None
    for start, end, name in found:
        row = total[name]
        row[0] += 1
        row[1] += end - start
        row[2] += end - start if last is None else max(0, end - max(last, start))
        row[3] += 0 if last is None else max(0, start - last)
        last = end if last is None else max(last, end)
    rows = [[name[:200], row[0], *(round(us, 1) for us in row[1:])] for name, row in total.items()]
    return sorted(rows, key=lambda row: -row[3] - row[4])[:KERNELS]


def latest(found):
    """By kernel, when all before it had ended."""
    last = float("-inf")
    for _, end, _ in found:
        yield last
        last = max(last, end)


def profile(run, host):
    """run: one run of the engine. Kernels are seen without the host's operators, which a profiler slows down; those, where asked for, in
    another run."""
    run()
    with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as seen:
        seconds = run()
        torch.cuda.synchronize()
    found = kernels_of(seen)
    busy = sum(max(0, end - max(before, start)) for (start, end, _), before in zip(found, latest(found)))
    tail = [[name[:60], round(start - found[0][0], 1), round(end - start, 1)] for start, end, name in found[-TAIL:]]
    result = {"seconds": seconds, "span_us": round(found[-1][1] - found[0][0], 1) if found else 0, "busy_us": round(busy, 1),
              "kernels": added(found), "tail": tail}
    return result | operators(run) if host else result


def operators(run):
    """The host's operators of a run, and its seconds."""
    with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as host:
        seconds = run()
    rows = sorted(host.key_averages(), key=lambda each: -each.self_cpu_time_total)[:OPERATORS]
    return {"seconds_with_host_profile": seconds, "host": [[each.key[:80], each.count, round(each.self_cpu_time_total, 1),
                                                            round(each.cpu_time_total, 1)] for each in rows]}
