# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""python -m detgemm.vllm check MODEL: does a request get the same bits alone and in company, on this machine?

Starts vLLM once per mode, each in a process of its own, and compares token ids and fp32 log-probabilities byte for byte.
Exit status 0: under detgemm every comparison is equal, and no layer that it replaces is vLLM's own. 1: one differs, or
one is. 2: an engine did not start or compared nothing, or wrong usage.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from detgemm.vllm import hooks

MODES = {"detgemm": {}, "vllm": {"VLLM_BATCH_INVARIANT": "1"}, "stock": {"VLLM_BATCH_INVARIANT": "0"}}
NAMES = {"detgemm": 'quantization="detgemm"', "vllm": "VLLM_BATCH_INVARIANT=1", "stock": "vLLM as it is"}


def arguments():
    parser = argparse.ArgumentParser(prog="python -m detgemm.vllm", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    check = parser.add_subparsers(dest="command", required=True).add_parser("check", help="compare requests alone and in company")
    check.add_argument("model", help="a model's name or folder; a folder with config.json alone needs --random-weights")
    check.add_argument("--modes", default="detgemm,vllm,stock", help="of detgemm, vllm and stock, separated by commas")
    check.add_argument("--random-weights", action="store_true", help="draw the weights instead of loading them")
    check.add_argument("--without", default="", metavar="HOOKS", help="a control that must fail: leave these hooks, separated by "
                       f"commas, out of detgemm: {', '.join(hooks.NAMES)}")
    check.add_argument("--requests", type=int, default=3, help="how many requests are compared (1 to 8)")
    check.add_argument("--tokens", type=int, default=48, help="generated tokens per request, at least 4")
    check.add_argument("--batches", default="7,33", help="sizes of the batches that a request is put into")
    check.add_argument("--longest", type=int, default=1200, help="the longest prompt, in tokens; at least 200, so that one is cut")
    check.add_argument("--eager", action="store_true", help="neither torch.compile nor CUDA graphs")
    check.add_argument("--speed", default="", help="numbers of requests to time afterwards, such as 1,7,33,100")
    check.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help="a further argument of vllm.LLM")
    check.add_argument("--json", type=pathlib.Path, help="where to write the records")
    check.add_argument("--seconds", type=int, default=1200, help="an engine that takes longer is stopped")
    chosen = parser.parse_args()
    chosen.modes = chosen.modes.split(",")
    for mode in chosen.modes:
        if mode not in MODES:
            parser.error(f'--modes has "{mode}": it must be of {", ".join(MODES)}')
    chosen.without = list(filter(None, chosen.without.split(",")))
    for name in chosen.without:
        if name not in hooks.NAMES:
            parser.error(f'--without has "{name}": it must be of {", ".join(hooks.NAMES)}')
    if chosen.tokens < 4:
        parser.error(f"--tokens is {chosen.tokens}: it must be at least 4, so that requests outgrow their memory")
    if chosen.longest < 200:
        parser.error(f"--longest is {chosen.longest}: it must be at least 200")
    if not 1 <= chosen.requests <= 8:
        parser.error(f"--requests is {chosen.requests}: it must be 1 to 8")
    return chosen


def probe(mode, chosen, folder):
    """The record of one engine, or None if it did not start or took too long."""
    result = pathlib.Path(folder) / f"{mode}.json"
    command = [sys.executable, "-m", "detgemm.vllm.probe", mode, str(result), json.dumps(
        {name: getattr(chosen, name) for name in (
            "model", "random_weights", "requests", "tokens", "batches", "eager", "speed", "longest", "without")}
        | {"set": dict(text.partition("=")[::2] for text in chosen.set)})]
    settings = {**os.environ, **MODES[mode], "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "VLLM_ALLOW_INSECURE_SERIALIZATION": "1",
                "VLLM_CACHE_ROOT": str(pathlib.Path(folder) / f"cache-{mode}"),
                "VLLM_LOGGING_LEVEL": os.environ.get("VLLM_LOGGING_LEVEL", "WARNING")}
    try:
        subprocess.run(command, env=settings, check=False, timeout=chosen.seconds)
    except subprocess.TimeoutExpired:
        print(f"{NAMES[mode]}: stopped after {chosen.seconds} s")
    return json.loads(result.read_text(encoding="utf-8")) if result.exists() else None


def main():
    chosen = arguments()
    records = {}
    with tempfile.TemporaryDirectory(prefix="detgemm-vllm-") as folder:
        for mode in chosen.modes:
            records[mode] = probe(mode, chosen, folder)
    if chosen.json:
        chosen.json.write_text(json.dumps(records, indent=1), encoding="utf-8")
    print(f"\n{chosen.model}, {'eager' if chosen.eager else 'default mode'}: comparisons with the request alone, byte for byte")
    for mode, record in records.items():
        print(f"  {NAMES[mode]:26s} {verdict(record)}")
    return status(records)


def verdict(record):
    """One engine's result, in words."""
    if record is None:
        return "no result"
    if "left_out" in record:
        return f"left out: {record['left_out']}"
    words = [f"{record['equal']} of {record['compared']} equal"]
    if record["without"] and record["mode"] == "detgemm":
        words.append(f"without {', '.join(record['without'])}")
    words += [f"{hook} is vLLM's own in {name}" for hook, name in record["foreign"].items()]
    words += [f"{size} requests {rate:.0f} tokens/s" for size, rate in record["speed"]]
    return ", ".join(words)


def status(records):
    """The exit status."""
    ran = [record for record in records.values() if record is None or "left_out" not in record]
    if not ran or any(record is None or record["compared"] == 0 for record in ran):
        return 2
    ours = records.get("detgemm")
    return 0 if ours is None or (ours["equal"] == ours["compared"] and not ours["foreign"]) else 1


if __name__ == "__main__":
    sys.exit(main())
