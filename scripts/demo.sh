#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# demo.sh [GOLDEN_PATH...]: sets up, builds, and shows the main job on what this machine has.
# Further files or folders of captured outputs are checked along with tests/golden.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
golden=(tests/golden)
for path in "$@"; do
  golden+=("$(cd "$here" && realpath "$path")")
done
scripts/setup.sh

if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
# The CUDA backend is built too where there is a device for its tensor-core kernels and a compiler.
preset=host
PATH=$PATH:/usr/local/cuda/bin
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true)
if [[ $capability == *9.0* ]] && command -v nvcc >/dev/null; then
  preset=cuda-sm90
fi
cmake --preset $preset -DDETGEMM_ENABLE_KOKKOS=ON >/dev/null
cmake --build --preset $preset --target detgemm_cli quickstart

detgemm=build/$preset/core/cli/detgemm
status=0
show() { # a headline, then the command and what it prints
  printf '\n== %s\n$ %s\n' "$1" "${*:2}"
  local code=0
  "${@:2}" || code=$?
  if [ $code -ne 0 ]; then
    echo "(exit status $code)"
    status=1
  fi
}
contract='hopper/bf16/tree:512->bf16'
show "What is here" $detgemm info
show "A GEMM under a named contract: run it anywhere, the digest is the same" \
  $detgemm run --contract "$contract" --m 257 --n 512 --k 4096 --seed 1
show "A row does not know its batch" build/$preset/examples/quickstart/quickstart
show "Outputs captured from a real H200, bit for bit" $detgemm golden "${golden[@]}"
show "The promises, tested on the reference" $detgemm conform --backend reference --quick
if [ $preset = cuda-sm90 ]; then
  show "The same promises on this GPU" $detgemm conform --backend cuda --quick
fi
show "Broken engines: each must fail, by the property meant for it" $detgemm conform --controls --quick
if [ $status -eq 0 ]; then
  printf '\nEverything above passed. The command is %s; %s --help lists what it does.\n' $detgemm $detgemm
else
  printf '\nSomething above failed: look for "exit status".\n'
fi
exit $status
