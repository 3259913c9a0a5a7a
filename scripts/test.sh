#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# test.sh [--quick] [--host] [--python] [--vllm] [--trainers] [--asan] [--tsan] [--cuda] [--hip] [--no-setup]: sets up, builds
# and runs every test; then the tests of memory and of threads again under sanitizers, and the GPU components as far as a
# machine without a GPU can. Words choose stages; without any, all but --quick run for which this machine has a compiler,
# --vllm and --trainers without the tests marked long. Exits nonzero when a test fails, a build fails or nothing ran. Says how long each stage took.
# Minutes on two cores on 27 November 2026: 25 in all with an empty compiler cache, 15 with a full one, which is what the
# stages below say:
#   --host       the host alone: 6
#   --python     the Python package, with PyTorch and without: 6, beside other stages
#   --vllm       the Python package inside of vLLM for CPUs: 2; without words one model and two controls, half a minute of a core
#   --trainers   inside of Megatron Core, TRL and Accelerate, vLLM beside them: 2; without words a few steps of Megatron and TRL, 1.5 of a core
#   --asan       what reads and writes memory, under AddressSanitizer and UBSan; without words half of it: 1
#   --tsan       what is shared between threads, under ThreadSanitizer: 0.3
#   --cuda       the CUDA component, with nvcc: 7 together with --hip; what needs a device is skipped with a reason
#   --hip        the HIP component, with clang-19, in the same folder; an interpreter executes its kernels
#   --quick      what a change of a few lines needs, a part of --host and in its build folder: 1.6; 0.3 with a full cache
#   --no-setup   install nothing
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=() setup=yes
for word in "$@"; do
  case $word in
    --quick | --host | --python | --vllm | --trainers | --asan | --tsan | --cuda | --hip) wanted+=("${word#--}") ;;
    --no-setup) setup=no ;;
    *)
      echo "test.sh: option is \"$word\": it must be --host, --quick, --python, --vllm, --trainers, --asan, --tsan, --cuda, --hip or --no-setup" >&2
      exit 2
      ;;
  esac
done
asked() { # STAGE: whether it was named, or none was
  [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]
}

stages=() dead=()
# stage NAME COMMAND...: runs it and remembers how long it took, and whether it failed.
stage() {
  local name=$1 from=$SECONDS code=0
  shift
  "$@" || code=$?
  stages+=("$(printf '%5d s  %s' $((SECONDS - from)) "$name")")
  if [ $code -ne 0 ]; then dead+=(--dead "$name=exit status $code"); fi
  return $code
}
# The last lines: times, and the summary, in which a stage that died is a failure with its own name.
# shellcheck disable=SC2317 # called by the trap
finish() {
  trap - EXIT
  if [ -n "${python:-}" ]; then wait "$python" || true; fi # nothing may outlive this script
  printf '== time\n'
  printf '%s\n' "${stages[@]}"
  printf '%5d s  in all\n' "$SECONDS"
  python3 scripts/summary.py "${dead[@]}" "$results"
  exit $?
}
left_out() { # STAGE WHY: said again at the end
  echo "== $1 is left out: $2"
  stages+=("   none  $1: left out, $2")
}

results=$PWD/build/results
rm -rf "$results"
mkdir -p "$results"
trap finish EXIT
if [ $setup = yes ]; then
  if asked hip; then
    stage "setup" scripts/setup.sh --all
  else
    stage "setup" scripts/setup.sh --host
  fi
fi
. scripts/options.sh
if command -v ccache >/dev/null; then
  # An empty cache costs a run of the preprocessor per source, unless the compiler tells what was read.
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_DEPEND=1
fi
# Tests run side by side, each with as many threads as there are cores: one that waits must not spin.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

# test_preset PRESET [ctest arguments]: ctest's verdict; the rest still runs.
test_preset() {
  echo "== ctest --preset $*"
  # One more than there are cores, since some tests wait: for ranks, and for limits of time.
  stage "$1: test" ctest --preset "$@" --parallel $(($(nproc) + 1)) --no-tests=error \
    --output-junit "$results/$1.xml"
}

