#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# hip_report.sh [BUILD [REPORT]]: what an AMD GPU makes of the HIP backend, in one folder to send
# back: what the chip computes step by step first, then conformance, random problems against the
# reference, and times. A step that fails does not keep the others from running.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/hip-gfx942}
report=${2:-hip-report}
mkdir -p "$report"
export OMP_PROC_BIND=false
cli=$build/core/cli/detgemm
summary=$report/summary.txt
: > "$summary"

# step NAME COMMAND...: its output to REPORT/NAME.txt, its verdict to the summary.
step() {
  local name=$1 status=0 from=$SECONDS
  shift
  "$@" > "$report/$name.txt" 2>&1 || status=$?
  printf '%-12s exit %d, %d s: %s\n' "$name" "$status" $((SECONDS - from)) \
    "$(tail -1 "$report/$name.txt")" | tee -a "$summary"
}

step info "$cli" info
step identify "$build/tests/hip/detgemm_hip_identify"
step conform "$cli" conform --backend hip --report markdown -o "$report/conform.md"
step sweep "$build/tests/hip/detgemm_hip_sweep" --outputs 2e7 --products 1e8
step plant "$build/tests/hip/detgemm_hip_sweep" --outputs 1e5 --plant bit

# Times of one call each, the data's transfer not included: a first impression, no benchmark.
times() {
  local contract mnk
  for contract in cdna3/bf16/chain 'cdna3/bf16/tree:512' ieee_fma/fp32/chain; do
    for mnk in "1 4096 4096" "16 8192 8192" "1024 4096 4096" "4096 4096 4096" "8192 8192 8192"; do
      # shellcheck disable=SC2086 # three words
      set -- $mnk
      printf '%s %s x %s x %s: ' "$contract" "$1" "$2" "$3"
      "$cli" run --backend hip --contract "$contract" --m "$1" --n "$2" --k "$3" --layout NT |
        grep -E '^(backend|time)' | tr '\n' ' '
      echo
    done
  done
}
step times times
# The same cases as on any machine, with hipBLASLt beside ours where it is installed.
step bench "$cli" bench --backend hip --seconds 280 --json "$report/bench.json" \
  --markdown "$report/bench.md"
for tool in rocminfo rocm-smi amd-smi; do
  if command -v "$tool" > /dev/null; then step "$tool" "$tool"; fi
done
tar czf "$report.tar.gz" "$report"
echo "send $report.tar.gz; the first thing to look at is $report/identify.txt"
