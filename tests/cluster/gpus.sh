#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# gpus.sh BUILD OUT [--quick] [--bits | --times] [--minutes N]: everything about clusters that needs several NVIDIA GPUs
# and libnccl.so.2. --bits: algorithms, placements, chunks, graphs and faults over 1, 2, 3, ... ranks, as processes and as
# threads. --times: the benchmark, and sums of gradients. Without either: both. No MPI and no network is needed. Parts
# that need two GPUs run side by side where there are four; what could prove the library wrong is first. N minutes (8)
# are shared out, so that each part has as much work as its time allows; a part that hangs is killed. Each adds a line to
# OUT/summary.txt when it ends; JSON goes to OUT. With one GPU the parts run in which all ranks share it: windows, joined
# by 1 to 8 threads and by processes. Exit status 77: there is no GPU.
set -u
[ $# -ge 2 ] || { sed -n '5,11s/^# //p' "$0"; exit 2; }
build=$1 out=$2 quick= bits=1 times=1 minutes=8
shift 2
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=--quick ;;
    --bits) times= ;;
    --times) bits= ;;
    --minutes) minutes=${2:?"--minutes needs a number"} && shift ;;
    *) echo "gpus.sh: $1 is no option"; exit 2 ;;
  esac
  shift
done
program=$build/tests/cluster/detgemm_cluster_gpus
bench=$build/core/cli/detgemm_bench
gpus=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU ')
case ${CUDA_VISIBLE_DEVICES:-} in *[0-9]*) gpus=$(($(tr -cd , <<<"$CUDA_VISIBLE_DEVICES" | wc -c) + 1)) ;; esac
IFS=, read -r -a cards <<<"${CUDA_VISIBLE_DEVICES:-$(seq -s, 0 $((gpus - 1)))}"
[ "$gpus" -ge 1 ] || { echo "skipped: there is no GPU"; exit 77; }
[ -x "$program" ] || { echo "gpus.sh: there is no $program: build the target detgemm_cluster_gpus with CUDA"; exit 2; }
mkdir -p "$out"
nvidia-smi topo -m >"$out/topology.txt" 2>&1
case $minutes in *[!0-9]*) echo "gpus.sh: --minutes is $minutes: it must be a whole number" && exit 2 ;; esac
end=$((SECONDS + minutes * 75))  # what hangs is killed, at the latest
layers=$((minutes * 3))          # seconds of each part that compares layers
: >"$out/summary.txt" >"$out/failed.txt"
say() { echo "$*" | tee -a "$out/summary.txt"; }
failed() { echo "$*" >>"$out/failed.txt"; }

# part NAME LIMIT COMMAND...: LIMIT seconds at most, less where less is left. The exit status is the command's.
part() {
  local name=$1 limit=$2 begun=$SECONDS code
  shift 2
  [ $((end - SECONDS)) -lt "$limit" ] && limit=$((end - SECONDS))
  if [ "$limit" -lt 5 ]; then
    say "$name: no time left"
    return 99
  fi
  timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1
  code=$?
  case $code in
    0) say "$name: good after $((SECONDS - begun)) s" ;;
    124 | 137) say "$name: LATE, killed after $((SECONDS - begun)) s" ;;
    *) say "$name: exit status $code after $((SECONDS - begun)) s: $(tail -n 1 "$out/$name.txt" | cut -c1-160)" ;;
  esac
  return $code
}
check() {
  part "$@"
  case $? in
    0 | 99) ;;
    *) failed "$1" ;;
  esac
}
# ranks NAME LIMIT P OPTIONS...: the program with P ranks.
ranks() {
  local name=$1 limit=$2 p=$3
  shift 3
  check "$name" "$limit" "$program" --ranks "$p" "$@" --json "$out/$name.json"
}
# windows NAME P OPTIONS...: through windows in the memory of the devices, without NCCL.
windows() {
  local name=$1 p=$2
  shift 2
  ranks "$name" $((layers + 60)) "$p" --peers --seconds "$layers" --outputs 1e9 "$@"
}
# lane CARDS FUNCTION ARGUMENTS...: on these GPUs alone.
lane() {
  local on=$1
  shift
  (export CUDA_VISIBLE_DEVICES=$on && "$@")
}
# side_by_side FIRST SECOND: two functions for two GPUs each, at the same time where there are four.
side_by_side() {
  local first=${cards[0]},${cards[1]}
  if [ "$gpus" -ge 4 ]; then
    lane "$first" "$1" &
    lane "${cards[2]},${cards[3]}" "$2"
    wait
  else
    lane "$first" "$1"
    lane "$first" "$2"
  fi
}

