#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# run.sh [--order demo-first|test-first] [--cache FOLDER] [RELEASE...]: README's two commands on a bare system
# (roots.sh; bookworm when none is named, also trixie, jammy, noble). The commit that is checked out is cloned; what is
# not committed is not tested. Fails where a command fails, no test ran, or an object was compiled for nothing because the
# two scripts configure a folder differently. Says how long each took. --cache: a folder of ccache's for the roots, whose
# times then say nothing. WORK names the folder of the roots, build/fresh by default; the root of a failed run stays there.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/fresh/roots.sh
source=$PWD orders=(demo-first test-first) releases=() cache=''
while [ $# -ne 0 ]; do
  case $1 in
    --order)
      case ${2:-} in
        demo-first | test-first) orders=("$2") ;;
        *)
          echo "run.sh: --order is \"${2:-}\": it must be demo-first or test-first" >&2
          exit 2
          ;;
      esac
      shift
      ;;
    --cache)
      if [ ! -d "${2:-}" ]; then
        echo "run.sh: --cache is \"${2:-}\": it must be a folder" >&2
        exit 2
      fi
      cache=$(realpath "$2")
      shift
      ;;
    -*)
      echo "run.sh: option is \"$1\": it must be --order or --cache" >&2
      exit 2
      ;;
    *) releases+=("$1") ;;
  esac
  shift
done
[ ${#releases[@]} -ne 0 ] || releases=(bookworm)
work=${WORK:-$PWD/build/fresh}
mkdir -p "$work"

# try RELEASE ORDER: a bare root, a clone in it, both commands.
try() {
  local release=$1 order=$2 root=$work/$1-$2 first=scripts/demo.sh second="scripts/test.sh --host" log code=0 more=()
  log=$root.log
  if [ "$order" = test-first ]; then first="scripts/test.sh --host" second=scripts/demo.sh; fi
  make_root "$release" "$root" >"$log" 2>&1 || return
  git clone --quiet --no-hardlinks "$source" "$root/srv/detgemm"
  if [ -n "$cache" ]; then
    mkdir -p "$root/root/.cache/ccache"
    mount --bind "$cache" "$root/root/.cache/ccache"
    # shellcheck disable=SC2054 # one value with a comma
    more=(CCACHE_DIR=/root/.cache/ccache CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros)
  fi
  # Configuring tidies ninja's log, so what the first command compiled is remembered before the second begins.
  # Seconds of the processors say more than those of the clock where a machine is shared.
  in_root "$root" "cd /srv/detgemm && TIMEFORMAT='== %0R s, of the processors %0U s and in the kernel %0S s: $first' &&
    time $first && cp build/host/.ninja_log ../first.log &&
    TIMEFORMAT='== %0R s, of the processors %0U s and in the kernel %0S s: $second' && time $second" "${more[@]}" >>"$log" 2>&1 || code=$?
  unmount_root "$root"
  local said again=''
  said=$(grep -oE '^detgemm: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$log" | tail -n 1)
  if [ -e "$root/srv/first.log" ]; then
    again=$(python3 tests/fresh/compiled_for_nothing.py "$root/srv/first.log" "$root/srv/detgemm/build/host") || code=1
  fi
  echo "$release, $order: exit status $code, ${said:-no test ran}, $(wc -w <<<"$again") objects compiled for nothing, load $(busy)"
  sed -n 's/^== \([0-9]* s, of \)/  \1/p' "$log"
  if [ $code -ne 0 ] || [ -z "$said" ] || [[ $said == "detgemm: 0 passed"* ]] || [ -n "$again" ]; then
    head -n 5 <<<"$again"
    tail -n 25 "$log"
    return 1
  fi
  clear_root "$root"
}

failed=0 passed=0
for release in "${releases[@]}"; do
  for order in "${orders[@]}"; do
    if try "$release" "$order"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    unmount_root "$work/$release-$order"
  done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
