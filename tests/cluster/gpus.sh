#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# gpus.sh BUILD OUT [--quick]: everything about clusters that needs several NVIDIA GPUs and libnccl.so.2:
# bits, placements, algorithms, graphs and faults over 2, 3, ... ranks, as processes and as threads, then
# the benchmark. No MPI and no network is needed. JSON goes to OUT. Exit status 77: fewer than two GPUs.
set -u
[ $# -ge 2 ] || { sed -n '5,7s/^# //p' "$0"; exit 2; }
build=$1 out=$2 quick=${3:-}
program=$build/tests/cluster/detgemm_cluster_gpus
bench=$build/core/cli/detgemm_bench
gpus=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU ')
[ "$gpus" -ge 2 ] || { echo "skipped: $gpus GPUs; two are needed"; exit 77; }
[ -x "$program" ] || { echo "gpus.sh: there is no $program: build the target detgemm_cluster_gpus with CUDA"; exit 2; }
mkdir -p "$out"
nvidia-smi topo -m >"$out/topology.txt" 2>&1
seeds=400 replays=1000
[ "$quick" = --quick ] && seeds=40
failed=0
check() { # NAME COMMAND...
  echo "== $*"
  local name=$1
  shift
  timeout 300 "$@" >"$out/$name.txt" 2>&1
  local code=$?
  tail -n 3 "$out/$name.txt"
  if [ $code -ne 0 ]; then
    echo "FAILED: $name, exit status $code"
    failed=$((failed + 1))
  fi
}
for ((p = 2; p <= gpus && p <= 8; ++p)); do
  check "processes-$p" "$program" --ranks "$p" --seeds $seeds --replays $replays --json "$out/processes-$p.json"
  check "threads-$p" "$program" --ranks "$p" --threads --seeds $seeds --replays $replays --json "$out/threads-$p.json"
done
# The control: roots that are mixed up on their way must be found.
if timeout 300 "$program" --ranks 2 --plant --seeds 40 --replays 2 >"$out/planted.txt" 2>&1; then
  echo "FAILED: roots that were mixed up were not found"
  failed=$((failed + 1))
elif ! grep -q "other bits" "$out/planted.txt"; then
  echo "FAILED: mixed up roots ended it, but not by their bits: see $out/planted.txt"
  failed=$((failed + 1))
fi
# Multicast in the switch adds in an order of its own; rivals are timed without it and with it.
for ((p = 2; p <= gpus && p <= 8; p *= 2)); do
  [ -x "$bench" ] || break
  NCCL_NVLS_ENABLE=0 check "bench-$p" "$bench" --suite cluster --backend cuda --ranks "$p" ${quick:+--quick} \
    --seconds 240 --json "$out/bench-$p.json" --markdown "$out/bench-$p.md"
  check "bench-$p-nvls" "$bench" --suite cluster --backend cuda --ranks "$p" --quick --json "$out/bench-$p-nvls.json"
done
echo "$failed failed; see $out"
[ $failed -eq 0 ]
