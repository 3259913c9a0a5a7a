#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""rows_torch.py [--device cuda] [--compiled]: is a token's row the same alone and among 64?

One line per case, `NAME same` or `NAME other`, for PyTorch as it is installed. run.py runs it with and
without the preload. --compiled has the products of compiled layers alone, which take their time to compile.
Exit code 3 where there is no device.
"""
import argparse
import sys

try:
    import torch
except ImportError:
    print("PyTorch is not installed", file=sys.stderr)
    sys.exit(3)

TOKENS, HIDDEN, OUT = 64, 2048, 2048


def compiled_cases(device):
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        torch.manual_seed(1)
        layer = torch.nn.Linear(HIDDEN, OUT, device=device, dtype=dtype)
        yield (f"compiled_linear_{str(dtype).removeprefix('torch.')}", torch.compile(layer),
               torch.randn(TOKENS, HIDDEN, device=device, dtype=dtype))


def cases(device):
    """name, the function of tokens, and tokens: row i of the result belongs to token i."""
    gen = torch.Generator(device=device).manual_seed(1)

    def draw(*shape, dtype):
        return torch.randn(*shape, generator=gen, device=device).to(dtype)

    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        name = str(dtype).removeprefix("torch.")
        x = draw(TOKENS, HIDDEN, dtype=dtype)
        w = draw(OUT, HIDDEN, dtype=dtype)
        wt = w.t().contiguous()
        bias = draw(OUT, dtype=dtype)
        yield f"mm_{name}", lambda t, b=wt: t @ b, x
        yield f"linear_{name}", lambda t, b=w: torch.nn.functional.linear(t, b), x
        yield f"bias_{name}", lambda t, b=w, c=bias: torch.nn.functional.linear(t, b, c), x
        yield f"addmm_{name}", lambda t, b=wt, c=bias: torch.addmm(c, t, b, beta=0.5, alpha=2.0), x
        yield (f"gelu_{name}", lambda t, b=w, c=bias: torch.ops.aten._addmm_activation(
            c, t, b.t(), use_gelu=True), x)
        yield (f"relu_{name}", lambda t, b=w, c=bias: torch.ops.aten._addmm_activation(
            c, t, b.t(), use_gelu=False), x)
        heads = draw(8, HIDDEN, 256, dtype=dtype)
        many = draw(8, TOKENS, HIDDEN, dtype=dtype)
        yield (f"bmm_{name}", lambda t, b=heads: torch.bmm(
            t.transpose(0, 1).contiguous(), b).transpose(0, 1), many.transpose(0, 1).contiguous())
        yield f"mv_{name}", lambda t, b=w: b.mv(t[0])[None] if len(t) == 1 else t @ b.t(), x


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compiled", action="store_true")
    asked = parser.parse_args()
    device = asked.device
    if device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device", file=sys.stderr)
        return 3
    with torch.no_grad():
        for name, compute, tokens in (compiled_cases if asked.compiled else cases)(device):
            together = compute(tokens)
            rows = [compute(tokens[i:i + 1].contiguous()) for i in (0, 37, TOKENS - 1)]
            same = all(torch.equal(together[i].contiguous().view(torch.uint8),
                                   row[0].contiguous().view(torch.uint8))
                       for i, row in zip((0, 37, TOKENS - 1), rows))
            print(name, "same" if same else "other", flush=True)
        if device == "cuda" and not asked.compiled:
            # A captured graph has the bits of the calls that it was made of.
            x = torch.randn(TOKENS, HIDDEN, device=device, dtype=torch.bfloat16)
            w = torch.randn(OUT, HIDDEN, device=device, dtype=torch.bfloat16)
            want = torch.nn.functional.linear(x, w)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                got = torch.nn.functional.linear(x, w)
            graph.replay()
            torch.cuda.synchronize()
            same = torch.equal(want.view(torch.uint8), got.view(torch.uint8))
            print("graph_bfloat16", "same" if same else "other")
    return 0


if __name__ == "__main__":
    sys.exit(main())
