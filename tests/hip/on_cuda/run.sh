#!/bin/sh
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
#
# run.sh BUILD [RESULTS]: the HIP backend's host code and portable kernels on this machine's NVIDIA
# GPU, through BUILD's stand-in runtime; what is printed also goes to RESULTS/hip_on_cuda.*.
set -eu
build=$1
results=${2:-$build}
mkdir -p "$results"
LD_LIBRARY_PATH=$build/tests/hip/on_cuda/runtime${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
OMP_PROC_BIND=false
export LD_LIBRARY_PATH OMP_PROC_BIND
cli=$build/core/cli/detgemm
$cli info | sed -n '/^Devices/,/^Contracts/p'
"$build/tests/hip/detgemm_hip_sweep" --outputs 1e7 --products 3e7 > "$results/hip_on_cuda.sweep.txt" ||
  { cat "$results/hip_on_cuda.sweep.txt"; exit 1; }
cat "$results/hip_on_cuda.sweep.txt"
"$build/tests/hip/detgemm_hip_sweep" --outputs 1e5 --plant bit | tail -1
status=0
$cli conform --backend hip > "$results/hip_on_cuda.conform.txt" || status=$?
grep -v '^unsupported' "$results/hip_on_cuda.conform.txt" | tail -40
# A run's time, for the record; it says nothing about AMD hardware.
for contract in ieee_fma/fp32/chain 'ieee_fma/bf16/tree:512->bf16'; do
  $cli run --backend hip --contract "$contract" --m 4096 --n 4096 --k 4096 | tail -1
done
exit $status
