#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Sets up, builds and runs every test; then the tests of memory and of threads again under
# sanitizers. Exits nonzero when a test fails, a build fails or nothing ran. Says how long each stage
# took.
set -euo pipefail
cd "$(dirname "$0")/.."

stages=()
# stage NAME COMMAND...: runs it and remembers how long it took.
stage() {
  local name=$1 from=$SECONDS code=0
  shift
  "$@" || code=$?
  stages+=("$(printf '%5d s  %s' $((SECONDS - from)) "$name")")
  return $code
}
# shellcheck disable=SC2317 # called by the trap
print_stages() {
  trap - EXIT
  printf '== time\n'
  printf '%s\n' "${stages[@]}"
  printf '%5d s  in all\n' "$SECONDS"
}

stage "setup" scripts/setup.sh
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
results=$PWD/build/results
rm -rf "$results"
mkdir -p "$results"
status=0
trap print_stages EXIT

# test_preset PRESET [ctest arguments]: ctest's verdict, remembered; the rest still runs.
test_preset() {
  echo "== ctest --preset $*"
  stage "$1: test" ctest --preset "$@" --parallel "$(nproc)" --no-tests=error \
    --output-junit "$results/$1.xml" || status=1
}

stage "host: configure" cmake --preset host -DDETGEMM_ENABLE_KOKKOS=ON
stage "host: build" cmake --build --preset host
test_preset host

# What reads and writes memory on its own account, under AddressSanitizer and UBSan.
stage "host-asan: configure" cmake --preset host-asan
stage "host-asan: build" cmake --build --preset host-asan --target \
  tests_unit tests_conformance tests_fuzz detgemm_cli
test_preset host-asan -L 'unit|fuzz|cli|golden'

# What is shared between threads, under ThreadSanitizer.
stage "host-tsan: configure" cmake --preset host-tsan
stage "host-tsan: build" cmake --build --preset host-tsan --target test_concurrency
test_preset host-tsan -R '^concurrency$'

# The CUDA component, where there is a compiler for it: it compiles, loads without a driver, and
# what needs a device is skipped with a reason where there is none.
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  # Two of the portable kernels' architectures stand for all: each one more takes minutes.
  stage "cuda-sm90: configure" cmake --preset cuda-sm90 \
    "-DDETGEMM_CUDA_PORTABLE_ARCHITECTURES=80;90"
  stage "cuda-sm90: build" cmake --build --preset cuda-sm90 --target tests_cuda tests_cli detgemm_cli
  test_preset cuda-sm90 -R '^(cuda|cli_info)'
fi

# The HIP component, where there is a compiler for its kernels: they are read as text, and executed
# with the whole backend around them by an interpreter, under the label "emulated".
if command -v clang++-19 >/dev/null; then
  stage "hip-gfx942: configure" cmake --preset hip-gfx942
  stage "hip-gfx942: build" cmake --build --preset hip-gfx942 --target \
    tests_hip tests_gcn tests_cli detgemm_cli
  test_preset hip-gfx942 -R '^(hip|gcn|cli_info)'
fi

print_stages
python3 scripts/summary.py "$results" || status=1
exit $status
