#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# netns.sh BUILD [HOSTS]: ranks on several hosts, which are network namespaces of this machine (default 4, at
# least 3): one rank per host, over TCP, and no memory in common. `detgemm conform --transport mpi` must pass on
# three hosts, and random products must have the bits of one rank on 2, 3 and so on to HOSTS, on networks
#   - joined by the kernel's bridge;
#   - joined by lossy_link.py with delay, jitter and loss, mild and harsh;
#   - joined by lossy_link.py with a limited rate.
# A lossy network counts only if TCP segments were lost and hosts sent some again. Then a link goes down, and
# then all frames are lost without a link going down, each in the middle of a run, which must end with a sentence
# and not hang. As a control, nothing may pass on a network that loses everything from the beginning.
# Needs root, iproute2, Python 3 and Open MPI. 77: skipped, with the reason.
set -u
build=${1:?usage: netns.sh BUILD [HOSTS]} hosts=${2:-4} here=$(realpath "$(dirname "$0")")
skip() { echo "skipped: $*"; exit 77; }
wrong() { echo "wrong: $*"; exit 1; }
[ "$hosts" -ge 3 ] || wrong "$hosts hosts; at least 3"
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "iproute2 is not installed"
command -v python3 >/dev/null || skip "Python 3 is not installed"
mpirun=$(command -v mpirun.openmpi) || skip "Open MPI is not installed"
! ip netns list | grep -qE '^dg(-bridge|-probe|[0-9]+)\b' || wrong "network namespaces dg... of another run are there"
ip netns add dg-probe 2>/dev/null || skip "this kernel or container gives no network namespaces"
ip netns del dg-probe
detgemm=$(realpath "$build")/core/cli/detgemm
products=$(realpath "$build")/tests/cluster/test_cluster_mpi
[ -x "${detgemm}_mpi" ] || wrong "$detgemm was not built with MPI"
[ -x "$products" ] || wrong "there is no $products"

work=$(mktemp -d)
link=
cleanup() {
  end_hosts
  [ -z "$link" ] || kill "$link" 2>/dev/null
  for ((i = 0; i < hosts; i++)); do ip netns del "dg$i" 2>/dev/null; done
  ip netns del dg-bridge 2>/dev/null
  rm -rf "$work"
}
# What is left of a run on the hosts; mpirun itself may wait for a host that is gone.
end_hosts() {
  for ((i = 0; i < hosts; i++)); do ip netns pids "dg$i" 2>/dev/null | xargs -r kill -9 2>/dev/null; done
}
trap cleanup EXIT

# Host i is 10.99.0.(i + 1); eth0 of its namespace leads to port p<i> of the namespace in the middle.
ip netns add dg-bridge && ip -n dg-bridge link add name bridge0 type bridge && ip -n dg-bridge link set bridge0 up ||
  skip "this kernel has no bridges"
ports=()
for ((i = 0; i < hosts; i++)); do
  ip netns add "dg$i"
  ip link add eth0 netns "dg$i" type veth peer name "p$i" netns dg-bridge || skip "there is no veth"
  ip -n "dg$i" addr add "10.99.0.$((i + 1))/24" dev eth0
  ip -n "dg$i" link set lo up && ip -n "dg$i" link set eth0 up
  ip -n dg-bridge link set "p$i" master bridge0 && ip -n dg-bridge link set "p$i" up
  ports+=("p$i")
done

