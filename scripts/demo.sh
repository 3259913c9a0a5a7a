#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# demo.sh [--yes] [GOLDEN_PATH...]: sets up, builds, and shows the main job on what this machine has.
# Further files or folders of captured outputs are checked along with tests/golden. --yes: do not ask
# before packages are installed.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
golden=(tests/golden) setup=()
for path in "$@"; do
  if [ "$path" = --yes ]; then
    setup=(--yes)
  else
    golden+=("$(cd "$here" && realpath "$path")")
  fi
done

cat <<'TEXT'
This installs what is missing to build (compiler, CMake, Ninja, two header libraries; no GPU compiler),
builds Kokkos under .deps/ and the command under build/, and then shows in six steps what the library
promises. On two idle cores: about 1 minute of set-up and 3 of building the first time, seconds later,
and half a minute to show. Nothing outside this folder changes, apart from Debian packages.

TEXT
# The last line names what did not work; nothing was shown then.
doing="installing what is missing (scripts/setup.sh)"
trap 'code=$?; [ $code -eq 0 ] || echo "demo: FAILED: $doing: exit status $code" >&2' EXIT
scripts/setup.sh "${setup[@]}"

if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
# The CUDA backend is built too where there is a device for its tensor-core kernels and a compiler.
. scripts/options.sh
preset=host options=("${host_options[@]}")
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true)
if [[ $capability == *9.0* ]] && command -v nvcc >/dev/null; then
  preset=cuda-sm90 options=("${cuda_options[@]}")
  echo "demo: an H100 or H200 and nvcc are here, so the CUDA backend is built too, which takes longer than all the rest"
fi
# The tests and benchmarks of this build folder may be there already; the demo needs neither.
if [ ! -e build/$preset/CMakeCache.txt ]; then
  options+=(-DDETGEMM_BUILD_TESTS=OFF -DDETGEMM_BUILD_BENCH=OFF)
fi
log=build/demo.log
mkdir -p build
quietly() { # WHAT COMMAND...: what it prints is shown only if it fails
  echo "demo: $1"
  doing=$1
  if ! "${@:2}" >$log 2>&1; then
    tail -n 40 $log >&2
    echo "demo: all of this output is in $log" >&2
    exit 1
  fi
}
quietly "configuring build/$preset" configure $preset "${options[@]}"
if [ -t 1 ]; then
  doing=building
  cmake --build --preset $preset --target detgemm_cli quickstart
else
  quietly "building" cmake --build --preset $preset --target detgemm_cli quickstart
fi

trap - EXIT
detgemm=build/$preset/core/cli/detgemm
export OMP_PROC_BIND=${OMP_PROC_BIND:-false} # else some releases of Kokkos print advice
status=0 steps=() step=0
quoted() { # WORD...: in quotes where a shell would read them otherwise
  local word line=()
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./:=-]+$ ]]; then line+=("$word"); else line+=("'$word'"); fi
  done
  echo "${line[*]}"
}
show() { # a headline, what it shows in words, then the command and what it prints
  step=$((step + 1))
  local words=("${@:3}")
  case ${words[0]} in
    in_short | counted) words=("${words[@]:1}") ;;
    with_digest) words=("${words[@]:2}") ;;
  esac
  # Quoted as a shell needs it, so that it can be pasted.
  printf '\n== %d. %s\n$ %s\n' $step "$1" "$(quoted "${words[@]}")"
  local code=0
  "${@:3}" || code=$?
  case $code in
    0) steps+=("shown     $2") ;;
    77) steps+=("not shown $1: see above") ;;
    *)
      echo "(exit status $code)"
      steps+=("FAILED    $2")
      status=1
      ;;
  esac
}
contract='hopper/bf16/tree:512->bf16'
with_digest() { # DIGEST COMMAND...: whether it prints that digest of D
  local said
  said=$("${@:2}") && echo "$said" && [[ $said == *"digest d    $1"* ]]
}
show "A GEMM under a named contract" "a GEMM's digest is the one that is written in this script, as on every machine" \
  with_digest 755d323f97dc08a6 $detgemm run --contract "$contract" --m 257 --n 512 --k 4096 --seed 1
show "A row does not depend on its batch" "row 0 alone and in a batch of 257 has the same bits" \
  build/$preset/examples/quickstart/quickstart
show "The contrast: a BLAS whose row 0 changes with M" "detgemm kept row 0 in every batch, of the numbers that OpenBLAS multiplied too (its count is above)" \
  python3 scripts/contrast.py $detgemm
in_short() { # COMMAND...: without the lines of files in which nothing differs
  local said code=0
  said=$("$@") || code=$?
  echo "$said" | grep -v '  0 of [0-9]* differ$'
  return $code
}
show "Outputs captured from a real H200" "the CPU returned what an H200's tensor cores did, bit for bit" \
  in_short $detgemm golden "${golden[@]}"
show "The promises, tested on the reference" "the harness looked for a case that breaks a promise, and found none" \
  $detgemm conform --backend reference --quick
if [ $preset = cuda-sm90 ]; then
  show "The same promises on this GPU" "nor did it on this GPU" $detgemm conform --backend cuda --quick
fi
counted() { # COMMAND...: the lines of a table in which something is wrong, and its last lines
  local said code=0
  said=$("$@") || code=$?
  if [ $code -eq 0 ]; then tail -n 3 <<<"$said"; else echo "$said"; fi
  return $code
}
show "Broken engines" "the harness does find faults: every planted one was caught by the property meant for it" \
  counted $detgemm conform --controls --quick

printf '\n== What was shown\n'
printf '  %s\n' "${steps[@]}"
if [ $status -eq 0 ]; then
  cat <<TEXT

Verdict: everything that was tried holds on this machine.

Next steps:
  $PWD/$detgemm --help          the command that was used above
  $detgemm explain --contract "$contract" --m 17 --n 4096 --k 4096
  cmake --install build/$preset --prefix \$HOME/.local        libraries, headers, the command, its manual page
  docs/first-program.md                                  install and link; examples/ has more
TEXT
else
  printf '\nVerdict: something above FAILED; look for "exit status".\n'
fi
exit $status
