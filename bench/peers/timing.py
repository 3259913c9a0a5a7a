# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The timer of the programs in this folder: CUDA graphs, replayed in alternated blocks between two events."""
import statistics

import torch

L2_BYTES = 192 << 20  # operands of more than this are never all in L2


def sets_for(bytes_per_call, least=1, most=1 << 20):
    """How many sets of operands calls rotate through, so that none is in L2."""
    return min(most, max(least, -(-L2_BYTES // bytes_per_call)))


def sentence(error):
    """The first line of an error, as a report has room for it."""
    return f"{type(error).__name__}: {(str(error).splitlines() or ['no message'])[0][:200]}"


def graph_of(calls):
    """One graph of these calls, in their order, each of which has run once; their results live as long as the graph."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        graph.results = [call() for call in calls]
    return graph


def elapsed(run, times=1):
    """Microseconds per run of several in a row."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3 / times


def medians(runs, blocks=7, block_us=2000):
    """{name: microseconds per run}, the median over blocks of about `block_us` each. The runs take turns, every second
    time in reverse, and each block begins with a run that does not count; so does the whole."""
    for run in runs.values():
        run()
    repeats = {name: max(1, int(block_us / elapsed(run))) for name, run in runs.items()}
    took = {name: [] for name in runs}
    for block in range(blocks):
        for name in list(runs)[::1 if block % 2 == 0 else -1]:
            runs[name]()
            took[name].append(elapsed(runs[name], repeats[name]))
    return {name: statistics.median(values) for name, values in took.items()}


def times(arms, blocks=7):
    """{name: microseconds per call} of each arm's list of calls, one per set of operands. An arm that refuses is reported
    and left out."""
    graphs = {}
    for name, calls in arms.items():
        try:
            graphs[name] = graph_of(calls)
        except Exception as error:  # a rival that does not take the case
            print(f"  {name}: {sentence(error)}")
    took = medians({name: graph.replay for name, graph in graphs.items()}, blocks)
    return {name: us / len(arms[name]) for name, us in took.items()}
