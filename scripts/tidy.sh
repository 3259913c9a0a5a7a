#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# tidy.sh [--since COMMIT] [FILE...]: clang-tidy 14 over the host's sources, or over those that changed since a
# commit, or over the files named. Checks are in .clang-tidy. Exits nonzero where it finds something, or where it had
# nothing to read. About 4.5 s of processor time per source: 8 minutes for all of them on two idle cores.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/options.sh
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
  echo "tidy.sh: there is no clang-tidy (Debian: clang-tidy-14)" >&2
  exit 1
}
since='' files=()
while [ $# -gt 0 ]; do
  case $1 in
    --since)
      since=${2:?"tidy.sh: --since needs a commit"}
      shift
      ;;
    *) files+=("$1") ;;
  esac
  shift
done

mkdir -p build
cmake --preset dev -B build/tidy -DDETGEMM_ENABLE_KOKKOS=ON -DDETGEMM_BUILD_DROPIN=ON -DDETGEMM_BUILD_TESTS=OFF \
  -DDETGEMM_BUILD_BENCH=OFF -DDETGEMM_BUILD_EXAMPLES=OFF >build/tidy.log || { cat build/tidy.log; exit 1; }
# Sources that are compiled for the host; what CMake writes itself has none of our mistakes.
mapfile -t known < <(python3 -c '
import json, os
for entry in json.load(open("build/tidy/compile_commands.json")):
    name = os.path.relpath(entry["file"])
    if name.split("/")[0] in ("core", "backends", "cluster", "dropin") and name.endswith(".cpp"):
        print(name)' | sort -u)
if [ ${#files[@]} -eq 0 ] && [ -n "$since" ]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- '*.cpp' | grep -Fxf <(printf '%s\n' "${known[@]}") || true)
  if [ ${#files[@]} -eq 0 ]; then
    echo "tidy.sh: no source of the host changed since $since"
    exit 0
  fi
elif [ ${#files[@]} -eq 0 ]; then
  files=("${known[@]}")
fi
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" "$tidy" -p build/tidy --quiet \
  --extra-arg=-Wno-unknown-warning-option 2> >(grep -v 'warnings generated\.$' >&2)
echo "tidy.sh: ${#files[@]} sources, nothing found"
