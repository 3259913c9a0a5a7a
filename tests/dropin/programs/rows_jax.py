#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""rows_jax.py: is a row the same alone and among 64, in JAX as it is installed? See rows_torch.py.

JAX asks the library's own handle for its functions, so it needs the proxies of docs/dropin.md. XLA also has
kernels of its own: of Triton, and for products of one row, which it multiplies and sums; small products are
fused into other kernels. All three are switched off here, by the means of XLA_FLAGS, or no library sees them.
"""
import os
import sys

os.environ.setdefault("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=false --xla_gpu_gemm_rewrite_size_threshold=0 "
                      "--xla_disable_hlo_passes=dot-strength-reduction,gemv-rewriter")
try:
    import jax
    import jax.numpy as jnp
    import numpy
except ImportError:
    print("JAX is not installed", file=sys.stderr)
    sys.exit(3)

TOKENS, K, N = 64, 2048, 1024


def main():
    if jax.default_backend() != "gpu":
        print("JAX has no GPU", file=sys.stderr)
        return 3
    key = jax.random.PRNGKey(1)
    for dtype in (jnp.bfloat16, jnp.float16, jnp.float32):
        x = jax.random.normal(key, (TOKENS, K)).astype(dtype)
        w = jax.random.normal(key, (K, N)).astype(dtype)
        for case, compute in (("matmul", jax.jit(lambda t, b: t @ b)),
                              ("einsum", jax.jit(lambda t, b: jnp.einsum("tk,kn->tn", t, b)))):
            together = numpy.asarray(compute(x, w)[-1]).tobytes()
            for rows in (1, 2, 17):
                fewer = numpy.asarray(compute(x[-rows:], w)[-1]).tobytes()
                print(f"{case}_{jnp.dtype(dtype).name}_{rows}", "same" if together == fewer else "other", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
