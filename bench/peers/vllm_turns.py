#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm_turns.py MODEL --json FILE: tokens per second of several engines of vLLM on one GPU, in turns A B C C B A.

All engines are built first, a process each, with random weights; MODEL is a folder with config.json. An engine is a mode of
`python -m detgemm.vllm check` (detgemm, vllm, stock), or vllm-lt: vLLM's invariant mode with torch.nn.functional.linear, so with
cuBLASLt without workspace. served-detgemm, served-vllm and served-stock have the engine's core in a process of its own, as
`vllm serve` does; they are not profiled. MODE@FOLDER takes the Python packages in FOLDER first; MODE:NAME=JSON;NAME=JSON gives arguments of
vllm.LLM to one engine alone, and MODE:VLLM_NAME=VALUE a variable. Engines are separated by spaces.

A case is a number of requests of 64 + 128 tokens, or REQUESTSxPROMPT+TOKENS; c at its end: the prompt is in the prefix cache; d: the
same, and the time of one token is taken away, so decoding steps alone are timed. p in front: kernels, h: the host's
operators too, after the times, each engine by itself (vllm_profile.py).
bREQUESTS: no time, but three requests of 211, 1037 and 5 tokens in a batch of so many, compared byte for byte with themselves alone.

Exit status: 0 where every engine started and answered every case, and every answer that was compared is equal in detgemm's
engines (others may differ: that is a result); 1 otherwise.
"""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def cublaslt():
    """vLLM's invariant products by torch.nn.functional.linear."""
    import torch
    from vllm.model_executor.layers import linear, vocab_parallel_embedding

    def plain(x, weight, bias=None):
        return torch.nn.functional.linear(x, weight, bias)

    linear.linear_batch_invariant = vocab_parallel_embedding.linear_batch_invariant = plain


def facts(engine):
    """What an engine computes with, and the digest of what three requests alone answer."""
    import hashlib

    import vllm_profile
    from detgemm.vllm import probe
    engine.alone = [probe.answer(engine.generate([prompt], [engine.tokens])[0]) for prompt in engine.watched]
    return {"digest": hashlib.sha256(b"".join(b"".join(each) for each in engine.alone)).hexdigest(),
            "attention": engine.llm.apply_model(vllm_profile.backends)[0],
            "graphs": str(engine.llm.llm_engine.vllm_config.compilation_config.cudagraph_mode)}


def prepare():
    """A model's class is looked at here, in place of a process of its own: vLLM has that lest CUDA starts, and it starts here anyway."""
    from vllm.model_executor.models import registry
    registry._run_in_subprocess = lambda look: look()


def stay(cores):
    """All threads of this process on these processors, and those that they start."""
    for thread in os.listdir("/proc/self/task") if cores else ():
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread), cores)


def seconds_of(engine, case, prompts, tokens=None):
    if not case["cached"]:
        engine.llm.reset_prefix_cache()
    start = time.perf_counter()
    engine.generate(prompts, [engine.sampling(tokens or case["tokens"], logprobs=None)] * len(prompts), keep_cache=True)
    seconds = time.perf_counter() - start
    return seconds - seconds_of(engine, {**case, "steps": False}, prompts, 1) if case["steps"] else seconds


def child(mode, pipe, options):
    """One engine: a line of JSON from stdin is a case, a line through the pipe its seconds or its profile."""
    import vllm_profile
    from detgemm.vllm import hooks, probe
    hooks.leave_out([])
    prepare()
    if mode == "vllm-lt":
        cublaslt()
    engine, kept = probe.Probe("vllm" if mode == "vllm-lt" else mode, options), {}
    with os.fdopen(pipe, "w", buffering=1) as out:
        print(json.dumps(facts(engine)), file=out)
        stay(options["cores"])
        for line in sys.stdin:
            case, runs = json.loads(line)
            of_case = case["requests"], case["prompt"], case["cached"]
            if not case["cached"] or of_case not in kept:
                engine.llm.reset_prefix_cache()
            prompts = kept.setdefault(of_case, [engine.prompt(case["prompt"]) for _ in range(case["requests"])])
            if case["compared"]:
                engine.equal = engine.compared = 0
                engine.in_company(f"in a batch of {case['requests']}", case["requests"], engine.alone)
                found = {"equal": engine.equal, "compared": engine.compared}
            elif case["profiled"]:
                found = {} if engine.scheduler is None else \
                    vllm_profile.profile(functools.partial(seconds_of, engine, case, prompts), case["host"])
            else:
                found = [seconds_of(engine, case, prompts) for _ in range(runs)]
            print(json.dumps(found), file=out)
    os._exit(0)  # the engine's threads need not be joined