# What mpirun starts on a host: a shell in its namespace, under a host name of its own. Memory that processes
# share is the host's own as well, so that no byte comes to another host but over the network.
own='mount -t tmpfs tmpfs /dev/shm && hostname'
cat >"$work/agent" <<TEXT
#!/bin/sh
host=dg\$((\${1##*.} - 1))
shift
exec ip netns exec "\$host" unshare --uts sh -c "$own \$host; \$*"
TEXT
chmod +x "$work/agent"
on_hosts() { # RANKS SECONDS PROGRAM...: one rank on each of the first hosts, for so long at most
  local ranks=$1 seconds=$2 list=10.99.0.1:1
  shift 2
  for ((i = 1; i < ranks; i++)); do list+=,10.99.0.$((i + 1)):1; done
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 \
    timeout --kill-after 10 "$seconds" ip netns exec dg0 unshare --uts sh -c "$own dg0; "'exec "$@"' sh \
    "$mpirun" -np "$ranks" --host "$list" --mca plm rsh --mca plm_rsh_agent "$work/agent" \
    --mca btl self,tcp --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 "$@"
}

# The kernels' own counters of TCP, as a second witness of what the network did: COUNTER, of all hosts.
tcp_counter() {
  for ((i = 0; i < hosts; i++)); do ip netns exec "dg$i" cat /proc/net/snmp; done | awk -v name="$1" '
    $1 == "Tcp:" && !column { for (c = 2; c <= NF; c++) if ($c == name) column = c; next }
    $1 == "Tcp:" && $column ~ /^-?[0-9]+$/ { sum += $column }
    END { print sum + 0 }'
}

# The ports leave the bridge, and lossy_link.py joins them: OPTIONS...
join_by_link() {
  for port in "${ports[@]}"; do ip -n dg-bridge link set "$port" nomaster; done
  for ((i = 0; i < hosts; i++)); do
    ip netns exec "dg$i" python3 "$here/lossy_link.py" --plain-frames eth0 >"$work/plain" 2>&1 ||
      { [ $? != 77 ] || skip "$(cat "$work/plain")"; wrong "$(cat "$work/plain")"; }
  done
  ip netns exec dg-bridge python3 "$here/lossy_link.py" "$@" "${ports[@]}" >"$work/link" 2>&1 &
  link=$!
  for ((i = 0; i < 300; i++)); do
    ! grep -qs '^forwarding ' "$work/link" || break
    kill -0 "$link" 2>/dev/null || break
    sleep 0.1
  done
  grep -qs '^forwarding ' "$work/link" && return
  wait "$link"
  [ $? != 77 ] || skip "$(cat "$work/link")"
  wrong "lossy_link.py: $(cat "$work/link")"
}
# Ends lossy_link.py; sets `counts` to its last line, and `forwarded` and `lost` to what that says.
end_link() {
  kill "$link" 2>/dev/null
  wait "$link" || wrong "lossy_link.py: $(cat "$work/link")"
  link=
  counts=$(tail -n 1 "$work/link")
  [[ $counts =~ ^([0-9]+)\ frames\ forwarded,\ [0-9]+\ lost,\ ([0-9]+)\ of\ them\ TCP ]] || wrong "$counts"
  forwarded=${BASH_REMATCH[1]} lost=${BASH_REMATCH[2]}
}
join_by_bridge() {
  for port in "${ports[@]}"; do
    ip -n dg-bridge link set "$port" master bridge0 && ip -n dg-bridge link set "$port" up
  done
}

conform() { # NETWORK PROPERTY...
  local network=$1 out from=$SECONDS words=()
  shift
  for property in "$@"; do words+=(--property "$property"); done
  out=$(on_hosts 3 900 "$detgemm" conform --transport mpi --backend skeleton --contract \
    'ieee_fma/bf16/tree:32->bf16' "${words[@]}" 2>&1) || wrong "conform, $network: $out"
  # Seven ways in which ranks work together; the eighth needs memory that ranks share.
  [ "$(grep -c '^PASSED' <<<"$out")" = 7 ] || wrong "conform, $network: $out"
  ! grep -q 'engine    peers of' <<<"$out" || wrong "hosts share memory: $out"
  echo "passed: $network: conform on 3 hosts ($*), $((SECONDS - from)) s:$(grep -o '[0-9]* outputs' <<<"$out" |
    awk '{n += $1} END {printf " %d outputs compared on each rank", n}')"
}
random_products() { # NETWORK
  local network=$1 out from
  for ((ranks = 2; ranks <= hosts; ranks++)); do
    from=$SECONDS
    out=$(on_hosts "$ranks" 600 "$products" messages 2>&1) || wrong "random products, $network, $ranks hosts: $out"
    grep -q "24 samples equal on $ranks ranks" <<<"$out" || wrong "random products, $network, $ranks hosts: $out"
    echo "passed: $network: 24 random products have the bits of one rank on $ranks hosts, $((SECONDS - from)) s"
  done
}
over_link() { # OPTIONS -- WHAT NETWORK...: conform or products on a network of lossy_link.py, and what that did
  local options=() again bad
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  join_by_link "${options[@]}"
  again=$(tcp_counter RetransSegs) bad=$(tcp_counter InCsumErrors)
  "$@"
  end_link
  again=$(($(tcp_counter RetransSegs) - again)) bad=$(($(tcp_counter InCsumErrors) - bad))
  echo "  meanwhile: $counts; the hosts sent $again segments again"
  [ "$bad" = 0 ] || wrong "$bad segments came with a wrong checksum, and nobody damages any here"
  [ "$forwarded" -gt 0 ] || wrong "no frame went through lossy_link.py"
  if [[ " ${options[*]} " = *" --loss "* ]]; then
    [ "$lost" -gt 0 ] && [ "$again" -gt 0 ] || wrong "a fault that did not happen: nothing was lost or sent again"
  fi
}
told() { # FAULT COMMAND...: COMMAND is the fault, during a run; rank 0 must be told of it, within its patience
  local fault=$1 run
  shift
  on_hosts 3 120 "$products" link >"$work/out" 2>&1 &
  run=$!
  for ((i = 0; i < 600; i++)); do
    ! grep -qs 'now take the link down' "$work/out" || break
    sleep 0.1
  done
  grep -q 'now take the link down' "$work/out" || wrong "$fault: $(cat "$work/out")"
  "$@"
  for ((i = 0; i < 400; i++)); do
    ! grep -qs 'expected: ' "$work/out" || break
    sleep 0.1
  done
  end_hosts
  wait "$run"
  grep -q '^as expected: ' "$work/out" || wrong "$fault: $(cat "$work/out")"
  echo "passed: $fault: $(grep -o '^as expected: .*' "$work/out")"
}

conform "a clean network" reference epilogue batch
random_products "a clean network"

mild=(--delay 2 --jitter 1 --loss 1) called="2 ms +- 1 ms of delay and 1 % of loss"
over_link "${mild[@]}" --seed 1 -- conform "$called" reference epilogue batch
over_link "${mild[@]}" --seed 2 -- random_products "$called"
harsh=(--delay 20 --jitter 10 --loss 5) called="20 ms +- 10 ms of delay and 5 % of loss"
over_link "${harsh[@]}" --seed 3 -- conform "$called" reference
over_link "${harsh[@]}" --seed 4 -- random_products "$called"
over_link --rate 50 -- conform "50 Mbit/s" reference epilogue batch
over_link --rate 50 -- random_products "50 Mbit/s"

join_by_bridge
told "a link that goes down" ip -n dg-bridge link set p2 down
join_by_bridge

join_by_link --delay 2
told "links that stay up and pass nothing on" kill -USR1 "$link"
end_link
[ "$lost" -gt 0 ] || wrong "links that stay up and pass nothing on: nothing was lost: $counts"

# The control: whatever passes here does not go through lossy_link.py.
join_by_link --loss 100
from=$SECONDS
on_hosts 3 30 "$detgemm" conform --transport mpi --backend skeleton --contract 'ieee_fma/bf16/tree:32->bf16' \
  --property batch >"$work/out" 2>&1 && wrong "conform passed without a network: $(cat "$work/out")"
code=$?
end_hosts
end_link
! grep -q '^PASSED' "$work/out" || wrong "conform passed without a network: $(cat "$work/out")"
[ "$forwarded" = 0 ] && [[ ! $counts =~ ,\ 0\ lost ]] || wrong "100 % of loss, and $counts"
echo "passed: 100 % of loss: no report of conform in $((SECONDS - from)) s (exit code $code); $counts"
