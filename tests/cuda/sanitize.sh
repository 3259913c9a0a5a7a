#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# sanitize.sh BUILD OUT [TOOL...]: runs the CUDA tests under compute-sanitizer, one tool after the
# other (memcheck, racecheck, initcheck, synccheck), leaves a log each in OUT and a table in
# OUT/sanitizers.md. Exit status 1 if any tool or program complained, 77 without the sanitizer.
set -u
build=$1
out=$2
shift 2
tools=("$@")
[ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck initcheck synccheck)
: "${SANITIZER_TIMEOUT:=280}" # seconds a program under one tool
mkdir -p "$out"

sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ]; then
  echo "skipped: compute-sanitizer was not found"
  exit 77
fi

sweep="$build/tests/cuda/detgemm_cuda_sweep"
grouped_sweep="$build/tests/cuda/detgemm_cuda_grouped_sweep"
device="$build/tests/cuda/detgemm_cuda_device"
command="$build/core/cli/detgemm"
[ -x "$command" ] || command="$build/bin/detgemm" # a build with the Python package
failed=0
{
  echo "| tool | program | seconds | exit | summary |"
  echo "|---|---|---|---|---|"
} >"$out/sanitizers.md"

# run TOOL NAME PROGRAM...: the sanitizer's own last line is the summary.
run() {
  local tool=$1 name=$2 status start=$SECONDS log="$out/$1-$2.log"
  shift 2
  timeout "$SANITIZER_TIMEOUT" "$sanitizer" --tool "$tool" --error-exitcode 99 --print-limit 20 \
    "$@" >"$log" 2>&1
  status=$?
  local said
  said=$(grep -E "SUMMARY" "$log" | tail -1 | sed 's/^=* *//')
  case $status in
    0) ;;
    77) said="skipped: no CUDA device" ;;
    124) said="ended after $SANITIZER_TIMEOUT s; ${said:-nothing found until then}" ;;
    *) failed=1 ;;
  esac
  if [ $status -eq 124 ] && grep -qE "^========= (Invalid|Error|Race|Uninitialized|Barrier)" "$log"
  then
    failed=1
  fi
  echo "| $tool | $name | $((SECONDS - start)) | $status | ${said:-no summary} |" |
    tee -a "$out/sanitizers.md"
}

for tool in "${tools[@]}"; do
  run "$tool" sweep "$sweep" --outputs 1e6 --largest 3e6 --seconds 200 --seed 11
  run "$tool" grouped "$grouped_sweep" --outputs 1e7 --seconds 100 --seed 11
  run "$tool" grouped-fp8 "$grouped_sweep" --arithmetic fp8 --outputs 5e6 --seconds 100 --seed 11
  run "$tool" offsets "$build/tests/cuda/detgemm_cuda_grouped" \
    "--gtest_filter=GroupedDevice.*Offsets*:GroupedDevice.GarbageInOffsets*"
  run "$tool" device "$device" "--gtest_filter=Place.*:Concurrency.TwoStreamsAtOnce"
  run "$tool" conform "$command" conform --backend cuda --quick --threads 4 \
    --contract "hopper/bf16/chain->bf16" --contract "hopper/fp16/chain->fp32"
done
exit $failed