class Engine:
    """A child and its pipe. answer: what it sends next, None where it ended or took too long."""

    def __init__(self, text, index, chosen, settings, folder):
        self.name, (read, write) = text, os.pipe()
        mode, _, more = text.partition(":")
        mode, _, first = mode.partition("@")
        served, mode = mode.startswith("served-"), mode.removeprefix("served-")
        self.judged = mode == "detgemm"
        from detgemm.vllm.__main__ import MODES
        given = dict(each.partition("=")[::2] for each in filter(None, more.split(";")))
        variables = {name: given.pop(name) for name in list(given) if name.startswith("VLLM_")}
        options = {"model": chosen.model, "cores": chosen.cores, "random_weights": True, "requests": 3, "tokens": 48, "batches": "100",
                   "eager": False, "speed": "", "longest": 1200, "without": [], "set": settings | given}
        environment = {**os.environ, **MODES["vllm" if mode == "vllm-lt" else mode], "VLLM_ENABLE_V1_MULTIPROCESSING": str(int(served)),
                       "VLLM_ALLOW_INSECURE_SERIALIZATION": "1", "VLLM_CACHE_ROOT": str(pathlib.Path(folder, f"cache-{index}")), **variables}
        if first:
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, (os.path.abspath(first), environment.get("PYTHONPATH"))))
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", mode, str(write), json.dumps(options)],
                                        env=environment, stdin=subprocess.PIPE, stdout=sys.stderr, text=True, pass_fds=[write],
                                        start_new_session=True)
        os.close(write)
        self.pipe = os.fdopen(read)

    def answer(self, until):
        line = self.pipe.readline() if select.select([self.pipe], [], [], max(0, until - time.time()))[0] else ""
        return json.loads(line) if line else None

    def ask(self, case, runs, until):
        try:
            self.process.stdin.write(json.dumps([case, runs]) + "\n")
            self.process.stdin.flush()
        except OSError:
            return None
        return self.answer(until)

    def stop(self, seconds):
        """The engine, and its core where that is a process of its own."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()  # its folders are removed next


def parsed(text):
    found = re.fullmatch(r"([phb]?)(\d+)(?:x(\d+)\+(\d+))?([cd]?)", text)
    if found is None:
        sys.exit(f'--cases has "{text}": a case is REQUESTS or REQUESTSxPROMPT+TOKENS, with p or h in front, c or d at the end, or bREQUESTS')
    kind, requests, prompt, tokens, end = found.groups()
    return {"case": text, "requests": int(requests), "prompt": int(prompt or 64), "tokens": int(tokens or 128), "cached": bool(end),
            "steps": end == "d", "profiled": kind in ("p", "h"), "host": kind == "h", "compared": kind == "b"}


def timed(case, engines, chosen, until):
    """Seconds of all runs by engine, or None where an engine gave no answer in time."""
    samples = {engine.name: [] for engine in engines}
    for turn, runs in enumerate([1] + [chosen.runs] * chosen.turns):
        for engine in engines if turn % 2 else engines[::-1]:
            seconds = engine.ask(case, runs, until)
            if seconds is None:
                print(f"{engine.name} gave no answer to {case['case']}", flush=True)
                return None
            samples[engine.name] += seconds if turn else []
    return samples


def is_right(engine, found):
    """Whether an engine answered a case, with equal bytes where detgemm's are compared."""
    if found is None or "compared" not in found:
        return found is not None
    return not engine.judged or found["equal"] == found["compared"] > 0


