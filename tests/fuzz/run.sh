#!/bin/sh
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# run.sh [RUNS [TARGET...]]: builds the fuzz targets with clang, libFuzzer, AddressSanitizer and
# UBSan, runs each RUNS times (1000000) from its seeds, and prints what ran. A finding ends it with
# an error; the input is left in build/fuzz. FUZZ_CMAKE_ARGS is passed to cmake, FUZZ_SEED is
# libFuzzer's (1). FUZZ_PLAIN=1 builds without the sanitizers, in build/fuzz-plain: some five times
# as many executions, which still end at a broken promise or a crash.
set -eu
cd "$(dirname "$0")/../.."
runs=${1:-1000000}
[ $# -eq 0 ] || shift
targets=${*:-contract c_api golden_name options raw_file cases safetensors worker_lines log_line}
build=build/fuzz
flags="-fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all"
flags="$flags -fno-omit-frame-pointer -g1 -O1"
if [ -n "${FUZZ_PLAIN:-}" ]; then
  build=build/fuzz-plain
  flags="-fsanitize=fuzzer-no-link -g1 -O2"
fi
version=
command -v clang++-19 >/dev/null && version=-19 # needs libclang-rt-19-dev beside it

mkdir -p build
# shellcheck disable=SC2086
cmake -S . -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang$version -DCMAKE_CXX_COMPILER=clang++$version \
  -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" \
  -DDETGEMM_FUZZ=ON -DDETGEMM_ENABLE_CUDA=OFF -DDETGEMM_ENABLE_HIP=OFF -DDETGEMM_BUILD_CLI=OFF \
  -DDETGEMM_BUILD_EXAMPLES=OFF ${FUZZ_CMAKE_ARGS:-} >"$build.log" 2>&1 ||
  { cat "$build.log"; exit 1; }
for target in $targets; do
  cmake --build "$build" --target "fuzz_$target" --parallel 2 >>"$build.log" 2>&1 ||
    { cat "$build.log"; exit 1; }
done

echo "commit $(git describe --always --dirty), $(clang++$version --version | head -n 1)"
for target in $targets; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  start=$(date +%s)
  "$build/tests/fuzz/fuzz_$target" -runs="$runs" -seed="${FUZZ_SEED:-1}" -max_len=256 \
    -print_final_stats=1 -artifact_prefix="$build/$target-" "$corpus" "tests/fuzz/seeds/$target" \
    >"$build/$target.log" 2>&1 ||
    { tail -n 60 "$build/$target.log"; exit 1; }
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log")
  edges=$(grep -o 'cov: [0-9]*' "$build/$target.log" | tail -n 1)
  echo "$target: $executed executions in $(($(date +%s) - start)) s, $edges, 0 findings"
done
