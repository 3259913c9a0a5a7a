#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# session.sh [--quick] BUILD OUT: what a GPU makes of the kernels of mma.sync (cuda/mma), on compute
# capability 9.0 beside those of wgmma. Every problem is computed by the backend's own choice and by
# every tile of mma.sync, and compared with the integer model on the device, bit for bit, so kernels
# that equal it equal each other. About 20 minutes; with --quick 1. Exit status 1 if anything
# differed; logs and JSON are in OUT.
#   BUILD  a build folder with all kernels (DETGEMM_CUDA_KERNELS=all)
set -u
outputs=7e8 limit=400 largest=()
if [ "${1:-}" = --quick ]; then
  outputs=1e7 limit=20 largest=(--largest 1e9)
  shift
fi
if [ $# -ne 2 ]; then
  echo "session.sh: there are $# arguments: they must be BUILD and OUT" >&2
  exit 2
fi
build=$1 out=$2
sweep=$build/tests/cuda/detgemm_cuda_sweep
if [ ! -x "$sweep" ]; then
  echo "session.sh: BUILD is $build: there is no tests/cuda/detgemm_cuda_sweep" >&2
  exit 2
fi
mkdir -p "$out" || exit 2
failed=0
cli=$build/core/cli/detgemm

# run NAME PROGRAM...: its output to a log, its last line here.
run() {
  local name=$1 status
  shift
  "$@" >"$out/$name.log" 2>&1
  status=$?
  [ $status -eq 0 ] || failed=1
  echo "$name: exit $status: $(tail -n 1 "$out/$name.log")"
}

# Three of 7e8 outputs each are 2.1e9. What cannot run on this device is skipped with exit 77.
for reduction in chain leaves; do
  run "$reduction" "$sweep" --variants mma/ --reduction $reduction --outputs $outputs --seconds $limit \
    "${largest[@]}" --seed 42 --json "$out/$reduction.json"
done
run odd "$sweep" --variants mma/ --reduction all --operands odd --outputs $outputs --seconds $limit \
  "${largest[@]}" --seed 43 --json "$out/odd.json"
run plant "$sweep" --plant bit --outputs 3e6 --largest 1e7 --seed 2
run verify "$cli" verify --report "$out/verify.json"
SANITIZER_TIMEOUT=$limit
export SANITIZER_TIMEOUT
for tool in memcheck racecheck initcheck synccheck; do
  command -v compute-sanitizer >/dev/null || break
  run "$tool" compute-sanitizer --tool $tool --error-exitcode 99 "$sweep" --variants mma/ --reduction all \
    --outputs 1e5 --largest 1e6 --seconds $limit --seed 11
done
exit $failed