# The control: roots that are mixed up on their way must be found, by their bits.
control() {
  part planted 40 "$program" --ranks 2 --plant --seeds 40 --replays 2
  case $? in
    99) ;;
    0) say "planted: FAILED: roots that were mixed up were not found" && failed planted ;;
    *)
      grep -q "other bits" "$out/planted.txt" && { say "planted: found, as it must be"; return; }
      say "planted: FAILED: it ended, but not by the bits" && failed planted
      ;;
  esac
}
few_messages() {
  ranks processes-2-few 60 2 --seeds 40 --replays 50
  control
  part one-way 60 "$program" --ranks 2 --one-way  # which messages do not end; nothing depends on it
  ranks threads-2-few 45 2 --threads --seeds 40 --replays 50
}
few_windows() {
  ranks peers-processes-2-few 60 2 --peers --outputs 5e7 --seconds 15
  ranks peers-threads-2-few 60 2 --peers --threads --outputs 5e7 --seconds 15
  ranks peers-same-device-4 60 4 --peers --threads --same-device --outputs 2e7 --seconds 15
}
many_messages() {
  control
  ranks processes-2 120 2 --seeds 200 --replays 1000
  ranks threads-2 90 2 --threads --seeds 100 --replays 1000
}
many_windows() {
  windows peers-2 2 --seeds 200
  windows peers-threads-2 2 --threads
  windows peers-1 1
}
three() {
  windows peers-3 3 --seeds 100
  ranks processes-3 120 3 --seeds 100 --replays 1000
}
# All ranks on one device, whose processes take turns on it.
same_device() { # RANKS...
  local p
  for p in "$@"; do
    ranks "peers-same-device-$p" $((layers + 60)) "$p" --peers --threads --same-device --outputs 4e8 --seconds $((layers / 2 + 1))
  done
}
same_device_processes() {
  ranks peers-same-device-processes 90 2 --peers --same-device --seeds 24 --replays 20 --outputs 2e6 --seconds 20
}
# Multicast in the switch adds in an order of its own. A machine's owner may have switched it off, and what was switched
# off stays so: rivals are timed without it and, where it is left to the program, with it.
multicast=${NCCL_NVLS_ENABLE:-}
bench() { # NAME LIMIT RANKS NVLS OPTIONS...
  [ -x "$bench" ] || return
  local name=$1 limit=$2 p=$3 nvls=$4
  shift 4
  if [ "$nvls" = 1 ] && [ "$multicast" = 0 ]; then
    say "$name: left out, since NCCL_NVLS_ENABLE is 0 here"
    return
  fi
  NCCL_NVLS_ENABLE=$nvls check "$name" "$limit" "$bench" --suite cluster --backend cuda --ranks "$p" "$@" \
    --json "$out/$name.json" --markdown "$out/$name.md"
}
bench_2() { bench bench-2 260 2 0 $quick --seconds $((minutes * 10)); }
gradients_2() {
  ranks gradients-2 120 2 --peers --gradients --seconds $((minutes * 5))
  [ -n "$quick" ] || part peers-times 60 "$program" --peers --ranks 2 --times --seconds 45
}

finish() {
  say "$(wc -l <"$out/failed.txt") failed, $(grep -c 'no time left' "$out/summary.txt") parts had no time; see $out"
  [ ! -s "$out/failed.txt" ]
  exit
}

if [ "$gpus" = 1 ]; then
  if [ -n "$bits" ]; then
    ranks peers-same-device-few 60 4 --peers --threads --same-device --outputs 2e7 --seconds 15
    ranks peers-early 60 2 --peers --threads --same-device --early --seeds 100
    [ -n "$quick" ] || { same_device 1 2 3 4 5 6 7 8 && same_device_processes; }
  fi
  [ -n "$times" ] && part peers-times 60 "$program" --peers --ranks 2 --threads --same-device --times --seconds 45
  finish
fi
if [ -n "$bits" ] && [ -n "$quick" ]; then
  side_by_side few_messages few_windows
elif [ -n "$bits" ]; then
  side_by_side many_messages many_windows
  if [ "$gpus" -ge 4 ]; then
    lane "${cards[0]},${cards[1]},${cards[2]}" three &
    lane "${cards[3]}" same_device 5 6 7 8
    wait
  elif [ "$gpus" = 3 ]; then
    three
  fi
  for ((p = 4; p <= gpus && p <= 8; ++p)); do
    windows "peers-$p" "$p" --seeds 200
    ranks "processes-$p" 120 "$p" --seeds 100 --replays 1000
    ranks "threads-$p" 90 "$p" --threads --seeds 100 --replays 1000
  done
  [ "$gpus" -ge 4 ] || same_device 3 4 5 6 7 8
fi
if [ -n "$times" ]; then
  side_by_side bench_2 gradients_2
  for ((p = 4; p <= gpus && p <= 8 && ${#quick} == 0; p *= 2)); do
    bench "bench-$p" 260 "$p" 0 --seconds $((minutes * 10))
    bench "bench-$p-nvls" 90 "$p" 1 --quick
  done
  [ -n "$quick" ] || bench bench-2-nvls 90 2 1 --quick
fi
finish
