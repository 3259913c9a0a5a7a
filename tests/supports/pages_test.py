#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Plants one false statement at a time in documents that are right, and expects pages.py to find it."""
import pathlib
import sys
import tempfile

import pages

SAID = """backend reference
description every contract, executable
computes every contract
| arithmetic | inputs | chain |
|---|---|---|
| `hopper` | bf16, e4m3 | yes |
backend cuda
description NVIDIA GPUs: hopper/{bf16,e4m3} on 9.0; ieee_fma/fp32 on 8.0
computes hopper/{bf16,e4m3}, ieee_fma/fp32
| arithmetic | inputs | chain |
|---|---|---|
| `hopper` | bf16, e4m3 | yes |
| `ieee_fma` | fp32 | yes |
"""
README = """| backend | computes | runs on |
|---|---|---|
| `reference` | every contract | any CPU |
| `cuda` | `hopper/{bf16,e4m3}`, `ieee_fma/fp32` | GPUs |
| `hip` | `cdna3` | not in this build |

| other | computes |
|---|---|
| `cuda` | is no table of backends |
"""
DOCS = """# Backends

<!-- generated: supports reference -->

| arithmetic | inputs | chain |
|---|---|---|
| `hopper` | bf16, e4m3 | yes |

<!-- end of generated -->

<!-- generated: supports cuda -->

| arithmetic | inputs | chain |
|---|---|---|
| `hopper` | bf16, e4m3 | yes |
| `ieee_fma` | fp32 | yes |

<!-- end of generated -->
"""
HEADER = """#pragma once

/// The CUDA backend. With chain, it computes hopper/{bf16,e4m3},
/// and ieee_fma/fp32; kernels of hopper are fast.
DETGEMM_API const Backend& cuda_backend() noexcept;
"""
FILES = {"README.md": README, "docs/backends.md": DOCS, "core/include/detgemm/cuda.hpp": HEADER}

# (what is wrong, page, text, what stands there instead)
FAULTS = [
    ("a cell of a table", "docs/backends.md", "| fp32 | yes |", "| fp32 | no |"),
    ("a row too few", "docs/backends.md", "| `ieee_fma` | fp32 | yes |\n", ""),
    ("a row too many", "docs/backends.md", "| `ieee_fma` | fp32", "| `ampere` | bf16 | yes |\n| `ieee_fma` | fp32"),
    ("markers that are gone", "docs/backends.md", "<!-- generated: supports cuda -->", ""),
    ("an input too few", "README.md", "{bf16,e4m3}", "bf16"),
    ("an arithmetic too many", "README.md", "`ieee_fma/fp32`", "`ieee_fma/fp32`, `ampere/bf16`"),
    ("less than everything", "README.md", "every contract", "every contract but snap"),
    ("no row", "README.md", "| `reference` | every contract | any CPU |\n", ""),
    ("a header with less", "core/include/detgemm/cuda.hpp", ",\n/// and ieee_fma/fp32", ""),
    ("a header with more", "core/include/detgemm/cuda.hpp", "{bf16,e4m3}", "{bf16,e4m3,e5m2}"),
    ("a header with another reduction", "core/include/detgemm/cuda.hpp", "chain", "chain, tree"),
    ("a header of something else", "core/include/detgemm/cuda.hpp", "cuda_backend", "hip_backend"),
    ("a description with less", "said", "hopper/{bf16,e4m3} on", "hopper/bf16 on"),
    ("a description without inputs", "said", "; ieee_fma/fp32 on", "; ieee_fma on"),
    ("a description of something else", "said", "every contract, executable", "hopper/bf16, executable"),
]


def sentences(texts, fix=False):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for page in FILES:
            (root / page).parent.mkdir(parents=True, exist_ok=True)
            (root / page).write_text(texts[page], encoding="utf-8")
        found = pages.check(root, pages.parsed(texts["said"]), fix)
        return found, {page: (root / page).read_text(encoding="utf-8") for page in FILES}


def main():
    clean = {**FILES, "said": SAID}
    wrong = sentences(clean)[0]
    for what, page, old, new in FAULTS:
        assert old in clean[page], what
        faulty = {**clean, page: clean[page].replace(old, new, 1)}
        found = sentences(faulty)[0]
        if len(found) != 1:
            wrong.append(f"{what} was found {len(found)} times: {found}")
        if page.endswith(".md") and "markers" not in what and what != "no row":
            if sentences(faulty, fix=True)[1] != FILES:
                wrong.append(f"{what}: --fix did not mend it")
    print("\n".join(wrong))
    print(f"{len(FAULTS)} planted faults, {len(wrong)} surprises")
    return 1 if wrong or not FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
