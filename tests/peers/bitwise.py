#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Ours against cuBLAS and Triton, bit for bit, and the batch property of each.

    tests/peers/bitwise.py --library build/libdetgemm.so -o peers     # peers.json, peers.md
    tests/peers/bitwise.py --door ./door.so -o peers                  # kernels alone

Counts equal and unequal shapes and outputs; a peer that differs is a finding, not a failure. Exit
1 where ours fails the batch property, ours gives two results, or the negative control (cuBLAS by
default fails the batch property on one shape at least) does not show.

cuBLAS reads its workspace from the environment once, so each setting runs in a process of its own.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "peers"), str(pathlib.Path(__file__).resolve().parent)]

SETTINGS = {
    "cublas": {},
    "cublas, no workspace": {"CUBLAS_WORKSPACE_CONFIG": ":16:8", "CUBLASLT_WORKSPACE_SIZE": "1"},
}
TOKENS = [1, 2, 7, 16, 33, 64, 128, 257, 512, 1024]
QUICK_TOKENS = [1, 16, 64, 512]
TRAINING_TOKENS = [512, 2048]


def points(options):
    import cases
    quick = options.quick
    shapes = cases.parse_shapes(options.shape)
    few = shapes[:4] if quick else shapes
    for n, k in shapes:
        for m in QUICK_TOKENS if quick else TOKENS:
            yield "forward", m, n, k
    for kind in ("dA", "dB"):
        for n, k in few:
            for m in TRAINING_TOKENS[:1] if quick else TRAINING_TOKENS:
                yield kind, m, n, k


def random(rows, cols, dtype, seed):
    import torch
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(rows, cols, generator=generator, device="cuda", dtype=dtype)


def bits_of(tensor):
    import torch
    return tensor.view(torch.int16)


def digest(tensor):
    """A number of all bits and their places, the same in every process."""
    import torch
    flat = bits_of(tensor).flatten()
    total = 0
    for at in range(0, flat.numel(), 1 << 26):  # parts, to bound the memory it takes
        part = flat[at:at + (1 << 26)].to(torch.int64) & 0xffff
        place = torch.arange(at, at + part.numel(), device=part.device)
        mixed = (part + 1) * (place * 2654435761 + 97) ^ (place >> 7)
        total = (total + int(mixed.sum())) % (1 << 64)
    return total


def peers(with_triton):
    import torch
    import triton_kernel
    found = {"cublas": torch.matmul}
    if with_triton:
        found["triton"] = triton_kernel.matmul
        found["triton, TMA"] = lambda a, b: (triton_kernel.matmul_tma(a, b)
                                             if triton_kernel.takes_tma(a, b) else None)
    return found


def compare_all(mine, options, with_triton, dtype, setting):
    import cases
    rows = []
    for kind, m, n, k in points(options):
        a, b = cases.operands(kind, m, n, k, lambda r, c: random(r, c, dtype, 1),
                              lambda r, c: random(r, c, dtype, 2))
        d = mine(a, b)
        row = {"kind": kind, "m": m, "n": n, "k": k, "digest": digest(d), "peers": {}}
        for name, peer in peers(with_triton).items():
            try:
                other = peer(a, b)
            except Exception as error:  # a Triton that lacks something says so in the report
                row["peers"][name] = {"error": str(error).splitlines()[0][:200]}
                continue
            if other is None:
                continue
            unequal = bits_of(d) != bits_of(other)
            entry = {"outputs": d.numel(), "unequal": int(unequal.sum())}
            if entry["unequal"]:
                entry["largest_difference"] = float((d[unequal].float() - other[unequal].float())
                                                    .abs().max())
            row["peers"][setting if name == "cublas" else name] = entry
            del other, unequal
        rows.append(row)
        del a, b, d
    return rows


def batch_property(mine, options, with_triton, dtype, setting):
    """Whether the first row keeps its bits in every batch; for whom not, and where."""
    import cases
    import torch
    rows = []
    batches = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    for n, k in cases.parse_shapes(options.shape):
        x, w = random(batches[-1], k, dtype, 3), random(n, k, dtype, 4).t()
        for name, who in {"ours": mine, **peers(with_triton)}.items():
            row = {"who": setting if name == "cublas" else name, "n": n, "k": k, "changed_at": []}
            try:
                first = who(x, w)
                if first is None:
                    continue
                first = first[:1].clone()
                for m in batches[:-1]:
                    if not torch.equal(bits_of(who(x[:m], w)[:1]), bits_of(first)):
                        row["changed_at"].append(m)
            except Exception as error:
                row["error"] = str(error).splitlines()[0][:200]
            rows.append(row)
    return rows


def child(options):
    """One setting of cuBLAS: everything it found, as JSON."""
    import torch
    from ours import Door, Library
    mine = Door(options.door) if options.door else Library(options.library)
    dtype = torch.float16 if options.fp16 else torch.bfloat16
    with_triton = options.child == "cublas"  # once is enough
    result = {"ours": mine.name, "device": torch.cuda.get_device_name(),
              "torch": torch.__version__, "cuda": torch.version.cuda,
              "comparisons": compare_all(mine, options, with_triton, dtype, options.child),
              "batch": batch_property(mine, options, with_triton, dtype, options.child)}
    if with_triton:
        import triton
        result["triton"] = triton.__version__
    pathlib.Path(options.out).write_text(json.dumps(result))


def run_child(setting, arguments):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "result.json"
        command = [sys.executable, __file__, *arguments, "--child", setting, "-o", str(out)]
        run = subprocess.run(command, env={**os.environ, **SETTINGS[setting]}, check=False)
        if run.returncode != 0:
            sys.exit(f"bitwise: the process for '{setting}' ended with {run.returncode}")
        return json.loads(out.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", help="libdetgemm.so")
    parser.add_argument("--door", help="the object of tests/peers/door.cpp and the kernels")
    parser.add_argument("--shape", default="", help="NxK,NxK,...")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--commit", default="")
    parser.add_argument("-o", "--out", default="peers", help="OUT.json and OUT.md")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if bool(options.library) == bool(options.door):
        parser.error("give --library or --door")
    if options.child:
        return child(options)
    arguments = [f"--door={options.door}" if options.door else f"--library={options.library}",
                 f"--shape={options.shape}", *(["--quick"] if options.quick else []),
                 *(["--fp16"] if options.fp16 else [])]
    children = {setting: run_child(setting, arguments) for setting in SETTINGS}
    import peers_report
    document = peers_report.merge(children)
    document |= {"date": datetime.date.today().isoformat(), "commit": commit(options.commit),
                 "type": "fp16" if options.fp16 else "bf16"}
    pathlib.Path(options.out + ".json").write_text(json.dumps(document, indent=1) + "\n")
    text = peers_report.markdown(document)
    pathlib.Path(options.out + ".md").write_text(text)
    print(text)
    return 1 if document["failures"] else 0


def commit(given):
    run = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
                         capture_output=True, text=True, check=False)
    return given or run.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
