#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# gpus.sh BUILD OUT [--quick] [--minutes N]: everything about clusters that needs several NVIDIA GPUs and libnccl.so.2:
# bits, placements, algorithms, chunks, graphs and faults over 2, 3, ... ranks, as processes and as threads, then the
# benchmark. No MPI and no network is needed. What could prove the library wrong comes first: few problems, the control,
# few times; then many of each until the N minutes (8) are over. Each part has a time limit, after which it is killed, and
# adds a line to OUT/summary.txt when it ends; JSON goes to OUT. With one GPU the parts run in which all ranks share it:
# windows, joined by 1 to 8 threads and by processes. Exit status 77: there is no GPU.
set -u
[ $# -ge 2 ] || { sed -n '5,9s/^# //p' "$0"; exit 2; }
build=$1 out=$2 quick= minutes=8
shift 2
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=--quick ;;
    --minutes) minutes=${2:?"--minutes needs a number"} && shift ;;
    *) echo "gpus.sh: $1 is no option"; exit 2 ;;
  esac
  shift
done
program=$build/tests/cluster/detgemm_cluster_gpus
bench=$build/core/cli/detgemm_bench
gpus=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU ')
[ "$gpus" -ge 1 ] || { echo "skipped: there is no GPU"; exit 77; }
[ -x "$program" ] || { echo "gpus.sh: there is no $program: build the target detgemm_cluster_gpus with CUDA"; exit 2; }
mkdir -p "$out"
nvidia-smi topo -m >"$out/topology.txt" 2>&1
case $minutes in *[!0-9]*) echo "gpus.sh: --minutes is $minutes: it must be a whole number" && exit 2 ;; esac
end=$((SECONDS + minutes * 60))
failed=0 left_out=0
say() { echo "$*" | tee -a "$out/summary.txt"; }
: >"$out/summary.txt"

# part NAME LIMIT COMMAND...: LIMIT seconds at most, less where less is left. The exit status is the command's.
part() {
  local name=$1 limit=$2 begun=$SECONDS code
  shift 2
  [ $((end - SECONDS)) -lt "$limit" ] && limit=$((end - SECONDS))
  if [ "$limit" -lt 5 ]; then
    say "$name: no time left"
    left_out=$((left_out + 1))
    return 99
  fi
  echo "== $name: $*"
  timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1
  code=$?
  tail -n 3 "$out/$name.txt"
  case $code in
    0) say "$name: good after $((SECONDS - begun)) s" ;;
    124 | 137) say "$name: LATE, killed after $((SECONDS - begun)) s" ;;
    *) say "$name: exit status $code after $((SECONDS - begun)) s" ;;
  esac
  return $code
}
check() {
  part "$@"
  case $? in
    0 | 99) ;;
    *) failed=$((failed + 1)) ;;
  esac
}
# The control: roots that are mixed up on their way must be found, by their bits.
control() {
  part planted 40 "$program" --ranks 2 --plant --seeds 40 --replays 2
  case $? in
    99) ;;
    0)
      say "FAILED: roots that were mixed up were not found"
      failed=$((failed + 1))
      ;;
    *)
      grep -q "other bits" "$out/planted.txt" && { say "planted: found, as it must be"; return; }
      say "FAILED: mixed up roots ended it, but not by their bits: see $out/planted.txt"
      failed=$((failed + 1))
      ;;
  esac
}
# Multicast in the switch adds in an order of its own; rivals are timed without it and with it.
bench() { # NAME LIMIT RANKS NVLS OPTIONS...
  [ -x "$bench" ] || return
  local name=$1 limit=$2 ranks=$3
  if [ "$4" = 1 ] && [ "$multicast" = 0 ]; then
    say "$name: left out, since NCCL_NVLS_ENABLE is 0 here"
    return
  fi
  export NCCL_NVLS_ENABLE=$4
  shift 4
  check "$name" "$limit" "$bench" --suite cluster --backend cuda --ranks "$ranks" "$@" --json "$out/$name.json"
  export NCCL_NVLS_ENABLE=0
}
# A machine's owner may have switched multicast off, and what was switched off stays so.
multicast=${NCCL_NVLS_ENABLE:-}

finish() {
  say "$failed failed, $left_out parts had no time; see $out"
  [ $failed -eq 0 ]
  exit
}

# All ranks on one device, whose processes take turns on it.
same_device() { # OUTPUTS SECONDS
  for p in 1 2 3 4 5 6 7 8; do
    check "peers-same-device-$p" 90 "$program" --peers --ranks "$p" --threads --same-device --outputs "$1" --seconds "$2" --json "$out/peers-same-device-$p.json"
  done
  check peers-same-device-processes 90 "$program" --peers --ranks 2 --same-device --seeds 24 --replays 20 --outputs 2e6 --seconds 20 --json "$out/peers-same-device-processes.json"
}
if [ "$gpus" = 1 ]; then
  check peers-same-device-few 60 "$program" --peers --ranks 4 --threads --same-device --outputs 2e7 --seconds 15 --json "$out/peers-same-device-few.json"
  [ -n "$quick" ] || same_device 4e8 25
  part peers-times 60 "$program" --peers --ranks 2 --threads --same-device --times --seconds 45
  finish
fi

check processes-2-few 60 "$program" --ranks 2 --seeds 40 --replays 50 --json "$out/processes-2-few.json"
control
# Which messages did not end on two H200s: a minute at most, and nothing depends on it.
part one-way 60 "$program" --ranks 2 --one-way
check threads-2-few 45 "$program" --ranks 2 --threads --seeds 40 --replays 50 --json "$out/threads-2-few.json"
# Through windows in the memory of the devices, without NCCL: between processes, between threads, and
# with all ranks on one device.
check peers-processes-2-few 60 "$program" --peers --ranks 2 --outputs 5e7 --seconds 15 --json "$out/peers-processes-2-few.json"
check peers-threads-2-few 60 "$program" --peers --ranks 2 --threads --outputs 5e7 --seconds 15 --json "$out/peers-threads-2-few.json"
check peers-same-device-4 60 "$program" --peers --ranks 4 --threads --same-device --outputs 2e7 --seconds 15 --json "$out/peers-same-device-4.json"
part peers-times 60 "$program" --peers --ranks 2 --times --seconds 45
bench bench-2-few 90 2 0 --quick
if [ -z "$quick" ]; then
  for ((p = 2; p <= gpus && p <= 8; ++p)); do
    check "processes-$p" 120 "$program" --ranks "$p" --seeds 400 --replays 1000 --json "$out/processes-$p.json"
    check "peers-$p" 120 "$program" --peers --ranks "$p" --seeds 200 --outputs 1e9 --seconds 70 --json "$out/peers-$p.json"
    check "threads-$p" 90 "$program" --ranks "$p" --threads --seeds 400 --replays 1000 --json "$out/threads-$p.json"
  done
  for ((p = 2; p <= gpus && p <= 8; p *= 2)); do
    bench "bench-$p" 260 "$p" 0 --seconds 240 --markdown "$out/bench-$p.md"
    bench "bench-$p-nvls" 90 "$p" 1 --quick
  done
  same_device 1e8 20
fi
finish
