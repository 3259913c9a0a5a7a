#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# cuda_report.sh [--quick] [--parts LIST] [BUILD [REPORT]]: what an NVIDIA GPU makes of the CUDA
# backend, as one archive. Bits come first: random problems against an integer model, device tests,
# conformance, tools of compute-sanitizer and a soak under memcheck; then Python, then time. A part that
# fails, or that runs past its limit, does not keep the others from running; a part that is left out
# says why. Takes about an hour; with --quick every part runs, on the least that shows anything.
#   --parts  some of sweep,device,conform,sanitize,soak,python,models,dropin,bench (all)
#   BUILD    the build folder (build/cuda-sm90)
#   REPORT   the folder to write (cuda-report); the archive is REPORT.tar.gz
# PYTHONPATH must lead to the package for the parts python, models and dropin (docs/python.md).
# Exit status: 1 where a part did not pass, or was named and could not run; the archive is there all the same.
set -uo pipefail
all=sweep,device,conform,sanitize,soak,python,models,dropin,bench
quick=no parts=$all by_name=no
while :; do
  case ${1:-} in
    --quick) quick=yes ;;
    --parts)
      parts=${2:-} by_name=yes
      shift
      ;;
    -*)
      echo "cuda_report.sh: option is \"$1\": it must be --quick or --parts" >&2
      exit 2
      ;;
    *) break ;;
  esac
  shift || break
