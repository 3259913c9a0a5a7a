#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# hip_report.sh [--quick] [BUILD [REPORT]]: what an AMD GPU makes of the HIP backend, as one archive to
# send back. What the chip computes comes first, step by step, then conformance, random problems against
# the reference, times with the clock and the power beside them, hardware counters, and the benchmark
# with hipBLASLt. A part that fails does not keep the others from running; a part that is left out says
# why. Takes about 25 minutes; with --quick every part runs, on the smallest problems that show anything.
#   BUILD    the build folder (build/hip-gfx942)
#   REPORT   the folder to write (hip-report); the archive is REPORT.tar.gz
# Exit status: 1 where identify, conform, sweep or plant did not pass; the archive is there all the same.
set -uo pipefail
quick=no
if [ "${1:-}" = --quick ]; then
  quick=yes
  shift
fi
case ${1:-} in
  -*)
    echo "hip_report.sh: option is \"$1\": it must be --quick" >&2
    exit 2
    ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath -m "${1:-$here/../build/hip-gfx942}")
report=$(realpath -m "${2:-hip-report}")
cli=$build/core/cli/detgemm
if [ ! -x "$cli" ]; then
  echo "hip_report.sh: BUILD is $build: there is no core/cli/detgemm in it; docs/hip.md says how to build" >&2
  exit 2
fi
mkdir -p "$report" || exit 2
export OMP_PROC_BIND=false
summary=$report/summary.txt
: > "$summary"
# shellcheck source=scripts/hip_counters.sh
. "$here/hip_counters.sh"

# shellcheck source=scripts/report_parts.sh
. "$here/report_parts.sh"

{
  machine '^(ROCM|HIP|HSA|ROCR|GPU|AMD)_?[A-Z_]*='
  cat /opt/rocm/.info/version 2>/dev/null
} > "$report/machine.txt" 2>&1
part info "$cli" info
"$cli" info --json > "$report/info.json" 2>/dev/null
find_device "$report/info.json"
say device "${chip:-none}, arithmetic ${arithmetic:-none}"
for tool in rocminfo rocm-smi amd-smi; do
  if command -v $tool > /dev/null; then part $tool $tool; else say $tool "left out: $tool is not on PATH"; fi
done

if [ $quick = yes ]; then
  sizes=("1 64 64" "16 128 128" "64 128 128")
  conform=(--property batch --contract "${arithmetic:-ieee_fma}/bf16/chain")
  sweep=(--outputs 3e3 --products 1e5)
  product=snap/bf16/tree:512->bf16
  if [ -n "$arithmetic" ]; then product="$arithmetic/bf16/chain->bf16"; fi
  bench=(--quick --m 16 --n 128 --k 128 --contract "$product" --seconds 5)
else
  sizes=("1 4096 4096" "16 8192 8192" "64 8192 8192" "1024 4096 4096" "4096 4096 4096" "8192 8192 8192")
  conform=()
  sweep=(--outputs 2e7 --products 1e8)
  bench=(--seconds 280)
fi
program identify tests/hip/detgemm_hip_identify
program rates tests/hip/probe/detgemm_hip_rates
must conform "$cli" conform --backend hip "${conform[@]}" --report markdown -o "$report/conform.md"
program sweep tests/hip/detgemm_hip_sweep "${sweep[@]}" --json "$report/sweep.json"
program plant tests/hip/detgemm_hip_sweep --outputs 3e3 --products 1e5 --plant bit

# Times of one call each, the data's transfer not included: a first impression at the clock of a rested
# chip. Each line starts with the second in which it ran, as the lines of clocks.csv do.
times() {
  local contract mnk status=0
  for contract in ${arithmetic:+"$arithmetic/bf16/chain" "$arithmetic/bf16/tree:512"} snap/bf16/tree:512 ieee_fma/fp32/chain; do
    for mnk in "${sizes[@]}"; do
      # shellcheck disable=SC2086 # three words
      set -- $mnk
      printf '%s %s %s x %s x %s: ' "$(date +%s)" "$contract" "$1" "$2" "$3"
      "$cli" run --backend hip --contract "$contract" --m "$1" --n "$2" --k "$3" --layout NT |
        grep -E '^(backend|time)' | tr '\n' ' ' || status=1
      echo
    done
  done
  return $status
}
start_clocks "$report/clocks.csv" "$quick"
say clocks "$clocks"
part times times
# The same cases as on any machine, burst and settled, with hipBLASLt beside ours where it is installed.
if [ -x "$(dirname "$cli")/detgemm_bench" ]; then
  part bench "$cli" bench --backend hip "${bench[@]}" --json "$report/bench.json" \
    --markdown "$report/bench.md"
  grep -o 'hipBLASLt[^"]*' "$report/bench.json" 2>/dev/null | head -n 1 > "$report/hipblaslt.txt"
  if [ -s "$report/hipblaslt.txt" ]; then
    say hipblaslt "$(cat "$report/hipblaslt.txt")"
  else
    say hipblaslt "left out: the benchmark found no libhipblaslt.so"
  fi
else
  say bench "left out: detgemm_bench was not built (-DDETGEMM_BUILD_BENCH=ON), and with it hipBLASLt"
fi
stop_clocks
count_kernels "$report/counters" "$quick"

if ! tar czf "$report.tar.gz" -C "$(dirname "$report")" "$(basename "$report")"; then
  echo "hip_report.sh: $report.tar.gz could not be written; everything is in $report" >&2
  exit 1
fi
echo "send $report.tar.gz; the first thing to look at is $report/identify.txt"
[ $failed = no ]
