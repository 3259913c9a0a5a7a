#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# wheel.sh WHEEL [RELEASE...]: from a bare system (roots.sh; bookworm and jammy when none is named) to the ten lines of
# docs/python.md, with that wheel and no compiler: a user's five commands, each with its seconds of the clock and of the
# processors (on a shared machine the second say more). The lines must print what the page says. TORCH names the
# requirement (torch), TORCH_INDEX an index of its own for it, such as PyTorch's CPU wheels; PyPI's have CUDA's libraries,
# of some GB. INSTALLER is pip or uv. WORK as in run.sh; the root of a failed run stays there.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/fresh/roots.sh
if [ ! -f "${1:-}" ]; then
  echo "wheel.sh: WHEEL is \"${1:-}\": it must be a file" >&2
  exit 2
fi
wheel=$1
shift
releases=("$@")
[ ${#releases[@]} -ne 0 ] || releases=(bookworm jammy)
work=${WORK:-$PWD/build/fresh} installer=${INSTALLER:-pip}
mkdir -p "$work"
venv=/opt/venv/bin
case $installer in
  pip) get=$venv/pip install="$venv/pip install --quiet" ;;
  uv) get="$venv/pip install --quiet uv && $venv/uv" install="VIRTUAL_ENV=/opt/venv $venv/uv pip install --quiet" ;;
  *)
    echo "wheel.sh: INSTALLER is \"$installer\": it must be pip or uv" >&2
    exit 2
    ;;
esac

# The page's first program, and what it prints.
block() { # LANGUAGE: the first block of it
  awk -v fence="\`\`\`$1" '$0 == fence && !done { inside = 1; next } /^```/ { if (inside) done = 1; inside = 0 } inside' docs/python.md
}
lines=$work/ten_lines.py expected=$(block text)
block python >"$lines"
if [ "$(wc -l <"$lines")" -lt 8 ] || [[ $expected != *"digest of the batch: "* ]]; then
  echo "wheel.sh: docs/python.md does not begin with a program and what it prints" >&2
  exit 1
fi

commands=(
  "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null"
  "python3 -m venv /opt/venv && $get --version"
  "$install /srv/$(basename "$wheel") && $venv/python -m detgemm info"
  "$install numpy ${TORCH_INDEX:+--index-url $TORCH_INDEX} '${TORCH:-torch}'"
  "$venv/python /srv/ten_lines.py"
)

try() {
  local release=$1 root=$work/$1-wheel log=$work/$1-wheel.log command code=0 spent=()
  make_root "$release" "$root" >"$log" 2>&1 || return
  cp "$wheel" "$lines" "$root/srv"
  local TIMEFORMAT='%R %U %S'
  for command in "${commands[@]}"; do
    echo "\$ $command" >>"$log"
    { time in_root "$root" "$command" >"$root/said" 2>&1; } 2>"$root/time" || code=$?
    cat "$root/said" >>"$log"
    spent+=("$(tail -n 1 "$root/time")")
    [ $code -eq 0 ] || break
  done
  local said
  said=$(cat "$root/said")
  printf '%s\n' "${spent[@]}" | awk -v name="$release, $installer" -v code=$code -v load="$(busy)" '{ clock += $1; cpu += $2 + $3 }
    END { printf "%s: exit status %d, %.0f s in all, of the processors %.0f s, load %s\n", name, code, clock, cpu, load }'
  for command in "${!spent[@]}"; do
    awk -v text="${commands[$command]}" '{ printf "%8.0f s, %4.0f s of the processors  %s\n", $1, $2 + $3, text }' <<<"${spent[$command]}"
  done
  unmount_root "$root"
  if [ $code -ne 0 ] || [ "$said" != "$expected" ]; then
    printf 'it printed:\n%s\nand docs/python.md says:\n%s\n' "$said" "$expected"
    return 1
  fi
  clear_root "$root"
}

failed=0 passed=0
for release in "${releases[@]}"; do
  if try "$release"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  unmount_root "$work/$release-wheel"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
