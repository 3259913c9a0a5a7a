#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# netns.sh BUILD [HOSTS]: ranks on several hosts, which are network namespaces of this machine joined by a
# bridge (default 3): one rank per host, over TCP, first on a clean network and then on one with delay and
# loss; `detgemm conform --transport mpi` must pass on both. Then a link goes down in the middle of a run,
# which must end with a sentence and not hang. Needs root, iproute2 and Open MPI. Delay and loss are
# netem's where the kernel has it; otherwise the rate is limited (tbf), and where iptables is installed it
# drops packets. The script says which. 77: skipped, with the reason.
set -u
build=${1:?usage: netns.sh BUILD [HOSTS]} hosts=${2:-3}
skip() { echo "skipped: $*"; exit 77; }
wrong() { echo "wrong: $*"; exit 1; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null && command -v tc >/dev/null || skip "iproute2 is not installed"
mpirun=$(command -v mpirun.openmpi) || skip "Open MPI is not installed"
ip netns add dg-probe 2>/dev/null || skip "this kernel or container gives no network namespaces"
ip netns del dg-probe
detgemm=$(realpath "$build")/core/cli/detgemm
faults=$(realpath "$build")/tests/cluster/test_cluster_mpi
[ -x "${detgemm}_mpi" ] || wrong "$detgemm was not built with MPI"

work=$(mktemp -d)
cleanup() {
  for ((i = 0; i < hosts; i++)); do ip netns del "dg$i" 2>/dev/null; done
  ip netns del dg-bridge 2>/dev/null
  rm -rf "$work"
}
trap cleanup EXIT

# Host i is 10.99.0.(i + 1); eth0 of its namespace leads to port p<i> of the bridge.
ip netns add dg-bridge && ip -n dg-bridge link add name bridge0 type bridge && ip -n dg-bridge link set bridge0 up ||
  skip "this kernel has no bridges"
list=
for ((i = 0; i < hosts; i++)); do
  ip netns add "dg$i"
  ip link add eth0 netns "dg$i" type veth peer name "p$i" netns dg-bridge || skip "there is no veth"
  ip -n "dg$i" addr add "10.99.0.$((i + 1))/24" dev eth0
  ip -n "dg$i" link set lo up && ip -n "dg$i" link set eth0 up
  ip -n dg-bridge link set "p$i" master bridge0 && ip -n dg-bridge link set "p$i" up
  list+=${list:+,}10.99.0.$((i + 1)):1
done

# What mpirun starts on a host: a shell in its namespace, under a host name of its own.
cat >"$work/agent" <<'TEXT'
#!/bin/sh
host=dg$((${1##*.} - 1))
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
TEXT
chmod +x "$work/agent"
on_hosts() { # PROGRAM...: one rank per host
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 \
    timeout 240 ip netns exec dg0 unshare --uts sh -c 'hostname dg0; exec "$@"' sh \
    "$mpirun" -np "$hosts" --host "$list" --mca plm rsh --mca plm_rsh_agent "$work/agent" \
    --mca btl self,tcp --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 "$@"
}
conform() { # WHAT: what the network is like
  local out from=$SECONDS
  out=$(on_hosts "$detgemm" conform --transport mpi --backend skeleton --contract \
    'ieee_fma/bf16/tree:32->bf16' --property reference --property epilogue --property batch 2>&1) ||
    wrong "$1: $out"
  [ "$(grep -c '^PASSED' <<<"$out")" -ge 7 ] || wrong "$1: $out"
  echo "passed: $hosts hosts, $1, $((SECONDS - from)) s:$(grep -o '[0-9]* outputs' <<<"$out" |
    awk '{n += $1} END {printf " %d outputs compared on each rank", n}')"
}

conform "a clean network"
said=
for ((i = 0; i < hosts; i++)); do
  if tc -n "dg$i" qdisc add dev eth0 root netem delay 2ms 1ms loss 1% 2>/dev/null; then
    said="2 ms of delay and 1 % of loss (netem)"
    continue
  fi
  tc -n "dg$i" qdisc add dev eth0 root tbf rate 50mbit burst 16kb latency 20ms 2>/dev/null &&
    said="50 Mbit/s (tbf)"
  if command -v iptables >/dev/null && ip netns exec "dg$i" iptables -A INPUT -i eth0 -m statistic \
    --mode random --probability 0.01 -j DROP 2>/dev/null; then
    said="${said:+50 Mbit/s (tbf) and }1 % of loss (iptables)"
  fi
done
[ -n "$said" ] || skip "this kernel has neither netem nor tbf, and there is no iptables: only a clean network was tested"
conform "$said"

# The last host's link goes down before a call; rank 0 must be told, within its patience. mpirun itself may
# wait for a host that is gone, so it is ended here.
(sleep 4 && ip -n dg-bridge link set "p$((hosts - 1))" down) &
on_hosts "$faults" link >"$work/out" 2>&1 &
for ((i = 0; i < 40; i++)); do
  grep -q 'expected: ' "$work/out" && break
  sleep 1
done
for ((i = 0; i < hosts; i++)); do ip netns pids "dg$i" | xargs -r kill -9; done
grep -q '^as expected: ' "$work/out" || wrong "a link that goes down: $(cat "$work/out")"
echo "passed: a link that goes down: $(grep -o '^as expected: .*' "$work/out")"
