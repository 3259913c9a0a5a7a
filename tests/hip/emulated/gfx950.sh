#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# gfx950.sh CODE_DIR OUT: the kernels that gfx942 has, compiled for gfx950 into the code folder OUT, under the name
# gfx942. gfx950 has the matrix instructions of gfx942 too; what they compute there is not published, so the library
# does not use them. every_kernel.py with OUT executes this text with gfx942's arithmetic:
#
#   gfx950.sh build/hip-gfx942/hip/code out/code && every_kernel.py SWEEP GROUPS_TEST out/code RUNTIME out/jobs --chips gfx942
set -euo pipefail
code=$(realpath "$1")
mkdir -p "$2/gfx942"
out=$(realpath "$2")
cd "$(dirname "$0")/../../.."
cp "$code/gfx942.hsaco" "$out"
for source in hip/gfx9/mfma_{bf16,fp16,fp32}.hip hip/simt/{simt,snap,split}.hip; do
  text=$out/gfx942/$(basename "$source" .hip).s
  "${DETGEMM_HIP_NEWER_COMPILER:-clang++-22}" -x hip -mcode-object-version=4 -std=c++20 -nogpuinc -nogpulib -O3 -ffp-contract=off \
    --offload-device-only -include hip/qualifiers.hpp -I. -Icore/include --offload-arch=gfx950 -S "$source" -o "$text"
  sed -i 's/gfx950/gfx942/' "$text"
done
