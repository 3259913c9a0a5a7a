#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""rows_cupy.py: is a row the same alone and among 64, in CuPy as it is installed? See rows_torch.py."""
import sys

try:
    import cupy
except ImportError:
    print("CuPy is not installed", file=sys.stderr)
    sys.exit(3)

TOKENS, K, N = 64, 2048, 1024


def main():
    random = cupy.random.RandomState(1)
    for dtype in (cupy.float16, cupy.float32):
        x = random.standard_normal((TOKENS, K)).astype(dtype)
        w = random.standard_normal((K, N)).astype(dtype)
        batch = random.standard_normal((4, K, N // 4)).astype(dtype)
        name = cupy.dtype(dtype).name
        for case, compute in (("matmul", lambda t, b=w: t @ b), ("dot", lambda t, b=w: t.dot(b)),
                              ("tensordot", lambda t, b=w: cupy.tensordot(t, b, 1)),
                              ("batched", lambda t, b=batch: cupy.matmul(t[None], b)[1])):
            together, alone = compute(x), compute(x[-1:].copy())
            same = cupy.asnumpy(together[-1]).tobytes() == cupy.asnumpy(alone[0]).tobytes()
            print(f"{case}_{name}", "same" if same else "other", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
