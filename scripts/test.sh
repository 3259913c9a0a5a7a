#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# test.sh [--host] [--python] [--asan] [--tsan] [--cuda] [--hip] [--no-setup]: sets up, builds and runs every test;
# then the tests of memory and of threads again under sanitizers, and the GPU components as far as a
# machine without a GPU can. Words choose stages; without any, all run that this machine has a compiler
# for. Exits nonzero when a test fails, a build fails or nothing ran. Says how long each stage took.
# Minutes on two cores with an empty compiler cache, on a virtual machine whose cores others share: 31 in
# all there, where --cuda alone took 3 an hour earlier and 6 in this run. A full cache halves it:
#   --host       the host alone: 10
#   --python     the Python package, with PyTorch and without: 6.5, beside other stages
#   --asan       what reads and writes memory, under AddressSanitizer and UBSan: 8
#   --tsan       what is shared between threads, under ThreadSanitizer: 1
#   --cuda       the CUDA component, with nvcc: 3 to 6; what needs a device is skipped with a reason
#   --hip        the HIP component, with clang-19: 5.5; an interpreter executes its kernels
#   --no-setup   install nothing
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=() setup=yes
for word in "$@"; do
  case $word in
    --host | --python | --asan | --tsan | --cuda | --hip) wanted+=("${word#--}") ;;
    --no-setup) setup=no ;;
    *)
      echo "test.sh: option is \"$word\": it must be --host, --python, --asan, --tsan, --cuda, --hip or --no-setup" >&2
      exit 2
      ;;
  esac
done
asked() { # STAGE: whether it was named, or none was
  [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]
}

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
  if [ -n "${python:-}" ]; then wait "$python" || true; fi # a stage has failed, and nothing may outlive it
  printf '== time\n'
  printf '%s\n' "${stages[@]}"
  printf '%5d s  in all\n' "$SECONDS"
}
left_out() { # STAGE WHY: said again at the end
  echo "== $1 is left out: $2"
  stages+=("   none  $1: left out, $2")
}

if [ $setup = yes ]; then
  if asked hip; then
    stage "setup" scripts/setup.sh --all
  else
    stage "setup" scripts/setup.sh --host
  fi
fi
if command -v ccache >/dev/null; then
  # An empty cache costs a run of the preprocessor per source, unless the compiler tells what was read.
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_DEPEND=1
fi
# Tests run side by side, each with as many threads as there are cores: one that waits must not spin.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
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

# Several sources at a time take half as long to compile, and GoogleTest's headers half a second of
# every test's source. It is the same for all stages, so that what one has compiled the cache of the
# compiler has for the others.
together=(-DCMAKE_UNITY_BUILD=ON -DDETGEMM_PRECOMPILE_TESTS=ON)
export CCACHE_SLOPPINESS=pch_defines,time_macros

if asked host; then
  stage "host: configure" cmake --preset host "${together[@]}" -DDETGEMM_ENABLE_KOKKOS=ON -DDETGEMM_BUILD_DROPIN=ON
  stage "host: build" cmake --build --preset host
  test_preset host
fi

# The Python package: a wheel, installed beside PyTorch and without it. It waits for packages, and its
# tests come one after the other, so that other stages run beside it.
python='' python_said=build/python.log
if asked python && { asked asan || asked tsan || asked cuda || asked hip; }; then
  (code=0
    stage "python" tests/python/run.py --results "$results" || code=1
    printf '%s\n' "${stages[-1]}" >build/python.time
    exit "$code") >$python_said 2>&1 &
  python=$!
elif asked python; then
  stage "python" tests/python/run.py --results "$results" || status=1
fi

# What reads and writes memory on its own account, under AddressSanitizer and UBSan.
if asked asan; then
  stage "host-asan: configure" cmake --preset host-asan "${together[@]}"
  stage "host-asan: build" cmake --build --preset host-asan --target \
    tests_unit tests_cluster tests_fuzz test_conformance test_conformance_engine detgemm_cli
  # The pages of digits are computed by the host stage; here that took a minute.
  test_preset host-asan -L 'unit|fuzz|cli|golden' -E '^cli_vendors$'
fi

# What is shared between threads, under ThreadSanitizer.
if asked tsan; then
  stage "host-tsan: configure" cmake --preset host-tsan "${together[@]}"
  stage "host-tsan: build" cmake --build --preset host-tsan --target test_concurrency test_cluster
  test_preset host-tsan -R '^(concurrency|cluster)$'
fi

# The CUDA component, where there is a compiler for it: it compiles, loads without a driver, and
# what needs a device is skipped with a reason where there is none.
if ! asked cuda; then
  :
elif command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  # One of the portable kernels' architectures stands for all, the oldest: each one more takes a minute
  # and a half. nvcc's own -O is for the host's half of a source alone, which no kernel is faster by.
  # Where no GPU will run the kernels, a sample of them is compiled, and the backend computes nothing.
  kernels=sample
  if nvidia-smi -L >/dev/null 2>&1; then kernels=all; fi
  stage "cuda-sm90: configure" cmake --preset cuda-sm90 "${together[@]}" -DDETGEMM_CUDA_KERNELS=$kernels \
    -DDETGEMM_CUDA_PORTABLE_ARCHITECTURES=80 "-DCMAKE_CUDA_FLAGS_RELEASE=-O1 -DNDEBUG"
  stage "cuda-sm90: build" cmake --build --preset cuda-sm90 --target tests_cuda tests_cli detgemm_cli detgemm_cluster_gpus
  test_preset cuda-sm90 -R '^(cuda|cli_info)|^install\.(prepare|package)\.static$'
  left=build/cuda-sm90/kernels_left_out.txt
  if [ $kernels = sample ] && [ -e $left ]; then
    left_out "cuda: $(head -n 1 $left)" "this machine has no GPU to run them; $left names them"
  fi
else
  left_out cuda "there is no nvcc (CUDA Toolkit 12.8 or newer) on this machine"
fi

# The HIP component, where there is a compiler for its kernels: they are read as text, and executed
# with the whole backend around them by an interpreter, under the label "emulated".
if ! asked hip; then
  :
elif command -v clang++-19 >/dev/null; then
  stage "hip-gfx942: configure" cmake --preset hip-gfx942 "${together[@]}"
  stage "hip-gfx942: build" cmake --build --preset hip-gfx942 --target \
    tests_hip tests_gcn tests_cli detgemm_cli
  test_preset hip-gfx942 -R '^(hip|gcn|cli_info)|^install\.(prepare|package)\.static$'
else
  left_out hip "there is no clang++-19 on this machine (Debian: clang-19 and lld-19)"
fi

if [ -n "$python" ]; then
  wait "$python" || status=1
  python=''
  echo "== python"
  cat $python_said
  stages+=("$(cat build/python.time), beside the others")
fi
print_stages
python3 scripts/summary.py "$results" || status=1
exit $status
