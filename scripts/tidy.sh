#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# tidy.sh [--since COMMIT | FILE...]: clang-tidy 14 over the host's sources, over those that changed since a commit, or
# over the files named. .clang-tidy has the checks. Exits nonzero where it finds something. One source takes about 4.5 s
# of processor time; all of them are read several at a time, as a unity build does.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/options.sh
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
  echo "tidy.sh: there is no clang-tidy (Debian: clang-tidy-14)" >&2
  exit 1
}
since='' files=()
if [ "${1:-}" = --since ]; then
  since=${2:?"tidy.sh: --since needs a commit"}
else
  files=("$@")
fi

# database FOLDER UNITY: how the host's sources are compiled, for clang-tidy.
database() {
  mkdir -p "build/$1"
  cmake --preset dev -B "build/$1" -DDETGEMM_ENABLE_KOKKOS=ON -DDETGEMM_BUILD_DROPIN=ON -DDETGEMM_BUILD_TESTS=OFF \
    -DDETGEMM_BUILD_BENCH=OFF -DDETGEMM_BUILD_EXAMPLES=OFF -DCMAKE_UNITY_BUILD="$2" >"build/$1/said.txt" || {
    cat "build/$1/said.txt"
    exit 1
  }
  python3 -c '
import json, os, sys
print(*sorted({os.path.relpath(entry["file"]) for entry in json.load(open(sys.argv[1]))}), sep="\n")
' "build/$1/compile_commands.json"
}

folder=tidy
if [ -n "$since" ]; then
  git rev-parse --quiet --verify "$since^{commit}" >/dev/null || {
    echo "tidy.sh: --since is \"$since\": it must be a commit of this clone" >&2
    exit 1
  }
  known=$(database $folder OFF)
  mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- '*.cpp' | grep -Fx "$known" || true)
  if [ ${#files[@]} -eq 0 ]; then
    echo "tidy.sh: no source of the host changed since $since"
    exit 0
  fi
elif [ ${#files[@]} -gt 0 ]; then
  database $folder OFF >/dev/null
else
  folder=tidy-all
  mapfile -t files < <(database $folder ON)
fi
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" "$tidy" -p build/$folder --quiet \
  --extra-arg=-Wno-unknown-warning-option 2> >(grep -v 'warnings generated\.$' >&2)
echo "tidy.sh: ${#files[@]} sources, nothing found"