def measure(engines, chosen, until, save):
    """Whether all engines answered all cases, detgemm's with equal bytes."""
    cases, right = [parsed(each) for each in chosen.cases.split(",")], True
    for case in sorted(cases, key=lambda case: (case["compared"], case["profiled"])):
        if case["profiled"] or case["compared"]:
            found = {engine.name: engine.ask(case, 0, until) for engine in engines}
            save("profiles" if case["profiled"] else "comparisons", {**case, "found": found})
            if case["compared"]:
                print(case["case"], {name: each and f"{each['equal']} of {each['compared']}" for name, each in found.items()}, flush=True)
            right = right and all(is_right(engine, found[engine.name]) for engine in engines)
            engines = [engine for engine in engines if found[engine.name] is not None]
            continue
        if time.time() > until - chosen.reserve:
            print("no time is left for", case["case"], flush=True)
            right = False
            continue
        samples = timed(case, engines, chosen, until)
        if samples is None:
            return False
        produced = case["requests"] * (case["tokens"] - case["steps"] if case["tokens"] > 1 else case["prompt"])
        rates = {name: round(produced / statistics.median(each), 1) for name, each in samples.items()}
        save("cases", {**case, "tokens_per_second": rates, "seconds": samples})
        print(case["case"], rates, flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--engines", default="detgemm stock vllm vllm-lt")
    parser.add_argument("--cases", default="1,7,33,100,8x4096+1")
    parser.add_argument("--runs", type=int, default=3, help="per turn, after a warm one")
    parser.add_argument("--turns", type=int, default=2, help="every other one in the reverse order")
    parser.add_argument("--start", type=float, default=600, help="engines that are not ready after so many seconds are left out")
    parser.add_argument("--seconds", type=float, default=3600, help="in all; what is not done by then is left out")
    parser.add_argument("--reserve", type=float, default=0, help="no times begin in the last so many seconds, which profiles have")
    parser.add_argument("--cores", type=lambda text: sorted(map(int, text.split(","))), default=[],
                        help="processors that every engine has, once it is ready; without, all")
    parser.add_argument("--when", type=pathlib.Path, help="nothing is timed before this file exists")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help="an argument of vllm.LLM, of all engines")
    parser.add_argument("--json", type=pathlib.Path)
    chosen = parser.parse_args()
    begin = time.time()
    settings = {"gpu_memory_utilization": "0.1", "kv_cache_memory_bytes": "6442450944", "max_model_len": "4352"} | \
        dict(each.partition("=")[::2] for each in chosen.set)
    report = {"model": chosen.model, "engines": {}, "cases": [], "profiles": [], "comparisons": []}

    def save(part, entry):
        report[part].append(entry)
        if chosen.json:
            chosen.json.write_text(json.dumps(report, indent=1), encoding="utf-8")

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that engines are stopped
    with tempfile.TemporaryDirectory(prefix="turns-") as folder, contextlib.ExitStack() as stopped:
        engines = []
        for index, text in enumerate(chosen.engines.split()):
            engines.append(Engine(text, index, chosen, settings, folder))
            stopped.callback(engines[-1].stop, 0)  # before the next one starts, since that may fail
        for engine in engines:
            report["engines"][engine.name] = engine.answer(begin + chosen.start)
            print(engine.name, report["engines"][engine.name] or "did not start", round(time.time() - begin), "s", flush=True)
        ready = [engine for engine in engines if report["engines"][engine.name]]
        for engine in engines:
            if engine not in ready:
                engine.stop(10)  # so that one that ended says why
        while chosen.when and not chosen.when.exists() and time.time() < begin + chosen.seconds:
            time.sleep(1)
        right = bool(ready) and measure(ready, chosen, begin + chosen.seconds, save)
    sys.exit(0 if len(ready) == len(engines) and right else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        main()
