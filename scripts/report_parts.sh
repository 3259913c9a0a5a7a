# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Read by hip_report.sh and cuda_report.sh: parts of a report, each with its output in a file of its
# own and one line in the summary. Uses their `build`, `report` and `summary`; sets `failed`.
# shellcheck disable=SC2034,SC2154 # variables that the files share
failed=no

say() { printf '%-10s %s\n' "$1" "$2" | tee -a "$summary"; }

# part NAME COMMAND...: its output to REPORT/NAME.txt, its verdict and last line to the summary.
part() {
  local name=$1 status=0 from=$SECONDS
  shift
  "$@" > "$report/$name.txt" 2>&1 || status=$?
  say "$name" "exit $status, $((SECONDS - from)) s: $(tail -n 1 "$report/$name.txt")"
  return $status
}
# must NAME COMMAND...: a part whose failure is the report's; status 77 is a skip with a reason.
must() {
  local status=0
  part "$@" || status=$?
  if [ $status -ne 0 ] && [ $status -ne 77 ]; then failed=yes; fi
}
# left_out NAME WHY: a part that cannot run here. It is a failure only where it was asked for by name.
left_out() {
  say "$1" "left out: $2"
  if [ "${by_name:-no}" = yes ]; then failed=yes; fi
}
program() { # NAME PATH ARGUMENTS...: a test program, which a build without tests does not have
  local name=$1 path=$build/$2
  shift 2
  if [ -x "$path" ]; then must "$name" "$path" "$@"; else left_out "$name" "$path was not built"; fi
}
machine() { # PATTERN: what machine this is, with the environment's variables that match it
  date -u +'%Y-%m-%dT%H:%M:%SZ'
  uname -srm
  grep -m 1 'model name' /proc/cpuinfo
  grep PRETTY_NAME /etc/os-release
  env | grep -E "$1" | sort
}
