# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # read by the scripts that source this

# How demo.sh and test.sh configure build folders, in one place: what one of them has compiled, the other
# does not compile again. Sourced from the root of the checkout, after setup.sh.

# setup.sh puts a newer CMake here where the system's is older than 3.25 (Ubuntu 22.04).
PATH=$PWD/.deps/tools/bin:$PATH:/usr/local/cuda/bin
export PATH
# ... and installs GCC 12 beside an older one.
if [ -z "${CXX:-}" ] && command -v g++-12 >/dev/null && [ "$(c++ -dumpversion | cut -d. -f1)" -lt 12 ]; then
  export CC=gcc-12 CXX=g++-12
fi

# Several sources at a time take half as long to compile, and GoogleTest's headers half a second of
# every test's source.
common_options=(-DCMAKE_UNITY_BUILD=ON -DDETGEMM_PRECOMPILE_TESTS=ON)
host_options=("${common_options[@]}" -DDETGEMM_ENABLE_KOKKOS=ON -DDETGEMM_BUILD_DROPIN=ON)
# One of the portable kernels' architectures stands for all, the oldest: each one more takes a minute
# and a half. nvcc's own -O is for the host's half of a source alone, which no kernel is faster by.
# Where no GPU will run the kernels, a sample of them is compiled, and the backend computes nothing.
kernels=sample portable=80
# Launches of 9.0 overlap, and kernels compiled for 8.0 do not wait for those ahead of them.
if nvidia-smi -L >/dev/null 2>&1; then kernels=all portable='80;90'; fi
cuda_options=("${common_options[@]}" -DDETGEMM_ENABLE_KOKKOS=ON -DDETGEMM_CUDA_KERNELS=$kernels
  "-DDETGEMM_CUDA_PORTABLE_ARCHITECTURES=$portable" "-DCMAKE_CUDA_FLAGS_RELEASE=-O1 -DNDEBUG")
# The demo needs neither tests nor benchmarks, and test.sh asks for both, whatever a folder has.
with_tests=(-DDETGEMM_BUILD_TESTS=ON -DDETGEMM_BUILD_BENCH=ON)

# configure PRESET [OPTION]...: a folder that was configured without the compiler's cache goes on without it, since other
# command lines would compile all of it again; setup.sh --host installs ccache, after the demo perhaps.
configure() (
  cache=build/$1/CMakeCache.txt
  if [ -e "$cache" ] && ! grep -q '^CMAKE_CXX_COMPILER_LAUNCHER:[A-Z]*=.' "$cache"; then
    unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
  fi
  exec cmake --preset "$@"
)
