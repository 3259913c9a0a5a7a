#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""ops_torch.py [--device cuda]: PyTorch's own samples of its products, against fp64 on the CPU.

The samples are those of torch.testing's OpInfo for mm, addmm, bmm, baddbmm, mv and linear: empty and odd
shapes, broadcasts, strides, alpha and beta. This asks whether results are right, so it compares within
PyTorch's own tolerances; bits are compared by rows_torch.py. Forward and backward.
"""
import argparse
import sys

try:
    import torch
except ImportError:
    print("PyTorch is not installed", file=sys.stderr)
    sys.exit(3)

NAMES = ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "matmul", "nn.functional.linear")
TYPES = (torch.bfloat16, torch.float16, torch.float32)


def moved(value, dtype, device):
    if isinstance(value, torch.Tensor):
        return value.detach().to(device=device, dtype=dtype if value.is_floating_point() else None)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(each, dtype, device) for each in value)
    return value


def check(op, sample, dtype, device):
    inputs = [sample.input, *sample.args]
    outcome = op(*inputs, **sample.kwargs)
    exact = op(*[moved(each, torch.float64, "cpu") for each in inputs],
               **{key: moved(each, torch.float64, "cpu") for key, each in sample.kwargs.items()})
    tolerance = {torch.bfloat16: 2e-2, torch.float16: 4e-3, torch.float32: 2e-5}[dtype]
    torch.testing.assert_close(moved(outcome, torch.float64, "cpu"), exact, rtol=tolerance,
                               atol=tolerance * 10)
    if outcome.requires_grad and outcome.numel() > 0:
        outcome.sum().backward()
        assert all(each.grad is None or each.grad.isfinite().all() for each in inputs
                   if isinstance(each, torch.Tensor)), "a gradient is not finite"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    if device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device", file=sys.stderr)
        return 3
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        print(f"PyTorch's samples need a package that is not installed: {error}", file=sys.stderr)
        return 3
    ran = wrong = 0
    for op in op_db:
        if op.name not in NAMES:
            continue
        for dtype in TYPES:
            if dtype not in op.supported_dtypes(device):
                continue
            for sample in op.sample_inputs(device, dtype, requires_grad=True):
                ran += 1
                try:
                    check(op, sample, dtype, device)
                except AssertionError as error:
                    wrong += 1
                    print(f"{op.name} {dtype}: {sample.summary()}: {error}")
    print(f"{ran} samples, {wrong} wrong")
    return 1 if wrong or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
