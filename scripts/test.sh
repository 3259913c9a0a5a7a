#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Sets up, builds and runs every test; then the tests of memory and of threads again under
# sanitizers. Exits nonzero when a test fails, a build fails or nothing ran.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh

if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
results=$PWD/build/results
rm -rf "$results"
mkdir -p "$results"
status=0

# test_preset PRESET [ctest arguments]: ctest's verdict, remembered; the rest still runs.
test_preset() {
  echo "== ctest --preset $*"
  ctest --preset "$@" --parallel "$(nproc)" --no-tests=error --output-junit "$results/$1.xml" || status=1
}

cmake --preset host -DDETGEMM_ENABLE_KOKKOS=ON
cmake --build --preset host
test_preset host

# What reads and writes memory on its own account, under AddressSanitizer and UBSan.
cmake --preset host-asan
cmake --build --preset host-asan --target tests_unit tests_conformance tests_fuzz detgemm_cli
test_preset host-asan -L 'unit|fuzz|cli|golden'

# What is shared between threads, under ThreadSanitizer.
cmake --preset host-tsan
cmake --build --preset host-tsan --target test_concurrency
test_preset host-tsan -R '^concurrency$'

# The CUDA component, where there is a compiler for it: it compiles, loads without a driver, and
# what needs a device is skipped with a reason where there is none.
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  cmake --preset cuda-sm90
  cmake --build --preset cuda-sm90 --target tests_cuda tests_cli detgemm_cli
  test_preset cuda-sm90 -R '^(cuda|cli_info)'
fi

python3 scripts/summary.py "$results" || status=1
exit $status
