#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# bench.sh [--cpu] [--quick] [--record] [--no-setup] [--out FOLDER] [-- OPTIONS]: builds what is
# needed, measures the host and then the GPU that is found, and writes FOLDER (build/bench): a result
# file per backend, the page as index.html and index.md, and the README's plot as plot.svg.
#   --cpu        the host alone
#   --quick      fewer cases and repetitions: a minute or two
#   --record     the results go to bench/results as well, compressed and with a page each, and the plot
#                to docs/images/bench.svg
#   --no-setup   install nothing: what the build needs is found by CMake (CMAKE_PREFIX_PATH)
#   -- OPTIONS   the rest goes to `detgemm bench`, for example -- --seconds 120
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

cpu_only=no record=no setup=yes out=$PWD/build/bench extra=()
while [ $# -gt 0 ]; do
  case $1 in
    --cpu) cpu_only=yes ;;
    --quick) extra+=(--quick) ;;
    --record) record=yes ;;
    --no-setup) setup=no ;;
    --out)
      [ $# -gt 1 ] || { echo "bench.sh: --out needs a folder" >&2 && exit 2; }
      shift
      out=$(cd "$here" && mkdir -p "$1" && realpath "$1")
      ;;
    --)
      shift
      extra+=("$@")
      break
      ;;
    *)
      echo "bench.sh: option is \"$1\": it must be --cpu, --quick, --record, --no-setup, --out FOLDER" \
        "or --" >&2
      exit 2
      ;;
  esac
  shift
done

if [ $setup = yes ]; then
  scripts/setup.sh --host
fi
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
export OMP_PROC_BIND=false

# A GPU that there is a compiler for comes along.
PATH=$PATH:/usr/local/cuda/bin
preset=host backends=(cpu)
if [ $cpu_only = no ]; then
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true)
  if [ -n "$capability" ] && command -v nvcc >/dev/null; then
    preset=cuda-sm90 backends=(cpu cuda)
  elif [ -e /dev/kfd ] && command -v clang++-19 >/dev/null; then
    preset=hip-gfx942 backends=(cpu hip)
  else
    echo "bench.sh: no GPU with its compiler was found; the host alone is measured"
  fi
fi
cmake --preset $preset -DDETGEMM_ENABLE_KOKKOS=ON >/dev/null
cmake --build --preset $preset --target detgemm_cli detgemm_bench
build=build/$preset

# A backend that cannot run says why before the others are measured.
for backend in "${backends[@]}"; do
  $build/core/cli/detgemm bench --backend "$backend" "${extra[@]}" --dry
done

# What building costs: seconds of all objects as they were last built, and the libraries' bytes.
seconds=$(awk -F'\t' 'NR > 1 { t[$4] = $2 - $1 } END { for (o in t) s += t[o]; print int(s / 1000) }' \
  $build/.ninja_log)
bytes=$(find $build -name 'libdetgemm*.a' -not -name '*bench*' -not -name '*test*' \
  -printf '%s\n' | awk '{ s += $1 } END { print int(s / 1024) }')

mkdir -p "$out"
files=()
for backend in "${backends[@]}"; do
  file=$out/$(date -u +%F)-$backend.json
  $build/core/cli/detgemm bench --backend "$backend" "${extra[@]}" --json "$file" \
    --csv "${file%.json}.csv" --markdown "${file%.json}.md" \
    --fact "build seconds, one core, $preset, less where ccache had it=$seconds" \
    --fact "build size, static libraries=$bytes KiB"
  files+=("$file")
done

python3 bench/report page "${files[@]}" -o "$out"
plot=$out/plot.svg
python3 bench/report plot "${files[@]}" -o "$plot"
if [ $record = yes ]; then
  for file in "${files[@]}"; do
    device=$(python3 -c 'import json, re, sys
device = json.load(open(sys.argv[1]))["machine"]["device"].lower()
print(re.sub("[^a-z0-9]+", "-", device).strip("-"))' "$file")
    python3 scripts/record.py "$file" -o bench/results --name "$(basename "${file%.json}")-$device"
  done
  mkdir -p docs/images
  cp "$plot" docs/images/bench.svg
fi
echo "the page: $out/index.html"
