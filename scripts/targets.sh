#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# targets.sh [--seed S] [--seconds S] [--bench PROGRAM] [--out FOLDER]: every row of "Targets over random
# problems" on the GPU, in one go. FOLDER gets the table of cases that the seed makes (cases.json), the
# results (drawn.json and tokens.json) and the table of targets (targets.md).
#   --seed S          of the problems that are drawn (7)
#   --seconds S       for all of it (200): four fifths for the problems that are drawn, the rest for every
#                     M. Repetitions become fewer first; where the time ends early all rows lose alike
#   --bench PROGRAM   detgemm_bench (build/cuda-sm90/core/cli/detgemm_bench)
#   --out FOLDER      build/targets
# Exit status: that of the first part that failed; what the other one measured is there all the same.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

seed=7 seconds=200 out=build/targets bench=build/cuda-sm90/core/cli/detgemm_bench
while [ $# -gt 0 ]; do
  case $1 in
    --seed | --seconds | --bench | --out)
      [ $# -gt 1 ] || { echo "targets.sh: $1 needs a value" >&2 && exit 2; }
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    *)
      echo "targets.sh: option is \"$1\": it must be --seed, --seconds, --bench or --out" >&2
      exit 2
      ;;
  esac
  shift
done
for name in seed seconds; do
  [[ ${!name} =~ ^[1-9][0-9]{0,8}$ ]] || {
    echo "targets.sh: --$name is \"${!name}\": it must be a whole number from 1 to 999999999" >&2
    exit 2
  }
done
[ -x "$bench" ] || {
  echo "targets.sh: --bench is \"$bench\": it must be the program detgemm_bench" >&2
  exit 2
}
mkdir -p "$out" || exit 2
python3 bench/draws.py --seed "$seed" > "$out/cases.json" || exit 2
shared=(--backend cuda --no-batch --fact "seed of the problems=$seed")
"$bench" "${shared[@]}" --cases "$out/cases.json" --seconds $((seconds * 4 / 5)) --json "$out/drawn.json"
drawn=$?
"$bench" "${shared[@]}" --suite tokens --seconds $(((seconds + 4) / 5)) --json "$out/tokens.json"
tokens=$?
files=()
for file in "$out/drawn.json" "$out/tokens.json"; do [ ! -e "$file" ] || files+=("$file"); done
python3 bench/report targets "${files[@]}" > "$out/targets.md" || exit 1
sed -n '/over random problems/,$p' "$out/targets.md"
exit $((drawn != 0 ? drawn : tokens))