done
for name in ${parts//,/ }; do
  if [[ ",$all," != *",$name,"* ]]; then
    echo "cuda_report.sh: --parts is \"$parts\": \"$name\" must be one of $all" >&2
    exit 2
  fi
done
if [ -z "$parts" ]; then
  echo "cuda_report.sh: --parts is empty: it must name some of $all" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=$(realpath -m "${1:-$root/build/cuda-sm90}")
report=$(realpath -m "${2:-cuda-report}")
cli=$build/core/cli/detgemm
if [ ! -x "$cli" ]; then cli=$build/bin/detgemm; fi # a build with the Python package
if [ ! -x "$cli" ]; then
  echo "cuda_report.sh: BUILD is $build: there is no detgemm in core/cli or bin; docs/building.md says how to build" >&2
  exit 2
fi
mkdir -p "$report" || exit 2
summary=$report/summary.txt
: > "$summary"
# shellcheck source=scripts/report_parts.sh
. "$here/report_parts.sh"
asked() { [[ ",$parts," == *",$1,"* ]]; }

{
  machine '^(CUDA|NCCL|NVIDIA|DETGEMM)_?[A-Z_]*='
  nvidia-smi
} > "$report/machine.txt" 2>&1
part info "$cli" info
"$cli" info --json > "$report/info.json" 2>/dev/null
device=$(nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader 2>/dev/null | head -n 1)
say gpu "${device:-none: nvidia-smi names no GPU}"

# A new seed every day: the sweeps of many days see many problems. It is in every JSON file.
seed=${DETGEMM_REPORT_SEED:-$(date -u +%Y%m%d)}
if [ $quick = yes ]; then
  outputs=3e6 largest=(--largest 1e8) sweep_limit=60 short=20 conform=(--quick) bench_seconds=20
else
  outputs=5e8 largest=() sweep_limit=120 short=600 conform=() bench_seconds=280
fi

swept() { # NAME ARGUMENTS...
  local name=$1
  shift
  program "$name" tests/cuda/detgemm_cuda_sweep --outputs $outputs "${largest[@]}" --seconds $sweep_limit \
    --seed "$seed" --json "$report/$name.json" "$@"
}
if asked sweep; then
  swept leaves --reduction leaves
  swept odd --reduction all --operands odd
  swept chains
  swept fma --arithmetic ieee_fma
  swept snap --arithmetic snap
  swept snap3 --arithmetic snap3 --largest 3e8
  grouped=(tests/cuda/detgemm_cuda_grouped_sweep --outputs "$outputs" --seconds "$sweep_limit" --seed "$seed")
  program groups "${grouped[@]}"
  if [[ $(grep -s DETGEMM_CUDA_FP8: "$build/CMakeCache.txt") != *=OFF ]]; then
    swept fp8 --arithmetic fp8
    program fp8_groups "${grouped[@]}" --arithmetic fp8
  fi
  program plant tests/cuda/detgemm_cuda_sweep --plant bit --outputs 3e6 --largest 1e7 --seed 2
fi
if asked device; then
  program device tests/cuda/detgemm_cuda_device --gtest_brief=1
  program grouped tests/cuda/detgemm_cuda_grouped --gtest_brief=1
fi
if asked conform; then
  must conform timeout $((short * 2)) "$cli" conform --backend cuda "${conform[@]}" --report markdown \
    -o "$report/conform.md"
fi
if asked sanitize; then
  SANITIZER_TIMEOUT=$((sweep_limit * 2)) must sanitize "$root/tests/cuda/sanitize.sh" "$build" "$report/sanitize"
fi
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
soak=$build/tests/soak/detgemm_soak
if ! asked soak; then
  :
elif [ ! -x "$sanitizer" ]; then
  left_out soak "compute-sanitizer was not found"
elif [ ! -x "$soak" ]; then
  left_out soak "$soak was not built"
else
  must soak timeout $((short + 120)) "$sanitizer" --tool memcheck --error-exitcode 99 "$soak" --backend cuda \
    --threads 4 --seconds $short --seed "$seed" --json "$report/soak.json"
fi

# What the package does with this GPU. An installed package, or the build tree of one.
has_torch() { python3 -c 'import torch, detgemm.torch; assert torch.cuda.is_available()' > "$report/torch.txt" 2>&1; }
if asked python || asked models || asked dropin; then
  if ! has_torch; then
    left_out python "and with it models and dropin: $(tail -n 1 "$report/torch.txt")"
    parts=${parts//python/} parts=${parts//models/} parts=${parts//dropin/}
  fi
fi
if asked python; then
  must python timeout 500 python3 -m pytest -q -p no:cacheprovider "$root/tests/python/test_cuda.py" \
    "$root/tests/python/test_row_kernels.py"
fi
if asked models; then
  size=1b
  if [ $quick = yes ]; then size=tiny; fi
  must train timeout 400 python3 "$root/examples/python/train.py" --model $size --device cuda
  must rl timeout 400 python3 "$root/examples/python/rl.py" --model $size --device cuda
  if [ $quick = no ]; then
    must step timeout 500 python3 "$root/bench/peers/model_step.py" --json "$report/step.json"
  fi
fi

# Programs that nobody here wrote, with the vendor's functions replaced (docs/dropin.md).
if ! asked dropin; then
  :
elif ! "$cli" preload -- true > "$report/preload.txt" 2>&1; then
  left_out dropin "$(tail -n 1 "$report/preload.txt")"
else
  must dropin timeout 580 python3 -u "$root/tests/dropin/programs/run.py" "$cli" --minutes 9
fi

if ! asked bench; then
  :
elif [ ! -x "$build/core/cli/detgemm_bench" ]; then
  left_out bench "detgemm_bench was not built (-DDETGEMM_BUILD_BENCH=ON)"
else
  bench=(timeout $((bench_seconds + 120)) "$cli" bench --backend cuda --check-bits --seconds "$bench_seconds")
  must drawn "${bench[@]}" --draw 60 --seed "$seed" --json "$report/drawn.json" --markdown "$report/drawn.md"
  must bench "${bench[@]}" --json "$report/bench.json" --markdown "$report/bench.md"
fi

if ! tar czf "$report.tar.gz" -C "$(dirname "$report")" "$(basename "$report")"; then
  echo "cuda_report.sh: $report.tar.gz could not be written; everything is in $report" >&2
  exit 1
fi
echo "the archive is $report.tar.gz; the first thing to look at is $report/summary.txt"
[ $failed = no ]
