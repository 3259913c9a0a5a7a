#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""contrast.py DETGEMM: row 0 of a product, alone and in batches, by a CPU BLAS and by detgemm.

OpenBLAS (cblas_sgemm) and `detgemm run` multiply the same fp32 numbers. For each shape and number of
rows M, row 0 of the result is compared byte for byte with what the same library gave for M = 1.
Exit status: 0 detgemm kept its bits; 1 it did not; 77 there is no OpenBLAS to compare with.
"""
import array
import ctypes
import pathlib
import random
import subprocess
import sys
import tempfile

SHAPES = [(192, 1000), (256, 768), (64, 4096)]  # N, K
ROWS = [2, 4, 8, 16, 64, 256]
CONTRACT = "ieee_fma/fp32/chain->fp32"


def openblas():
    for name in ("libopenblas.so.0", "libopenblas.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def described(library):
    library.openblas_get_config.restype = ctypes.c_char_p
    return " ".join(library.openblas_get_config().decode().split()[:2]) + \
        f", core {core(library)}"


def core(library):
    library.openblas_get_corename.restype = ctypes.c_char_p
    return library.openblas_get_corename().decode()


def numbers(count, draw):
    return array.array("f", (draw.uniform(-1, 1) for _ in range(count)))


def by_blas(library, a, b, m, n, k):
    """Row 0 of the m rows, row-major, without transposes."""
    d = array.array("f", bytes(4 * m * n))
    pointer = lambda x: ctypes.c_void_p(x.buffer_info()[0])
    row_major, plain = 101, 111
    library.cblas_sgemm(row_major, plain, plain, m, n, k, ctypes.c_float(1), pointer(a), k, pointer(b), n,
                        ctypes.c_float(0), pointer(d), n)
    return d[:n].tobytes()


def by_detgemm(command, folder, a, b, m, n, k):
    a_file, b_file, d_file = (folder / name for name in ("a.bin", "b.bin", "d.bin"))
    a_file.write_bytes(a[:m * k].tobytes())
    b_file.write_bytes(b.tobytes())
    subprocess.run([command, "run", "--contract", CONTRACT, "--m", str(m), "--n", str(n), "--k", str(k),
                    "--a", a_file, "--b", b_file, "-o", d_file], check=True, stdout=subprocess.DEVNULL)
    return d_file.read_bytes()[:4 * n]


def main():
    command = sys.argv[1]
    library = openblas()
    if library is None:
        print("not shown: OpenBLAS is not installed here (Debian: libopenblas0)")
        sys.exit(77)
    draw = random.Random(1)
    print("Row 0 of A*B in a batch of M rows, compared with row 0 alone, byte for byte, in fp32\n")
    print(f"  {'N x K':>12}  {'library':<10}" + "".join(f"{f'M = {m}':>9}" for m in ROWS))
    changed = {"OpenBLAS": 0, "detgemm": 0}
    with tempfile.TemporaryDirectory() as name:
        for n, k in SHAPES:
            a, b = numbers(max(ROWS) * k, draw), numbers(k * n, draw)
            for who, multiply in (("OpenBLAS", lambda m: by_blas(library, a, b, m, n, k)),  # noqa: B023 - called in this turn alone
                                  ("detgemm", lambda m: by_detgemm(command, pathlib.Path(name), a, b, m, n, k))):  # noqa: B023
                alone = multiply(1)
                same = [multiply(m) == alone for m in ROWS]
                changed[who] += same.count(False)
                print(f"  {f'{n} x {k}' if who == 'OpenBLAS' else '':>12}  {who:<10}"
                      + "".join(f"{'same' if one else 'CHANGED':>9}" for one in same))
    of = len(SHAPES) * len(ROWS)
    print(f"\n{described(library)}: row 0 changed in {changed['OpenBLAS']} of {of} batches. "
          f"detgemm, {CONTRACT}: in {changed['detgemm']} of {of}.")
    sys.exit(1 if changed["detgemm"] else 0)


if __name__ == "__main__":
    main()