run_host() {
  stage "host: configure" configure host "${host_options[@]}" "${with_tests[@]}" || return
  stage "host: build" cmake --build --preset host || return
  test_preset host
}
if asked host; then run_host || true; fi

# Only where it is named: the host's stage has all of it.
run_quick() {
  stage "quick: configure" configure host "${host_options[@]}" "${with_tests[@]}" || return
  stage "quick: build" cmake --build --preset host --target tests_quick || return
  test_preset host -L quick
}
if [[ " ${wanted[*]} " == *" quick "* ]]; then run_quick || true; fi

# The Python package: a wheel, installed beside PyTorch, without it, and beside vLLM. It waits for packages, and
# its tests come one after the other, so that other stages run beside it.
python='' python_said=build/python.log python_stages=''
if asked python; then python_stages=plain,torch; fi
for name in vllm trainers; do
  if asked $name; then python_stages=${python_stages:+$python_stages,}$name; fi
done
# Engines and trainers take minutes of both cores, so all of their tests run where they are named.
python_short=()
if [ ${#wanted[@]} -eq 0 ]; then
  python_short=(--short)
  left_out "vllm: models but Qwen3, controls but norm and sampling, two ranks, refusals, the newest release" "they run where --vllm is named"
  left_out "trainers: Accelerate, wrappers, several ranks, fused heads, supervised steps, the loop of vLLM and a trainer" "they run where --trainers is named"
fi
if [ -n "$python_stages" ] && { asked asan || asked tsan || asked cuda || asked hip; }; then
  (code=0
    stage "python" tests/python/run.py "${python_short[@]}" --keep --results "$results" --stages "$python_stages" || code=1
    printf '%s\n' "${stages[-1]}" >build/python.time
    exit "$code") >$python_said 2>&1 &
  python=$!
elif [ -n "$python_stages" ]; then
  stage "python" tests/python/run.py --results "$results" --stages "$python_stages" || true
fi

# What reads and writes memory on its own account, under AddressSanitizer and UBSan: the library, and what parses
# text of others. The harness, the command and the benchmark, which double the time, and the tiles of AVX-512, whose
# operands the host's stage puts between guard pages, where --asan is named.
run_asan() {
  local bench=OFF tiles='' labels='unit|fuzz' skip='^(conformance|conformance_engine|fuzz_worker_lines)$' targets=(tests_unit
    tests_cluster test_floating_point_guard fuzz_{contract,c_api,golden_name,raw_file,options,safetensors,log_line})
  if [[ " ${wanted[*]} " == *" asan "* ]]; then
    # The pages of digits are computed by the host stage; here that took a minute.
    bench=ON tiles=avx512 labels='unit|fuzz|cli|golden' skip='^cli_vendors$'
    targets=(tests_unit tests_cluster test_floating_point_guard tests_fuzz test_conformance test_conformance_engine
      detgemm_cli)
  fi
  stage "host-asan: configure" configure host-asan "${common_options[@]}" "${with_tests[@]}" \
    -DDETGEMM_BUILD_BENCH=$bench -DDETGEMM_REFERENCE_TILES=$tiles || return
  stage "host-asan: build" cmake --build --preset host-asan --target "${targets[@]}" || return
  test_preset host-asan -L "$labels" -E "$skip" || true
  if [ $bench = OFF ]; then left_out "host-asan: harness, command, benchmark, tiles of AVX-512" "they run where --asan is named"; fi
}
if asked asan; then run_asan || true; fi

# What is shared between threads, under ThreadSanitizer.
run_tsan() {
  stage "host-tsan: configure" configure host-tsan "${common_options[@]}" "${with_tests[@]}" || return
  stage "host-tsan: build" cmake --build --preset host-tsan --target test_concurrency test_cluster || return
  test_preset host-tsan -R '^(concurrency|cluster)$'
}
if asked tsan; then run_tsan || true; fi

# The CUDA and the HIP component, where there are compilers for them; in one folder, since the rest of the
# library, which both stages need, is then compiled once. Both load without a driver. CUDA: what needs a
# device is skipped with a reason where there is none. HIP: kernels are read as text, and executed with the
# whole backend around them by an interpreter, under the label "emulated".
gpu='' gpu_options=("${common_options[@]}") gpu_targets=(tests_cli tests_supports detgemm_cli) gpu_tests='cli_info|supports'
if asked hip && command -v clang++-19 >/dev/null; then
  gpu=hip-gfx942
  gpu_targets+=(tests_hip tests_gcn)
  gpu_tests+='|hip|gcn'
elif asked hip; then
  left_out hip "there is no clang++-19 on this machine (Debian: clang-19 and lld-19)"
fi
if asked cuda && command -v nvcc >/dev/null; then
  gpu_options=("${cuda_options[@]}" "-DDETGEMM_ENABLE_HIP=$([ -n "$gpu" ] && echo ON || echo OFF)")
  gpu=cuda-sm90
  gpu_targets+=(tests_cuda detgemm_cluster_gpus)
  gpu_tests+='|cuda'
elif asked cuda; then
  left_out cuda "there is no nvcc (CUDA Toolkit 12.8 or newer) on this machine"
fi

# What the stage python printed, once it has ended.
wait_for_python() {
  local code=0
  [ -n "$python" ] || return 0
  wait "$python" || code=$?
  python=''
  echo "== python"
  cat $python_said
  stages+=("$(cat build/python.time), beside the others")
  if [ $code -ne 0 ]; then dead+=(--dead "python=exit status $code"); fi
}

# PyTorch's operators on the emulated AMD device: they need what two stages have made, and run beside the tests of the
# GPU components, since they take one core for a minute.
with_torch=build/wheel-tests/with-torch rocm='' rocm_said=build/rocm.log rocm_from=0
start_rocm() {
  [[ $gpu_tests == *hip* ]] || return 0
  wait_for_python
  if [ ! -x $with_torch/bin/python ]; then
    left_out "$gpu: PyTorch" "the stage python, which installs it, did not run"
    return
  fi
  stage "$gpu: build PyTorch's operators" cmake --build --preset "$gpu" --target tests_python_rocm || return
  rocm_from=$SECONDS
  PYTHONPYCACHEPREFIX=$PWD/$with_torch/bytecode $with_torch/bin/python tests/python/rocm/run.py "build/$gpu" --results "$results" >$rocm_said 2>&1 &
  rocm=$!
}
wait_for_rocm() {
  local code=0
  [ -n "$rocm" ] || return 0
  wait "$rocm" || code=$?
  cat $rocm_said
  stages+=("$(printf '%5d s  %s' $((SECONDS - rocm_from)) "$gpu: PyTorch, beside the tests")")
  if [ $code -ne 0 ]; then dead+=(--dead "$gpu: PyTorch=exit status $code"); fi
}

run_gpu() {
  stage "$gpu: configure" configure "$gpu" "${gpu_options[@]}" "${with_tests[@]}" || return
  stage "$gpu: build" cmake --build --preset "$gpu" --target "${gpu_targets[@]}" || return
  start_rocm || true
  test_preset "$gpu" -R "^($gpu_tests)|^install\.(prepare|package)\.static\$" || true
  wait_for_rocm
  local left=build/cuda-sm90/kernels_left_out.txt
  if [ $gpu = cuda-sm90 ] && [ "$kernels" = sample ] && [ -e $left ]; then
    left_out "cuda: $(head -n 1 $left)" "this machine has no GPU to run them; $left names them"
  fi
}
if [ -n "$gpu" ]; then run_gpu || true; fi
wait_for_python
rm -rf $with_torch
finish
