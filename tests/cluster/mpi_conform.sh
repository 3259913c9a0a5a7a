#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# mpi_conform.sh MPIEXEC DETGEMM: `detgemm conform --transport mpi` passes with three processes, one of which
# prints; its planted faults are found; what is refused is refused once, with the exit code of a refusal.
set -u
here=$(dirname "$0") mpiexec=$1 detgemm=$2
wrong() { echo "wrong: $*"; exit 1; }
run() { # RANKS WORDS...: sets out, err and code
  local ranks=$1
  shift
  out=$("$here/mpirun.sh" "$mpiexec" "$ranks" "$detgemm" conform --transport mpi "$@" 2>"$errors")
  code=$? err=$(cat "$errors")
}
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# Two contracts: the test conform.job takes all of them, over threads.
run 3 --quick --contract 'hopper/bf16/tree:64->bf16' --contract 'ieee_fma/fp32/chain->fp32'
echo "$out"
[ $code = 0 ] || wrong "exit code $code: $err"
[ "$(grep -c '^PASSED: ' <<<"$out")" -ge 5 ] || wrong "a report is missing"
! grep -qE '^(FAILED|NOTHING RAN)' <<<"$out" || wrong "a report failed"
[ "$(grep -c 'engine    gather of' <<<"$out")" = 1 ] || wrong "more than one rank printed"
[ "$(grep -c 'engine    peers of' <<<"$out")" = 1 ] || wrong "windows were not tested"
[ "$(grep -c 'rank [12] of 3' <<<"$out")" = 0 ] || wrong "another rank than 0 printed"

run 4 --controls
echo "$out"
[ $code = 0 ] || wrong "controls ended with $code: $err"
grep -q '^9 of 9 planted faults were caught' <<<"$out" || wrong "a planted fault was missed"

run 2 --controls
[ $code = 2 ] || wrong "two ranks and planted faults ended with $code"
[ "$(grep -c '3 and more, since two numbers have one sum' <<<"$err")" = 1 ] || wrong "said: $err"

run 3 --property speed
[ $code = 2 ] || wrong "an unknown property ended with $code"
[ "$(grep -c 'property is "speed"' <<<"$err")" = 1 ] || wrong "said: $err"
